package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// rewardColumns are a reward as it is stored. Its value has two places: after a scan,
// settleValue leaves it in the right one.
var rewardColumns = selection[reward.Reward]{
	{`id`, func(r *reward.Reward) any { return &r.ID }},
	{`account_id`, func(r *reward.Reward) any { return &r.Account }},
	{`user_id`, func(r *reward.Reward) any { return &r.User }},
	{`coalesce(program, '')`, func(r *reward.Reward) any { return &r.Program }},
	{`program_reward_key`, func(r *reward.Reward) any { return &r.ProgramRewardKey }},
	{`global_reward_key`, func(r *reward.Reward) any { return &r.GlobalRewardKey }},
	{`coalesce(referral_id, '')`, func(r *reward.Reward) any { return &r.Referral }},
	{`source`, func(r *reward.Reward) any { return &r.Source }},
	{`kind`, func(r *reward.Reward) any { return &r.Offer.Kind }},
	{`unit`, func(r *reward.Reward) any { return &r.Offer.Unit }},
	{`value`, func(r *reward.Reward) any { return &r.Offer.Amount }},
	{`currency`, func(r *reward.Reward) any { return &r.Offer.Currency }},
	{`name`, func(r *reward.Reward) any { return &r.Offer.Name }},
	{`description`, func(r *reward.Reward) any { return &r.Offer.Description }},
	{`coalesce(fuel_tank_code, '')`, func(r *reward.Reward) any { return &r.FuelTankCode }},
	{`coalesce(fuel_tank_type, '')`, func(r *reward.Reward) any { return &r.FuelTankType }},
	{`coalesce(settings, '')`, func(r *reward.Reward) any { return &r.Offer.Settings }},
	{`cancellable`, func(r *reward.Reward) any { return &r.Cancellable }},
	{`created_at`, func(r *reward.Reward) any { return &r.Created }},
	{`coalesce(scheduled_at, 0)`, func(r *reward.Reward) any { return &r.Scheduled }},
	{`coalesce(given_at, 0)`, func(r *reward.Reward) any { return &r.Given }},
	{`coalesce(expires_at, 0)`, func(r *reward.Reward) any { return &r.Expires }},
	{`coalesce(cancelled_at, 0)`, func(r *reward.Reward) any { return &r.Cancelled }},
	{`denied`, func(r *reward.Reward) any { return &r.Denied }},
	{`held`, func(r *reward.Reward) any { return &r.Held }},
	{`pending`, func(r *reward.Reward) any { return &r.Pending }},
	{`redeemed`, func(r *reward.Reward) any { return &r.Sums.Redeemed }},
	{`expired`, func(r *reward.Reward) any { return &r.Sums.Expired }},
	{`cancelled`, func(r *reward.Reward) any { return &r.Sums.Cancelled }},
}

func settleValue(r *reward.Reward) {
	if r.Offer.Kind == reward.PercentDiscount {
		r.Offer.Percent, r.Offer.Amount = reward.BasisPoints(r.Offer.Amount), 0
	}
}

// statusOf is reward.Reward.Status in SQL, of a row of rewards at a time.
func statusOf(row, now string) string {
	return strings.NewReplacer("r.", row+".", "now", now).Replace(`CASE
		WHEN r.redeemed > 0 AND r.redeemed = r.value THEN 'REDEEMED'
		WHEN r.cancelled_at IS NOT NULL THEN 'CANCELLED'
		WHEN r.expires_at <= now THEN 'EXPIRED'
		WHEN r.held = 1 OR r.given_at > now THEN 'PENDING'
		ELSE 'AVAILABLE' END`)
}

// rewardStatus is that of a row r at the time ?2.
var rewardStatus = statusOf("r", "?2")

func scanReward(rows *sql.Rows, r *reward.Reward) error {
	err := rewardColumns.scan(rows, r)
	settleValue(r)
	return err
}

