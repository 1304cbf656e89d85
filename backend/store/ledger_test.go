package store_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/rewarddb"
	"kith/backend/store/rowtest"
	"kith/core"
	"kith/core/reward"
)

// aGrant returns a grant of 1000 CENTS to the user "u" of the account "a".
func aGrant() reward.Grant {
	return reward.Grant{Account: "a", User: "u", Source: reward.Manual, Offer: reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"}}
}

// grant grants rewards; their ids are id0, id1 and so on.
func (b bundle) grant(t testing.TB, id string, grants ...reward.Grant) []reward.Reward {
	t.Helper()
	var rewards []reward.Reward
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		for i, g := range grants {
			r, entries, err := g.Begin(id+strconv.Itoa(i), tx.Now)
			require.NoError(t, err)
			require.NoError(t, rowtest.InsertReward(ctx, tx, b.tenant, r))
			require.NoError(t, rewarddb.AppendLedger(ctx, tx, b.tenant, nil, named(r.ID, entries...)))
			rewards = append(rewards, r)
		}
		return nil
	})
	return rewards
}

// named sets the ids of entries.
func named(id string, entries ...reward.Entry) []reward.Entry {
	for i := range entries {
		entries[i].ID = id + "-" + string(entries[i].Action) + "-" + strconv.Itoa(i)
	}
	return entries
}

func TestLedger_IsAppendOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.grant(t, "r", aGrant())
		for _, statement := range []string{
			`UPDATE reward_ledger SET amount = 5 WHERE tenant = ?`, `DELETE FROM reward_ledger WHERE tenant = ?`,
		} {
			_, err := b.raw(t).ExecContext(t.Context(), statement, string(b.tenant))
			require.ErrorContains(t, err, "the ledger is only ever added to", statement)
		}
		var amount int64
		require.NoError(t, b.raw(t).QueryRowContext(t.Context(), `SELECT sum(amount) FROM reward_ledger WHERE tenant = ?`,
			string(b.tenant)).Scan(&amount))
		require.Equal(t, int64(1000), amount)
	})
}

func TestAppendLedger_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		g := aGrant()
		g.Program, g.Referral, g.Expires, g.ProgramRewardKey, g.GlobalRewardKey = "classic", "ref", now+50, awkward[1], awkward[4]
		g.Offer.Name, g.Offer.Description, g.Offer.Unit = awkward[2], awkward[5], awkward[3]
		tank, gift, held := aGrant(), aGrant(), aGrant()
		tank.Offer.Kind, tank.FuelTankCode, tank.FuelTankType, tank.Scheduled = reward.FuelTank, awkward[1], reward.Credit, now+5
		gift.Offer.Kind, gift.Offer.Settings, gift.Fixed = reward.Integration, `{"giftId":"5"}`, true
		held.Held = true
		want := b.grant(t, "r", g, tank, gift, held)

		after, first, err := want[0].Redeem(300, now+1)
		require.NoError(t, err)
		after, second, err := after.Redeem(200, now+2)
		require.NoError(t, err)
		expired, third, err := after.Expire(now + 60)
		require.NoError(t, err)
		released, fourth, err := want[3].Release(now + 7)
		require.NoError(t, err)
		entries := named("x", first, second, third, fourth)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return rewarddb.AppendLedger(ctx, tx, b.tenant, []reward.Reward{expired, released}, entries)
		})
		expired.Redemptions = []reward.Redeemed{{ID: "x-redeem-1", Amount: 200, At: now + 2}, {ID: "x-redeem-0", Amount: 300, At: now + 1}}
		for _, r := range []reward.Reward{expired, want[1], want[2], released} {
			got, err := rewarddb.ByID(t.Context(), b.db.Reads, b.tenant, r.ID)
			require.NoError(t, err)
			require.Equal(t, r, got)
		}
		_, err = rewarddb.ByID(t.Context(), b.db.Reads, "unknown", "r0")
		require.Equal(t, core.NotFound("there is no such reward"), err)
	})
}

