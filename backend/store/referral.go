package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

// Referrals returns a page of referrals, the newest first, and how many there
// are in all.
func (r Reads) Referrals(ctx context.Context, tenant core.TenantAlias, f referral.Filter) (page []referral.Referral, total int, err error) {
	w := referralWhere(f)
	if err := r.QueryRowContext(ctx, `SELECT count(*) FROM referral r WHERE r.tenant = ? AND `+w.all(), w.of(tenant)...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count referrals: %w", err)
	}
	page, err = r.referrals(ctx, tenant, w, byStart(f), f.Limit, f.Offset)
	return page, total, err
}

// byStart is the order by start. Where an account or an id narrows the list, the
// plus keeps SQLite from walking a whole tenant in the right order, which it
// takes for better than to sort the few that an index finds.
func byStart(f referral.Filter) string {
	if f.ID != "" || f.ReferredAccount != "" || f.ReferrerAccount != "" {
		return `+r.started_at DESC, r.id DESC`
	}
	return `r.started_at DESC, r.id DESC`
}

// referralWhere is what a filter says besides the tenant, which each statement names.
func referralWhere(f referral.Filter) (w where) {
	for _, equal := range [][2]string{
		{`r.id = ?`, f.ID}, {`r.program = ?`, string(f.Program)},
		{`r.referred_account_id = ?`, string(f.ReferredAccount)}, {`r.referred_user_id = ?`, string(f.ReferredUser)},
		{`r.referrer_account_id = ?`, string(f.ReferrerAccount)}, {`r.referrer_user_id = ?`, string(f.ReferrerUser)},
		{`r.referrer_moderation = ?`, string(f.ReferrerModeration)}, {`r.referred_moderation = ?`, string(f.ReferredModeration)},
	} {
		if equal[1] != "" {
			w.add(equal[0], equal[1])
		}
	}
	w.span(`r.started_at`, f.Started)
	w.span(`r.converted_at`, f.Converted)
	w.span(`r.ended_at`, f.Ended)
	return w
}

// ReferralOf returns the referral of a referred account, or nil.
func (r Reads) ReferralOf(ctx context.Context, tenant core.TenantAlias, account core.AccountID) (*referral.Referral, error) {
	return r.oneReferral(ctx, tenant, referral.Filter{ReferredAccount: account})
}

// Referral returns a referral by its id, or nil.
func (r Reads) Referral(ctx context.Context, tenant core.TenantAlias, id string) (*referral.Referral, error) {
	if id == "" {
		return nil, nil
	}
	return r.oneReferral(ctx, tenant, referral.Filter{ID: id})
}

func (r Reads) oneReferral(ctx context.Context, tenant core.TenantAlias, f referral.Filter) (*referral.Referral, error) {
	page, err := r.referrals(ctx, tenant, referralWhere(f), byStart(f), 1, 0)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	return &page[0], nil
}

// ReferralsOf returns the referrals of those accounts of a list that were
// referred.
func (r Reads) ReferralsOf(ctx context.Context, tenant core.TenantAlias, accounts []core.AccountID) (map[core.AccountID]*referral.Referral, error) {
	var w where
	among(&w, `r.referred_account_id`, accounts)
	page, err := r.referrals(ctx, tenant, w, `+r.started_at DESC, r.id DESC`, len(accounts), 0)
	byAccount := make(map[core.AccountID]*referral.Referral, len(page))
	for i := range page {
		byAccount[page[i].Referred.Account] = &page[i]
	}
	return byAccount, err
}

