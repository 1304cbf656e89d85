package app_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/core"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
)

// earned returns a grant of an order.
func earned(order string, amount int64, change ...func(*reward.Grant)) reward.Grant {
	g := points("anna", amount, change...)
	g.Order = order
	return g
}

// reverse takes back a share of a reward, as a refund of its order does.
func (b bundle) reverse(t *testing.T, id string, share int64) {
	t.Helper()
	require.NoError(t, b.Rewards.Decide(t.Context(), b.tenant, func(s *state.State) error {
		before, _ := s.Rewards.Get(id)
		after, entry := before.Reverse(share, s.Now)
		b.Rewards.Rules().Record(s, []rules.Step{{Before: before, After: after, Entries: []reward.Entry{entry}}})
		return nil
	}))
}

// redeemed returns a reward of an order that was redeemed completely.
func (b bundle) redeemed(t *testing.T, order string, amount int64) reward.Reward {
	t.Helper()
	r := b.reward(t, earned(order, amount))
	_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "POINT", Amount: amount})
	require.NoError(t, err)
	return r
}

func (b bundle) available(t *testing.T) int64 {
	t.Helper()
	all, err := b.Rewards.Balances(t.Context(), b.tenant, "anna", "u", reward.Credit)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, all[0].Available(), all[0].Assigned-all[0].Redeemed, "settlements of one owner are even")
	return all[0].Available()
}

// A refund of a redeemed reward makes the balance negative. The next rewards settle it,
// each when it is given, and webhooks report both.
func TestDebt_NextRewardSettles(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		debt := b.redeemed(t, "o-1", 500)
		b.rewardEvents(t, queue)
		b.reverse(t, debt.ID, 300)
		require.Equal(t, int64(-300), b.available(t))
		require.Equal(t, []string{"anna/u -300 POINT"}, b.rewardEvents(t, queue))
		stored := b.stored(t, debt.ID)
		require.Equal(t, reward.StatusRedeemed, stored.Status(b.Now()))
		require.Equal(t, int64(-300), stored.Available(b.Now()))
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", User: "u", Unit: "POINT", Amount: 1})
		require.Equal(t, core.Invalid("amount", "is more than the 0 POINT that are available"), err)

		small := b.reward(t, points("anna", 100))
		require.Equal(t, reward.Sums{Settled: 100}, small.Sums, "also in the answer")
		require.Equal(t, reward.StatusRedeemed, small.Status(b.Now()))
		require.Equal(t, []string{"anna/u -200 POINT", "created " + small.ID}, b.rewardEvents(t, queue))
		later := b.reward(t, points("anna", 250, func(g *reward.Grant) { g.Scheduled = b.Now() + core.Hour }))
		require.Zero(t, later.Sums.Settled)
		require.Equal(t, int64(-200), b.available(t))

		b.pass(core.Hour)
		require.Equal(t, int64(50), b.available(t), "before it is settled")
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: later.ID, Unit: "POINT", Amount: 51})
		require.Equal(t, core.Invalid("amount", "is more than the 50 POINT that are available"), err)
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", Unit: "POINT", Amount: 51})
		require.Equal(t, core.Invalid("amount", "is more than the 50 POINT that are available"), err)
		require.Equal(t, 1, b.settle(t))
		require.Equal(t, []string{"anna/u 50 POINT", "created " + later.ID}, b.rewardEvents(t, queue))
		require.Equal(t, reward.Sums{Settled: 200}, b.stored(t, later.ID).Sums)
		require.Equal(t, reward.Sums{Redeemed: 500, Reversed: 300, Settled: -300}, b.stored(t, debt.ID).Sums)
		require.Equal(t, int64(50), b.available(t))
		require.Zero(t, b.settle(t))

		b.reverse(t, debt.ID, 0)
		require.Equal(t, int64(300), b.stored(t, debt.ID).Available(b.Now()), "a corrected refund gives back what was settled")
		require.Equal(t, int64(350), b.available(t))
		b.ledgerAgrees(t)
	})
}

