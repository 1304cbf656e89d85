// Package rewarddb has the SQL of rewards, their ledger and fuel tanks.
package rewarddb

import (
	"context"
	"database/sql"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// ListByUsers returns, for each user of a list, a page of the user's rewards, newest
// first. The account and user of the filter are ignored.
func ListByUsers(ctx context.Context, r store.Reads, tenant core.TenantAlias, users []referral.Identity, f reward.Filter) (map[referral.Identity]store.PageOf[reward.Reward], error) {
	given := store.Identities(users)
	f.Account, f.User = "", ""
	where := rewardsWhere(f)
	where.Require(`r.account_id = given.account AND r.user_id = given.owner`)
	from, args := ` FROM reward r WHERE r.tenant = ? AND `+where.SQL(), where.ArgsFor(tenant)
	rows, err := r.QueryContext(ctx, `SELECT `+Columns.SQL()+` FROM `+store.GivenUsers+` CROSS JOIN reward ON +reward.tenant = ? AND reward.rowid IN (
			SELECT r.rowid`+from+` ORDER BY +r.created_at DESC, r.id DESC LIMIT ? OFFSET ?)
		ORDER BY given.place, created_at DESC, id DESC`, append(append([]any{given, string(tenant)}, args...), f.Limit, f.Offset)...)
	found, err := store.Collect(rows, err, "rewards of users", Scan)
	if err == nil {
		err = attachRedemptions(ctx, r, tenant, found)
	}
	if err != nil {
		return nil, err
	}
	totals, err := r.TotalsOf(ctx, `SELECT count(*)`+from, args, given)
	return store.PagesOf(totals, found, func(w reward.Reward) referral.Identity {
		return referral.Identity{Account: w.Account, User: w.User}
	}), err
}

// ownedGroup is a group of the rewards of one of several users.
type ownedGroup struct {
	who   referral.Identity
	group reward.Group
}

var ownedGroupColumns = store.Selection[ownedGroup]{
	store.Col(`r.account_id`, func(o *ownedGroup) any { return &o.who.Account }),
	store.Col(`r.user_id`, func(o *ownedGroup) any { return &o.who.User }),
}.With(store.Nested(groupColumns, func(o *ownedGroup) *reward.Group { return &o.group }))

// GroupsByUsers returns, for each user of a list, the sums of the user's rewards at a
// time; see Groups.
func GroupsByUsers(ctx context.Context, r store.Reads, tenant core.TenantAlias, now core.Time, users []referral.Identity) (map[referral.Identity][]reward.Group, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+ownedGroupColumns.SQL()+`
		FROM json_each(?3) given CROSS JOIN reward r ON r.tenant = ?1 AND r.account_id = given.value ->> 0 AND r.user_id = given.value ->> 1 AND `+earned+`
		GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8`, string(tenant), int64(now), store.Identities(users))
	all, err := ownedGroupColumns.All(rows, err, "reward groups of users")
	groups := map[referral.Identity][]reward.Group{}
	for _, o := range all {
		groups[o.who] = append(groups[o.who], o.group)
	}
	return groups, err
}

