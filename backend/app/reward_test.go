package app_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/rewards"
	"kith/backend/store"
	"kith/backend/store/unit"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
	"kith/core/webhook"
)

// points returns a grant of points to the user "u" of an account.
func points(account string, amount int64, change ...func(*reward.Grant)) reward.Grant {
	g := reward.Grant{
		Account: core.AccountID(account), User: "u", Source: reward.Manual,
		Offer: reward.Offer{Kind: reward.Credit, Amount: amount, Unit: "POINT"},
	}
	for _, c := range change {
		c(&g)
	}
	return g
}

func (b bundle) reward(t testing.TB, g reward.Grant) reward.Reward {
	t.Helper()
	r, err := b.Rewards.Create(t.Context(), b.tenant, g)
	require.NoError(t, err)
	return r
}

// stored returns a reward as it is now.
func (b bundle) stored(t testing.TB, id string) reward.Reward {
	t.Helper()
	r, err := b.Rewards.ByID(t.Context(), b.tenant, id)
	require.NoError(t, err)
	return r
}

// settle settles all rewards that are due, and returns their number.
func (b bundle) settle(t testing.TB) (settled int) {
	t.Helper()
	for {
		n, err := b.Rewards.Settle(t.Context())
		require.NoError(t, err)
		if n == 0 {
			return settled
		}
		settled += n
	}
}

// rewardEvents returns the events of rewards for an endpoint since the last call, as
// "created ID" or "account/user 5 POINT", sorted.
func (b bundle) rewardEvents(t testing.TB, queue webhook.Queue) (events []string) {
	t.Helper()
	var leased []webhookdb.Leased
	require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) (err error) {
		leased, err = webhookdb.LeaseDeliveries(t.Context(), tx, queue, 1000, b.RenewedToken())
		return err
	}))
	for _, l := range leased {
		var data struct {
			ID, UserID, AccountID, Unit string
			AvailableValue              json.Number
			ResourceVersion             int64
		}
		require.NoError(t, json.Unmarshal([]byte(l.Content.Data), &data))
		switch l.Content.Type {
		case webhook.RewardCreated:
			events = append(events, "created "+data.ID)
		case webhook.RewardBalanceChanged:
			require.Positive(t, data.ResourceVersion)
			events = append(events, data.AccountID+"/"+data.UserID+" "+data.AvailableValue.String()+" "+data.Unit)
		}
	}
	slices.Sort(events)
	return events
}

func TestCreateReward(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		r := b.reward(t, points("anna", 500))
		require.Equal(t, reward.Reward{
			ID: r.ID, Account: "anna", User: "u", Source: reward.Manual, Cancellable: true, Created: start, Given: start,
			Offer: reward.Offer{Kind: reward.Credit, Amount: 500, Unit: "POINT"},
		}, r)
		require.Equal(t, r, b.stored(t, r.ID))
		_, err := b.Rewards.Create(t.Context(), b.tenant, points("nobody", 500))
		require.Equal(t, core.CodeNotFound, codeOf(err))
		_, err = b.Rewards.Create(t.Context(), b.tenant, points("anna", 0))
		require.EqualError(t, err, "assignedCredit: must be 1 to 1000000000000")
		_, err = b.Rewards.Create(t.Context(), b.tenant, points("anna", 5, func(g *reward.Grant) { g.Expires = start }))
		require.Equal(t, core.Invalid("dateExpires", "must be later than now and than dateScheduledFor, in epoch milliseconds"), err)
		_, err = b.Rewards.ByID(t.Context(), "nobody", r.ID)
		require.Equal(t, core.CodeNotFound, codeOf(err))
		require.Equal(t, map[reward.Source]int{reward.Manual: 1}, b.rewards(t, "anna"))
	})
}

func codeOf(err error) core.Code {
	var e *core.Error
	if !errors.As(err, &e) {
		return core.CodeInternal
	}
	return e.Code
}

