// Package rewards holds the use cases of rewards: giving and taking them back,
// redeeming credit, the tanks of codes that are given as rewards, and moderation,
// which holds back or releases what a referral earns.
package rewards

import (
	"context"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
)

// Rewards are what users earned or were given.
type Rewards struct{ *base.Base }

// List returns a page of rewards, the newest first, and how many there are in
// all.
func (rs *Rewards) List(ctx context.Context, tenant core.TenantAlias, f reward.Filter) ([]reward.Reward, int, error) {
	page, total, err := rewarddb.List(ctx, rs.DB.Reads, tenant, f)
	now := rs.Now()
	for i := range page {
		page[i] = page[i].AsOf(now)
	}
	return page, total, err
}

// ByID returns a reward, or a not-found error.
func (rs *Rewards) ByID(ctx context.Context, tenant core.TenantAlias, id string) (reward.Reward, error) {
	r, err := rewarddb.ByID(ctx, rs.DB.Reads, tenant, id)
	return r.AsOf(rs.Now()), err
}

// Balances sums up the rewards of an account, or of one of its users when user
// is not empty, by kind and unit. A kind that is not empty narrows them.
func (rs *Rewards) Balances(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, kind reward.Kind) ([]reward.Balance, error) {
	groups, err := rewarddb.Groups(ctx, rs.DB.Reads, tenant, rs.Now(), account, user, kind)
	return reward.Balances(groups), err
}

// ListOf returns a page of the rewards of each user of a list; see List.
// The filter's own account and user are not regarded.
func (rs *Rewards) ListOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f reward.Filter) (map[referral.Identity]store.PageOf[reward.Reward], error) {
	pages, err := rewarddb.ListByUsers(ctx, rs.DB.Reads, tenant, users, f)
	now := rs.Now()
	for _, p := range pages {
		for i := range p.Page {
			p.Page[i] = p.Page[i].AsOf(now)
		}
	}
	return pages, err
}

// BalancesOf sums up the rewards of each user of a list by kind and unit. A
// program that is not empty narrows them.
func (rs *Rewards) BalancesOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, program core.ProgramKey) (map[referral.Identity][]reward.Balance, error) {
	groups, err := rewarddb.GroupsByUsers(ctx, rs.DB.Reads, tenant, rs.Now(), users)
	balances := make(map[referral.Identity][]reward.Balance, len(groups))
	for who, all := range groups {
		if program != "" {
			all = slices.DeleteFunc(all, func(g reward.Group) bool { return g.Program != program })
		}
		balances[who] = reward.Balances(all)
	}
	return balances, err
}

// Create gives a user a reward. An unknown user is a not-found error, and
// what no reward can be is an error about its field.
func (rs *Rewards) Create(ctx context.Context, tenant core.TenantAlias, g reward.Grant) (r reward.Reward, err error) {
	err = rs.Decide(ctx, tenant, func(s *state.State) (err error) {
		r, err = rs.Rules().CreateReward(s, g)
		return err
	})
	return r, err
}

// Cancel takes back what is left of a reward, and returns the reward. One
// that is unknown is a not-found error, one that cannot be cancelled is invalid.
func (rs *Rewards) Cancel(ctx context.Context, tenant core.TenantAlias, id string) (reward.Reward, error) {
	return rs.change(ctx, tenant, id, reward.Reward.Cancel)
}

// SetStatus moves a reward to a status, see reward.Reward.To, and returns
// the reward. One that is over can only be what it is.
func (rs *Rewards) SetStatus(ctx context.Context, tenant core.TenantAlias, id string, status reward.Status) (reward.Reward, error) {
	return rs.change(ctx, tenant, id, func(r reward.Reward, now core.Time) (reward.Reward, reward.Entry, error) {
		return r.To(status, now)
	})
}

func (rs *Rewards) change(ctx context.Context, tenant core.TenantAlias, id string, change func(reward.Reward, core.Time) (reward.Reward, reward.Entry, error)) (r reward.Reward, err error) {
	err = rs.DB.Write(ctx, rs.Now(), func(tx *store.Tx) error {
		err := rs.DecideWithin(ctx, tx, tenant, func(s *state.State) error {
			before, known := s.Rewards.Get(id)
			if !known {
				return rewarddb.UnknownReward()
			}
			after, entry, err := change(before, s.Now)
			if err == nil {
				rs.Rules().Record(s, []rules.Step{{Before: before, After: after, Entries: []reward.Entry{entry}}})
			}
			return err
		})
		if err != nil {
			return err
		}
		r, err = rewarddb.ByID(ctx, tx.Reads, tenant, id)
		return err
	})
	return r, err
}

// settleBatch bounds one transaction of Settle: it holds the write lock.
const settleBatch = 200

// Settle writes into the ledger what the dates of rewards have done by
// now: given them, or ended them. It takes a batch, and returns how many rewards
// it held; nothing is left when there were none.
func (rs *Rewards) Settle(ctx context.Context) (settled int, err error) {
	// Looking first spares an idle database the write lock.
	due, err := rewarddb.AnyDue(ctx, rs.DB.Reads, rs.Now())
	if err != nil || !due {
		return 0, err
	}
	err = rs.DB.Write(ctx, rs.Now(), func(tx *store.Tx) error {
		due, err := rewarddb.ListDue(ctx, tx, settleBatch)
		if err != nil {
			return err
		}
		steps := map[core.TenantAlias][]rules.Step{}
		for _, d := range due {
			after, entry := d.Settle(tx.Now)
			steps[d.Tenant] = append(steps[d.Tenant], rules.Step{Before: d.Reward, After: after, Entries: []reward.Entry{entry}})
		}
		for tenant, of := range steps {
			if err := rs.record(ctx, tx, tenant, of); err != nil {
				return err
			}
		}
		settled = len(due)
		return nil
	})
	return settled, err
}

// record records steps in a transaction that does more besides.
func (rs *Rewards) record(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, steps []rules.Step) error {
	return rs.DecideWithin(ctx, tx, tenant, func(s *state.State) error {
		rs.Rules().Record(s, steps)
		return nil
	})
}
