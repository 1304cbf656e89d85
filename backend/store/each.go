package store

import (
	"context"
	"database/sql"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
)

// Reads for several users at once: what an answer shows of each of a page of
// users takes one statement, not one for each.

// identities are a list of users as a parameter: [account, user] of each.
func identities(users []referral.Identity) string {
	var rows tuples
	for _, u := range users {
		rows.row()
		rows.text(string(u.Account), string(u.User))
	}
	return rows.String()
}

// UsersByID returns the users of a list that there are, in no order, with their
// codes.
func (r Reads) UsersByID(ctx context.Context, tenant core.TenantAlias, ids []referral.Identity) ([]referral.User, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+userColumns+` FROM json_each(?2) given CROSS JOIN user u
		ON u.tenant = ?1 AND u.account_id = given.value ->> 0 AND u.id = given.value ->> 1`, string(tenant), identities(ids))
	found, err := collect(rows, err, "users by id", func(rows *sql.Rows, u *referral.User) error { return scanUser(rows, u) })
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found, r.attachCodes(ctx, tenant, found)
}

// EventsOf returns a page of the events of each user of a list, the last
// received first. The filter's own account and user are not regarded.
func (r Reads) EventsOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f event.Filter) ([]event.Logged, error) {
	where, args := eventCondition(f)
	args = append([]any{identities(users), string(tenant), string(tenant)}, args...)
	rows, err := r.QueryContext(ctx, `SELECT `+eventColumns.list()+` FROM json_each(?) given CROSS JOIN event ON +event.tenant = ? AND event.rowid IN (
			SELECT rowid FROM event WHERE tenant = ? AND account_id = given.value ->> 0 AND user_id = given.value ->> 1`+where+`
			ORDER BY received_at DESC, event.id DESC LIMIT ? OFFSET ?)
		ORDER BY given.key, received_at DESC, event.id DESC`, append(args, f.Limit, f.Offset)...)
	return eventColumns.all(rows, err, "events of users")
}

// PageOf is a page of what one of several users has, and how much there is in
// all.
type PageOf[T any] struct {
	Page  []T
	Total int
}

// givenUsers is a list of users as a table, which identities makes.
const givenUsers = `(SELECT key AS place, value ->> 0 AS account, value ->> 1 AS owner FROM json_each(?)) given`

// pagesOf groups what was found by whose it is.
func pagesOf[T any](totals map[referral.Identity]int, found []T, whose func(T) referral.Identity) map[referral.Identity]PageOf[T] {
	pages := make(map[referral.Identity]PageOf[T], len(totals))
	for who, total := range totals {
		pages[who] = PageOf[T]{Total: total}
	}
	for _, one := range found {
		page := pages[whose(one)]
		page.Page = append(page.Page, one)
		pages[whose(one)] = page
	}
	return pages
}

// total is how much one of several users has.
type total struct {
	who referral.Identity
	n   int
}

// givenColumns are whose a row of givenUsers is.
var givenColumns = selection[referral.Identity]{
	{`given.account`, func(i *referral.Identity) any { return &i.Account }},
	{`given.owner`, func(i *referral.Identity) any { return &i.User }},
}

// totalsOf runs a statement that counts, for each of the given users.
func (r Reads) totalsOf(ctx context.Context, count string, args []any, given string) (map[referral.Identity]int, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+givenColumns.list()+`, (`+count+`) FROM `+givenUsers, append(args, given)...)
	all, err := collect(rows, err, "totals of users", func(rows *sql.Rows, t *total) error {
		return rows.Scan(append(givenColumns.into(&t.who), &t.n)...)
	})
	totals := make(map[referral.Identity]int, len(all))
	for _, t := range all {
		totals[t.who] = t.n
	}
	return totals, err
}