// A reward is scheduled, available, partly redeemed and expired. Its status changes with
// the dates; the ledger and the events follow when rewards are settled.
func TestReward_Lifecycle(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		r := b.reward(t, points("anna", 500, func(g *reward.Grant) { g.Scheduled, g.Expires = start+core.Hour, start+core.Day }))
		require.Equal(t, reward.StatusPending, r.Status(b.Now()))
		require.Empty(t, b.rewardEvents(t, queue), "the reward is not yet given")
		require.Zero(t, b.settle(t))
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "POINT", Amount: 1})
		require.Equal(t, core.Invalid("id", "the reward is PENDING, so nothing of it can be redeemed"), err)

		b.pass(core.Hour)
		require.False(t, b.stored(t, r.ID).Pending, "before it is settled")
		done, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "POINT", Amount: 200})
		require.NoError(t, err)
		require.Equal(t, reward.Redemption{Redeemed: 200, Available: 300, Unit: "POINT"}, done)
		require.Equal(t, 1, b.settle(t))
		require.Equal(t, []string{"anna/u 300 POINT", "created " + r.ID}, b.rewardEvents(t, queue))
		require.Equal(t, reward.StatusAvailable, b.stored(t, r.ID).Status(b.Now()))

		b.pass(core.Day - core.Hour)
		expired := b.stored(t, r.ID)
		require.Equal(t, int64(300), expired.Sums.Expired, "before it is settled")
		require.Equal(t, reward.StatusExpired, expired.Status(b.Now()))
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", User: "u", Unit: "POINT", Amount: 1})
		require.Equal(t, core.Invalid("amount", "is more than the 0 POINT that are available"), err)
		require.Equal(t, 1, b.settle(t))
		require.Equal(t, []string{"anna/u 0 POINT"}, b.rewardEvents(t, queue))
		require.Zero(t, b.settle(t))
		require.Equal(t, expired, b.stored(t, r.ID))
	})
}

// A reward has begun and expired since the last time that rewards were settled.
func TestSettleRewards_BothDatesAtOnce(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		r := b.reward(t, points("anna", 500, func(g *reward.Grant) { g.Scheduled, g.Expires = start+core.Hour, start+core.Day }))
		b.pass(2 * core.Day)
		require.Equal(t, 2, b.settle(t))
		require.Equal(t, []string{"anna/u 0 POINT", "anna/u 0 POINT", "created " + r.ID}, b.rewardEvents(t, queue))
	})
}

// There are more rewards than one batch settles.
func TestSettleRewards_InBatches(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const n = 450
	for range n {
		b.reward(t, points("anna", 5, func(g *reward.Grant) { g.Expires = start + core.Hour }))
	}
	b.pass(core.Hour)
	require.Equal(t, n, b.settle(t))
	balances, err := b.Rewards.Balances(t.Context(), b.tenant, "anna", "", "")
	require.NoError(t, err)
	require.Equal(t, []reward.Balance{{Kind: reward.Credit, Unit: "POINT", Count: n, Expired: 5 * n}}, balances)
}

func TestCancelReward(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		r := b.reward(t, points("anna", 500))
		b.rewardEvents(t, queue)
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "POINT", Amount: 200})
		require.NoError(t, err)
		require.Equal(t, []string{"anna/u 300 POINT"}, b.rewardEvents(t, queue))
		b.pass(5)
		cancelled, err := b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), r.ID, "")
		require.NoError(t, err)
		require.Equal(t, reward.Sums{Redeemed: 200, Cancelled: 300}, cancelled.Sums)
		require.Equal(t, start+5, cancelled.Cancelled)
		require.Len(t, cancelled.Redemptions, 1)
		require.Equal(t, []string{"anna/u 0 POINT"}, b.rewardEvents(t, queue))

		_, err = b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), r.ID, "")
		require.Equal(t, core.Invalid("id", "the reward is CANCELLED, so it cannot be cancelled"), err)
		fixed := b.reward(t, points("anna", 500, func(g *reward.Grant) { g.Fixed = true }))
		_, err = b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), fixed.ID, "")
		require.Equal(t, core.Invalid("id", "the reward is not cancellable"), err)
		_, err = b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), "nothing", "")
		require.Equal(t, core.NotFound("there is no such reward"), err)
	})
}

