package event

// Append is the statement that stores the events of a call, on the edge and in the
// backend. It is in core because it is the idempotency rule: of concurrent calls with
// one key exactly one gets a row, since SQLite runs a write statement under its write
// lock. No row means that the key was used since ?6.
//
// Parameters: 1 tenant, 2 account, 3 user, 4 idempotency key or NULL, 5 events as a
// JSON array, 6 KeySince(now), 7 now, 8 Call.Sender or NULL, 9 Call.Trusted as 0 or 1. It
// returns the position in the queue.
const Append = `INSERT INTO intake (tenant, account_id, user_id, idempotency_key, events, received_at, key_id, trusted)
SELECT ?1, ?2, ?3, ?4, ?5, ?7, ?8, ?9
WHERE ?4 IS NULL OR NOT EXISTS (
  SELECT 1 FROM intake WHERE tenant = ?1 AND idempotency_key = ?4 AND received_at >= ?6)
RETURNING seq`

// Recorded is the statement that compares a call whose key was used with the one that was
// recorded. It returns the key of the first recorded event if that call was of another user or
// had other events, and else "". Times are not compared: they may be those of the receipt. No
// row, as on a replica that is behind, means that it is not known.
//
// Parameters: 1 to 6 of Append.
const Recorded = `SELECT CASE WHEN account_id = ?2 AND user_id = ?3 AND (SELECT count(DISTINCT ` + contents + `) FROM json_each(json_array(json(events), json(?5))) c) = 1 THEN ''
	ELSE coalesce(events ->> '$[0].key', '') END
FROM intake WHERE tenant = ?1 AND idempotency_key = ?4 AND received_at >= ?6 LIMIT 1`

// contents is the keys and fields of the events of the call c as one text, whatever the order
// and the spelling of the fields. Whole numbers are compared with 1.0 and 1e0 as floating-point
// numbers, from 2^53 on exactly.
const contents = `(SELECT json_group_array(json_array(e.value ->> 'key', (SELECT json_group_array(json_array(f.key,
	iif(f.type = 'integer' AND f.value >> 53 IN (0, -1), 'real', f.type), iif(f.type = 'integer' AND f.value >> 53 IN (0, -1), f.value + 0.0, f.value)))
	FROM (SELECT key, type, value FROM json_each(e.value, '$.fields') ORDER BY key) f))) FROM json_each(c.value) e)`
