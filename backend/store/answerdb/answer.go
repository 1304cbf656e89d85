// Package answerdb has the SQL of the answers that are kept for repeated calls.
package answerdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// Life is how long an answer is repeated.
const Life = core.Day

// Answer is the answer of the first call with an idempotency key.
type Answer struct {
	Key core.IdempotencyKey
	// Digest is of the call: its method, path and body.
	Digest string
	// Account and User are those of the user whose data the answer has; else empty.
	Account core.AccountID
	User    core.UserID
	// JSON is the body of the answer.
	JSON []byte
}

var columns = store.Selection[Answer]{
	store.Col(`key`, func(a *Answer) any { return &a.Key }),
	store.Col(`digest`, func(a *Answer) any { return &a.Digest }),
	store.Col(`answer`, func(a *Answer) any { return &a.JSON }),
}

// Find returns the answer that was kept under a key within Life before now; ok is false
// if there is none.
func Find(ctx context.Context, r store.Reads, tenant core.TenantAlias, key core.IdempotencyKey, now core.Time) (a Answer, ok bool, err error) {
	ok, err = columns.One(r.QueryRowContext(ctx, `SELECT `+columns.SQL()+` FROM kept_answer WHERE tenant = ? AND key = ? AND at > ?`,
		string(tenant), string(key), int64(now-Life)), "kept answer", &a)
	return a, ok, err
}

// Keep stores an answer. It returns false if one is kept under this key.
func Keep(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, a Answer) (bool, error) {
	n, err := tx.Count(ctx, "keep answer", `INSERT INTO kept_answer (tenant, key, digest, account_id, user_id, answer, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT (tenant, key) DO UPDATE SET digest = excluded.digest, account_id = excluded.account_id, user_id = excluded.user_id,
			answer = excluded.answer, at = excluded.at WHERE tenant = ?1 AND at <= ?8`,
		string(tenant), string(a.Key), a.Digest, string(a.Account), string(a.User), string(a.JSON), int64(tx.Now), int64(tx.Now-Life))
	return n > 0, err
}

// DeleteOld deletes up to limit answers that are no longer repeated, and returns their
// number.
func DeleteOld(ctx context.Context, tx *store.Tx, limit int) (int, error) {
	return tx.Count(ctx, "forget answers", `DELETE FROM kept_answer WHERE rowid IN (SELECT rowid FROM kept_answer WHERE at <= ? ORDER BY at LIMIT ?)`,
		int64(tx.Now-Life), limit)
}