func TestSetRewardStatus(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		r := b.reward(t, points("anna", 500, func(g *reward.Grant) { g.Held = true }))
		require.Empty(t, b.rewardEvents(t, queue))
		for _, step := range []struct {
			to     reward.Status
			events []string
		}{
			{reward.StatusAvailable, []string{"anna/u 500 POINT", "created " + r.ID}},
			{reward.StatusPending, []string{"anna/u 0 POINT"}},
			{reward.StatusAvailable, []string{"anna/u 500 POINT"}},
			{reward.StatusAvailable, nil},
			{reward.StatusRedeemed, []string{"anna/u 0 POINT"}},
		} {
			b.pass(1)
			r, err := b.Rewards.SetStatus(t.Context(), b.tenant, r.ID, step.to)
			require.NoError(t, err)
			require.Equal(t, step.to, r.Status(b.Now()))
			require.Equal(t, step.events, b.rewardEvents(t, queue), step.to)
		}
		_, err := b.Rewards.SetStatus(t.Context(), b.tenant, r.ID, reward.StatusCancelled)
		require.Equal(t, core.Invalid("id", "the reward is REDEEMED, so it cannot be cancelled"), err)
	})
}

// A pending referral keeps its rewards pending, an approval gives them, and a denial
// cancels them until it is approved again.
func TestModerateRewards(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
		ref := b.referral(t, "friend")
		b.rewardEvents(t, queue)
		moderate := func(m reward.Moderation) {
			b.pass(1)
			require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
				u := unit.New(tx, b.tenant, nil)
				require.NoError(t, u.Decide(t.Context(), func(s *state.State) error {
					ref, _ := s.Referral(ref.ID)
					before := ref.Moderation
					ref.Moderation.Referrer.Status = referral.SideStatus(m)
					return (&rules.Rules{Keys: b.Keys, Entropy: b.Entropy}).KeepModeration(s, before, ref)
				}))
				return u.Save(t.Context())
			}))
		}
		status := func() reward.Status { return b.referral(t, "friend").ReferrerReward.Status(b.Now()) }
		moderate(reward.ModerationPending)
		require.Equal(t, reward.StatusPending, status())
		require.Equal(t, []string{"anna/u 0 CENTS"}, b.rewardEvents(t, queue))
		moderate(reward.ModerationApproved)
		require.Equal(t, reward.StatusAvailable, status())
		require.Equal(t, []string{"anna/u 1000 CENTS"}, b.rewardEvents(t, queue))
		moderate(reward.ModerationDenied)
		require.Equal(t, reward.StatusCancelled, status())
		require.Equal(t, []string{"anna/u 0 CENTS"}, b.rewardEvents(t, queue))
		moderate(reward.ModerationApproved)
		require.Equal(t, reward.StatusAvailable, status(), "an approval restores the cancelled reward")
		require.Equal(t, []string{"anna/u 1000 CENTS"}, b.rewardEvents(t, queue))
		require.Equal(t, reward.StatusAvailable, b.referral(t, "friend").ReferredReward.Status(b.Now()), "the other side")
	})
}

// The credit that expires first is used first, and of credit with the same date, that
// which was given first. Other units and users are not used.
func TestRedeemCredit_Order(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		_, err := b.Identification.Identify(t.Context(), b.tenant, rules.Identification{Update: referral.UserUpdate{Account: "anna", ID: "v"}})
		require.NoError(t, err)
		expires := func(at core.Time) func(*reward.Grant) { return func(g *reward.Grant) { g.Expires = at } }
		ever := b.reward(t, points("anna", 100))
		b.pass(1)
		late := b.reward(t, points("anna", 100, expires(start+core.Day)))
		soon := b.reward(t, points("anna", 100, expires(start+core.Hour)))
		b.pass(1)
		later := b.reward(t, points("anna", 100, expires(start+core.Day)))
		other := b.reward(t, points("anna", 100, func(g *reward.Grant) { g.Offer.Unit = "CENTS" }))
		second := b.reward(t, points("anna", 100, func(g *reward.Grant) { g.User = "v" }))
		left := func() (left []int64) {
			for _, r := range []reward.Reward{soon, late, later, ever, other, second} {
				left = append(left, b.stored(t, r.ID).Left())
			}
			return left
		}
		done, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", User: "u", Unit: "POINT", Amount: 250})
		require.NoError(t, err)
		require.Equal(t, reward.Redemption{Redeemed: 250, Available: 150, Unit: "POINT"}, done)
		require.Equal(t, []int64{0, 0, 50, 100, 100, 100}, left())
		done, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", Unit: "POINT", Amount: 200})
		require.NoError(t, err)
		require.Equal(t, reward.Redemption{Redeemed: 200, Available: 50, Unit: "POINT"}, done)
		require.Equal(t, []int64{0, 0, 0, 0, 100, 50}, left(), "all users of the account")
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", User: "u", Unit: "POINT", Amount: 1})
		require.Equal(t, core.Invalid("amount", "is more than the 0 POINT that are available"), err)
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", Unit: "POINT", Amount: 51})
		require.Equal(t, core.Invalid("amount", "is more than the 50 POINT that are available"), err)
		require.Equal(t, []int64{0, 0, 0, 0, 100, 50}, left(), "a refused redemption uses nothing")
	})
}

