package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"kith/core"
	"kith/core/referral"
)

// Referrals returns a page of referrals, the newest first, and how many there
// are in all.
func (r Reads) Referrals(ctx context.Context, tenant core.TenantAlias, f referral.Filter) (page []referral.Referral, total int, err error) {
	where, args := "r.tenant = ?", []any{string(tenant)}
	add := func(column, value string) {
		if value != "" {
			where += " AND " + column + " = ?"
			args = append(args, value)
		}
	}
	add("r.id", f.ID)
	add("r.referred_account_id", string(f.ReferredAccount))
	add("r.referred_user_id", string(f.ReferredUser))
	add("r.referrer_account_id", string(f.ReferrerAccount))
	add("r.referrer_user_id", string(f.ReferrerUser))
	if err := r.q.QueryRowContext(ctx, `SELECT count(*) FROM referral r WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count referrals: %w", err)
	}
	page, err = r.referrals(ctx, tenant, where, append(args, f.Limit, f.Offset))
	return page, total, err
}

// ReferralOf returns the referral of a referred account, or nil.
func (r Reads) ReferralOf(ctx context.Context, tenant core.TenantAlias, account core.AccountID) (*referral.Referral, error) {
	page, err := r.referrals(ctx, tenant, "r.tenant = ? AND r.referred_account_id = ?", []any{string(tenant), string(account), 1, 0})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	return &page[0], nil
}

// referrals returns a page of those that a condition selects, the newest first.
// The last two of args are limit and offset.
func (r Reads) referrals(ctx context.Context, tenant core.TenantAlias, where string, args []any) ([]referral.Referral, error) {
	rows, err := r.q.QueryContext(ctx, `SELECT r.id, r.program, r.state, r.code, r.referrer_account_id, r.referrer_user_id,
			coalesce(a.email, ''), r.referred_account_id, coalesce(r.referred_user_id, ''), coalesce(b.email, ''),
			r.share_medium, r.started_at, coalesce(r.converted_at, 0), coalesce(r.ended_at, 0)
		FROM referral r
		LEFT JOIN user a ON a.tenant = r.tenant AND a.account_id = r.referrer_account_id AND a.id = r.referrer_user_id
		LEFT JOIN user b ON b.tenant = r.tenant AND b.account_id = r.referred_account_id AND b.id = r.referred_user_id
		WHERE `+where+` ORDER BY r.started_at DESC, r.id DESC LIMIT ? OFFSET ?`, args...)
	page, err := collect(rows, err, "referrals", func(rows *sql.Rows, ref *referral.Referral) error {
		return rows.Scan(&ref.ID, &ref.Program, &ref.State, &ref.Code, &ref.Referrer.Account, &ref.Referrer.User,
			&ref.Referrer.Email, &ref.Referred.Account, &ref.Referred.User, &ref.Referred.Email,
			&ref.ShareMedium, &ref.Started, &ref.Converted, &ref.Ended)
	})
	if err != nil {
		return nil, err
	}
	return page, r.attachRewards(ctx, tenant, page)
}

// PutReferral stores a referral; its first code and its start never change.
func (tx *Tx) PutReferral(ctx context.Context, tenant core.TenantAlias, r referral.Referral) error {
	return tx.exec(ctx, "put referral", `INSERT INTO referral (tenant, id, program, state, code, referrer_account_id,
			referrer_user_id, referred_account_id, referred_user_id, share_medium, started_at, converted_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, id) DO UPDATE SET state = excluded.state, referred_user_id = excluded.referred_user_id,
			converted_at = excluded.converted_at, ended_at = excluded.ended_at`,
		string(tenant), r.ID, string(r.Program), string(r.State), string(r.Code), string(r.Referrer.Account),
		string(r.Referrer.User), string(r.Referred.Account), nullText(r.Referred.User), r.ShareMedium,
		int64(r.Started), nullTime(r.Converted), nullTime(r.Ended))
}

// placeholders returns "?, ?, …" for n values.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
