package app

import (
	"context"
	"slices"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/wire"
)

// Rewards returns a page of rewards, the newest first, and how many there are in
// all.
func (e *Engine) Rewards(ctx context.Context, tenant core.TenantAlias, f reward.Filter) ([]reward.Reward, int, error) {
	page, total, err := e.DB.Rewards(ctx, tenant, f)
	now := e.Now()
	for i := range page {
		page[i] = page[i].AsOf(now)
	}
	return page, total, err
}

// Reward returns a reward, or a not-found error.
func (e *Engine) Reward(ctx context.Context, tenant core.TenantAlias, id string) (reward.Reward, error) {
	r, err := e.DB.Reward(ctx, tenant, id)
	return r.AsOf(e.Now()), err
}

// Balances sums up the rewards of an account, or of one of its users when user
// is not empty, by kind and unit. A kind that is not empty narrows them.
func (e *Engine) Balances(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, kind reward.Kind) ([]reward.Balance, error) {
	groups, err := e.DB.RewardGroups(ctx, tenant, e.Now(), account, user, kind)
	return reward.Balances(groups), err
}

// RewardsOf returns a page of the rewards of each user of a list; see Rewards.
// The filter's own account and user are not regarded.
func (e *Engine) RewardsOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f reward.Filter) (map[referral.Identity]store.PageOf[reward.Reward], error) {
	pages, err := e.DB.RewardsOf(ctx, tenant, users, f)
	now := e.Now()
	for _, p := range pages {
		for i := range p.Page {
			p.Page[i] = p.Page[i].AsOf(now)
		}
	}
	return pages, err
}

// BalancesOf sums up the rewards of each user of a list by kind and unit. A
// program that is not empty narrows them.
func (e *Engine) BalancesOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, program core.ProgramKey) (map[referral.Identity][]reward.Balance, error) {
	groups, err := e.DB.RewardGroupsOf(ctx, tenant, e.Now(), users)
	balances := make(map[referral.Identity][]reward.Balance, len(groups))
	for who, all := range groups {
		if program != "" {
			all = slices.DeleteFunc(all, func(g reward.Group) bool { return g.Program != program })
		}
		balances[who] = reward.Balances(all)
	}
	return balances, err
}

// CreateReward gives a user a reward. An unknown user is a not-found error, and
// what no reward can be is an error about its field.
func (e *Engine) CreateReward(ctx context.Context, tenant core.TenantAlias, g reward.Grant) (r reward.Reward, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		known, err := tx.UserKnown(ctx, tenant, g.Account, g.User)
		switch {
		case err != nil:
			return err
		case !known:
			return unknownUser()
		}
		if err := g.CheckDates(tx.Now); err != nil {
			return err
		}
		r, err = e.give(ctx, tx, tenant, g)
		return err
	})
	return r, err
}

// CancelReward takes back what is left of a reward, and returns the reward. One
// that is unknown is a not-found error, one that cannot be cancelled is invalid.
func (e *Engine) CancelReward(ctx context.Context, tenant core.TenantAlias, id string) (reward.Reward, error) {
	return e.changeReward(ctx, tenant, id, reward.Reward.Cancel)
}

// SetRewardStatus moves a reward to a status, see reward.Reward.To, and returns
// the reward. One that is over can only be what it is.
func (e *Engine) SetRewardStatus(ctx context.Context, tenant core.TenantAlias, id string, status reward.Status) (reward.Reward, error) {
	return e.changeReward(ctx, tenant, id, func(r reward.Reward, now core.Time) (reward.Reward, reward.Entry, error) {
		return r.To(status, now)
	})
}

func (e *Engine) changeReward(ctx context.Context, tenant core.TenantAlias, id string, change func(reward.Reward, core.Time) (reward.Reward, reward.Entry, error)) (r reward.Reward, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		before, err := tx.BareReward(ctx, tenant, id)
		if err != nil {
			return err
		}
		after, entry, err := change(before, tx.Now)
		if err != nil {
			return err
		}
		if err := e.record(ctx, tx, tenant, []step{{before, after, []reward.Entry{entry}}}); err != nil {
			return err
		}
		r, err = tx.Reward(ctx, tenant, id)
		return err
	})
	return r, err
}