func TestRedeemReward_Refused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	r := b.reward(t, points("anna", 100))
	percent := b.reward(t, points("anna", 0, func(g *reward.Grant) { g.Offer = reward.Offer{Kind: reward.PercentDiscount, Percent: 1000} }))
	for want, call := range map[*core.Error]func() error{
		core.Invalid("amount", "is more than the 100 POINT that are available"): func() error {
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "POINT", Amount: 101})
			return err
		},
		core.Invalid("unit", "the reward is in POINT"): func() error {
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "CENTS", Amount: 1})
			return err
		},
		core.Invalid("id", "the reward is a PCT_DISCOUNT; only CREDIT can be redeemed"): func() error {
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: percent.ID, Unit: "%", Amount: 1})
			return err
		},
		core.NotFound("there is no such reward"): func() error {
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: "nothing", Unit: "POINT", Amount: 1})
			return err
		},
	} {
		require.Equal(t, want, call())
	}
	require.Equal(t, int64(100), b.stored(t, r.ID).Left())
}

// A key is refused for a day, whatever is redeemed. The error says whether that is what was redeemed
// with it.
func TestRedeem_KeyIsRefusedForADay(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		r := b.reward(t, points("anna", 100))
		one, many := reward.Draw{Reward: r.ID, Unit: "POINT", Amount: 10, Key: "invoice-7"}, reward.Draw{Account: "anna", Unit: "POINT", Amount: 10, Key: "invoice-7"}
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, one)
		require.NoError(t, err)
		b.pass(core.Day)
		for _, d := range []reward.Draw{one, many} {
			_, err = b.Redemptions.Draw(t.Context(), b.tenant, d)
			require.Equal(t, reward.KeyUsed(false), err)
		}
		for _, change := range []func(*reward.Draw){
			func(d *reward.Draw) { d.Amount = 11 }, func(d *reward.Draw) { d.Unit = "MILE" }, func(d *reward.Draw) { d.Currency = "USD" },
			func(d *reward.Draw) { d.Account = "bert" }, func(d *reward.Draw) { d.User = "other" }, func(d *reward.Draw) { d.Account, d.Reward = "", "other" },
		} {
			other := many
			change(&other)
			_, err = b.Redemptions.Draw(t.Context(), b.tenant, other)
			if other.Currency != "" {
				require.Equal(t, reward.KeyUsed(false), err, "the reward has no currency")
				continue
			}
			require.Equal(t, reward.KeyUsed(true), err, "%+v", other)
		}
		b.pass(1)
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, many)
		require.NoError(t, err)
		require.Equal(t, int64(80), b.stored(t, r.ID).Left())
	})
}

// The draws of one transaction, as an import makes them, see the effects of those before
// them. A refused draw does not stop the others.
func TestRedeemWithin(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		one := b.reward(t, points("anna", 100))
		b.pass(1)
		b.reward(t, points("anna", 100))
		b.reward(t, points("bert", 100))
		b.rewardEvents(t, queue)
		draws := []reward.Draw{
			{Account: "anna", User: "u", Unit: "POINT", Amount: 60, Key: "line-one"},
			{Account: "bert", User: "u", Unit: "POINT", Amount: 101},
			{Account: "nobody", User: "u", Unit: "POINT", Amount: 1},
			{Account: "anna", Unit: "POINT", Amount: 60},
			{Account: "bert", Unit: "POINT", Amount: 5, Key: "line-one"},
			{Reward: one.ID, Unit: "POINT", Amount: 1},
			{Account: "bert", User: "u", Unit: "POINT", Amount: 100},
			{Account: "anna", Unit: "POINT", Amount: 81},
			{Account: "anna", Unit: "POINT", Amount: 80},
		}
		var drawn []rewards.DrawResult
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) (err error) {
			drawn, err = b.Redemptions.DrawWithin(t.Context(), tx, b.tenant, draws)
			return err
		}))
		done := func(redeemed, available int64) rewards.DrawResult {
			return rewards.DrawResult{Redemption: reward.Redemption{Redeemed: redeemed, Available: available, Unit: "POINT"}}
		}
		short := func(available string) rewards.DrawResult {
			return rewards.DrawResult{Refused: core.Invalid("amount", "is more than the "+available+" POINT that are available")}
		}
		require.Equal(t, []rewards.DrawResult{
			done(60, 140), short("100"), short("0"), done(60, 80), {Refused: reward.KeyUsed(true)},
			{Refused: core.Invalid("id", "the reward is REDEEMED, so nothing of it can be redeemed")}, done(100, 0), short("80"), done(80, 0),
		}, drawn)
		require.Equal(t, []string{"anna/u 0 POINT", "anna/u 140 POINT", "anna/u 80 POINT", "bert/u 0 POINT"}, b.rewardEvents(t, queue))
	})
}