// A reward shows only its latest redemptions.
func TestReward_ShowsTheLastRedemptions(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		r := b.grant(t, "r", aGrant())[0]
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			var entries []reward.Entry
			for i := range reward.MaxRedemptions + 5 {
				after, entry, err := r.Redeem(1, now+core.Time(i))
				require.NoError(t, err)
				r, entries = after, append(entries, entry)
			}
			return rewarddb.AppendLedger(ctx, tx, b.tenant, []reward.Reward{r}, named("x", entries...))
		})
		got, err := rewarddb.ByID(t.Context(), b.db.Reads, b.tenant, r.ID)
		require.NoError(t, err)
		require.Len(t, got.Redemptions, reward.MaxRedemptions)
		require.Equal(t, reward.Redeemed{ID: "x-redeem-104", Amount: 1, At: now + 104}, got.Redemptions[0])
		require.Equal(t, int64(105), got.Sums.Redeemed)
	})
}

// The status in SQL matches that in core, for rewards in every state and at every
// time around their dates.
func TestGroups_StatusMatchesCore(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		var rewards []reward.Reward
		for i := range 2 * 2 * 3 * 6 {
			g := aGrant()
			g.Held = i%2 == 1
			if i/2%2 == 1 {
				g.Scheduled = now + 10
			}
			if n := i / 4 % 3; n > 0 {
				g.Expires = now + core.Time(10+5*n)
			}
			r := b.grant(t, "r"+strconv.Itoa(i)+"-", g)[0]
			rewards = append(rewards, b.act(t, r, i/12))
		}
		for at := now - 1; at < now+30; at++ {
			want := map[reward.Status]int64{}
			for _, r := range rewards {
				want[r.Status(at)]++
			}
			groups, err := rewarddb.Groups(t.Context(), b.db.Reads, b.tenant, at, "a", "", "")
			require.NoError(t, err)
			got := map[reward.Status]int64{}
			for _, g := range groups {
				got[g.Status] = g.Count
			}
			require.Equal(t, want, got, at-now)
		}
	})
}

// After random actions on rewards of orders, the sums by status, the balance and the due
// rewards in SQL match those in core, and no reward breaks a constraint.
func TestGroups_OrdersMatchCore(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		random := rand.New(rand.NewPCG(3, 4))
		var grants []reward.Grant
		for i := range 60 {
			g := aGrant()
			g.Order, g.Held = strconv.Itoa(i), i%5 == 0
			if i%3 == 0 {
				g.Expires = now + core.Time(20+i)
			}
			if i%4 == 0 {
				g.Scheduled = now + core.Time(i)
			}
			grants = append(grants, g)
		}
		rewards := b.grant(t, "r", grants...)
		debts := 0
		for n := range 40 {
			at := now + core.Time(2*n)
			var entries []reward.Entry
			for i := range rewards {
				next, made := walkOrder(random, rewards[i], at)
				rewards[i] = next
				made = slices.DeleteFunc(made, reward.Entry.None)
				entries = append(entries, named(next.ID+"-"+strconv.Itoa(n), made...)...)
			}
			if n%3 == 0 {
				settled, made := reward.SettleDebts(rewards, at)
				for _, w := range settled {
					rewards[slices.IndexFunc(rewards, func(r reward.Reward) bool { return r.ID == w.ID })] = w
				}
				entries = append(entries, named("settle-"+strconv.Itoa(n), made...)...)
			}
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				return rewarddb.AppendLedger(ctx, tx, b.tenant, rewards, entries)
			})
			debts += b.agreesWithCore(t, rewards, at)
		}
		require.Greater(t, debts, 50)
	})
}

