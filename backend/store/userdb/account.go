// Package userdb has the SQL of accounts, users and their codes, of the search for
// users, and of erasures.
package userdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// Account returns an account with its standing; ok is false if it does not exist.
func Account(ctx context.Context, r store.Reads, tenant core.TenantAlias, id core.AccountID) (a referral.Account, ok bool, err error) {
	ok, err = AccountColumns.One(r.QueryRowContext(ctx, `SELECT `+AccountColumns.SQL()+accounts+` AND a.id = ?`, string(tenant), string(id)), "account", &a)
	return a, ok, err
}

// Accounts returns those accounts of a list that exist.
func Accounts(ctx context.Context, r store.Reads, tenant core.TenantAlias, ids []core.AccountID) (map[core.AccountID]referral.Account, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+AccountColumns.SQL()+accounts+` AND a.id IN (`+store.Placeholders(len(ids))+`)`, idArgs(tenant, ids)...)
	found, err := AccountColumns.All(rows, err, "accounts")
	byID := make(map[core.AccountID]referral.Account, len(found))
	for _, a := range found {
		byID[a.ID] = a
	}
	return byID, err
}

// AccountColumns select an account a joined with the referral r by which it was
// referred, if any.
var AccountColumns = store.Selection[referral.Account]{
	store.Col(`a.id`, func(a *referral.Account) any { return &a.ID }),
	store.Col(`a.currency`, func(a *referral.Account) any { return &a.Currency }),
	store.Col(`a.status`, func(a *referral.Account) any { return &a.Status }),
	store.Col(`a.billing_interval`, func(a *referral.Account) any { return &a.Interval }),
	store.Col(`a.billing_value`, func(a *referral.Account) any { return &a.IntervalValue }),
	store.Col(`a.value`, func(a *referral.Account) any { return &a.Value }),
	store.Col(`coalesce(a.payment_provider_id, '')`, func(a *referral.Account) any { return &a.PaymentProviderID }),
	store.Col(`coalesce(a.first_paid_at, 0)`, func(a *referral.Account) any { return &a.Standing.FirstPaid }),
	store.Col(`a.identified`, func(a *referral.Account) any { return &a.Standing.Identified }),
	store.Col(`a.created_at`, func(a *referral.Account) any { return &a.Created }),
	store.Col(`coalesce(r.state, 'none')`, func(a *referral.Account) any { return &a.Standing.Referral }),
	store.Col(`coalesce(r.code, '')`, func(a *referral.Account) any { return &a.Standing.Code }),
}

// accounts are the tables of AccountColumns.
const accounts = ` FROM account a LEFT JOIN referral r ON r.tenant = a.tenant AND r.referred_account_id = a.id
	WHERE a.tenant = ?`

// idArgs returns the tenant and the ids as arguments of a statement.
func idArgs(tenant core.TenantAlias, ids []core.AccountID) []any {
	args := []any{string(tenant)}
	for _, id := range ids {
		args = append(args, string(id))
	}
	return args
}

// AccountOfProvider returns the account with a payment provider id, or "" if no
// account has it.
func AccountOfProvider(ctx context.Context, r store.Reads, tenant core.TenantAlias, id core.PaymentProviderID) (core.AccountID, error) {
	return store.OneOrZero[core.AccountID](ctx, r, "account of provider", `SELECT id FROM account WHERE tenant = ? AND payment_provider_id = ?`,
		string(tenant), string(id))
}

// AppendAccount adds an account to the rows of PutAccounts.
func AppendAccount(t *store.Tuples, a referral.Account) {
	t.Row()
	t.Text(string(a.ID), a.Currency, string(a.Status), string(a.Interval))
	t.Integer(a.IntervalValue)
	t.Text(a.Value)
	t.TextOrNull(string(a.PaymentProviderID))
	t.Time(a.Standing.FirstPaid)
	t.Boolean(a.Standing.Identified)
	t.Time(a.Created)
}

// PutAccounts inserts or updates accounts, without their referrals. AppendAccount
// adds its rows.
var PutAccounts = &store.Put{
	Table: "account", Columns: store.Columns(`id, currency, status, billing_interval, billing_value, value, payment_provider_id,
		first_paid_at, identified, created_at`), At: store.Columns("updated_at"),
	Conflict: `ON CONFLICT (tenant, id) DO UPDATE SET currency = excluded.currency, status = excluded.status,
		billing_interval = excluded.billing_interval, billing_value = excluded.billing_value,
		value = excluded.value, payment_provider_id = excluded.payment_provider_id,
		first_paid_at = excluded.first_paid_at, identified = excluded.identified, updated_at = excluded.updated_at`,
}
