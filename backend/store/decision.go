package store

import (
	"context"
	"fmt"

	"kith/core"
	"kith/core/wire"
)

var decisionColumns = selection[wire.Decision]{
	{`id`, func(d *wire.Decision) any { return &d.ID }},
	{`account_id`, func(d *wire.Decision) any { return &d.Account }},
	{`user_id`, func(d *wire.Decision) any { return &d.User }},
	{`code`, func(d *wire.Decision) any { return &d.Code }},
	{`source`, func(d *wire.Decision) any { return &d.Source }},
	{`rule`, func(d *wire.Decision) any { return &d.Rule }},
	{`accepted`, func(d *wire.Decision) any { return &d.Accepted }},
	{`inputs`, func(d *wire.Decision) any { return &d.Inputs }},
	{`times`, func(d *wire.Decision) any { return &d.Times }},
	{`first_at`, func(d *wire.Decision) any { return &d.First }},
	{`last_at`, func(d *wire.Decision) any { return &d.Last }},
}

// Decisions returns a page of an account's attribution decisions, the latest
// first, and how many there are in all. An empty account means all accounts.
func (r Reads) Decisions(ctx context.Context, tenant core.TenantAlias, account core.AccountID, limit, offset int) (page []wire.Decision, total int, err error) {
	// Two conditions rather than one with an OR, which no index serves.
	where, args := ` FROM decision WHERE tenant = ?`, []any{string(tenant)}
	if account != "" {
		where, args = where+` AND account_id = ?`, append(args, string(account))
	}
	if err := r.QueryRowContext(ctx, `SELECT count(*)`+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count decisions: %w", err)
	}
	rows, err := r.QueryContext(ctx, `SELECT `+decisionColumns.list()+where+` ORDER BY last_at DESC, rowid DESC LIMIT ? OFFSET ?`, append(args, limit, offset)...)
	page, err = decisionColumns.all(rows, err, "decisions")
	return page, total, err
}

// RecordDecision stores a decision, or counts it when the same claim met the
// same rule before.
func (tx *Tx) RecordDecision(ctx context.Context, tenant core.TenantAlias, d wire.Decision) error {
	var rows tuples
	rows.decision(d)
	return tx.put(ctx, putDecisions, tenant, &rows)
}

func (t *tuples) decision(d wire.Decision) {
	t.row()
	t.text(d.ID, string(d.Account), string(d.User), string(d.Code), string(d.Source), string(d.Rule))
	t.boolean(d.Accepted)
	t.text(d.Inputs)
	t.integer(1)
}

// putDecisions stores or counts decisions of a tenant: tuples.decision of each.
var putDecisions = &put{
	table: "decision", columns: columns("id, account_id, user_id, code, source, rule, accepted, inputs, times"), at: columns("first_at, last_at"),
	conflict: `ON CONFLICT (tenant, account_id, user_id, code, source, rule)
		DO UPDATE SET times = times + 1, last_at = excluded.last_at, inputs = excluded.inputs`,
}