// Columns are the columns of a reward. The value is scanned into Offer.Amount; Scan
// then moves it to Offer.Percent if the reward is a percentage.
var Columns = store.Selection[reward.Reward]{
	store.Col(`id`, func(r *reward.Reward) any { return &r.ID }),
	store.Col(`account_id`, func(r *reward.Reward) any { return &r.Account }),
	store.Col(`user_id`, func(r *reward.Reward) any { return &r.User }),
	store.Col(`coalesce(program, '')`, func(r *reward.Reward) any { return &r.Program }),
	store.Col(`program_reward_key`, func(r *reward.Reward) any { return &r.ProgramRewardKey }),
	store.Col(`global_reward_key`, func(r *reward.Reward) any { return &r.GlobalRewardKey }),
	store.Col(`coalesce(referral_id, '')`, func(r *reward.Reward) any { return &r.Referral }),
	store.Col(`order_key`, func(r *reward.Reward) any { return &r.Order }),
	store.Col(`source`, func(r *reward.Reward) any { return &r.Source }),
	store.Col(`kind`, func(r *reward.Reward) any { return &r.Offer.Kind }),
	store.Col(`unit`, func(r *reward.Reward) any { return &r.Offer.Unit }),
	store.Col(`value`, func(r *reward.Reward) any { return &r.Offer.Amount }),
	store.Col(`currency`, func(r *reward.Reward) any { return &r.Offer.Currency }),
	store.Col(`name`, func(r *reward.Reward) any { return &r.Offer.Name }),
	store.Col(`description`, func(r *reward.Reward) any { return &r.Offer.Description }),
	store.Col(`coalesce(fuel_tank_code, '')`, func(r *reward.Reward) any { return &r.FuelTankCode }),
	store.Col(`coalesce(fuel_tank_type, '')`, func(r *reward.Reward) any { return &r.FuelTankType }),
	store.Col(`coalesce(settings, '')`, func(r *reward.Reward) any { return &r.Offer.Settings }),
	store.Col(`cancellable`, func(r *reward.Reward) any { return &r.Cancellable }),
	store.Col(`created_at`, func(r *reward.Reward) any { return &r.Created }),
	store.Col(`coalesce(scheduled_at, 0)`, func(r *reward.Reward) any { return &r.Scheduled }),
	store.Col(`coalesce(given_at, 0)`, func(r *reward.Reward) any { return &r.Given }),
	store.Col(`coalesce(expires_at, 0)`, func(r *reward.Reward) any { return &r.Expires }),
	store.Col(`coalesce(cancelled_at, 0)`, func(r *reward.Reward) any { return &r.Cancelled }),
	store.Col(`denied`, func(r *reward.Reward) any { return &r.Denied }),
	store.Col(`held`, func(r *reward.Reward) any { return &r.Held }),
	store.Col(`coalesce(blocked_since, 0)`, func(r *reward.Reward) any { return &r.Blocked }),
	store.Col(`pending`, func(r *reward.Reward) any { return &r.Pending }),
	store.Col(`redeemed`, func(r *reward.Reward) any { return &r.Sums.Redeemed }),
	store.Col(`expired`, func(r *reward.Reward) any { return &r.Sums.Expired }),
	store.Col(`cancelled`, func(r *reward.Reward) any { return &r.Sums.Cancelled }),
	store.Col(`reversed`, func(r *reward.Reward) any { return &r.Sums.Reversed }),
	store.Col(`settled`, func(r *reward.Reward) any { return &r.Sums.Settled }),
	store.Col(`refunded`, func(r *reward.Reward) any { return &r.Refunded }),
	store.Col(`unsettled`, func(r *reward.Reward) any { return &r.Unsettled }),
}

// settleValue moves the value of a percentage discount from Amount to Percent.
func settleValue(r *reward.Reward) {
	if r.Offer.Kind == reward.PercentDiscount {
		r.Offer.Percent, r.Offer.Amount = reward.BasisPoints(r.Offer.Amount), 0
	}
}

// StatusOf returns reward.Reward.Status as an SQL expression; row is the alias of the
// reward's table, and now the parameter with the time.
func StatusOf(row, now string) string {
	return strings.NewReplacer("r.", row+".", "now", now).Replace(`CASE
		WHEN r.cancelled_at IS NOT NULL OR r.value = 0 THEN 'CANCELLED'
		WHEN r.expired = 0 AND r.value <= ` + takenOf("r") + ` AND (r.redeemed > 0 OR r.settled > 0) THEN 'REDEEMED'
		WHEN r.expired = 0 AND r.value <= ` + takenOf("r") + ` AND r.reversed > 0 THEN 'CANCELLED'
		WHEN r.expired > 0 OR r.expires_at <= now AND ` + begun + ` THEN 'EXPIRED'
		WHEN r.held = 1 OR r.blocked_since IS NOT NULL OR r.given_at > now THEN 'PENDING'
		ELSE 'AVAILABLE' END`)
}

// begun is true for a reward r whose validity has begun: no hold began before it was given.
const begun = `(r.held = 0 OR r.given_at IS NOT NULL)`

