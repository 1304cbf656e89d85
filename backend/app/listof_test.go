package app_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// The lists of several users are those that are read for each user alone.
func TestListOf_EqualsSingleReads(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		users := []referral.Identity{{Account: "anna", User: "u"}, {Account: "bert", User: "u"}, {Account: "no\"body", User: "x"}}
		for i := range 5 {
			name := core.AccountID(fmt.Sprintf("u%d", i))
			b.identify(t, string(name), claim(referral.SourceCodes, "ANNA10"))
			b.sync(t, string(name), referral.Paid, "")
			users = append(users, referral.Identity{Account: name, User: "u"})
			b.reward(t, points("bert", int64(i+1)))
		}
		b.logEvents(t, users[0], 4)
		b.logEvents(t, users[3], 1)
		ctx := t.Context()

		infos, err := b.Users.ListByID(ctx, b.tenant, users)
		require.NoError(t, err)
		require.Len(t, infos, len(users)-1)
		for _, got := range infos {
			want, err := b.Users.ByID(ctx, b.tenant, got.User.Account, got.User.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}

		for _, f := range []reward.Filter{{Limit: 10}, {Limit: 2, Offset: 1}, {Limit: 10, Kind: reward.Credit, Unit: "POINT"}, {Limit: 10, Created: core.Span{From: start, Before: start + 1}}} {
			pages, err := b.Rewards.ListOf(ctx, b.tenant, users, f)
			require.NoError(t, err)
			for _, who := range users {
				one := f
				one.Account, one.User = who.Account, who.User
				page, total, err := b.Rewards.List(ctx, b.tenant, one)
				require.NoError(t, err)
				require.Equal(t, store.PageOf[reward.Reward]{Page: page, Total: total}, pages[who], "%+v", one)
			}
		}

		balances, err := b.Rewards.BalancesOf(ctx, b.tenant, users, "")
		require.NoError(t, err)
		for _, who := range users {
			want, err := b.Rewards.Balances(ctx, b.tenant, who.Account, who.User, "")
			require.NoError(t, err)
			require.Equal(t, want, balances[who])
		}
		balances, err = b.Rewards.BalancesOf(ctx, b.tenant, users, "other")
		require.NoError(t, err)
		require.Empty(t, balances[users[0]])

		for _, f := range []event.Filter{{Limit: 10}, {Limit: 2, Offset: 1}, {Limit: 10, Key: "k1"}} {
			events, err := b.Events.ListOf(ctx, b.tenant, users, f)
			require.NoError(t, err)
			for _, who := range users {
				one := f
				one.Account, one.User = who.Account, who.User
				want, err := b.Events.List(ctx, b.tenant, one)
				require.NoError(t, err)
				require.Equal(t, want, events[who], "%+v", one)
			}
		}

		for _, f := range []referral.Filter{{Limit: 10}, {Limit: 2, Offset: 1}, {Limit: 10, ReferredAccount: "u3"}, {Limit: 10, Converted: core.Span{From: start + 1}}} {
			pages, err := b.Referrals.MadeBy(ctx, b.tenant, users, f)
			require.NoError(t, err)
			for _, who := range users {
				one := f
				one.ReferrerAccount, one.ReferrerUser = who.Account, who.User
				page, total, err := b.Referrals.List(ctx, b.tenant, one)
				require.NoError(t, err)
				require.Equal(t, store.PageOf[referral.Referral]{Page: page, Total: total}, pages[who], "%+v", one)
			}
		}

		all, _, err := b.Referrals.List(ctx, b.tenant, referral.Filter{Limit: 10})
		require.NoError(t, err)
		require.Len(t, all, 5)
		ids := []string{"none"}
		for _, r := range all {
			ids = append(ids, r.ID)
		}
		found, err := b.Referrals.ListByID(ctx, b.tenant, ids)
		require.NoError(t, err)
		byID := func(a, b referral.Referral) int { return cmp.Compare(a.ID, b.ID) }
		slices.SortFunc(all, byID)
		slices.SortFunc(found, byID)
		require.Equal(t, all, found)
	})
}

// logEvents logs n events of a user and processes them.
func (b bundle) logEvents(t *testing.T, who referral.Identity, n int) {
	t.Helper()
	text := `{"events":[`
	for i := range n {
		text += fmt.Sprintf(`{"key":"k%d"},`, i)
	}
	call, err := wire.ParseEvents(who.Account, who.User, []byte(text[:len(text)-1]+`]}`))
	require.NoError(t, err)
	_, err = b.Events.Log(t.Context(), b.keyHolder(t), call)
	require.NoError(t, err)
	// Other tests may have events there too.
	for waits := true; waits; {
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			_, err := eventdb.ProcessIntake(t.Context(), tx, 100)
			return err
		}))
		waits, err = eventdb.IntakeWaits(t.Context(), b.DB.Reads)
		require.NoError(t, err)
	}
}