// Draws of one transaction do what the same draws do one after the other, also if many of them
// use the same credit.
func TestRedeemWithin_IsLikeOneByOne(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		random := rand.New(rand.NewPCG(1, 2))
		for _, side := range []string{"x", "y"} {
			for n := range 6 {
				b.identify(t, side+strconv.Itoa(n/2), func(in *rules.Identification) { in.Update.ID = core.UserID(strconv.Itoa(n % 2)) })
			}
		}
		queue := b.subscribe(t, hook)
		var credits [2][]string
		for range 60 {
			who, user, currency := strconv.Itoa(random.IntN(3)), strconv.Itoa(random.IntN(2)), []string{"", "USD", "EUR"}[random.IntN(3)]
			amount, expires := 1+random.Int64N(30), core.Time(random.IntN(2))*(start+core.Day+core.Time(random.IntN(9)))
			b.pass(core.Time(random.IntN(2)))
			for i, side := range []string{"x", "y"} {
				g := reward.Grant{
					Account: core.AccountID(side + who), User: core.UserID(user), Source: reward.Manual, Expires: expires,
					Offer: reward.Offer{Kind: reward.Credit, Amount: amount, Unit: "CENTS", Currency: currency},
				}
				credits[i] = append(credits[i], b.reward(t, g).ID)
			}
		}
		b.rewardEvents(t, queue)
		draws := make([]reward.Draw, 250)
		for i := range draws {
			draws[i] = reward.Draw{
				Account: core.AccountID(strconv.Itoa(random.IntN(3))), User: core.UserID([]string{"", "0", "1"}[random.IntN(3)]), Unit: "CENTS",
				Currency: []string{"", "USD", "EUR"}[random.IntN(3)], Amount: 1 + random.Int64N(9)*random.Int64N(3),
			}
			if i%3 > 0 { // in a row with those of the same credit
				draws[i].Account, draws[i].User, draws[i].Currency = draws[i-1].Account, draws[i-1].User, draws[i-1].Currency
			}
			if i%10 == 9 {
				draws[i].Key = core.IdempotencyKey("the-key-" + strconv.Itoa(random.IntN(9)))
			}
		}
		of := func(side string) (all []reward.Draw) {
			for _, d := range draws {
				if d.Account = core.AccountID(side) + d.Account; d.Key != "" {
					d.Key += core.IdempotencyKey(side)
				}
				all = append(all, d)
			}
			return all
		}
		drawn, err := store.WriteValue(t.Context(), b.DB.Write, b.Now(), func(tx *store.Tx) ([]rewards.DrawResult, error) {
			return b.Redemptions.DrawWithin(t.Context(), tx, b.tenant, of("x"))
		})
		require.NoError(t, err)
		together := b.rewardEvents(t, queue)
		redeemed := 0
		for i, d := range of("y") {
			one, err := b.Redemptions.Draw(t.Context(), b.tenant, d)
			require.Equal(t, drawn[i], rewards.DrawResult{Redemption: one, Refused: err}, "%d: %+v", i, d)
			if err == nil {
				redeemed++
			}
		}
		require.Greater(t, redeemed, 40)
		left := func(ids []string) (sums []reward.Sums) {
			for _, id := range ids {
				sums = append(sums, b.stored(t, id).Sums)
			}
			return sums
		}
		require.Equal(t, left(credits[0]), left(credits[1]))
		single := b.rewardEvents(t, queue)
		for i, e := range single {
			single[i] = strings.Replace(e, "y", "x", 1)
		}
		for _, e := range together {
			require.Contains(t, single, e)
		}
	})
}

