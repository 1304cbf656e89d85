// Package referraldb has the SQL of referrals and of attribution decisions.
package referraldb

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"kith/backend/store"
	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

// MadeByUsers returns, for each user of a list, a page of the referrals that the user
// made, newest first. The referrer of the filter is ignored.
func MadeByUsers(ctx context.Context, r store.Reads, tenant core.TenantAlias, users []referral.Identity, f referral.Filter) (map[referral.Identity]store.PageOf[referral.Referral], error) {
	of := madeWhere(f)
	found, err := madeBy(ctx, r, tenant, users, f)
	if err != nil {
		return nil, err
	}
	totals, err := r.TotalsOf(ctx, `SELECT count(*) FROM referral r INDEXED BY referral_referrer WHERE r.tenant = ? AND `+of.SQL(), of.ArgsFor(tenant), store.Identities(users))
	return store.PagesOf(totals, found, func(m referral.Referral) referral.Identity {
		return referral.Identity{Account: m.Referrer.Account, User: m.Referrer.User}
	}), err
}

// LatestMade returns up to limit referrals that a user made, newest first. It reads no more
// of them than it returns.
func LatestMade(ctx context.Context, r store.Reads, tenant core.TenantAlias, who referral.Identity, limit int) ([]referral.Referral, error) {
	return find(ctx, r, tenant, referralWhere(referral.Filter{ReferrerAccount: who.Account, ReferrerUser: who.User}), `r.started_at DESC, r.rowid DESC`, limit, 0)
}

// madeWhere returns the condition of the referrals that a given user made.
func madeWhere(f referral.Filter) store.Where {
	f.ReferrerAccount, f.ReferrerUser = "", ""
	of := referralWhere(f)
	of.Require(`r.referrer_account_id = given.account`)
	of.Require(`r.referrer_user_id = given.owner`)
	return of
}

// madeBy returns the pages of MadeByUsers in one list, newest first.
func madeBy(ctx context.Context, r store.Reads, tenant core.TenantAlias, users []referral.Identity, f referral.Filter) ([]referral.Referral, error) {
	of := madeWhere(f)
	w := store.Where{ByRow: true}
	w.Require(`r.rowid IN (SELECT made.rowid FROM `+store.GivenUsers+` CROSS JOIN referral made ON +made.tenant = ? AND made.rowid IN (
			SELECT r.rowid FROM referral r INDEXED BY referral_referrer WHERE r.tenant = ? AND `+of.SQL()+` ORDER BY +r.started_at DESC, r.id DESC LIMIT ? OFFSET ?))`,
		append(append([]any{store.Identities(users), string(tenant)}, of.ArgsFor(tenant)...), f.Limit, f.Offset)...)
	return find(ctx, r, tenant, w, `+r.started_at DESC, r.id DESC`, -1, 0)
}

// ByIDs returns those referrals of a list that exist, in no order.
func ByIDs(ctx context.Context, r store.Reads, tenant core.TenantAlias, ids []string) ([]referral.Referral, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w store.Where
	store.Among(&w, `r.id`, ids)
	return find(ctx, r, tenant, w, `r.id`, len(ids), 0)
}

// List returns a page of referrals with their rewards, newest first, and the total
// number.
func List(ctx context.Context, r store.Reads, tenant core.TenantAlias, f referral.Filter) (page []referral.Referral, total int, err error) {
	w := referralWhere(f)
	page, err = find(ctx, r, tenant, w, byStart(f), f.Limit, f.Offset)
	return store.Counted(ctx, r, page, err, "count referrals", `SELECT count(*) FROM referral r `+countedBy(f)+` WHERE r.tenant = ? AND `+w.SQL(), w.ArgsFor(tenant)...)
}

