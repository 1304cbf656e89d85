package users

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/rewarddb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
)

// Block stops a user from referring others. The user's codes are then unknown to callers
// without the API key, and start no referral. Existing referrals stay; what becomes of the
// user's rewards is chosen. The error is forbidden if the user is blocked already, and
// not-found for an unknown user (clients 1.2.10).
func (us *Users) Block(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, rewards reward.Block) error {
	return us.setBlocked(ctx, tenant, account, user, true, rewards)
}

// Unblock allows a blocked user to refer others again, and gives back the rewards that the
// block held; see Block. It is forbidden if the user is not blocked.
func (us *Users) Unblock(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID) error {
	return us.setBlocked(ctx, tenant, account, user, false, "")
}

func (us *Users) setBlocked(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, blocked bool, rewards reward.Block) error {
	who := referral.Identity{Account: account, User: user}
	return us.DB.Write(ctx, us.Now(), func(tx *store.Tx) error {
		if err := base.MustExist(ctx, tx.Reads, tenant, account, user); err != nil {
			return err
		}
		since, refusal := core.Time(0), "this user is not blocked"
		if blocked {
			since, refusal = tx.Now, "this user is blocked already"
		} else if err := us.finishCancel(ctx, tx, tenant, who); err != nil {
			return err
		}
		changed, err := userdb.BlockUser(ctx, tx, tenant, account, user, since, rewards)
		if err == nil && !changed {
			err = &core.Error{Code: core.CodeForbidden, Message: refusal}
		}
		if err != nil {
			return err
		}
		// Those of almost all users follow at once.
		_, err = us.follow(ctx, tx, userdb.BlockDue{Tenant: tenant, Identity: who, Since: since, Rewards: rewards})
		return err
	})
}

// finishCancel cancels what a block is still to cancel, before it ends.
func (us *Users) finishCancel(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, who referral.Identity) error {
	due, ok, err := userdb.BlockDueOf(ctx, tx.Reads, tenant, who)
	for done := !ok || due.Rewards != reward.BlockCancel; err == nil && !done; {
		done, err = us.follow(ctx, tx, due)
	}
	return err
}

// followed is the most rewards that one transaction lets follow a block. A larger number
// would stop other writers for longer.
const followed = 200

// FollowBlocks lets rewards follow the block of their owner, or its end: those that the
// call itself left, because they were many. It takes one batch, and reports whether there
// was one: call it again until there is none.
func (us *Users) FollowBlocks(ctx context.Context) (any bool, err error) {
	_, due, err := userdb.FirstBlockDue(ctx, us.DB.Reads)
	if err != nil || !due {
		return false, err
	}
	return store.WriteValue(ctx, us.DB.Write, us.Now(), func(tx *store.Tx) (bool, error) {
		due, any, err := userdb.FirstBlockDue(ctx, tx.Reads)
		if err == nil && any {
			_, err = us.follow(ctx, tx, due)
		}
		return any, err
	})
}

// follow lets a batch of the rewards of a user follow a block, or its end, and reports whether
// all do now.
func (us *Users) follow(ctx context.Context, tx *store.Tx, due userdb.BlockDue) (done bool, err error) {
	batch, err := rewarddb.ToFollow(ctx, tx, due.Tenant, due.Identity, due.Since, due.Rewards, followed)
	if err != nil {
		return false, err
	}
	steps := make([]rules.Step, len(batch))
	for i, before := range batch {
		steps[i].Before = before
		steps[i].After, steps[i].Entries = before.Follow(due.Rewards, tx.Now)
	}
	if len(batch) > 0 {
		err = us.DecideWithin(ctx, tx, due.Tenant, func(s *state.State) error {
			us.Rules().Record(s, steps)
			return nil
		})
	}
	if done = len(batch) < followed; err == nil && done {
		err = userdb.BlockDone(ctx, tx, due)
	}
	return done, err
}