func TestRewards_Events(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		credit := b.reward(t, points("anna", 500))
		require.Equal(t, []string{"anna/u 500 POINT", "created " + credit.ID}, b.rewardEvents(t, queue))
		b.pass(1)
		percent := b.reward(t, points("anna", 0, func(g *reward.Grant) { g.Offer = reward.Offer{Kind: reward.PercentDiscount, Percent: 1250} }))
		require.Equal(t, []string{"anna/u 12.5 %", "created " + percent.ID}, b.rewardEvents(t, queue))
		b.pass(1)
		tank := b.reward(t, points("anna", 500, func(g *reward.Grant) {
			g.Offer.Kind, g.FuelTankCode, g.FuelTankType = reward.FuelTank, "C", reward.Credit
		}))
		require.Equal(t, []string{"created " + tank.ID}, b.rewardEvents(t, queue), "a code changes no balance")
		b.pass(1)
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
		ref := b.referral(t, "friend")
		require.ElementsMatch(t, []string{
			"anna/u 1000 CENTS", "friend/u 10 %", "created " + ref.ReferrerReward.ID, "created " + ref.ReferredReward.ID,
		}, b.rewardEvents(t, queue))
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: credit.ID, Unit: "POINT", Amount: 501})
		require.Error(t, err)
		require.Empty(t, b.rewardEvents(t, queue), "a refused redemption emits nothing")
	})
}

func TestBalances(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		give := func(amount int64, change ...func(*reward.Grant)) string {
			return b.reward(t, points("anna", amount, change...)).ID
		}
		percent := func(percent reward.BasisPoints, source reward.Source) {
			give(0, func(g *reward.Grant) {
				g.Offer, g.Source = reward.Offer{Kind: reward.PercentDiscount, Percent: percent}, source
			})
		}
		give(1)
		_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: give(20), Unit: "POINT", Amount: 15})
		require.NoError(t, err)
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: give(300), Unit: "POINT", Amount: 100})
		require.NoError(t, err)
		cancelled := give(4000)
		_, err = b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: cancelled, Unit: "POINT", Amount: 1000})
		require.NoError(t, err)
		_, err = b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), cancelled, "")
		require.NoError(t, err)
		give(50000, func(g *reward.Grant) { g.Held = true })
		give(600000, func(g *reward.Grant) { g.Expires = start + 5 })
		give(7, func(g *reward.Grant) { g.Offer.Unit = "MILE" })
		percent(1000, reward.Referred)
		percent(250, reward.Referred)
		percent(500, reward.FriendSignup)
		percent(300, reward.Manual)
		give(5, func(g *reward.Grant) {
			g.Offer.Kind, g.FuelTankCode, g.FuelTankType = reward.FuelTank, "C", reward.Credit
		})
		give(5, func(g *reward.Grant) { g.Offer.Kind, g.Offer.Unit = reward.Integration, "CASH/CAD" })
		b.pass(5)
		credit := reward.Balance{
			Kind: reward.Credit, Unit: "POINT", Count: 6, Assigned: 1 + 20 + 300 + 1000, Redeemed: 15 + 100 + 1000,
			Pending: 50000, Expired: 600000, Cancelled: 3000,
		}
		require.Equal(t, int64(1+5+200), credit.Available())
		for range 2 { // before and after rewards are settled
			balances, err := b.Rewards.Balances(t.Context(), b.tenant, "anna", "u", "")
			require.NoError(t, err)
			require.Equal(t, []reward.Balance{
				{Kind: reward.Credit, Unit: "MILE", Count: 1, Assigned: 7}, credit,
				{Kind: reward.FuelTank, Unit: "POINT", Count: 1, Assigned: 5, Codes: 1},
				{Kind: reward.Integration, Unit: "CASH/CAD", Count: 1, Assigned: 5},
				{Kind: reward.PercentDiscount, Unit: "%", Count: 4, Assigned: 2050, Referred: 1250, Referrer: 800},
			}, balances)
			b.settle(t)
		}
		only, err := b.Rewards.Balances(t.Context(), b.tenant, "anna", "", reward.FuelTank)
		require.NoError(t, err)
		require.Len(t, only, 1)
		none, err := b.Rewards.Balances(t.Context(), b.tenant, "anna", "v", "")
		require.NoError(t, err)
		require.Empty(t, none)
	})
}