// countedBy names the index in which a list is counted, where SQLite would take one that has
// all columns of the condition, and all referrals of the tenant.
func countedBy(f referral.Filter) string {
	moderation := []referral.SideStatus{f.Moderation, f.ReferrerModeration, f.ReferredModeration}
	switch {
	case f.ID != "" || f.ReferredAccount != "":
	case f.ReferrerAccount != "":
		return `INDEXED BY referral_referrer`
	case f.Code != "":
	case slices.Contains(moderation, referral.SidePending):
		return `INDEXED BY referral_pending`
	case slices.Contains(moderation, referral.SideDenied):
		return `INDEXED BY referral_denied`
	case f.Program != "" && f.Situation == "" && f.Converted == (core.Span{}) && f.Ended == (core.Span{}):
		return `INDEXED BY referral_program`
	}
	return ``
}

// byStart returns the order by start, newest first. If an account or an id narrows
// the list, the plus makes SQLite sort the few rows that an index finds, instead of
// reading all referrals of the tenant in the right order.
func byStart(f referral.Filter) string {
	if f.ID != "" || f.ReferredAccount != "" || f.ReferrerAccount != "" {
		return `+r.started_at DESC, r.id DESC`
	}
	return `r.started_at DESC, r.id DESC`
}

// referralWhere returns the condition of a filter, without the tenant, which each
// statement names.
func referralWhere(f referral.Filter) (w store.Where) {
	for _, equal := range [][2]string{
		{`r.id = ?`, f.ID}, {`r.program = ?`, string(f.Program)},
		{`r.referred_account_id = ?`, string(f.ReferredAccount)}, {`r.referred_user_id = ?`, string(f.ReferredUser)},
		{`r.referrer_account_id = ?`, string(f.ReferrerAccount)}, {`r.referrer_user_id = ?`, string(f.ReferrerUser)},
	} {
		if equal[1] != "" {
			w.Require(equal[0], equal[1])
		}
	}
	requireSide(&w, `r.referrer_moderation`, f.ReferrerModeration)
	requireSide(&w, `r.referred_moderation`, f.ReferredModeration)
	requireSituation(&w, f.Situation, f.Moderation, f.Code)
	w.Span(`r.started_at`, f.Started)
	w.Span(`r.converted_at`, f.Converted)
	w.Span(`r.ended_at`, f.Ended)
	return w
}

// OfAccount returns the referral by which an account was referred, or nil.
func OfAccount(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID) (*referral.Referral, error) {
	return oneReferral(ctx, r, tenant, referral.Filter{ReferredAccount: account})
}

