package eventdb

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"kith/backend/store"
	"kith/backend/store/orderdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/wire"
)

// AppendIntake appends an event call to the intake, with the statement that the edge
// uses too. It returns false if the tenant used the idempotency key in the 24 hours
// before.
func AppendIntake(ctx context.Context, p *store.Primary, tenant core.TenantAlias, b event.Call) (added bool, err error) {
	return appendAlone(ctx, p, appendArgs(tenant, b))
}

func appendAlone(ctx context.Context, p *store.Primary, args []any) (added bool, err error) {
	err = p.WriteOne(ctx, func(r store.Reads) (err error) {
		added, err = appendIntake(ctx, r, args)
		return err
	})
	return added, err
}

// AppendIntakeWithin is AppendIntake within a transaction.
func AppendIntakeWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, b event.Call) (added bool, err error) {
	return appendIntake(ctx, tx.Reads, appendArgs(tenant, b))
}

// Recorded returns the key of an event that was recorded in place of a call whose key was
// used; see event.Recorded, which compares the values of fields that are objects or lists as
// they are written. Recorded compares what they mean.
func Recorded(ctx context.Context, r store.Reads, tenant core.TenantAlias, b event.Call) (string, error) {
	events, since := wire.IntakeEvents(b), int64(event.KeySince(b.Received))
	key, err := store.OneOrZero[string](ctx, r, "recorded call", event.Recorded, string(tenant), string(b.Account), string(b.User), string(b.Key),
		string(events), since)
	if err != nil || key == "" {
		return key, err
	}
	of, err := store.OneOrZero[string](ctx, r, "recorded events", `SELECT events FROM intake
		WHERE tenant = ? AND idempotency_key = ? AND received_at >= ? AND account_id = ? AND user_id = ? LIMIT 1`,
		string(tenant), string(b.Key), since, string(b.Account), string(b.User))
	if err == nil && of != "" && sameEvents([]byte(of), events) {
		key = ""
	}
	return key, err
}

// sameEvents reports whether two lists have events with the same keys and fields, in the same
// order.
func sameEvents(a, b []byte) bool {
	read := func(list []byte) (all []struct {
		Key    string
		Fields any
	}) {
		d := json.NewDecoder(bytes.NewReader(list))
		d.UseNumber()
		if d.Decode(&all) != nil {
			return nil
		}
		for i := range all {
			all[i].Fields = numbers(all[i].Fields)
		}
		return all
	}
	x, y := read(a), read(b)
	return x != nil && reflect.DeepEqual(x, y)
}

// numbers returns a JSON value in which equal numbers are the same, however they are written,
// and others differ, however close they are.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return normalized(string(v))
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	}
	return v
}

