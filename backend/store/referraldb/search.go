package referraldb

import (
	"context"
	"slices"
	"strconv"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
)

// Search returns up to limit referrals that a search selects, the latest first, without their
// rewards. people are the users whom its Person matches; it is ignored if Person is empty.
func Search(ctx context.Context, r store.Reads, tenant core.TenantAlias, s referral.Search, people []referral.Identity, limit int) ([]referral.Referral, error) {
	query, args := searchOf(tenant, s, people, limit)
	rows, err := r.QueryContext(ctx, query, args...)
	return Columns.All(rows, err, "referrals")
}

// maxScan is the most referrals of which one page of Scan reads the users.
const maxScan = 2000

// Scan is Search for words that very many users have: it reads the referrals that the rest of
// the search selects, the latest first, and keeps those of which either user has all words.
// next is the place to continue after; the zero value at the end. It reads at most maxScan
// referrals, so that a page may have less than limit, or none, before the end.
func Scan(ctx context.Context, r store.Reads, tenant core.TenantAlias, s referral.Search, words []string, limit int) (page []referral.Referral, next referral.Position, err error) {
	w := searchWhere(s)
	from := ` FROM referral r INDEXED BY ` + searchIndex(s) + ` WHERE r.tenant = ? AND ` + w.SQL() + ` ORDER BY r.started_at DESC, r.id DESC LIMIT `
	referrer, args := userdb.HasWords("a", tenant, words)
	referred, _ := userdb.HasWords("b", tenant, words)
	rows, err := r.QueryContext(ctx, `SELECT `+Columns.SQL()+` FROM (SELECT r.rowid AS at`+from+strconv.Itoa(maxScan)+`) top CROSS JOIN referral r ON r.rowid = top.at`+profiles+`
		WHERE +r.tenant = ? AND (`+referrer+` OR `+referred+`) ORDER BY r.started_at DESC, r.id DESC LIMIT ?`,
		slices.Concat(w.ArgsFor(tenant), []any{string(tenant)}, args, args, []any{limit + 1})...)
	page, err = Columns.All(rows, err, "scan of referrals")
	switch {
	case err != nil:
		return nil, next, err
	case len(page) > limit:
		page = page[:limit]
		next = page[limit-1].Position()
	default:
		_, err = positionColumns.One(r.QueryRowContext(ctx, `SELECT r.started_at, r.id`+from+`1 OFFSET `+strconv.Itoa(maxScan-1), w.ArgsFor(tenant)...), "end of scan", &next)
		if err != nil {
			return nil, next, err
		}
	}
	return page, next, nil
}

var positionColumns = store.Selection[referral.Position]{
	store.Col(`started_at`, func(p *referral.Position) any { return &p.Started }),
	store.Col(`id`, func(p *referral.Position) any { return &p.ID }),
}

// searchOf returns the statement of a search, and its arguments.
func searchOf(tenant core.TenantAlias, s referral.Search, people []referral.Identity, limit int) (query string, args []any) {
	w := searchWhere(s)
	if s.Person != "" {
		// For each user, the latest referrals on either side.
		of := func(index, columns string) string {
			return `SELECT m.rowid FROM ` + store.GivenUsers + ` CROSS JOIN referral m ON +m.tenant = ? AND m.rowid IN (
				SELECT r.rowid FROM referral r ` + index + ` WHERE r.tenant = ? AND ` + columns + ` AND ` + w.SQL() + ` ORDER BY r.started_at DESC, r.id DESC LIMIT ?)`
		}
		given := store.Identities(people)
		for range 2 {
			args = append(append(append(args, given, string(tenant), string(tenant)), w.Args...), limit)
		}
		return `SELECT ` + Columns.SQL() + From + ` WHERE +r.tenant = ? AND r.rowid IN (` +
			of(`INDEXED BY referral_referrer`, `r.referrer_account_id = given.account AND r.referrer_user_id = given.owner`) + ` UNION ALL ` +
			of(``, `r.referred_account_id = given.account AND r.referred_user_id = given.owner`) + `)
			ORDER BY r.started_at DESC, r.id DESC LIMIT ?`, append(append([]any{string(tenant)}, args...), limit)
	}
	return `SELECT ` + Columns.SQL() + ` FROM referral r INDEXED BY ` + searchIndex(s) + profiles + ` WHERE r.tenant = ? AND ` + w.SQL() + ` ORDER BY r.started_at DESC, r.id DESC LIMIT ?`,
		append(w.ArgsFor(tenant), limit)
}

// searchIndex returns the index for a search: that of the filter which probably selects the
// fewest referrals. SQLite knows no numbers of rows, so it would choose any.
func searchIndex(s referral.Search) string {
	switch {
	case s.Code != "":
		return `referral_code`
	case s.Moderation == referral.SidePending:
		return `referral_pending`
	case s.Moderation == referral.SideDenied:
		return `referral_denied`
	case s.Situation == referral.SituationEnded:
		return `referral_ended`
	case s.Program != "":
		return `referral_program`
	case s.Situation != "":
		return `referral_state`
	}
	return `referral_started`
}

// searchWhere returns the condition of a search, without the tenant and the person.
func searchWhere(s referral.Search) (w store.Where) {
	requireSituation(&w, s.Situation, s.Moderation, s.Code)
	if s.Program != "" {
		w.Require(`r.program = ?`, string(s.Program))
	}
	w.Span(`r.started_at`, s.Started)
	if s.Before != (referral.Position{}) {
		w.Require(`(r.started_at, r.id) < (?, ?)`, int64(s.Before.Started), s.Before.ID)
	}
	return w
}

// requireSituation requires a situation, a moderation of both sides together, and a code;
// an empty one requires nothing.
func requireSituation(w *store.Where, situation referral.Situation, moderation referral.SideStatus, code core.ReferralCode) {
	switch situation {
	case "":
	case referral.SituationEnded:
		w.Require(`r.ended_at IS NOT NULL`)
	default:
		w.Require(`r.state = ?`, string(situation))
	}
	// The statuses are not parameters, see requireSide.
	switch moderation {
	case referral.SidePending:
		w.Require(`(r.referrer_moderation = 'PENDING' OR r.referred_moderation = 'PENDING')`)
	case referral.SideDenied:
		w.Require(`(r.referrer_moderation = 'DENIED' OR r.referred_moderation = 'DENIED')`)
	case referral.SideApproved:
		w.Require(`r.referrer_moderation = 'APPROVED' AND r.referred_moderation = 'APPROVED'`)
	}
	if code != "" {
		w.Require(`r.code = ? COLLATE NOCASE`, string(code))
	}
}

// requireSide requires a moderation of one side, if it is not empty. The status is not a
// parameter, so that SQLite sees that the index of pending or denied referrals has the rows.
func requireSide(w *store.Where, column string, status referral.SideStatus) {
	switch status {
	case "":
	case referral.SidePending:
		w.Require(column + ` = 'PENDING'`)
	case referral.SideDenied:
		w.Require(column + ` = 'DENIED'`)
	case referral.SideApproved:
		w.Require(column + ` = 'APPROVED'`)
	default:
		w.Require(`false`)
	}
}