// referrals returns a page of those of a tenant that a condition selects.
func (r Reads) referrals(ctx context.Context, tenant core.TenantAlias, w where, order string, limit, offset int) ([]referral.Referral, error) {
	own := `r.tenant = ?`
	if w.byRow {
		own = `+r.tenant = ?`
	}
	rows, err := r.QueryContext(ctx, referralColumns+`
		WHERE `+own+` AND `+w.all()+` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(w.of(tenant), limit, offset)...)
	page, err := collect(rows, err, "referrals", scanReferral)
	if err != nil {
		return nil, err
	}
	return page, r.attachRewards(ctx, tenant, page)
}

// referralColumns are of the referrals r and what is shown of their users.
const referralColumns = `SELECT r.id, r.program, r.state, r.code,
			r.referrer_account_id, r.referrer_user_id, coalesce(a.email, ''),
			coalesce(a.first_name, ''), coalesce(a.last_name, ''), coalesce(a.image_url, ''),
			r.referred_account_id, coalesce(r.referred_user_id, ''), coalesce(b.email, ''),
			coalesce(b.first_name, ''), coalesce(b.last_name, ''), coalesce(b.image_url, ''),
			r.share_medium, r.share_link, r.referrer_moderation, r.referrer_by_hand, r.referred_moderation,
			r.referred_by_hand, r.fraud_signals, r.started_at, coalesce(r.converted_at, 0), coalesce(r.ended_at, 0),
			r.moderated_at, coalesce(r.by_hand_at, 0), r.updated_at
		FROM referral r
		LEFT JOIN user a ON a.tenant = r.tenant AND a.account_id = r.referrer_account_id AND a.id = r.referrer_user_id
		LEFT JOIN user b ON b.tenant = r.tenant AND b.account_id = r.referred_account_id AND b.id = r.referred_user_id`

func scanReferral(rows *sql.Rows, r *referral.Referral) error {
	var signals string
	a, b, m := &r.ReferrerProfile, &r.ReferredProfile, &r.Moderation
	err := rows.Scan(&r.ID, &r.Program, &r.State, &r.Code,
		&r.Referrer.Account, &r.Referrer.User, &r.Referrer.Email, &a.FirstName, &a.LastName, &a.ImageURL,
		&r.Referred.Account, &r.Referred.User, &r.Referred.Email, &b.FirstName, &b.LastName, &b.ImageURL,
		&r.ShareMedium, &r.ShareLink, &m.Referrer.Status, &m.Referrer.ByHand, &m.Referred.Status, &m.Referred.ByHand,
		&signals, &r.Started, &r.Converted, &r.Ended, &m.Moderated, &m.ByHand, &r.Modified)
	m.Signals = wire.ParseFraudSignals(signals)
	return err
}

// PutReferral stores a referral; its first code and its start never change.
func (tx *Tx) PutReferral(ctx context.Context, tenant core.TenantAlias, r referral.Referral) error {
	var rows tuples
	rows.referral(r)
	return tx.put(ctx, putReferrals, tenant, &rows)
}

func (t *tuples) referral(r referral.Referral) {
	m := r.Moderation
	t.row()
	t.text(r.ID, string(r.Program), string(r.State), string(r.Code), string(r.Referrer.Account), string(r.Referrer.User),
		string(r.Referred.Account))
	t.textOrNull(string(r.Referred.User))
	t.text(r.ShareMedium, r.ShareLink, string(sideStatus(m.Referrer)))
	t.boolean(m.Referrer.ByHand)
	t.text(string(sideStatus(m.Referred)))
	t.boolean(m.Referred.ByHand)
	t.text(wire.FraudSignals(m.Signals))
	t.time(r.Started, r.Converted, r.Ended, cmp.Or(m.Moderated, r.Started), m.ByHand)
}

// sideStatus is that of a side; an unset one is approved.
func sideStatus(s referral.Side) referral.SideStatus { return cmp.Or(s.Status, referral.SideApproved) }

// putReferrals stores referrals of a tenant: tuples.referral of each.
var putReferrals = &put{
	table: "referral", columns: columns(`id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id,
		referred_user_id, share_medium, share_link, referrer_moderation, referrer_by_hand, referred_moderation,
		referred_by_hand, fraud_signals, started_at, converted_at, ended_at, moderated_at, by_hand_at`), at: columns("updated_at"),
	conflict: `ON CONFLICT (tenant, id) DO UPDATE SET state = excluded.state, referred_user_id = excluded.referred_user_id,
		referrer_moderation = excluded.referrer_moderation, referrer_by_hand = excluded.referrer_by_hand,
		referred_moderation = excluded.referred_moderation, referred_by_hand = excluded.referred_by_hand,
		fraud_signals = excluded.fraud_signals, converted_at = excluded.converted_at, ended_at = excluded.ended_at,
		moderated_at = excluded.moderated_at, by_hand_at = excluded.by_hand_at, updated_at = excluded.updated_at`,
}

// placeholders returns "?, ?, …" for n values.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
