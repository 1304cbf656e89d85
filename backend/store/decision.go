package store

import (
	"context"
	"database/sql"
	"fmt"

	"kith/core"
	"kith/core/wire"
)

// Decisions returns a page of an account's attribution decisions, the latest
// first, and how many there are in all. An empty account means all accounts.
func (r Reads) Decisions(ctx context.Context, tenant core.TenantAlias, account core.AccountID, limit, offset int) (page []wire.Decision, total int, err error) {
	const where = ` FROM decision WHERE tenant = ?1 AND (?2 = '' OR account_id = ?2)`
	if err := r.q.QueryRowContext(ctx, `SELECT count(*)`+where, string(tenant), string(account)).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count decisions: %w", err)
	}
	rows, err := r.q.QueryContext(ctx, `SELECT id, account_id, user_id, code, source, rule, accepted, inputs, times,
		first_at, last_at`+where+` ORDER BY last_at DESC, id DESC LIMIT ?3 OFFSET ?4`, string(tenant), string(account), limit, offset)
	page, err = collect(rows, err, "decisions", func(rows *sql.Rows, d *wire.Decision) error {
		return rows.Scan(&d.ID, &d.Account, &d.User, &d.Code, &d.Source, &d.Rule, &d.Accepted, &d.Inputs, &d.Times,
			&d.First, &d.Last)
	})
	return page, total, err
}

// RecordDecision stores a decision, or counts it when the same claim met the
// same rule before.
func (tx *Tx) RecordDecision(ctx context.Context, tenant core.TenantAlias, d wire.Decision) error {
	return tx.exec(ctx, "record decision", `INSERT INTO decision (tenant, id, account_id, user_id, code, source, rule,
			accepted, inputs, times, first_at, last_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
		ON CONFLICT (tenant, account_id, user_id, code, source, rule)
		DO UPDATE SET times = times + 1, last_at = excluded.last_at, inputs = excluded.inputs`,
		string(tenant), d.ID, string(d.Account), string(d.User), string(d.Code), string(d.Source), string(d.Rule),
		d.Accepted, d.Inputs, int64(tx.Now), int64(tx.Now))
}
