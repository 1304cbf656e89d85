package userdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// Past is what is remembered of an account that is erased.
type Past struct {
	Account core.AccountID
	// Customer is the customer at the payment gateway, or empty.
	Customer core.PaymentProviderID
	// Earned is true if the account has paid, or its referral has converted.
	Earned bool
}

var pastColumns = store.Selection[Past]{
	store.Col(`a.id`, func(p *Past) any { return &p.Account }),
	store.Col(`coalesce(a.payment_provider_id, '')`, func(p *Past) any { return &p.Customer }),
	store.Col(`a.first_paid_at IS NOT NULL OR EXISTS (SELECT 1 FROM referral r
		WHERE r.tenant = ?1 AND r.referred_account_id = a.id AND r.state = 'converted')`, func(p *Past) any { return &p.Earned }),
}

// WithoutUsers returns what is to be remembered of those accounts of a list that have no user.
func WithoutUsers(ctx context.Context, r store.Reads, tenant core.TenantAlias, accounts []core.AccountID) ([]Past, error) {
	ids := make([]string, len(accounts))
	for i, id := range accounts {
		ids[i] = string(id)
	}
	rows, err := r.QueryContext(ctx, `SELECT `+pastColumns.SQL()+` FROM json_each(?2) given CROSS JOIN account a ON a.tenant = ?1 AND a.id = given.value
		WHERE NOT EXISTS (SELECT 1 FROM user WHERE tenant = ?1 AND account_id = a.id)`, string(tenant), store.TextList(ids))
	return pastColumns.All(rows, err, "accounts without users")
}

// Remembered is an erased account, as a keyed hash.
type Remembered struct {
	Identity string
	Earned   bool
}

// PutErased stores erased accounts until a time. An account that has earned before stays
// one.
func PutErased(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, all []Remembered, until core.Time) error {
	var rows store.Tuples
	for _, one := range all {
		rows.Row()
		rows.Text(one.Identity)
		rows.Boolean(one.Earned)
	}
	return tx.Exec(ctx, "put erased accounts", `INSERT INTO erased_account (tenant, identity, earned, forget_at)
		SELECT ?1, value ->> 0, value ->> 1, ?2 FROM json_each(?3) WHERE true
		ON CONFLICT (tenant, identity) DO UPDATE SET earned = max(earned, excluded.earned), forget_at = max(forget_at, excluded.forget_at)`,
		string(tenant), int64(until), rows.String())
}

// WasErased reports whether one of the keyed hashes is of an erased account that is still
// recognised or must not be tracked, and whether one that is recognised had paid or converted.
func WasErased(ctx context.Context, r store.Reads, tenant core.TenantAlias, now core.Time, identities ...string) (erased, earned bool, err error) {
	most, err := store.One[int](ctx, r, "erased account", `SELECT coalesce(max(1 + earned), 0) FROM (
		SELECT earned FROM erased_account WHERE tenant = ?1 AND forget_at > ?2 AND identity IN (SELECT value FROM json_each(?3))
		UNION ALL SELECT 0 FROM do_not_track WHERE tenant = ?1 AND identity IN (SELECT value FROM json_each(?3)))`, string(tenant), int64(now), store.TextList(identities))
	return most > 0, most > 1, err
}

// ForgetErased removes up to limit accounts that are no longer recognised, and returns
// their number.
func ForgetErased(ctx context.Context, tx *store.Tx, limit int) (int, error) {
	return tx.Count(ctx, "forget erased accounts", `DELETE FROM erased_account WHERE (tenant, identity) IN (
		SELECT tenant, identity FROM erased_account WHERE forget_at <= ? LIMIT ?)`, int64(tx.Now), limit)
}