// agreesWithCore compares what SQL says about rewards at a time with what core does, and
// returns the number of debts.
func (b bundle) agreesWithCore(t *testing.T, rewards []reward.Reward, at core.Time) (debts int) {
	t.Helper()
	type sums struct {
		count, value, debt int64
		sums               reward.Sums
	}
	want, got := map[reward.Status]sums{}, map[reward.Status]sums{}
	var available int64
	due := map[string]bool{}
	for _, r := range rewards {
		if r.Offer.Value() == 0 && r.Sums.Redeemed == 0 && r.Sums.Settled == 0 {
			// Its order does not earn it any more, so it is not counted.
			continue
		}
		g := want[r.Status(at)]
		g.count, g.value, g.debt = g.count+1, g.value+r.Offer.Value(), g.debt+r.Debt()
		g.sums = reward.Sums{
			Redeemed: g.sums.Redeemed + r.Sums.Redeemed, Expired: g.sums.Expired + r.Sums.Expired, Cancelled: g.sums.Cancelled + r.Sums.Cancelled,
			Reversed: g.sums.Reversed + r.Sums.Reversed, Settled: g.sums.Settled + r.Sums.Settled,
		}
		want[r.Status(at)] = g
		available += r.Available(at)
		if r.Debt() > 0 {
			debts++
		}
		if after, entry := r.Settle(at); !entry.None() && after.Left() != r.Left() || entry.Action == reward.ActionRelease && r.Left() > 0 {
			due[r.ID] = true
		}
	}
	groups, err := rewarddb.Groups(t.Context(), b.db.Reads, b.tenant, at, "a", "", "")
	require.NoError(t, err)
	for _, g := range groups {
		got[g.Status] = sums{g.Count, g.Value, g.Debt, g.Sums}
	}
	require.Equal(t, want, got, at-now)
	require.Equal(t, available, reward.Balances(groups)[0].Available(), at-now)
	var draw []reward.Drawable
	require.NoError(t, b.db.Write(t.Context(), at, func(tx *store.Tx) (err error) {
		draw, err = rewarddb.DrawableBy(t.Context(), tx, b.tenant, []reward.Draw{{Account: "a", User: "u", Unit: "CENTS", Amount: 1}})
		return err
	}))
	if len(draw[0].Credits) > 0 {
		require.Equal(t, available, draw[0].Available, at-now)
		one, err := rewarddb.OneDrawable(t.Context(), b.db.Reads, b.tenant, draw[0].Credits[0].ID, at)
		require.NoError(t, err)
		usable := draw[0].Credits[0].Left()
		if debts > 0 {
			usable = min(usable, available)
		}
		require.Equal(t, usable, one.Available, at-now)
	}
	money := b.owned(t, at)
	require.Equal(t, []reward.Money{{Currency: "USD", Available: available}}, money, at-now)
	require.NoError(t, b.db.Write(t.Context(), at, func(tx *store.Tx) error {
		// A server may make the transaction run again.
		due := maps.Clone(due)
		all, err := rewarddb.ListDue(t.Context(), tx, 100_000)
		for _, d := range all {
			if d.Tenant == b.tenant {
				require.True(t, due[d.ID], d.ID)
				delete(due, d.ID)
			}
		}
		// Those to be given come first, without those that have expired.
		for id := range due {
			i := slices.IndexFunc(rewards, func(r reward.Reward) bool { return r.ID == id })
			require.True(t, len(all) > 0 && rewards[i].Status(at) == reward.StatusExpired, id)
		}
		return err
	}))
	return debts
}

// owned returns what the user "u" of the account "a" can redeem.
func (b bundle) owned(t *testing.T, at core.Time) []reward.Money {
	t.Helper()
	rows, err := b.db.QueryContext(t.Context(), rewarddb.OwnerBalance, string(b.tenant), int64(at), "a", "u", "CENTS")
	money, err := rewarddb.MoneyColumns.All(rows, err, "money")
	require.NoError(t, err)
	return money
}

// walkOrder applies a random action to the reward of an order.
func walkOrder(random *rand.Rand, r reward.Reward, at core.Time) (reward.Reward, []reward.Entry) {
	switch random.IntN(6) {
	case 0:
		r, entry := r.Reverse(random.Int64N(1200), at)
		return r, []reward.Entry{entry}
	case 1:
		return r.Adjust([]int64{0, 500, 1000, 1500}[random.IntN(4)], r.Scheduled, at)
	case 2:
		return r.Moderate([]reward.Moderation{reward.ModerationApproved, reward.ModerationPending, reward.ModerationDenied}[random.IntN(3)], at)
	case 3:
		after, entry, err := r.To([]reward.Status{reward.StatusRedeemed, reward.StatusExpired, reward.StatusCancelled}[random.IntN(3)], at)
		if err != nil || random.IntN(3) > 0 {
			return r, nil
		}
		return after, []reward.Entry{entry}
	default:
		r, entry := walk(random, r, at)
		return r, []reward.Entry{entry}
	}
}

