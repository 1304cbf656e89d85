// Package userdb has the SQL of accounts, users and their codes, of the search for
// users, and of erasures.
package userdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// Account returns an account with its standing; ok is false if it does not exist.
func Account(ctx context.Context, r store.Reads, tenant core.TenantAlias, id core.AccountID) (a referral.Account, ok bool, err error) {
	err = ScanAccount(r.QueryRowContext(ctx, accountSelect+` AND a.id = ?`, string(tenant), string(id)), &a)
	if errors.Is(err, sql.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("store: account: %w", err)
	}
	return a, true, nil
}

// Accounts returns those accounts of a list that exist.
func Accounts(ctx context.Context, r store.Reads, tenant core.TenantAlias, ids []core.AccountID) (map[core.AccountID]referral.Account, error) {
	rows, err := r.QueryContext(ctx, accountSelect+` AND a.id IN (`+store.Placeholders(len(ids))+`)`, idArgs(tenant, ids)...)
	found, err := store.Collect(rows, err, "accounts", func(rows *sql.Rows, a *referral.Account) error { return ScanAccount(rows, a) })
	byID := make(map[core.AccountID]referral.Account, len(found))
	for _, a := range found {
		byID[a.ID] = a
	}
	return byID, err
}

// SelectAccounts is the beginning of a statement that ScanAccount reads: accounts a
// joined with the referrals r by which they were referred.
const SelectAccounts = `SELECT a.id, a.currency, a.status, a.billing_interval, a.billing_value, a.value,
		a.payment_provider_id, a.first_paid_at, a.identified, a.created_at, r.state, r.code`

const accountSelect = SelectAccounts + `
	FROM account a LEFT JOIN referral r ON r.tenant = a.tenant AND r.referred_account_id = a.id
	WHERE a.tenant = ?`

// idArgs returns the tenant and the ids as arguments of a statement.
func idArgs(tenant core.TenantAlias, ids []core.AccountID) []any {
	args := []any{string(tenant)}
	for _, id := range ids {
		args = append(args, string(id))
	}
	return args
}

// ScanAccount reads a row of SelectAccounts.
func ScanAccount(row interface{ Scan(...any) error }, a *referral.Account) error {
	var provider, state, code sql.NullString
	var firstPaid sql.NullInt64
	err := row.Scan(&a.ID, &a.Currency, &a.Status, &a.Interval, &a.IntervalValue, &a.Value,
		&provider, &firstPaid, &a.Standing.Identified, &a.Created, &state, &code)
	if err != nil {
		return err
	}
	a.PaymentProviderID = core.PaymentProviderID(provider.String)
	a.Standing.FirstPaid = core.Time(firstPaid.Int64)
	a.Standing.Referral = referral.None
	if state.Valid {
		a.Standing.Referral, a.Standing.Code = referral.State(state.String), core.ReferralCode(code.String)
	}
	return nil
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