// RewardsOf returns a page of the rewards of each user of a list, the newest
// first. The filter's own account and user are not regarded.
func (r Reads) RewardsOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f reward.Filter) (map[referral.Identity]PageOf[reward.Reward], error) {
	given := identities(users)
	f.Account, f.User = "", ""
	where, args := rewardsWhere(f)
	args = append([]any{string(tenant)}, args...)
	where += ` AND r.account_id = given.account AND r.user_id = given.owner`
	totals, err := r.totalsOf(ctx, `SELECT count(*) FROM reward r WHERE r.tenant = ?`+where, args, given)
	if err != nil {
		return nil, err
	}
	rows, err := r.QueryContext(ctx, `SELECT `+rewardColumns.list()+` FROM `+givenUsers+` CROSS JOIN reward ON +reward.tenant = ? AND reward.rowid IN (
			SELECT r.rowid FROM reward r WHERE r.tenant = ?`+where+` ORDER BY r.created_at DESC, r.id DESC LIMIT ? OFFSET ?)
		ORDER BY given.place, created_at DESC, id DESC`, append(append([]any{given, string(tenant)}, args...), f.Limit, f.Offset)...)
	found, err := collect(rows, err, "rewards of users", scanReward)
	if err == nil {
		err = r.attachRedemptions(ctx, tenant, found)
	}
	return pagesOf(totals, found, func(w reward.Reward) referral.Identity {
		return referral.Identity{Account: w.Account, User: w.User}
	}), err
}

// ownedGroup is a group of the rewards of one of several users.
type ownedGroup struct {
	who   referral.Identity
	group reward.Group
}

var ownedGroupColumns = selection[ownedGroup]{
	{`r.account_id`, func(o *ownedGroup) any { return &o.who.Account }},
	{`r.user_id`, func(o *ownedGroup) any { return &o.who.User }},
}.with(part(groupColumns, func(o *ownedGroup) *reward.Group { return &o.group }))

// RewardGroupsOf sums up the rewards of each user of a list, as they stand at a
// time; see RewardGroups.
func (r Reads) RewardGroupsOf(ctx context.Context, tenant core.TenantAlias, now core.Time, users []referral.Identity) (map[referral.Identity][]reward.Group, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+ownedGroupColumns.list()+`
		FROM json_each(?3) given CROSS JOIN reward r ON r.tenant = ?1 AND r.account_id = given.value ->> 0 AND r.user_id = given.value ->> 1
		GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7`, string(tenant), int64(now), identities(users))
	all, err := ownedGroupColumns.all(rows, err, "reward groups of users")
	groups := map[referral.Identity][]reward.Group{}
	for _, o := range all {
		groups[o.who] = append(groups[o.who], o.group)
	}
	return groups, err
}

// ReferralsMade returns a page of the referrals of each user of a list who is
// their referrer, the newest first. The filter's own referrer is not regarded.
func (r Reads) ReferralsMade(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f referral.Filter) (map[referral.Identity]PageOf[referral.Referral], error) {
	of := madeWhere(f)
	totals, err := r.totalsOf(ctx, `SELECT count(*) FROM referral r WHERE r.tenant = ? AND `+of.all(), of.of(tenant), identities(users))
	if err != nil {
		return nil, err
	}
	found, err := r.madeBy(ctx, tenant, users, f)
	return pagesOf(totals, found, func(m referral.Referral) referral.Identity {
		return referral.Identity{Account: m.Referrer.Account, User: m.Referrer.User}
	}), err
}

// madeWhere is which referrals of a given user a list is of.
func madeWhere(f referral.Filter) where {
	f.ReferrerAccount, f.ReferrerUser = "", ""
	of := referralWhere(f)
	of.add(`r.referrer_account_id = given.account`)
	of.add(`r.referrer_user_id = given.owner`)
	return of
}

// madeBy returns a page of the referrals of each user of a list who is their
// referrer, all in one list, the newest first.
func (r Reads) madeBy(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f referral.Filter) ([]referral.Referral, error) {
	of := madeWhere(f)
	w := where{byRow: true}
	w.add(`r.rowid IN (SELECT made.rowid FROM `+givenUsers+` CROSS JOIN referral made ON +made.tenant = ? AND made.rowid IN (
			SELECT r.rowid FROM referral r WHERE r.tenant = ? AND `+of.all()+` ORDER BY +r.started_at DESC, r.id DESC LIMIT ? OFFSET ?))`,
		append(append([]any{identities(users), string(tenant)}, of.of(tenant)...), f.Limit, f.Offset)...)
	return r.referrals(ctx, tenant, w, `+r.started_at DESC, r.id DESC`, -1, 0)
}

// ReferralsByID returns the referrals of a list that there are, in no order.
func (r Reads) ReferralsByID(ctx context.Context, tenant core.TenantAlias, ids []string) ([]referral.Referral, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w where
	among(&w, `r.id`, ids)
	return r.referrals(ctx, tenant, w, `r.id`, len(ids), 0)
}
