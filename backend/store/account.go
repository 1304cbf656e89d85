package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/core"
	"kith/core/referral"
)

// Account returns an account with its standing; ok is false when there is none.
func (r Reads) Account(ctx context.Context, tenant core.TenantAlias, id core.AccountID) (a referral.Account, ok bool, err error) {
	var provider, state, code sql.NullString
	var firstPaid sql.NullInt64
	err = r.q.QueryRowContext(ctx, `SELECT a.id, a.currency, a.status, a.billing_interval, a.billing_value, a.value,
			a.payment_provider_id, a.first_paid_at, a.identified, a.created_at, r.state, r.code
		FROM account a LEFT JOIN referral r ON r.tenant = a.tenant AND r.referred_account_id = a.id
		WHERE a.tenant = ? AND a.id = ?`, string(tenant), string(id)).
		Scan(&a.ID, &a.Currency, &a.Status, &a.Interval, &a.IntervalValue, &a.Value,
			&provider, &firstPaid, &a.Standing.Identified, &a.Created, &state, &code)
	if errors.Is(err, sql.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("store: account: %w", err)
	}
	a.PaymentProviderID = core.PaymentProviderID(provider.String)
	a.Standing.FirstPaid = core.Time(firstPaid.Int64)
	a.Standing.Referral = referral.None
	if state.Valid {
		a.Standing.Referral, a.Standing.Code = referral.State(state.String), core.ReferralCode(code.String)
	}
	return a, true, nil
}

// AccountOfProvider returns the account that has a payment provider id, or "".
func (r Reads) AccountOfProvider(ctx context.Context, tenant core.TenantAlias, id core.PaymentProviderID) (core.AccountID, error) {
	var account core.AccountID
	err := r.q.QueryRowContext(ctx, `SELECT id FROM account WHERE tenant = ? AND payment_provider_id = ?`,
		string(tenant), string(id)).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("store: account of provider: %w", err)
	}
	return account, nil
}

// PutAccount stores an account, but for its referral, which has its own row.
func (tx *Tx) PutAccount(ctx context.Context, tenant core.TenantAlias, a referral.Account) error {
	return tx.exec(ctx, "put account", `INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value,
			value, payment_provider_id, first_paid_at, identified, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, id) DO UPDATE SET currency = excluded.currency, status = excluded.status,
			billing_interval = excluded.billing_interval, billing_value = excluded.billing_value,
			value = excluded.value, payment_provider_id = excluded.payment_provider_id,
			first_paid_at = excluded.first_paid_at, identified = excluded.identified, updated_at = excluded.updated_at`,
		string(tenant), string(a.ID), a.Currency, string(a.Status), string(a.Interval), a.IntervalValue,
		a.Value, nullText(a.PaymentProviderID), nullTime(a.Standing.FirstPaid), a.Standing.Identified,
		int64(a.Created), int64(tx.Now))
}
