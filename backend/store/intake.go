package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/core"
	"kith/core/event"
	"kith/core/wire"
)

// AppendIntake takes a batch in by the one statement that the edge uses too;
// false means that its idempotency key was used within the last 24 hours.
func (p *Primary) AppendIntake(ctx context.Context, tenant core.TenantAlias, b event.Batch) (bool, error) {
	// Not by the pool: it repeats what it has no answer to, and without a key
	// the same events would be taken in twice.
	conn, err := p.writer(ctx, "SELECT 1")
	if err != nil {
		return false, fmt.Errorf("store: append intake: %w", err)
	}
	defer conn.Close()
	var seq int64
	err = conn.QueryRowContext(ctx, event.Append, string(tenant), string(b.Account), string(b.User),
		nullText(b.Key), string(wire.IntakeEvents(b)), int64(event.KeySince(b.Received)), int64(b.Received)).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: append intake: %w", err)
	}
	return true, nil
}

// ProcessIntake turns up to limit waiting event calls into events, in the order
// of their receipt, and returns how many it took. The cursor moves in the same
// transaction, so a call is processed once, whenever the process dies.
func (tx *Tx) ProcessIntake(ctx context.Context, limit int) (int, error) {
	var from, to, taken int64
	err := tx.q.QueryRowContext(ctx, `SELECT c.seq, coalesce(max(i.seq), c.seq), count(i.seq) FROM intake_cursor c
		LEFT JOIN (SELECT seq FROM intake WHERE seq > (SELECT seq FROM intake_cursor) ORDER BY seq LIMIT ?) i`, limit).
		Scan(&from, &to, &taken)
	if err != nil {
		return 0, fmt.Errorf("store: read intake: %w", err)
	}
	if taken == 0 {
		return 0, nil
	}
	if err := tx.exec(ctx, "process intake", `INSERT INTO event (tenant, id, account_id, user_id, key, fields,
			triggered_at, received_at, processed_at)
		SELECT i.tenant, e.value ->> 'id', i.account_id, i.user_id, e.value ->> 'key', e.value -> 'fields',
			e.value ->> 'dateTriggered', i.received_at, ?
		FROM intake i, json_each(i.events) e WHERE i.seq > ? AND i.seq <= ?`, int64(tx.Now), from, to); err != nil {
		return 0, err
	}
	return int(taken), tx.exec(ctx, "move cursor", `UPDATE intake_cursor SET seq = ?`, to)
}

// IntakeWaits reports whether event calls wait to be processed.
func (r Reads) IntakeWaits(ctx context.Context) (waits bool, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM intake WHERE seq > (SELECT seq FROM intake_cursor))`).Scan(&waits)
	if err != nil {
		return false, fmt.Errorf("store: intake waits: %w", err)
	}
	return waits, nil
}