// act applies one of six sequences of actions to a reward; an action that is refused
// is left out.
func (b bundle) act(t *testing.T, r reward.Reward, what int) reward.Reward {
	t.Helper()
	steps := [][]func(reward.Reward) (reward.Reward, reward.Entry, error){
		{},
		{func(r reward.Reward) (reward.Reward, reward.Entry, error) { return r.Redeem(400, now+12) }},
		{func(r reward.Reward) (reward.Reward, reward.Entry, error) { return r.Redeem(1000, now+12) }},
		{func(r reward.Reward) (reward.Reward, reward.Entry, error) { return r.Redeem(400, now+12) },
			func(r reward.Reward) (reward.Reward, reward.Entry, error) { return r.Cancel(now + 13) }},
		{func(r reward.Reward) (reward.Reward, reward.Entry, error) { return r.Expire(now + 11) }},
		{func(r reward.Reward) (reward.Reward, reward.Entry, error) { return r.Hold(now + 11) },
			func(r reward.Reward) (reward.Reward, reward.Entry, error) { return r.Release(now + 13) }},
	}[what]
	for i, step := range steps {
		after, entry, err := step(r)
		if err != nil {
			continue
		}
		var entries []reward.Entry
		if !entry.None() {
			entries = named(r.ID+"-"+strconv.Itoa(i), entry)
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return rewarddb.AppendLedger(ctx, tx, b.tenant, []reward.Reward{after}, entries)
		})
		r = after
	}
	return r
}

// Credits are in the order of core, no more than a draw needs, with the sum of all.
// Other units, kinds and users, and credits that cannot be used, are not included.
func TestDrawable(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		with := func(change func(*reward.Grant)) reward.Grant { g := aGrant(); change(&g); return g }
		rewards := b.grant(t, "r",
			with(func(g *reward.Grant) { g.Given = now - 5 }),
			with(func(g *reward.Grant) { g.Given = now - 9 }),
			with(func(g *reward.Grant) { g.Expires = now + 70 }),
			with(func(g *reward.Grant) { g.Expires = now + 60; g.User = "v" }),
			with(func(g *reward.Grant) { g.Expires = now + 70; g.Given = now - 1 }),
			with(func(g *reward.Grant) { g.Given = now - 9 }),
			// These do not count.
			with(func(g *reward.Grant) { g.Held = true }),
			with(func(g *reward.Grant) { g.Scheduled = now + 1 }),
			with(func(g *reward.Grant) { g.Given, g.Expires = now-9, now }),
			with(func(g *reward.Grant) { g.Offer.Unit = "cents" }),
			with(func(g *reward.Grant) {
				g.Offer.Kind, g.FuelTankCode, g.FuelTankType = reward.FuelTank, "C", reward.Credit
			}),
			with(func(g *reward.Grant) { g.Offer.Kind = reward.Integration }),
			with(func(g *reward.Grant) { g.Account = "b" }),
		)
		draws := []reward.Draw{
			{Account: "a", Unit: "CENTS", Amount: 9999},
			{Account: "a", User: "u", Unit: "CENTS", Amount: 2001},
			{Account: "a", User: "u", Unit: "CENTS", Amount: 2000},
			{Account: "a", User: "v", Unit: "CENTS", Amount: 1},
			{Account: "a", User: "unknown", Unit: "CENTS", Amount: 1},
			{Account: "a", User: "u", Unit: "POINT", Amount: 1},
		}
		var got []reward.Drawable
		b.write(t, func(ctx context.Context, tx *store.Tx) (err error) {
			got, err = rewarddb.DrawableBy(ctx, tx, b.tenant, draws)
			return err
		})
		ids := func(d reward.Drawable) (ids []string) {
			require.True(t, slices.IsSortedFunc(d.Credits, reward.Sooner))
			for _, r := range d.Credits {
				ids = append(ids, r.ID)
			}
			return ids
		}
		require.Equal(t, []string{"r3", "r4", "r2", "r1", "r5", "r0"}, ids(got[0]))
		require.Equal(t, rewards[3], got[0].Credits[0], "the whole reward")
		require.Equal(t, int64(6000), got[0].Available)
		require.Equal(t, []string{"r4", "r2", "r1"}, ids(got[1]))
		require.Equal(t, int64(5000), got[1].Available)
		require.Equal(t, []string{"r4", "r2"}, ids(got[2]))
		require.Equal(t, int64(5000), got[2].Available)
		require.Equal(t, []string{"r3"}, ids(got[3]))
		require.Equal(t, reward.Drawable{}, got[4])
		require.Equal(t, reward.Drawable{}, got[5])
	})
}