// ByID returns a referral by its id, or nil.
func ByID(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (*referral.Referral, error) {
	if id == "" {
		return nil, nil
	}
	return oneReferral(ctx, r, tenant, referral.Filter{ID: id})
}

func oneReferral(ctx context.Context, r store.Reads, tenant core.TenantAlias, f referral.Filter) (*referral.Referral, error) {
	page, err := find(ctx, r, tenant, referralWhere(f), byStart(f), 1, 0)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	return &page[0], nil
}

// OfAccounts returns the referrals by which the accounts of a list were referred;
// accounts that were not referred are left out.
func OfAccounts(ctx context.Context, r store.Reads, tenant core.TenantAlias, accounts []core.AccountID) (map[core.AccountID]*referral.Referral, error) {
	var w store.Where
	store.Among(&w, `r.referred_account_id`, accounts)
	page, err := find(ctx, r, tenant, w, `+r.started_at DESC, r.id DESC`, len(accounts), 0)
	byAccount := make(map[core.AccountID]*referral.Referral, len(page))
	for i := range page {
		byAccount[page[i].Referred.Account] = &page[i]
	}
	return byAccount, err
}

// find returns a page of a tenant's referrals that meet a condition, with their
// rewards.
func find(ctx context.Context, r store.Reads, tenant core.TenantAlias, w store.Where, order string, limit, offset int) ([]referral.Referral, error) {
	own := `r.tenant = ?`
	if w.ByRow {
		own = `+r.tenant = ?`
	}
	rows, err := r.QueryContext(ctx, `SELECT `+Columns.SQL()+From+`
		WHERE `+own+` AND `+w.SQL()+` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(w.ArgsFor(tenant), limit, offset)...)
	page, err := Columns.All(rows, err, "referrals")
	if err != nil {
		return nil, err
	}
	return page, rewarddb.AttachTo(ctx, r, tenant, page)
}

// Columns select a referral of From, without the rewards.
var Columns = store.Selection[referral.Referral]{
	store.Col(`r.id`, func(r *referral.Referral) any { return &r.ID }),
	store.Col(`r.program`, func(r *referral.Referral) any { return &r.Program }),
	store.Col(`r.state`, func(r *referral.Referral) any { return &r.State }),
	store.Col(`r.code`, func(r *referral.Referral) any { return &r.Code }),
	store.Col(`r.referrer_account_id`, func(r *referral.Referral) any { return &r.Referrer.Account }),
	store.Col(`r.referrer_user_id`, func(r *referral.Referral) any { return &r.Referrer.User }),
	store.Col(`coalesce(a.email, '')`, func(r *referral.Referral) any { return &r.Referrer.Email }),
	store.Col(`coalesce(a.first_name, '')`, func(r *referral.Referral) any { return &r.ReferrerProfile.FirstName }),
	store.Col(`coalesce(a.last_name, '')`, func(r *referral.Referral) any { return &r.ReferrerProfile.LastName }),
	store.Col(`coalesce(a.image_url, '')`, func(r *referral.Referral) any { return &r.ReferrerProfile.ImageURL }),
	store.Col(`r.referred_account_id`, func(r *referral.Referral) any { return &r.Referred.Account }),
	store.Col(`coalesce(r.referred_user_id, '')`, func(r *referral.Referral) any { return &r.Referred.User }),
	store.Col(`coalesce(b.email, '')`, func(r *referral.Referral) any { return &r.Referred.Email }),
	store.Col(`coalesce(b.first_name, '')`, func(r *referral.Referral) any { return &r.ReferredProfile.FirstName }),
	store.Col(`coalesce(b.last_name, '')`, func(r *referral.Referral) any { return &r.ReferredProfile.LastName }),
	store.Col(`coalesce(b.image_url, '')`, func(r *referral.Referral) any { return &r.ReferredProfile.ImageURL }),
	store.Col(`r.share_medium`, func(r *referral.Referral) any { return &r.ShareMedium }),
	store.Col(`r.share_link`, func(r *referral.Referral) any { return &r.ShareLink }),
	store.Col(`r.referrer_moderation`, func(r *referral.Referral) any { return &r.Moderation.Referrer.Status }),
	store.Col(`r.referrer_by_hand`, func(r *referral.Referral) any { return &r.Moderation.Referrer.ByHand }),
	store.Col(`r.referred_moderation`, func(r *referral.Referral) any { return &r.Moderation.Referred.Status }),
	store.Col(`r.referred_by_hand`, func(r *referral.Referral) any { return &r.Moderation.Referred.ByHand }),
	store.Col(`r.fraud_signals`, func(r *referral.Referral) any { return signals{r} }),
	store.Col(`r.started_at`, func(r *referral.Referral) any { return &r.Started }),
	store.Col(`coalesce(r.converted_at, 0)`, func(r *referral.Referral) any { return &r.Converted }),
	store.Col(`coalesce(r.ended_at, 0)`, func(r *referral.Referral) any { return &r.Ended }),
	store.Col(`r.refused_for`, func(r *referral.Referral) any { return &r.Moderation.Refused }),
	store.Col(`r.moderated_at`, func(r *referral.Referral) any { return &r.Moderation.Moderated }),
	store.Col(`coalesce(r.by_hand_at, 0)`, func(r *referral.Referral) any { return &r.Moderation.ByHand }),
	store.Col(`coalesce(r.attributed_at, 0)`, func(r *referral.Referral) any { return &r.Attributed }),
	store.Col(`r.updated_at`, func(r *referral.Referral) any { return &r.Modified }),
}

// From are the tables of Columns: referrals r with the profiles of their users, a and b.
const From = ` FROM referral r` + profiles

const profiles = `
		LEFT JOIN user a ON a.tenant = r.tenant AND a.account_id = r.referrer_account_id AND a.id = r.referrer_user_id
		LEFT JOIN user b ON b.tenant = r.tenant AND b.account_id = r.referred_account_id AND b.id = r.referred_user_id`

// signals scans the fraud signals of a referral.
type signals struct{ of *referral.Referral }

// Scan implements sql.Scanner.
func (s signals) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("store: fraud signals are %T, not text", value)
	}
	s.of.Moderation.Signals = wire.ParseFraudSignals(text)
	return nil
}

// Replace changes the program, the code, the referrer, the share and the start of a
// referral. Earlier decisions about the account forget the code that it had, since an
// erasure of that code's owner would not find them any more.
func Replace(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, r referral.Referral) error {
	err := tx.Exec(ctx, "replace referral", `UPDATE referral SET program = ?, code = ?, referrer_account_id = ?, referrer_user_id = ?, share_medium = ?, share_link = ?, started_at = ?
		WHERE tenant = ? AND id = ?`, string(r.Program), string(r.Code), string(r.Referrer.Account), string(r.Referrer.User), r.ShareMedium, r.ShareLink, int64(r.Started), string(tenant), r.ID)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "forget replaced code", `UPDATE decision SET inputs = json_set(inputs, '$.referralCode', null) WHERE tenant = ? AND account_id = ?`,
		string(tenant), string(r.Referred.Account))
}

// AppendRow adds a referral to the rows of Put.
func AppendRow(t *store.Tuples, r referral.Referral) {
	m := r.Moderation
	t.Row()
	t.Text(r.ID, string(r.Program), string(r.State), string(r.Code), string(r.Referrer.Account), string(r.Referrer.User),
		string(r.Referred.Account))
	t.TextOrNull(string(r.Referred.User))
	t.Text(r.ShareMedium, r.ShareLink, string(sideStatus(m.Referrer)))
	t.Boolean(m.Referrer.ByHand)
	t.Text(string(sideStatus(m.Referred)))
	t.Boolean(m.Referred.ByHand)
	t.Text(wire.FraudSignals(m.Signals), string(m.Refused))
	t.Time(r.Started, r.Converted, r.Ended, cmp.Or(m.Moderated, r.Started), m.ByHand, r.Attributed)
}

// sideStatus returns the status of a side; an unset status is approved.
func sideStatus(s referral.Side) referral.SideStatus { return cmp.Or(s.Status, referral.SideApproved) }

// Put stores referrals. AppendRow adds its rows. It does not change the program, the
// code, the referrer, the share and the start of a referral that exists; Replace does.
var Put = &store.Put{
	Table: "referral", Columns: store.Columns(`id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id,
		referred_user_id, share_medium, share_link, referrer_moderation, referrer_by_hand, referred_moderation,
		referred_by_hand, fraud_signals, refused_for, started_at, converted_at, ended_at, moderated_at, by_hand_at, attributed_at`), At: store.Columns("updated_at"),
	Conflict: `ON CONFLICT (tenant, id) DO UPDATE SET state = excluded.state, referred_user_id = excluded.referred_user_id,
		referrer_moderation = excluded.referrer_moderation, referrer_by_hand = excluded.referrer_by_hand,
		referred_moderation = excluded.referred_moderation, referred_by_hand = excluded.referred_by_hand,
		fraud_signals = excluded.fraud_signals, refused_for = excluded.refused_for, converted_at = excluded.converted_at, ended_at = excluded.ended_at,
		moderated_at = excluded.moderated_at, by_hand_at = excluded.by_hand_at, attributed_at = excluded.attributed_at, updated_at = excluded.updated_at`,
}