// takenOf returns reward.Sums.Total as an SQL expression; row is the alias of the
// reward's table.
func takenOf(row string) string {
	return strings.ReplaceAll(`r.redeemed + r.expired + r.cancelled + r.reversed + r.settled`, "r.", row+".")
}

// LeftOf returns reward.Reward.Left as an SQL expression; row is the alias of the
// reward's table.
func LeftOf(row string) string { return row + `.value - (` + takenOf(row) + `)` }

// AvailableOf returns reward.Reward.Available as an SQL expression; row is the alias of
// the reward's table, and now the parameter with the time.
func AvailableOf(row, now string) string {
	return `iif(` + StatusOf(row, now) + ` = 'AVAILABLE', ` + LeftOf(row) + `, min(0, ` + LeftOf(row) + `))`
}

// rewardStatus is the status of a reward r at the time ?2.
var rewardStatus = StatusOf("r", "?2")

// Scan reads a row of Columns.
func Scan(rows *sql.Rows, r *reward.Reward) error {
	err := Columns.Scan(rows, r)
	settleValue(r)
	return err
}

// List returns a page of rewards with their redemptions, newest first, and the total
// number.
func List(ctx context.Context, r store.Reads, tenant core.TenantAlias, f reward.Filter) (page []reward.Reward, total int, err error) {
	where := rewardsWhere(f)
	from, args := ` FROM reward r WHERE r.tenant = ? AND `+where.SQL(), where.ArgsFor(tenant)
	rows, err := r.QueryContext(ctx, `SELECT `+Columns.SQL()+from+` ORDER BY `+latest(f)+` LIMIT ? OFFSET ?`, append(args, f.Limit, f.Offset)...)
	if page, err = store.Collect(rows, err, "rewards", Scan); err == nil {
		err = attachRedemptions(ctx, r, tenant, page)
	}
	return store.Counted(ctx, r, page, err, "count rewards", `SELECT count(*)`+from, args...)
}

// latest returns the order of creation, the latest first. If an account or an id narrows the
// list, the plus makes SQLite sort the few rows that an index finds, instead of reading all
// rewards of the tenant in the right order.
func latest(f reward.Filter) string {
	if f.ID != "" || f.Account != "" || f.Referral != "" {
		return `+r.created_at DESC, r.id DESC`
	}
	return `r.created_at DESC, r.id DESC`
}

// rewardsWhere returns the condition of a filter, without the tenant, which each
// statement names.
func rewardsWhere(f reward.Filter) (w store.Where) {
	for _, c := range []struct{ column, value string }{
		{"id", f.ID}, {"account_id", string(f.Account)}, {"user_id", string(f.User)}, {"kind", string(f.Kind)}, {"unit", f.Unit},
		{"source", string(f.Source)}, {"program", string(f.Program)}, {"program_reward_key", f.ProgramRewardKey}, {"referral_id", f.Referral},
	} {
		if c.value != "" {
			w.Require("r."+c.column+" = ?", c.value)
		}
	}
	w.Span(`r.created_at`, f.Created)
	w.Span(`r.given_at`, f.Given)
	w.Span(`r.expires_at`, f.Expires)
	w.Span(`r.cancelled_at`, f.Cancelled)
	return w
}

// ByID returns a reward by its id with its redemptions, or a not-found error.
func ByID(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (reward.Reward, error) {
	one := make([]reward.Reward, 1)
	ok, err := Columns.One(r.QueryRowContext(ctx, `SELECT `+Columns.SQL()+` FROM reward r WHERE tenant = ? AND id = ?`,
		string(tenant), id), "reward", &one[0])
	if err == nil && !ok {
		err = UnknownReward()
	}
	settleValue(&one[0])
	if err == nil {
		err = attachRedemptions(ctx, r, tenant, one)
	}
	return one[0], err
}

// ByIDs returns those rewards of a list that exist, by id and without their redemptions.
func ByIDs(ctx context.Context, r store.Reads, tenant core.TenantAlias, ids []string) (map[string]reward.Reward, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+Columns.SQL()+` FROM reward WHERE tenant = ?1 AND id IN (SELECT value FROM json_each(?2))`,
		string(tenant), store.TextList(ids))
	found, err := store.Collect(rows, err, "rewards", Scan)
	byID := make(map[string]reward.Reward, len(found))
	for _, w := range found {
		byID[w.ID] = w
	}
	return byID, err
}

