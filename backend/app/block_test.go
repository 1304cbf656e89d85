package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
)

// stake returns which credit anna may redeem, which is pending, and which was cancelled,
// after the worker has followed all blocks.
func (b bundle) stake(t *testing.T) (all [3]int64) {
	t.Helper()
	for any := true; any; {
		var err error
		any, err = b.Users.FollowBlocks(t.Context())
		require.NoError(t, err)
	}
	balances, err := b.Rewards.Balances(t.Context(), b.tenant, "anna", "u", reward.Credit)
	require.NoError(t, err)
	for _, one := range balances {
		all[0], all[1], all[2] = all[0]+one.Available(), all[1]+one.Pending, all[2]+one.Cancelled
	}
	return all
}

// What becomes of the rewards of a blocked user is chosen, friends keep what they were
// promised, and the end of the block gives back what it held. A reward is reported as given
// once.
func TestBlock_Rewards(t *testing.T) {
	for choice, c := range map[reward.Block]struct {
		// during, paid and after are the stakes during the block, after a friend has paid
		// during it, and after its end.
		during, paid, after [3]int64
		created             int
	}{
		reward.BlockKeep:   {[3]int64{1500, 200, 0}, [3]int64{2500, 200, 0}, [3]int64{2500, 200, 0}, 3},
		reward.BlockHold:   {[3]int64{0, 1700, 0}, [3]int64{0, 2700, 0}, [3]int64{2500, 200, 0}, 3},
		reward.BlockCancel: {[3]int64{0, 0, 1700}, [3]int64{0, 0, 2700}, [3]int64{0, 0, 2700}, 2},
	} {
		t.Run(string(choice), func(t *testing.T) {
			withDeliveries(t, func(t *testing.T, b bundle) {
				b.owner(t, "anna", "ANNA10")
				queue := b.subscribe(t, hook)
				own := b.reward(t, points("anna", 500))
				b.reward(t, points("anna", 200, func(g *reward.Grant) { g.Scheduled, g.Fixed = b.Now()+core.Day, true }))
				for _, friend := range []string{"ben", "carl"} {
					b.identify(t, friend, b.cookie("ANNA10"))
				}
				b.sync(t, "carl", referral.Paid, "")
				b.pass(core.Second)
				require.Equal(t, [3]int64{1500, 200, 0}, b.stake(t))

				require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", choice))
				require.Equal(t, c.during, b.stake(t))
				if choice != reward.BlockKeep {
					for _, status := range []reward.Status{reward.StatusRedeemed, reward.StatusAvailable} {
						_, err := b.Rewards.SetStatus(t.Context(), b.tenant, own.ID, status)
						require.Error(t, err, status)
					}
				}
				b.pass(core.Second)
				b.sync(t, "ben", referral.Paid, "")
				require.Equal(t, c.paid, b.stake(t))
				require.Equal(t, reward.StatusAvailable, b.referral(t, "ben").ReferredReward.Status(b.Now()), "the friend keeps what was promised")
				b.pass(core.Hour)
				b.settle(t)
				require.Equal(t, c.paid, b.stake(t))
				require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
				require.Equal(t, c.after, b.stake(t))
				created := 0
				for _, e := range b.rewardEvents(t, queue) {
					if strings.HasPrefix(e, "created ") {
						created++
					}
				}
				require.Equal(t, c.created+2, created, "those of the two friends too")

				b.identify(t, "dora", b.cookie("ANNA10"))
				b.sync(t, "dora", referral.Paid, "")
				require.Equal(t, c.after[0]+1000, b.stake(t)[0], "later referrals earn as ever")
			})
		})
	}
}

// The rewards of a user with many follow in batches; a second block may come before the end
// of the first has reached all.
func TestBlock_ManyRewards(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "anna", "ANNA10")
	const many = 450
	for range many {
		b.reward(t, points("anna", 1))
	}
	b.pass(core.Second)
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", reward.BlockHold))
	b.pass(1)
	b.reward(t, points("anna", 7))
	require.Equal(t, [3]int64{7, many, 0}, b.stake(t), "what is given by hand during the block is meant to be used")
	require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
	b.pass(core.Second)
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", reward.BlockCancel))
	require.Equal(t, [3]int64{0, 0, many + 7}, b.stake(t))
	require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
	require.Equal(t, [3]int64{0, 0, many + 7}, b.stake(t))

	for range many {
		b.reward(t, points("anna", 1))
	}
	b.pass(core.Second)
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", reward.BlockHold))
	require.Equal(t, [3]int64{0, many, many + 7}, b.stake(t))
	require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", reward.BlockKeep))
	require.Equal(t, [3]int64{many, 0, many + 7}, b.stake(t), "a block that keeps them does not stop the end of one that held them")
	require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", reward.BlockCancel))
	require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
	require.Equal(t, [3]int64{0, 0, 2*many + 7}, b.stake(t), "all are cancelled before the block ends")
}