// Rewards returns a page of rewards, the newest first, and how many there are in
// all.
func (r Reads) Rewards(ctx context.Context, tenant core.TenantAlias, f reward.Filter) (page []reward.Reward, total int, err error) {
	where, args := rewardsWhere(f)
	args = append([]any{string(tenant)}, args...)
	if err := r.QueryRowContext(ctx, `SELECT count(*) FROM reward r WHERE r.tenant = ?`+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count rewards: %w", err)
	}
	rows, err := r.QueryContext(ctx, `SELECT `+rewardColumns.list()+` FROM reward r WHERE r.tenant = ?`+where+`
		ORDER BY r.created_at DESC, r.id DESC LIMIT ? OFFSET ?`, append(args, f.Limit, f.Offset)...)
	if page, err = collect(rows, err, "rewards", scanReward); err != nil {
		return nil, 0, err
	}
	return page, total, r.attachRedemptions(ctx, tenant, page)
}

// rewardsWhere is what a filter says besides the tenant, which each statement names.
func rewardsWhere(f reward.Filter) (where string, args []any) {
	for _, c := range []struct{ column, value string }{
		{"id", f.ID}, {"account_id", string(f.Account)}, {"user_id", string(f.User)}, {"kind", string(f.Kind)}, {"unit", f.Unit},
		{"source", string(f.Source)}, {"program", string(f.Program)}, {"program_reward_key", f.ProgramRewardKey}, {"referral_id", f.Referral},
	} {
		if c.value != "" {
			where, args = where+" AND r."+c.column+" = ?", append(args, c.value)
		}
	}
	for _, c := range []struct {
		column string
		span   reward.Span
	}{{"created_at", f.Created}, {"given_at", f.Given}, {"expires_at", f.Expires}, {"cancelled_at", f.Cancelled}} {
		if c.span.From != 0 {
			where, args = where+" AND r."+c.column+" >= ?", append(args, int64(c.span.From))
		}
		if c.span.To != 0 {
			where, args = where+" AND r."+c.column+" < ?", append(args, int64(c.span.To))
		}
	}
	return where, args
}

// Reward returns a reward by its id with its redemptions, or a not-found error.
func (r Reads) Reward(ctx context.Context, tenant core.TenantAlias, id string) (reward.Reward, error) {
	w, err := r.BareReward(ctx, tenant, id)
	if err != nil {
		return w, err
	}
	one := []reward.Reward{w}
	err = r.attachRedemptions(ctx, tenant, one)
	return one[0], err
}

// BareReward is Reward without the redemptions, which no decision needs.
func (r Reads) BareReward(ctx context.Context, tenant core.TenantAlias, id string) (w reward.Reward, err error) {
	ok, err := rewardColumns.one(r.QueryRowContext(ctx, `SELECT `+rewardColumns.list()+` FROM reward r WHERE tenant = ? AND id = ?`,
		string(tenant), id), "reward", &w)
	if err == nil && !ok {
		return w, UnknownReward()
	}
	settleValue(&w)
	return w, err
}

// UnknownReward is the answer to an id that no reward of the tenant has.
func UnknownReward() *core.Error { return core.NotFound("there is no such reward") }

// attachRewards gives each referral its rewards.
func (r Reads) attachRewards(ctx context.Context, tenant core.TenantAlias, page []referral.Referral) error {
	if len(page) == 0 {
		return nil
	}
	var asked tuples
	byID := make(map[string]*referral.Referral, len(page))
	for i := range page {
		asked.row()
		asked.text(page[i].ID)
		byID[page[i].ID] = &page[i]
	}
	rows, err := r.QueryContext(ctx, `SELECT `+rewardColumns.list()+` FROM reward r
		WHERE tenant = ?1 AND referral_id IN (SELECT value ->> 0 FROM json_each(?2))`, string(tenant), asked.String())
	rewards, err := collect(rows, err, "rewards of referrals", scanReward)
	if err == nil {
		err = r.attachRedemptions(ctx, tenant, rewards)
	}
	for _, w := range rewards {
		byID[w.Referral].Attach(w)
	}
	return err
}

