package eventdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
	err = p.WriteOne(ctx, func(r store.Reads) (err error) {
		added, err = appendIntake(ctx, r, tenant, b)
		return err
	})
	return added, err
}

// AppendIntakeWithin is AppendIntake within a transaction.
func AppendIntakeWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, b event.Call) (added bool, err error) {
	return appendIntake(ctx, tx.Reads, tenant, b)
}

func appendIntake(ctx context.Context, r store.Reads, tenant core.TenantAlias, b event.Call) (added bool, err error) {
	var seq int64
	err = r.QueryRowContext(ctx, event.Append, string(tenant), string(b.Account), string(b.User),
		store.NullText(b.Key), string(wire.IntakeEvents(b)), int64(event.KeySince(b.Received)), int64(b.Received), store.NullText(b.Sender), store.BoolInt(b.Trusted)).Scan(&seq)
	if added = err == nil; added || errors.Is(err, sql.ErrNoRows) {
		return added, nil
	}
	return false, fmt.Errorf("store: append intake: %w", err)
}

// maxBatch limits the events of one transaction, in bytes as they were sent: a server
// ends a transaction after 5 seconds if another writer waits. The call that exceeds
// the limit is still included, so that a batch is never empty.
const maxBatch = 1 << 20

// Processed is the result of one batch of ProcessIntake.
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
	// Orders is the number of calls whose events may place or take back orders.
	Orders int
}

// userExists is the SQL condition that the user of a call i exists.
const userExists = `EXISTS (SELECT 1 FROM user u WHERE u.tenant = i.tenant AND u.account_id = i.account_id AND u.id = i.user_id)`

// intakeBatch describes the calls that ProcessIntake processes: those after from, up
// to and including to. events and orphans are the numbers of their events of users
// who exist and who do not. waiting is how many calls were considered.
type intakeBatch struct {
	from, to        int64
	calls, waiting  int
	events, orphans int
	// orders is the number of calls of tenants whose programs convert by events.
	orders int
}

var intakeColumns = store.Selection[intakeBatch]{
	store.Col(`c.seq`, func(b *intakeBatch) any { return &b.from }),
	store.Col(`b.upto`, func(b *intakeBatch) any { return &b.to }),
	store.Col(`b.calls`, func(b *intakeBatch) any { return &b.calls }),
	store.Col(`(SELECT count(*) FROM waiting)`, func(b *intakeBatch) any { return &b.waiting }),
	store.Col(`coalesce(sum(json_array_length(i.events)) FILTER (WHERE `+userExists+`), 0)`, func(b *intakeBatch) any { return &b.events }),
	store.Col(`coalesce(sum(json_array_length(i.events)) FILTER (WHERE NOT `+userExists+`), 0)`, func(b *intakeBatch) any { return &b.orphans }),
	store.Col(`count(*) FILTER (WHERE i.trusted = 1 AND EXISTS (SELECT 1 FROM program_version v WHERE v.tenant = i.tenant))`, func(b *intakeBatch) any { return &b.orders }),
}

// ProcessIntake stores the events of up to limit waiting calls, in the order of their
// receipt. The cursor moves in the same transaction, so each call is processed
// exactly once, even if the process is killed.
func ProcessIntake(ctx context.Context, tx *store.Tx, limit int) (done Processed, err error) {
	var b intakeBatch
	err = intakeColumns.Scan(tx.QueryRowContext(ctx, `
		WITH waiting AS (SELECT seq, octet_length(events) AS size FROM intake
				WHERE seq > (SELECT seq FROM intake_cursor) ORDER BY seq LIMIT ?),
			batch AS (SELECT coalesce(max(seq), 0) AS upto, count(*) AS calls
				FROM (SELECT seq, sum(size) OVER (ORDER BY seq) - size AS before FROM waiting) WHERE before < ?)
		SELECT `+intakeColumns.SQL()+`
		FROM intake_cursor c, batch b LEFT JOIN intake i ON i.seq > c.seq AND i.seq <= b.upto`, limit, maxBatch), &b)
	if err != nil {
		return Processed{}, fmt.Errorf("store: read intake: %w", err)
	}
	done.Calls, done.Orphaned = b.calls, b.orphans
	if b.calls == 0 {
		return done, nil
	}
	done.Left = b.waiting > b.calls || b.waiting == limit
	// No content of a row may make the statement fail: that row would block the
	// intake of all tenants for ever. OR IGNORE does not cover the type errors of a
	// STRICT table, so the time is cast.
	stored, err := tx.Count(ctx, "process intake", `INSERT OR IGNORE INTO event (tenant, id, account_id, user_id, key, fields,
			triggered_at, received_at, trusted, processed_at)
		SELECT tenant, event ->> 'id', account_id, user_id, event ->> 'key', event -> 'fields',
			CAST(event ->> 'dateTriggered' AS INTEGER), received_at, trusted, ?
		FROM (SELECT i.*, CASE e.type WHEN 'object' THEN e.value END AS event
			FROM intake i, json_each(i.events) e WHERE i.seq > ? AND i.seq <= ? AND `+userExists+`)`, int64(tx.Now), b.from, b.to)
	if err != nil {
		return Processed{}, err
	}
	done.Events, done.Unreadable = stored, b.events-stored
	if b.orders > 0 {
		if err := orderdb.PutEvents(ctx, tx, b.from, b.to); err != nil {
			return Processed{}, err
		}
	}
	done.Orders = b.orders
	if err := recordSenderUse(ctx, tx, b.from, b.to); err != nil {
		return Processed{}, err
	}
	return done, tx.Exec(ctx, "move cursor", `UPDATE intake_cursor SET seq = ?`, b.to)
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
// and were received before a time. It returns how many it deleted.
func DeleteProcessedIntake(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	return tx.Count(ctx, "forget intake", `DELETE FROM intake WHERE seq IN (
		SELECT seq FROM (SELECT seq, received_at FROM intake WHERE seq <= (SELECT seq FROM intake_cursor) ORDER BY seq LIMIT ?2)
		WHERE received_at < ?1)`, int64(before), limit)
}
