package eventdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/event"
)

var refusedColumns = store.Selection[event.Refused]{
	store.Col(`idempotency_key`, func(r *event.Refused) any { return &r.Key }),
	store.Col(`account_id`, func(r *event.Refused) any { return &r.Account }),
	store.Col(`user_id`, func(r *event.Refused) any { return &r.User }),
	store.Col(`event`, func(r *event.Refused) any { return &r.Event }),
	store.Col(`recorded_event`, func(r *event.Refused) any { return &r.Recorded }),
	store.Col(`events`, func(r *event.Refused) any { return &r.Events }),
	store.Col(`times`, func(r *event.Refused) any { return &r.Times }),
	store.Col(`first_at`, func(r *event.Refused) any { return &r.First }),
	store.Col(`last_at`, func(r *event.Refused) any { return &r.Last }),
}

// PutRefused stores a call that was refused now, or counts it if the same one was refused
// before. Of a tenant it keeps the newest event.MostRefused.
func PutRefused(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, r event.Refused) error {
	err := tx.Exec(ctx, "put refused events", `INSERT INTO refused_event
			(tenant, idempotency_key, digest, account_id, user_id, event, recorded_event, events, times, first_at, last_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?9)
		ON CONFLICT (tenant, idempotency_key, digest) DO UPDATE SET times = times + 1, last_at = excluded.last_at, recorded_event = excluded.recorded_event WHERE tenant = ?1`,
		string(tenant), string(r.Key), r.Digest, string(r.Account), string(r.User), r.Event, r.Recorded, r.Events, int64(tx.Now))
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "limit refused events", `DELETE FROM refused_event WHERE +tenant = ?1 AND rowid IN (
		SELECT rowid FROM refused_event WHERE tenant = ?1 ORDER BY last_at DESC, rowid DESC LIMIT -1 OFFSET ?2)`, string(tenant), event.MostRefused)
}

// Refused returns a page of the calls that were refused, the last received first, and their
// total number.
func Refused(ctx context.Context, r store.Reads, tenant core.TenantAlias, limit, offset int) ([]event.Refused, int, error) {
	const of = ` FROM refused_event WHERE tenant = ?`
	rows, err := r.QueryContext(ctx, `SELECT `+refusedColumns.SQL()+of+` ORDER BY last_at DESC, rowid DESC LIMIT ? OFFSET ?`, string(tenant), limit, offset)
	page, err := refusedColumns.All(rows, err, "refused events")
	return store.Counted(ctx, r, page, err, "count refused events", `SELECT count(*)`+of, string(tenant))
}

// CountRefused returns the number of calls that were refused at or after a time. It counts to
// most.
func CountRefused(ctx context.Context, r store.Reads, tenant core.TenantAlias, since core.Time, most int) (int, error) {
	return store.One[int](ctx, r, "count refused events",
		`SELECT count(*) FROM (SELECT 1 FROM refused_event WHERE tenant = ? AND last_at >= ? LIMIT ?)`, string(tenant), int64(since), most)
}

// DeleteOldRefused deletes up to limit calls that were last refused before a time, and returns
// their number.
func DeleteOldRefused(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	return tx.Count(ctx, "forget refused events", `DELETE FROM refused_event WHERE rowid IN (SELECT rowid FROM refused_event WHERE last_at < ? ORDER BY last_at LIMIT ?)`,
		int64(before), limit)
}