// ModerateRewards does, within a transaction, to the rewards of one side of a
// referral what moderation says: hold them, release them or take them back.
func (e *Engine) ModerateRewards(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, referral string, source reward.Source, m reward.Moderation) error {
	rewards, err := tx.RewardsOfReferral(ctx, tenant, referral, source)
	if err != nil {
		return err
	}
	var steps []step
	for _, before := range rewards {
		after, entries := before.Moderate(m, tx.Now)
		steps = append(steps, step{before, after, entries})
	}
	return e.record(ctx, tx, tenant, steps)
}

// give gives a reward within a transaction: every reward comes about here. A
// grant that no reward can have is an error for the caller.
func (e *Engine) give(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, g reward.Grant) (reward.Reward, error) {
	r, entries, err := g.Begin(e.newID(tx.Now), tx.Now)
	if err != nil {
		return r, err
	}
	if err := tx.InsertReward(ctx, tenant, r); err != nil {
		return r, err
	}
	return r, e.record(ctx, tx, tenant, []step{{after: r, entries: entries}})
}

// step is what happened to one reward: the zero Reward before is one that was
// not there.
type step struct {
	before, after reward.Reward
	entries       []reward.Entry
}

// record adds steps to the ledger, stores the rewards as they are after them,
// and tells the tenant's systems what has changed for whom.
func (e *Engine) record(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, steps []step) error {
	var after []reward.Reward
	var entries []reward.Entry
	for _, s := range steps {
		if s.before.ID != "" {
			after = append(after, s.after)
		}
		for _, entry := range s.entries {
			if !entry.None() {
				entry.ID = e.newID(tx.Now)
				entries = append(entries, entry)
			}
		}
	}
	if err := tx.AppendLedger(ctx, tenant, after, entries); err != nil {
		return err
	}
	if err := touchBilling(ctx, tx, tenant, steps); err != nil {
		return err
	}
	return e.tell(ctx, tx, tenant, steps)
}

// touchBilling has the discounts at the gateway brought in line with rewards
// that have changed.
func touchBilling(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, steps []step) error {
	touched := map[core.AccountID]bool{}
	for _, s := range steps {
		if touched[s.after.Account] {
			continue
		}
		touched[s.after.Account] = true
		if err := tx.TouchBilling(ctx, tenant, s.after.Account); err != nil {
			return err
		}
	}
	return nil
}

// tell emits an event for each reward that was given and for each owner whose
// balance has changed.
func (e *Engine) tell(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, steps []step) error {
	if listens, err := tx.Listens(ctx, tenant); err != nil || !listens {
		return err
	}
	var owners []reward.Owner
	told := map[reward.Owner]bool{}
	for _, s := range steps {
		if s.after.GivenSince(s.before) {
			if err := e.emit(ctx, tx, tenant, webhook.RewardCreated, wire.Reward(s.after)); err != nil {
				return err
			}
		}
		owner := reward.Owner{Account: s.after.Account, User: s.after.User, Unit: s.after.Offer.Unit}
		if s.after.HasBalance() && s.before.Recorded() != s.after.Recorded() && !told[owner] {
			told[owner] = true
			owners = append(owners, owner)
		}
	}
	if len(owners) == 0 {
		return nil
	}
	changes, err := tx.Changes(ctx, tenant, owners)
	for _, c := range changes {
		if err := e.emit(ctx, tx, tenant, webhook.RewardBalanceChanged, wire.RewardBalanceChanged(c)); err != nil {
			return err
		}
	}
	return err
}

// settleBatch bounds one transaction of SettleRewards: it holds the write lock.
const settleBatch = 200

// SettleRewards writes into the ledger what the dates of rewards have done by
// now: given them, or ended them. It takes a batch, and returns how many rewards
// it held; nothing is left when there were none.
func (e *Engine) SettleRewards(ctx context.Context) (settled int, err error) {
	// Looking first spares an idle database the write lock.
	due, err := e.DB.RewardsDue(ctx, e.Now())
	if err != nil || !due {
		return 0, err
	}
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		due, err := tx.DueRewards(ctx, settleBatch)
		if err != nil {
			return err
		}
		steps := map[core.TenantAlias][]step{}
		for _, d := range due {
			after, entry := d.Settle(tx.Now)
			steps[d.Tenant] = append(steps[d.Tenant], step{d.Reward, after, []reward.Entry{entry}})
		}
		for tenant, of := range steps {
			if err := e.record(ctx, tx, tenant, of); err != nil {
				return err
			}
		}
		settled = len(due)
		return nil
	})
	return settled, err
}