// A debt uses credit that the owner has already, soonest to expire first, but none of
// another user, unit or currency.
func TestDebt_UsesCreditAtOnce(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		debt := b.redeemed(t, "o-1", 500)
		euro := b.reward(t, points("anna", 100, func(g *reward.Grant) { g.Offer.Currency = "EUR" }))
		other := b.reward(t, points("anna", 100, func(g *reward.Grant) { g.Offer.Unit = "CENTS" }))
		never := b.reward(t, points("anna", 100))
		soon := b.reward(t, points("anna", 100, func(g *reward.Grant) { g.Expires = b.Now() + core.Hour }))
		b.reverse(t, debt.ID, 120)
		settled := map[string]int64{}
		for _, r := range []reward.Reward{debt, euro, other, never, soon} {
			settled[r.ID] = b.stored(t, r.ID).Sums.Settled
		}
		require.Equal(t, map[string]int64{debt.ID: -120, euro.ID: 0, other.ID: 0, never.ID: 20, soon.ID: 100}, settled)
		b.ledgerAgrees(t)
	})
}

// A status that a call sets redeems no more than the owner has.
func TestDebt_IsSettledBeforeARewardIsRedeemedByStatus(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		debt := b.redeemed(t, "o-1", 500)
		later := b.reward(t, points("anna", 400, func(g *reward.Grant) { g.Scheduled = b.Now() + core.Hour }))
		b.reverse(t, debt.ID, 300)
		b.pass(core.Hour)
		r, err := b.Rewards.SetStatus(t.Context(), b.tenant, later.ID, reward.StatusRedeemed)
		require.NoError(t, err)
		require.Equal(t, reward.Sums{Redeemed: 100, Settled: 300}, r.Sums)
		require.Zero(t, b.available(t))
		b.ledgerAgrees(t)
	})
}

// One settlement is bounded. The worker continues it, and a draw before that takes no
// more than the sum.
func TestDebt_ManyAreSettledInSteps(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		const many = 2*reward.MaxSettled + 50
		require.NoError(t, b.Rewards.Decide(t.Context(), b.tenant, func(s *state.State) error {
			var steps []rules.Step
			for i := range many {
				r, err := b.Rewards.Rules().Give(s, earned("o-"+strconv.Itoa(i), 10))
				if err != nil {
					return err
				}
				after, redeemed, err := r.Redeem(10, s.Now)
				if err != nil {
					return err
				}
				after, reversed := after.Reverse(10, s.Now)
				steps = append(steps, rules.Step{Before: r, After: after, Entries: []reward.Entry{redeemed, reversed}})
			}
			b.Rewards.Rules().Record(s, steps)
			return nil
		}))
		require.Equal(t, int64(-10*many), b.available(t))
		large := b.reward(t, points("anna", 10*many+7))
		require.Equal(t, int64(10*reward.MaxSettled), large.Sums.Settled)
		require.Equal(t, int64(7), b.available(t))
		for _, draw := range []reward.Draw{{Reward: large.ID}, {Account: "anna", User: "u"}, {Account: "anna"}} {
			draw.Unit, draw.Amount = "POINT", 8
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, draw)
			require.Equal(t, core.Invalid("amount", "is more than the 7 POINT that are available"), err, "%+v", draw)
		}
		require.Equal(t, 2, b.settle(t))
		require.Equal(t, reward.Sums{Settled: 10 * many}, b.stored(t, large.ID).Sums)
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", Unit: "POINT", Amount: 7})
		require.NoError(t, err)
		b.ledgerAgrees(t)
	})
}

// ledgerAgrees checks that the sums of the tenant's rewards are those of their entries.
func (b bundle) ledgerAgrees(t *testing.T) {
	t.Helper()
	wrong, err := store.One[int](t.Context(), b.DB.Reads, "wrong rewards", `SELECT count(*) FROM reward r WHERE r.tenant = ?1
		AND (r.value, r.redeemed, r.expired, r.cancelled, r.reversed, r.settled) <> (SELECT
			coalesce(sum(amount) FILTER (WHERE action IN ('grant', 'adjust')), 0), -coalesce(sum(amount) FILTER (WHERE action = 'redeem'), 0),
			-coalesce(sum(amount) FILTER (WHERE action = 'expire'), 0), -coalesce(sum(amount) FILTER (WHERE action IN ('cancel', 'restore')), 0),
			-coalesce(sum(amount) FILTER (WHERE action = 'reverse'), 0), -coalesce(sum(amount) FILTER (WHERE action = 'settle'), 0)
			FROM reward_ledger l WHERE l.tenant = ?1 AND l.reward_id = r.id)`, string(b.tenant))
	require.NoError(t, err)
	require.Zero(t, wrong)
}