// normalized returns a number as its digits without zeros around them, and the exponent.
func normalized(n string) json.Number {
	n = strings.ToLower(n)
	unsigned, negative := strings.CutPrefix(n, "-")
	mantissa, power, _ := strings.Cut(unsigned, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if digits == "" {
		return "0"
	}
	if err != nil { // it has more digits than any number that a client means
		return json.Number(n)
	}
	short := strings.TrimRight(digits, "0")
	short += "e" + strconv.Itoa(exponent-len(fraction)+len(digits)-len(short))
	if negative {
		short = "-" + short
	}
	return json.Number(short)
}

func appendIntake(ctx context.Context, r store.Reads, args []any) (added bool, err error) {
	var seq int64
	err = r.QueryRowContext(ctx, event.Append, args...).Scan(&seq)
	if added = err == nil; added || errors.Is(err, sql.ErrNoRows) {
		return added, nil
	}
	return false, fmt.Errorf("store: append intake: %w", err)
}

// appendArgs returns the parameters of event.Append.
func appendArgs(tenant core.TenantAlias, b event.Call) []any {
	return []any{
		string(tenant), string(b.Account), string(b.User), store.NullText(b.Key), string(wire.IntakeEvents(b)),
		int64(event.KeySince(b.Received)), int64(b.Received), store.NullText(b.Sender), store.BoolInt(b.Trusted),
	}
}

// maxBatch limits the events of one transaction, in bytes as they were sent: a server
// ends a transaction after 5 seconds if another writer waits. The call that exceeds
// the limit is still included, so that a batch is never empty.
const maxBatch = 1 << 20

// Batch is waiting calls of the intake that one transaction processes: those after from,
// up to and including to.
type Batch struct {
	from, to int64
	// Calls is the number of calls, events that of their events.
	Calls, events int
	waiting       int
	// Left is true if more calls may be waiting.
	Left bool
}

var batchColumns = store.Selection[Batch]{
	store.Col(`(SELECT seq FROM intake_cursor)`, func(b *Batch) any { return &b.from }),
	store.Col(`coalesce(max(seq), 0)`, func(b *Batch) any { return &b.to }),
	store.Col(`count(*)`, func(b *Batch) any { return &b.Calls }),
	store.Col(`coalesce(sum(json_array_length(events)), 0)`, func(b *Batch) any { return &b.events }),
	store.Col(`(SELECT count(*) FROM waiting)`, func(b *Batch) any { return &b.waiting }),
}

// NextBatch returns the oldest waiting calls, at most limit. It needs no transaction:
// another process may process calls of the batch before ProcessBatch does.
func NextBatch(ctx context.Context, r store.Reads, limit int) (b Batch, err error) {
	err = batchColumns.Scan(r.QueryRowContext(ctx, `
		WITH waiting AS (SELECT seq, events, octet_length(events) AS size FROM intake
			WHERE seq > (SELECT seq FROM intake_cursor) ORDER BY seq LIMIT ?)
		SELECT `+batchColumns.SQL()+`
		FROM (SELECT seq, events, sum(size) OVER (ORDER BY seq) - size AS before FROM waiting) WHERE before < ?`, limit, maxBatch), &b)
	if err != nil {
		return Batch{}, fmt.Errorf("store: read intake: %w", err)
	}
	b.Left = b.waiting > b.Calls || b.waiting == limit
	return b, nil
}

// Processed is the result of one batch.
type Processed struct {
	// Calls is how many calls were processed, Events how many events were stored.
	Calls, Events int
	// Left is true if more calls may be waiting.
	Left bool
	// Unreadable is how many events were skipped because they have no id, key or
	// fields, or because their id exists. Kith itself writes no such events.
	Unreadable int
	// Orphaned is how many events were skipped because their user does not exist: it
	// was deleted before an edge, whose replica lags, accepted the events.
	Orphaned int
	// Orders is the number of events that were queued since they may place or take back
	// orders.
	Orders int
}

// ProcessIntake is NextBatch and ProcessBatch in one transaction.
func ProcessIntake(ctx context.Context, tx *store.Tx, limit int) (Processed, error) {
	b, err := NextBatch(ctx, tx.Reads, limit)
	if err != nil || b.Calls == 0 {
		return Processed{}, err
	}
	return ProcessBatch(ctx, tx, b)
}

// inBatch is the SQL condition that a call i is in a batch, of which no other process has
// processed a call. Its parameters are the first of the statement: from and to.
const inBatch = `i.seq > ?1 AND i.seq <= ?2 AND (SELECT seq FROM intake_cursor) = ?1`

// userExists is the SQL condition that the user of a call i exists, and the tenant: if the tenant
// is being erased, the user may still have a row.
var userExists = `(` + store.TenantExists("i") + ` AND EXISTS (SELECT 1 FROM user u WHERE u.tenant = i.tenant AND u.account_id = i.account_id AND u.id = i.user_id))`

// ProcessBatch stores the events of a batch, in the order of their receipt. The cursor
// moves in the same transaction, so each call is processed exactly once, even if the
// process is killed. If another process has processed calls of the batch, ProcessBatch
// changes nothing. On a server it takes one round trip: the write lock is held meanwhile.
func ProcessBatch(ctx context.Context, tx *store.Tx, b Batch) (done Processed, err error) {
	// No content of a row may make the statement fail: that row would block the
	// intake of all tenants for ever. OR IGNORE does not cover the type errors of a
	// STRICT table, so the time is cast.
	stored, err := tx.Later(ctx, "process intake", `INSERT OR IGNORE INTO event (tenant, id, account_id, user_id, key, fields,
			triggered_at, received_at, trusted, processed_at)
		SELECT tenant, event ->> 'id', account_id, user_id, event ->> 'key', event -> 'fields',
			CAST(event ->> 'dateTriggered' AS INTEGER), received_at, trusted, ?3
		FROM (SELECT i.*, CASE e.type WHEN 'object' THEN e.value END AS event
			FROM intake i, json_each(i.events) e WHERE `+inBatch+` AND `+userExists+`)`, b.from, b.to, int64(tx.Now))
	if err != nil {
		return Processed{}, err
	}
	queued, err := orderdb.PutEvents(ctx, tx, inBatch, b.from, b.to)
	if err != nil {
		return Processed{}, err
	}
	if err := recordSenderUse(ctx, tx, b.from, b.to); err != nil {
		return Processed{}, err
	}
	cursor, err := store.OneOrZero[int64](ctx, tx.Reads, "move cursor", `UPDATE intake_cursor SET seq = ?2 WHERE seq = ?1 RETURNING seq AS processed`, b.from, b.to)
	if moved := cursor == b.to; err != nil || !moved {
		return Processed{Left: !moved}, err
	}
	done = Processed{Calls: b.Calls, Left: b.Left}
	if done.Events, err = stored(); err != nil {
		return Processed{}, err
	}
	if done.Orders, err = queued(); err != nil {
		return Processed{}, err
	}
	if skipped := b.events - done.Events; skipped > 0 {
		// The deletion of a user, also since the batch was read, removes the events of calls.
		known, failed := store.One[int](ctx, tx.Reads, "events of users", `SELECT coalesce(sum(json_array_length(i.events)), 0)
			FROM intake i WHERE i.seq > ? AND i.seq <= ? AND `+userExists, b.from, b.to)
		done.Unreadable, err = known-done.Events, failed
		done.Orphaned = skipped - done.Unreadable
	}
	if err == nil && done.Orphaned > 0 {
		err = clearOrphaned(ctx, tx, b)
	}
	return done, err
}

// clearOrphaned removes what the calls of a batch say of users who do not exist: an edge may
// accept a call while its user is deleted. The idempotency key stays used.
func clearOrphaned(ctx context.Context, tx *store.Tx, b Batch) error {
	return tx.Exec(ctx, "clear orphaned events", `UPDATE intake AS i SET account_id = '', user_id = '', events = '[]' WHERE i.seq > ? AND i.seq <= ? AND NOT `+userExists, b.from, b.to)
}

// recordSenderUse records the use of the API keys of calls that edges accepted, as
// tenantdb.RecordKeyUse does for other calls.
func recordSenderUse(ctx context.Context, tx *store.Tx, from, to int64) error {
	return tx.Exec(ctx, "use senders", `UPDATE api_key SET used_at = i.at
		FROM (SELECT tenant, key_id, max(received_at) AS at FROM intake WHERE seq > ?1 AND seq <= ?2 AND key_id IS NOT NULL GROUP BY tenant, key_id) i
		WHERE api_key.tenant = i.tenant AND substr(api_key.hash, 1, ?3) = i.key_id AND coalesce(api_key.used_at, 0) <= i.at - ?4`,
		from, to, auth.KeyIDSize, int64(auth.KeyUseStep))
}

// IntakeWaits reports whether any event call waits to be processed.
func IntakeWaits(ctx context.Context, r store.Reads) (bool, error) {
	return store.One[bool](ctx, r, "intake waits", `SELECT EXISTS (SELECT 1 FROM intake WHERE seq > (SELECT seq FROM intake_cursor))`)
}

// DeleteProcessedIntake deletes those of the limit oldest calls that were processed
// and were received before a time. It returns how many it deleted. Those of a tenant that is
// being restored look processed: they have numbers below 1, see tabledb.IntakeShift.
func DeleteProcessedIntake(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	return tx.Count(ctx, "forget intake", `DELETE FROM intake WHERE seq IN (
		SELECT seq FROM (SELECT seq, received_at FROM intake WHERE seq <= (SELECT seq FROM intake_cursor)
			AND (seq > 0 OR `+store.TenantExists("intake")+`) ORDER BY seq LIMIT ?2)
		WHERE received_at < ?1)`, int64(before), limit)
}