// A draw of one currency uses credit in it and credit without one. A draw that names
// none gets the currencies of its credit.
func TestDrawable_Currencies(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		in := func(account core.AccountID, currency string, expires core.Time) reward.Grant {
			g := aGrant()
			g.Account, g.Offer.Currency, g.Expires = account, currency, now+expires
			return g
		}
		b.grant(t, "r", in("a", "USD", 1), in("a", "EUR", 2), in("a", "", 3), in("b", "USD", 1), in("b", "", 2), in("c", "", 1))
		want := []struct {
			draw       reward.Draw
			available  int64
			currencies [2]string
			ids        string
		}{
			{reward.Draw{Account: "a"}, 3000, [2]string{"EUR", "USD"}, "r0 r1 r2"},
			{reward.Draw{Account: "a", Currency: "USD"}, 2000, [2]string{"USD", "USD"}, "r0 r2"},
			{reward.Draw{Account: "a", Currency: "EUR"}, 2000, [2]string{"EUR", "EUR"}, "r1 r2"},
			{reward.Draw{Account: "a", Currency: "GBP"}, 1000, [2]string{}, "r2"},
			{reward.Draw{Account: "b"}, 2000, [2]string{"USD", "USD"}, "r3 r4"},
			{reward.Draw{Account: "b", Currency: "EUR"}, 1000, [2]string{}, "r4"},
			{reward.Draw{Account: "c"}, 1000, [2]string{}, "r5"},
		}
		for _, w := range want {
			w.draw.Unit, w.draw.Amount = "CENTS", 9999
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				got, err := rewarddb.DrawableBy(ctx, tx, b.tenant, []reward.Draw{{Account: "nobody", Unit: "CENTS"}, w.draw})
				require.NoError(t, err)
				require.Empty(t, got[0])
				var ids []string
				for _, r := range got[1].Credits {
					ids = append(ids, r.ID)
				}
				require.Equal(t, w.ids, strings.Join(ids, " "), "%+v", w.draw)
				require.Equal(t, w.available, got[1].Available, "%+v", w.draw)
				require.Equal(t, w.currencies, got[1].Currencies, "%+v", w.draw)
				return nil
			})
		}
		require.Equal(t, []reward.Money{{Currency: "", Available: 1000}, {Currency: "EUR", Available: 1000}, {Currency: "USD", Available: 1000}}, b.owned(t, now))
	})
}

func TestRewardList_FilterAndPage(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		with := func(change func(*reward.Grant)) reward.Grant { g := aGrant(); change(&g); return g }
		rewards := b.grant(t, "r",
			with(func(g *reward.Grant) {
				g.Program, g.Referral, g.Source, g.ProgramRewardKey = "classic", "x", reward.Referred, "k"
			}),
			with(func(g *reward.Grant) { g.Offer.Kind, g.Offer.Percent, g.User = reward.PercentDiscount, 1000, "v" }),
			with(func(g *reward.Grant) { g.Expires, g.Offer.Unit = now+50, "POINT" }),
			with(func(g *reward.Grant) { g.Scheduled, g.Account = now+20, "b" }),
		)
		b.act(t, rewards[3], 3) // cancelled at now + 13
		for want, f := range map[string]reward.Filter{
			"r3 r2 r1 r0": {}, "r1": {ID: "r1"}, "r2 r1 r0": {Account: "a"}, "r2 r0": {Account: "a", User: "u"},
			"r1 ": {Kind: reward.PercentDiscount}, "r2": {Unit: "POINT"}, "r0": {Source: reward.Referred}, "r0 ": {Program: "classic"},
			"r0  ": {ProgramRewardKey: "k"}, "r0   ": {Referral: "x"}, "r3": {Given: core.Span{From: now + 20, Before: now + 21}},
			"r2 r1 r0 ": {Given: core.Span{Before: now + 20}}, "r2 ": {Expires: core.Span{From: now + 50}}, "": {Expires: core.Span{Before: now + 50}},
			"r3 ": {Cancelled: core.Span{From: now, Before: now + 14}}, " ": {Cancelled: core.Span{From: now + 14}}, "  ": {Created: core.Span{From: now + 1}},
			"r3 r2 r1 r0 ": {Created: core.Span{From: now, Before: now + 1}}, "   ": {Account: "a", ID: "r3"},
		} {
			f.Limit = 10
			page, total, err := rewarddb.List(t.Context(), b.db.Reads, b.tenant, f)
			require.NoError(t, err)
			require.Len(t, page, total)
			var ids []string
			for _, r := range page {
				ids = append(ids, r.ID)
			}
			require.Equal(t, strings.TrimSpace(want), strings.Join(ids, " "), "%+v", f)
		}
		page, total, err := rewarddb.List(t.Context(), b.db.Reads, b.tenant, reward.Filter{Limit: 2, Offset: 1})
		require.NoError(t, err)
		require.Equal(t, 4, total)
		require.Equal(t, []string{"r2", "r1"}, []string{page[0].ID, page[1].ID})
	})
}