// UnknownReward returns the not-found error of an id that no reward of the tenant has.
func UnknownReward() *core.Error { return core.NotFound("there is no such reward") }

// FirstOf returns a query for the rowids of the first reward of each side of referrals.
// from has the referrals, and id is the expression of their ids. ?1 is the tenant.
func FirstOf(from, id string) string {
	return `SELECT w.rowid FROM ` + from + ` CROSS JOIN (VALUES ('FRIEND_SIGNUP'), ('REFERRED')) side
		CROSS JOIN reward w ON +w.tenant = ?1 AND w.rowid = (` + FirstRow(`?1`, id, `side.column1`) + `)`
}

// FirstRow returns a query for the rowid of the first reward of a side of a referral.
// Its arguments are expressions.
func FirstRow(tenant, id, source string) string {
	return `SELECT f.rowid FROM reward f WHERE f.tenant = ` + tenant + ` AND f.referral_id = ` + id + ` AND f.source = ` + source + `
		ORDER BY f.created_at, f.id LIMIT 1`
}

// AttachTo sets the first rewards of referrals, with their redemptions.
func AttachTo(ctx context.Context, r store.Reads, tenant core.TenantAlias, page []referral.Referral) error {
	if len(page) == 0 {
		return nil
	}
	asked, byID := idsOf(page)
	rows, err := r.QueryContext(ctx, `SELECT `+Columns.SQL()+` FROM reward WHERE +tenant = ?1 AND rowid IN (`+
		FirstOf(`json_each(?2) given`, `given.value ->> 0`)+`)`, string(tenant), asked)
	rewards, err := store.Collect(rows, err, "rewards of referrals", Scan)
	if err == nil {
		err = attachRedemptions(ctx, r, tenant, rewards)
	}
	if err != nil || len(rewards) == 0 {
		return err
	}
	for _, w := range rewards {
		byID[w.Referral].Attach(w)
	}
	return nil
}

// idsOf returns the ids of referrals as an argument of json_each, and the referrals by id.
func idsOf(page []referral.Referral) (asked string, byID map[string]*referral.Referral) {
	var ids store.Tuples
	byID = make(map[string]*referral.Referral, len(page))
	for i := range page {
		ids.Row()
		ids.Text(page[i].ID)
		byID[page[i].ID] = &page[i]
	}
	return ids.String(), byID
}

// sideGroup is a group of the rewards of a referral.
type sideGroup struct {
	referral string
	group    reward.Group
}

var sideGroupColumns = store.Selection[sideGroup]{
	store.Col(`r.referral_id`, func(s *sideGroup) any { return &s.referral }),
	store.Col(`r.held = 1 OR r.blocked_since IS NOT NULL`, func(s *sideGroup) any { return &s.group.OnHold }),
	store.Col(`r.cancelled_at IS NOT NULL`, func(s *sideGroup) any { return &s.group.ByHand }),
}.With(store.Nested(groupColumns, func(s *sideGroup) *reward.Group { return &s.group }))

// AttachGroups sets the groups of the rewards of referrals at a time.
func AttachGroups(ctx context.Context, r store.Reads, tenant core.TenantAlias, now core.Time, page []referral.Referral) error {
	asked, byID := idsOf(page)
	rows, err := r.QueryContext(ctx, `SELECT `+sideGroupColumns.SQL()+`
		FROM json_each(?3) given CROSS JOIN reward r ON r.tenant = ?1 AND r.referral_id = given.value ->> 0 AND `+earned+`
		GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9`, string(tenant), int64(now), asked)
	groups, err := sideGroupColumns.All(rows, err, "reward groups of referrals")
	for _, g := range groups {
		of := byID[g.referral]
		of.Groups = append(of.Groups, g.group)
	}
	return err
}

