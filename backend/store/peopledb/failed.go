package peopledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/people"
)

var failuresColumns = store.Selection[people.Failures]{
	store.Col(`times`, func(f *people.Failures) any { return &f.Times }),
	store.Col(`last_at`, func(f *people.Failures) any { return &f.Last }),
	store.Col(`last_from`, func(f *people.Failures) any { return &f.From }),
}

// CountFailure adds a failed sign-in to an address, of which hash is the SHA-256 in hex.
func CountFailure(ctx context.Context, tx *store.Tx, hash, from string) error {
	return tx.Exec(ctx, "count failed sign-in", `INSERT INTO failed_sign_in (address, times, last_at, last_from) VALUES (?1, 1, ?2, ?3)
		ON CONFLICT (address) DO UPDATE SET times = times + 1, last_at = ?2, last_from = ?3`, hash, int64(tx.Now), from)
}

// TakeFailures removes the failed sign-ins of an address and returns them.
func TakeFailures(ctx context.Context, tx *store.Tx, hash string) (f people.Failures, err error) {
	_, err = failuresColumns.One(tx.QueryRowContext(ctx, `DELETE FROM failed_sign_in WHERE address = ? RETURNING `+failuresColumns.SQL(), hash), "failed sign-ins", &f)
	return f, err
}

// DeleteOldFailures removes the failed sign-ins of up to limit addresses that had none since
// a time.
func DeleteOldFailures(ctx context.Context, tx *store.Tx, since core.Time, limit int) (int, error) {
	return tx.Count(ctx, "delete failed sign-ins", `DELETE FROM failed_sign_in WHERE address IN (
		SELECT address FROM failed_sign_in WHERE last_at < ? LIMIT ?)`, int64(since), limit)
}