// After random actions, the sums in each reward match its ledger entries.
func TestLedger_RewardsAgreeWithTheirEntries(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		random := rand.New(rand.NewPCG(1, 2))
		var rewards []reward.Reward
		for i := range 20 {
			g := aGrant()
			g.Held = i%3 == 0
			g.Expires = now + core.Time(20+i)
			rewards = append(rewards, b.grant(t, "r"+strconv.Itoa(i)+"-", g)[0])
		}
		for n := range 100 {
			at := now + core.Time(n/2)
			var after []reward.Reward
			var entries []reward.Entry
			for i := range rewards {
				next, entry := walk(random, rewards[i], at)
				rewards[i], after = next, append(after, next)
				if !entry.None() {
					entries = append(entries, named(next.ID+"-"+strconv.Itoa(n), entry)...)
				}
			}
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				return rewarddb.AppendLedger(ctx, tx, b.tenant, after, entries)
			})
		}
		var agree, entries int
		require.NoError(t, b.raw(t).QueryRowContext(t.Context(), `SELECT count(*), sum(l.entries) FROM reward r JOIN (
				SELECT reward_id, count(*) AS entries, sum(amount) AS balance, sum(amount) FILTER (WHERE action = 'grant') AS value,
					-coalesce(sum(amount) FILTER (WHERE action = 'redeem'), 0) AS redeemed,
					-coalesce(sum(amount) FILTER (WHERE action = 'expire'), 0) AS expired,
					-coalesce(sum(amount) FILTER (WHERE action = 'cancel'), 0) AS cancelled,
					count(*) FILTER (WHERE action = 'hold') - count(*) FILTER (WHERE action = 'release') AS pending
				FROM reward_ledger WHERE tenant = ?1 GROUP BY reward_id) l ON l.reward_id = r.id
			WHERE r.tenant = ?1 AND (r.value, r.redeemed, r.expired, r.cancelled, r.pending, r.value - r.redeemed - r.expired - r.cancelled)
				= (l.value, l.redeemed, l.expired, l.cancelled, l.pending, l.balance)`, string(b.tenant)).Scan(&agree, &entries))
		require.Equal(t, len(rewards), agree)
		require.Greater(t, entries, 5*len(rewards), "enough actions succeeded")
	})
}

// walk applies a random action to a reward, or none if the action is refused.
func walk(random *rand.Rand, r reward.Reward, at core.Time) (reward.Reward, reward.Entry) {
	var after reward.Reward
	var entry reward.Entry
	var err error
	switch random.IntN(12) {
	case 0, 1, 2, 3:
		after, entry, err = r.Redeem(1+random.Int64N(200), at)
	case 4, 5:
		after, entry, err = r.Hold(at)
	case 6, 7, 8:
		after, entry, err = r.Release(at)
	case 9:
		if random.IntN(20) > 0 {
			return r, reward.Entry{}
		}
		after, entry, err = r.Cancel(at)
	default:
		after, entry = r.Settle(at)
	}
	if err != nil {
		return r, reward.Entry{}
	}
	return after, entry
}