// AppendRow adds a reward to the rows of PutNew.
func AppendRow(t *store.Tuples, r reward.Reward) {
	t.Row()
	t.Text(r.ID, string(r.Account), string(r.User))
	t.TextOrNull(string(r.Program))
	t.Text(r.ProgramRewardKey, r.GlobalRewardKey)
	t.TextOrNull(r.Referral)
	t.Text(r.Order, string(r.Source), string(r.Offer.Kind), r.Offer.Unit)
	t.Integer(r.Offer.Value())
	t.Text(r.Offer.Currency, r.Offer.Name, r.Offer.Description)
	t.TextOrNull(r.FuelTankCode)
	t.TextOrNull(string(r.FuelTankType))
	t.TextOrNull(r.Offer.Settings)
	t.Boolean(r.Cancellable)
	t.Time(r.Created, r.Scheduled, r.Given, r.Expires, r.Cancelled, r.Blocked)
	t.Boolean(r.Denied)
	t.Boolean(r.Held)
	t.Boolean(r.Pending)
	t.Integer(r.Sums.Redeemed)
	t.Integer(r.Sums.Expired)
	t.Integer(r.Sums.Cancelled)
	t.Integer(r.Sums.Reversed)
	t.Integer(r.Sums.Settled)
	t.Integer(r.Refunded)
	t.Boolean(r.Unsettled)
}

// PutNew adds rewards. AppendRow adds its rows. A reward that exists is an error.
var PutNew = &store.Put{
	Table: "reward", Columns: store.Columns(`id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id, order_key, source, kind,
		unit, value, currency, name, description, fuel_tank_code, fuel_tank_type, settings, cancellable, created_at,
		scheduled_at, given_at, expires_at, cancelled_at, blocked_since, denied, held, pending, redeemed, expired, cancelled, reversed, settled, refunded, unsettled`),
}

// groupColumns sum the rewards r of a group at the time ?2. The first six are the
// columns to group by.
var groupColumns = store.Selection[reward.Group]{
	store.Col(`r.kind`, func(g *reward.Group) any { return &g.Kind }),
	store.Col(`r.unit`, func(g *reward.Group) any { return &g.Unit }),
	store.Col(`r.source`, func(g *reward.Group) any { return &g.Source }),
	store.Col(`coalesce(r.program, '')`, func(g *reward.Group) any { return &g.Program }),
	store.Col(rewardStatus+` AS status`, func(g *reward.Group) any { return &g.Status }),
	store.Col(`r.currency`, func(g *reward.Group) any { return &g.Currency }),
	store.Col(`count(*)`, func(g *reward.Group) any { return &g.Count }),
	store.Col(`sum(r.value)`, func(g *reward.Group) any { return &g.Value }),
	store.Col(`sum(r.redeemed)`, func(g *reward.Group) any { return &g.Sums.Redeemed }),
	store.Col(`sum(r.expired)`, func(g *reward.Group) any { return &g.Sums.Expired }),
	store.Col(`sum(r.cancelled)`, func(g *reward.Group) any { return &g.Sums.Cancelled }),
	store.Col(`sum(r.reversed)`, func(g *reward.Group) any { return &g.Sums.Reversed }),
	store.Col(`sum(r.settled)`, func(g *reward.Group) any { return &g.Sums.Settled }),
	store.Col(`sum(max(0, -(`+LeftOf("r")+`)))`, func(g *reward.Group) any { return &g.Debt }),
}

// earned is the condition that a reward r is more than the trace of one that its order
// does not earn any more: whether there is such a trace depends on when events arrived.
const earned = `(r.value > 0 OR r.redeemed <> 0 OR r.settled <> 0 OR r.order_key = '')`

// Groups returns the sums of an account's rewards at a time, by kind, unit, source,
// program, status and currency. A user or kind that is not empty narrows them.
func Groups(ctx context.Context, r store.Reads, tenant core.TenantAlias, now core.Time, account core.AccountID, user core.UserID, kind reward.Kind) ([]reward.Group, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+groupColumns.SQL()+`
		FROM reward r
		WHERE r.tenant = ?1 AND r.account_id = ?3 AND (?4 = '' OR r.user_id = ?4) AND (?5 = '' OR r.kind = ?5) AND `+earned+`
		GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`, string(tenant), int64(now), string(account), string(user), string(kind))
	return groupColumns.All(rows, err, "reward groups")
}
