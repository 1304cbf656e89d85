// Package rewards has the use cases of rewards: creating and cancelling them, redeeming
// credit, fuel tanks of codes that are given as rewards, and the moderation of
// referrals, which decides whether their rewards are given.
package rewards

import (
	"cmp"
	"context"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
)

// Rewards reads and changes the rewards of users.
type Rewards struct{ *base.Base }

// List returns a page of the rewards that match the filter, the newest first, and their
// total number.
func (rs *Rewards) List(ctx context.Context, tenant core.TenantAlias, f reward.Filter) ([]reward.Reward, int, error) {
	page, total, err := rewarddb.List(ctx, rs.DB.Lists, tenant, f)
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

// Balances returns the sums of the rewards of an account by kind and unit. If user is
// not empty, only rewards of that user count, and if kind is not empty, only those of
// that kind.
func (rs *Rewards) Balances(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, kind reward.Kind) ([]reward.Balance, error) {
	groups, err := rewarddb.Groups(ctx, rs.DB.Reads, tenant, rs.Now(), account, user, kind)
	return reward.Balances(groups), err
}

// ListOf returns a page of the rewards of each of the users; see List. The account and
// the user of the filter are ignored.
func (rs *Rewards) ListOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f reward.Filter) (map[referral.Identity]store.PageOf[reward.Reward], error) {
	pages, err := rewarddb.ListByUsers(ctx, rs.DB.Lists, tenant, users, f)
	now := rs.Now()
	for _, p := range pages {
		for i := range p.Page {
			p.Page[i] = p.Page[i].AsOf(now)
		}
	}
	return pages, err
}

// BalancesOf returns the sums of the rewards of each of the users by kind and unit. If
// program is not empty, only rewards of that program count.
func (rs *Rewards) BalancesOf(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, program core.ProgramKey) (map[referral.Identity][]reward.Balance, error) {
	groups, err := rewarddb.GroupsByUsers(ctx, rs.DB.Lists, tenant, rs.Now(), users)
	balances := make(map[referral.Identity][]reward.Balance, len(groups))
	for user, all := range groups {
		if program != "" {
			all = slices.DeleteFunc(all, func(g reward.Group) bool { return g.Program != program })
		}
		balances[user] = reward.Balances(all)
	}
	return balances, err
}

// Create gives a user a reward. An unknown user is a not-found error, and an invalid
// grant is an error about its field.
func (rs *Rewards) Create(ctx context.Context, tenant core.TenantAlias, g reward.Grant) (r reward.Reward, err error) {
	return rs.CreateAnd(ctx, tenant, g, func(reward.Reward) {})
}

// CreateAnd is Create, and calls made with the reward in the transaction that stores it.
func (rs *Rewards) CreateAnd(ctx context.Context, tenant core.TenantAlias, g reward.Grant, made func(reward.Reward)) (reward.Reward, error) {
	return store.WriteValue(ctx, rs.DB.Write, rs.Now(), func(tx *store.Tx) (r reward.Reward, err error) {
		err = rs.DecideWithin(ctx, tx, tenant, func(s *state.State) (err error) {
			if r, err = rs.Rules().CreateReward(s, g); err == nil {
				made(r)
			}
			return err
		})
		return r, err
	})
}

// Cancel cancels the unused rest of a reward, and returns the reward. An unknown reward
// is a not-found error; one that cannot be cancelled is invalid. The audit log has an entry,
// which keeps the reason if there is one.
func (rs *Rewards) Cancel(ctx context.Context, c people.Caller, id, reason string) (reward.Reward, error) {
	return base.ActValue(ctx, rs.Base, c, base.Change{Operation: operation.CancelReward}, func(ctx context.Context, entry *base.Change) (reward.Reward, error) {
		return rs.change(ctx, c.Tenant, id, func(r reward.Reward, now core.Time) (reward.Reward, reward.Entry, error) {
			*entry = Cancelled(r, reason)
			return r.Cancel(now)
		})
	})
}

