package referraldb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

var decisionColumns = store.Selection[wire.Decision]{
	store.Col(`id`, func(d *wire.Decision) any { return &d.ID }),
	store.Col(`account_id`, func(d *wire.Decision) any { return &d.Account }),
	store.Col(`user_id`, func(d *wire.Decision) any { return &d.User }),
	store.Col(`code`, func(d *wire.Decision) any { return &d.Code }),
	store.Col(`source`, func(d *wire.Decision) any { return &d.Source }),
	store.Col(`rule`, func(d *wire.Decision) any { return &d.Rule }),
	store.Col(`accepted`, func(d *wire.Decision) any { return &d.Accepted }),
	store.Col(`inputs`, func(d *wire.Decision) any { return &d.Inputs }),
	store.Col(`times`, func(d *wire.Decision) any { return &d.Times }),
	store.Col(`first_at`, func(d *wire.Decision) any { return &d.First }),
	store.Col(`last_at`, func(d *wire.Decision) any { return &d.Last }),
}

// Decisions returns a page of an account's attribution decisions, latest first, and
// the total number. An empty account means all accounts.
func Decisions(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, limit, offset int) (page []wire.Decision, total int, err error) {
	// Two statements: SQLite would use no index for one condition with an OR.
	where, order, args := ` FROM decision WHERE tenant = ?`, `last_at`, []any{string(tenant)}
	if account != "" {
		// The plus makes SQLite sort the few decisions of the account.
		where, order, args = where+` AND account_id = ?`, `+last_at`, append(args, string(account))
	}
	rows, err := r.QueryContext(ctx, `SELECT `+decisionColumns.SQL()+where+` ORDER BY `+order+` DESC, rowid DESC LIMIT ? OFFSET ?`, append(args, limit, offset)...)
	page, err = decisionColumns.All(rows, err, "decisions")
	return store.Counted(ctx, r, page, err, "count decisions", `SELECT count(*)`+where, args...)
}

// unknownOf are the newest decisions about unknown codes of a tenant since a time, of accounts
// that no code has referred since.
const unknownOf = `(SELECT code, account_id, user_id, last_at FROM decision d
	WHERE tenant = ? AND rule = 'unknown-code' AND last_at >= ?
		AND NOT EXISTS (SELECT 1 FROM referral f WHERE f.tenant = d.tenant AND f.referred_account_id = d.account_id)
	ORDER BY last_at DESC LIMIT 10000)`

// UnknownCodes returns the codes that people gave since a time and no user owned, without
// those that a user owns now and people who are referred now: those of most people first. Of
// more than 10,000 decisions it counts the newest.
func UnknownCodes(ctx context.Context, r store.Reads, tenant core.TenantAlias, since core.Time, limit int) ([]referral.UnknownCode, error) {
	columns := store.Selection[referral.UnknownCode]{
		store.Col(`code`, func(c *referral.UnknownCode) any { return &c.Typed }),
		store.Col(`people`, func(c *referral.UnknownCode) any { return &c.People }),
		store.Col(`last_at`, func(c *referral.UnknownCode) any { return &c.Last }),
		store.Col(`account_id`, func(c *referral.UnknownCode) any { return &c.LastAccount }),
		store.Col(`user_id`, func(c *referral.UnknownCode) any { return &c.LastUser }),
	}
	// max(last_at) selects the row whose code and person are returned.
	rows, err := r.QueryContext(ctx, `SELECT `+columns.SQL()+` FROM (
			SELECT code, count(DISTINCT json_array(account_id, user_id)) AS people, max(last_at) AS last_at, account_id, user_id FROM `+unknownOf+` GROUP BY lower(code)
		) AS typed
		WHERE NOT EXISTS (SELECT 1 FROM code c WHERE c.tenant = ? AND c.code = typed.code)
		ORDER BY people DESC, last_at DESC, code LIMIT ?`, string(tenant), int64(since), string(tenant), limit)
	return columns.All(rows, err, "unknown codes")
}

// CountUnknown returns the number of codes that people gave since a time and no user owned. It
// counts to most.
func CountUnknown(ctx context.Context, r store.Reads, tenant core.TenantAlias, since core.Time, most int) (int, error) {
	return store.One[int](ctx, r, "count unknown codes",
		`SELECT count(*) FROM (SELECT 1 FROM `+unknownOf+` AS typed
			WHERE NOT EXISTS (SELECT 1 FROM code c WHERE c.tenant = ? AND c.code = typed.code) GROUP BY lower(typed.code) LIMIT ?)`,
		string(tenant), int64(since), string(tenant), most)
}

// AppendDecision adds a decision to the rows of PutDecisions.
func AppendDecision(t *store.Tuples, d wire.Decision) {
	t.Row()
	t.Text(d.ID, string(d.Account), string(d.User), string(d.Code), string(d.Source), string(d.Rule))
	t.Boolean(d.Accepted)
	t.Text(d.Inputs)
	t.Integer(1)
}

// PutDecisions stores decisions, or counts them if the same claim met the same rule
// before. AppendDecision adds its rows.
var PutDecisions = &store.Put{
	Table: "decision", Columns: store.Columns("id, account_id, user_id, code, source, rule, accepted, inputs, times"), At: store.Columns("first_at, last_at"),
	Conflict: `ON CONFLICT (tenant, account_id, user_id, code, source, rule)
		DO UPDATE SET times = times + 1, last_at = excluded.last_at, inputs = excluded.inputs`,
}