// InsertReward adds a reward; its ledger is for AppendLedger. That a referral
// pays each side once is a constraint: a second one is an error, not a payment.
func (tx *Tx) InsertReward(ctx context.Context, tenant core.TenantAlias, r reward.Reward) error {
	var rows tuples
	rows.reward(r)
	return tx.put(ctx, putNewRewards, tenant, &rows)
}

func (t *tuples) reward(r reward.Reward) {
	t.row()
	t.text(r.ID, string(r.Account), string(r.User))
	t.textOrNull(string(r.Program))
	t.text(r.ProgramRewardKey, r.GlobalRewardKey)
	t.textOrNull(r.Referral)
	t.text(string(r.Source), string(r.Offer.Kind), r.Offer.Unit)
	t.integer(r.Offer.Value())
	t.text(r.Offer.Currency, r.Offer.Name, r.Offer.Description)
	t.textOrNull(r.FuelTankCode)
	t.textOrNull(string(r.FuelTankType))
	t.textOrNull(r.Offer.Settings)
	t.boolean(r.Cancellable)
	t.time(r.Created, r.Scheduled, r.Given, r.Expires, r.Cancelled)
	t.boolean(r.Denied)
	t.boolean(r.Held)
	t.boolean(r.Pending)
	t.integer(r.Sums.Redeemed)
	t.integer(r.Sums.Expired)
	t.integer(r.Sums.Cancelled)
}

// putNewRewards adds rewards of a tenant: tuples.reward of each.
var putNewRewards = &put{
	table: "reward", columns: columns(`id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id, source, kind,
		unit, value, currency, name, description, fuel_tank_code, fuel_tank_type, settings, cancellable, created_at,
		scheduled_at, given_at, expires_at, cancelled_at, denied, held, pending, redeemed, expired, cancelled`),
}

// groupColumns sum up the rewards r of a group at the time ?2. The first five tell the
// groups apart.
var groupColumns = selection[reward.Group]{
	{`r.kind`, func(g *reward.Group) any { return &g.Kind }},
	{`r.unit`, func(g *reward.Group) any { return &g.Unit }},
	{`r.source`, func(g *reward.Group) any { return &g.Source }},
	{`coalesce(r.program, '')`, func(g *reward.Group) any { return &g.Program }},
	{rewardStatus + ` AS status`, func(g *reward.Group) any { return &g.Status }},
	{`CASE WHEN min(r.currency) = max(r.currency) THEN min(r.currency) ELSE '' END`, func(g *reward.Group) any { return &g.Currency }},
	{`count(*)`, func(g *reward.Group) any { return &g.Count }},
	{`sum(r.value)`, func(g *reward.Group) any { return &g.Value }},
	{`sum(r.redeemed)`, func(g *reward.Group) any { return &g.Sums.Redeemed }},
	{`sum(r.expired)`, func(g *reward.Group) any { return &g.Sums.Expired }},
	{`sum(r.cancelled)`, func(g *reward.Group) any { return &g.Sums.Cancelled }},
}

// RewardGroups sums up the rewards of an account, or of one of its users when
// user is not empty, as they stand at a time. A kind that is not empty narrows
// them.
func (r Reads) RewardGroups(ctx context.Context, tenant core.TenantAlias, now core.Time, account core.AccountID, user core.UserID, kind reward.Kind) ([]reward.Group, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+groupColumns.list()+`
		FROM reward r
		WHERE r.tenant = ?1 AND r.account_id = ?3 AND (?4 = '' OR r.user_id = ?4) AND (?5 = '' OR r.kind = ?5)
		GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`, string(tenant), int64(now), string(account), string(user), string(kind))
	return groupColumns.all(rows, err, "reward groups")
}