// Cancelled returns the change that the cancellation of a reward makes, for the audit log.
func Cancelled(r reward.Reward, reason string) base.Change {
	pretty := func(amount int64) string {
		return reward.Pretty(amount, r.Offer.Unit, r.Offer.Currency, reward.UnitFormatted)
	}
	return base.Change{
		Operation: operation.CancelReward, Subject: cmp.Or(r.Referral, r.ID), Account: r.Account, User: r.User,
		Before: base.Acted{Reward: r.ID, Amount: pretty(r.Left())},
		After:  base.Acted{Reward: r.ID, Amount: pretty(0), Reason: reason},
	}
}

// CancelLeft is Cancel for a caller who saw that an amount was left: if another one is, it
// is a conflict.
func (rs *Rewards) CancelLeft(ctx context.Context, tenant core.TenantAlias, id string, left int64) (reward.Reward, error) {
	return rs.change(ctx, tenant, id, func(r reward.Reward, now core.Time) (reward.Reward, reward.Entry, error) {
		return r.CancelLeft(left, now)
	})
}

// SetStatus changes the status of a reward, and returns the reward; see
// reward.Reward.To. The status of a reward that has ended cannot change.
func (rs *Rewards) SetStatus(ctx context.Context, tenant core.TenantAlias, id string, status reward.Status) (reward.Reward, error) {
	return rs.change(ctx, tenant, id, func(r reward.Reward, now core.Time) (reward.Reward, reward.Entry, error) {
		return r.To(status, now)
	})
}

func (rs *Rewards) change(ctx context.Context, tenant core.TenantAlias, id string, change func(reward.Reward, core.Time) (reward.Reward, reward.Entry, error)) (r reward.Reward, err error) {
	return store.WriteValue(ctx, rs.DB.Write, rs.Now(), func(tx *store.Tx) (r reward.Reward, err error) {
		err = rs.DecideWithin(ctx, tx, tenant, func(s *state.State) error {
			before, known := s.Rewards.Get(id)
			if !known {
				return rewarddb.UnknownReward()
			}
			if given, entry := before.Give(s.Now); !entry.None() && s.Indebted() {
				// It settles debts first, so that no more is redeemed than is available.
				rs.Rules().Record(s, []rules.Step{{Before: before, After: given, Entries: []reward.Entry{entry}}})
				before, _ = s.Rewards.Get(id)
			}
			after, entry, err := change(before, s.Now)
			if err == nil {
				rs.Rules().Record(s, []rules.Step{{Before: before, After: after, Entries: []reward.Entry{entry}}})
			}
			return err
		})
		if err != nil {
			return r, err
		}
		return rewarddb.ByID(ctx, tx.Reads, tenant, id)
	})
}

// settleBatch is the number of rewards that one transaction of Settle takes at most. A
// larger number would block other writers for longer.
const settleBatch = 200

// Settle records in the ledger that rewards have begun or expired by their dates, and
// continues settlements of debts. It settles one batch, and returns the number of rewards in it: call it again until it
// returns 0.
func (rs *Rewards) Settle(ctx context.Context) (settled int, err error) {
	// A read comes first, so that an idle database needs no write lock.
	due, err := rewarddb.AnyDue(ctx, rs.DB.Reads, rs.Now())
	if err != nil || !due {
		return 0, err
	}
	return store.WriteValue(ctx, rs.DB.Write, rs.Now(), func(tx *store.Tx) (settled int, err error) {
		due, err := rewarddb.ListDue(ctx, tx, settleBatch)
		if err != nil {
			return settled, err
		}
		steps := map[core.TenantAlias][]rules.Step{}
		for _, d := range due {
			after, entry := d.Settle(tx.Now)
			after.Unsettled = false
			steps[d.Tenant] = append(steps[d.Tenant], rules.Step{Before: d.Reward, After: after, Entries: []reward.Entry{entry}})
		}
		for tenant, steps := range steps {
			err := rs.DecideWithin(ctx, tx, tenant, func(s *state.State) error {
				rs.Rules().Record(s, steps)
				return nil
			})
			if err != nil {
				return settled, err
			}
		}
		settled = len(due)
		return settled, nil
	})
}