// Of many rewards, those that do not follow the block yet cannot be used either, together or
// one by one; what was given by hand since then can.
func TestBlock_NothingIsUsedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, block := range []reward.Block{reward.BlockHold, reward.BlockCancel} {
		b := newBundle(t)
		b.owner(t, "anna", "ANNA10")
		const many = 450
		for range many {
			b.reward(t, points("anna", 1))
		}
		b.pass(core.Second)
		require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", block))
		b.pass(1)
		b.reward(t, points("anna", 7))
		draw := func(amount int64) error {
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", User: "u", Unit: "POINT", Amount: amount})
			return err
		}
		require.ErrorContains(t, draw(8), "is more than the 7 POINT that are available")
		all, _, err := b.Rewards.List(t.Context(), b.tenant, reward.Filter{Account: "anna", Limit: many + 1})
		require.NoError(t, err)
		for _, w := range all {
			if w.Offer.Amount == 1 {
				_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: w.ID, Unit: "POINT", Amount: 1})
				require.Error(t, err, w.ID)
			}
		}
		require.NoError(t, draw(7))
		require.Error(t, draw(1))
		want := map[reward.Block][3]int64{reward.BlockHold: {0, many, 0}, reward.BlockCancel: {0, 0, many}}
		require.Equal(t, want[block], b.stake(t))
	}
}

// An order that converts the referral of a blocked referrer has the reason at once, for the
// first order as for later ones.
func TestBlock_ReasonOfTheFirstOrder(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "anna", "ANNA10")
	b.shop(t, func(p *referral.Program) { p.ReferrerTerms.Orders = 0 })
	b.pass(core.Second)
	b.identify(t, "ben", b.cookie("ANNA10"))
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", ""))
	b.purchase(t, "ben", "1", "80")
	b.purchase(t, "ben", "2", "80")
	b.process(t)
	page, total, err := b.Orders.List(t.Context(), b.tenant, b.referral(t, "ben").ID, 10, 0)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	for _, o := range page {
		require.Equal(t, conversion.ReasonDenied, o.Sides[conversion.Referrer].Reason)
	}
	require.Equal(t, "DENIED/APPROVED, none/AVAILABLE", b.statuses(t, "ben"))
}

// A block and a moderation hold a reward independently of each other, and what a block has
// cancelled is not given again by an approval.
func TestBlock_AndModeration(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "anna", "ANNA10")
	b.shop(t, func(p *referral.Program) { p.ReferrerTerms.Orders = 0 })
	b.pass(core.Second)
	b.identify(t, "ben", b.cookie("ANNA10"))
	place := func(order string) {
		t.Helper()
		b.purchase(t, "ben", order, "80")
		b.process(t)
		b.pass(core.Second)
	}
	place("1")
	require.Equal(t, [3]int64{800, 0, 0}, b.stake(t))
	b.moderate(t, "ben", referral.DenyReferrer)
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", reward.BlockHold))
	place("2")
	b.moderate(t, "ben", referral.ApproveReferrer)
	b.process(t)
	require.Equal(t, [3]int64{0, 1600, 0}, b.stake(t), "approved, and still held by the block")
	require.Equal(t, "APPROVED/APPROVED, PENDING/AVAILABLE", b.statuses(t, "ben"))
	place("3")
	b.refund(t, "ben", "3", "40")
	b.process(t)
	require.Equal(t, [3]int64{0, 2000, 0}, b.stake(t), "a refund takes its share also of what is held")
	require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
	require.Equal(t, [3]int64{2000, 0, 0}, b.stake(t))
	b.moderate(t, "ben", referral.DenyReferrer)
	b.process(t)
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "anna", "u", reward.BlockCancel))
	require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
	b.moderate(t, "ben", referral.ApproveReferrer)
	b.process(t)
	require.Equal(t, [3]int64{0, 0, 2000}, b.stake(t))
	place("4")
	require.Equal(t, [3]int64{800, 0, 2000}, b.stake(t))
}
