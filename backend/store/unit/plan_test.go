package unit

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/eventdb"
	"kith/backend/store/orderdb"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/sqltest"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/analytics"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/widget"
)

// someUsers are arguments of reads that take several users.
var someUsers = []referral.Identity{{Account: "a", User: "u"}, {Account: "b", User: "v"}}

// The rows that a call reads must not grow with the data of a tenant, above all while
// the call has the write lock. Unfiltered lists are not tested.
func TestReads_FindByIndex(t *testing.T) {
	t.Parallel()
	r, ctx := store.NewReads(sqltest.Explained{DB: sqltest.File(t), T: t}), t.Context()
	tx := &store.Tx{Reads: r, Embedded: true}
	for _, read := range []func() error{
		func() error {
			_, err := programdb.ByKey(ctx, r, "t", "p")
			require.ErrorContains(t, err, "no such program")
			return nil
		},
		func() error { _, _, err := userdb.Account(ctx, r, "t", "a"); return err },
		func() error { _, err := userdb.AccountOfProvider(ctx, r, "t", "p"); return err },
		func() error { _, _, err := userdb.User(ctx, r, "t", "a", "u"); return err },
		func() error { _, err := userdb.UserExists(ctx, r, "t", "a", "u"); return err },
		func() error { _, err := userdb.KnownUsers(ctx, r, "t", someUsers); return err },
		func() error { _, err := userdb.WithoutUsers(ctx, r, "t", []core.AccountID{"a", "b"}); return err },
		func() error {
			_, _, err := userdb.Users(ctx, r, "t", referral.UserFilter{Words: []string{"a", "b"}, Limit: 10})
			return err
		},
		func() error { _, err := userdb.Accounts(ctx, r, "t", []core.AccountID{"a", "b"}); return err },
		func() error { _, err := referraldb.OfAccounts(ctx, r, "t", []core.AccountID{"a", "b"}); return err },
		func() error { _, _, err := userdb.FirstUser(ctx, r, "t", "a"); return err },
		func() error { _, _, err := userdb.Code(ctx, r, "t", "c"); return err },
		func() error { _, _, err := programdb.TargetOnHost(ctx, r, "h", "c"); return err },
		func() error {
			_, err := programdb.TargetOf(ctx, r, "t", "c")
			require.Equal(t, core.UnknownTenant(), err)
			return nil
		},
		func() error { _, err := referraldb.OfAccount(ctx, r, "t", "a"); return err },
		func() error { return rewarddb.AttachTo(ctx, r, "t", []referral.Referral{{ID: "1"}, {ID: "2"}}) },
		func() error {
			return rewarddb.AttachGroups(ctx, r, "t", 1, []referral.Referral{{ID: "1"}, {ID: "2"}})
		},
		func() error { _, _, err := referraldb.List(ctx, r, "t", referral.Filter{ID: "r"}); return err },
		func() error {
			_, _, err := referraldb.List(ctx, r, "t", referral.Filter{ReferredAccount: "a"})
			return err
		},
		func() error {
			_, _, err := referraldb.List(ctx, r, "t", referral.Filter{ReferrerAccount: "a"})
			return err
		},
		func() error {
			_, _, err := referraldb.List(ctx, r, "t", referral.Filter{ReferrerAccount: "a", ReferrerUser: "u"})
			return err
		},
		func() error {
			_, _, err := referraldb.List(ctx, r, "t", referral.Filter{ReferrerAccount: "a", Program: "p", ReferrerModeration: referral.SideApproved})
			return err
		},
		func() error {
			_, _, err := referraldb.List(ctx, r, "t", referral.Filter{ReferredModeration: referral.SidePending})
			return err
		},
		func() error {
			_, _, err := referraldb.List(ctx, r, "t", referral.Filter{ReferrerModeration: referral.SideDenied, Program: "p"})
			return err
		},
		func() error {
			_, _, err := referraldb.List(ctx, r, "t", referral.Filter{Moderation: referral.SidePending, ReferrerModeration: referral.SideApproved})
			return err
		},
		func() error { _, err := referraldb.ByID(ctx, r, "t", "r"); return err },
		func() error { _, err := rewarddb.FuelTank(ctx, r, "t", "p", referral.ReferrerSide); return err },
		func() error {
			_, err := rewarddb.TakeFuelDues(ctx, tx, "t", "p", referral.ReferrerSide, 1)
			return err
		},
		func() error { _, err := rewarddb.ByID(ctx, r, "t", "r"); require.Error(t, err); return nil },
		func() error { _, _, err := rewarddb.List(ctx, r, "t", reward.Filter{ID: "r"}); return err },
		func() error { _, _, err := rewarddb.List(ctx, r, "t", reward.Filter{Account: "a"}); return err },
		func() error { _, _, err := rewarddb.List(ctx, r, "t", reward.Filter{Referral: "r"}); return err },
		func() error {
			_, _, err := rewarddb.List(ctx, r, "t", reward.Filter{Account: "a", User: "u", Kind: reward.Credit, Unit: "CENTS"})
			return err
		},
		func() error { _, err := rewarddb.Groups(ctx, r, "t", 1, "a", "u", reward.Credit); return err },
		func() error { _, err := rewarddb.AnyDue(ctx, r, 1); return err },
		func() error { _, err := rewarddb.OneDrawable(ctx, r, "t", "r", 1); require.Error(t, err); return nil },
		func() error { _, err := rewarddb.DrawableBy(ctx, tx, "t", []reward.Draw{{Account: "a"}}); return err },
		func() error { return queries(ctx, tx, wantingAll(tx).wanted()) },
		func() error { _, err := rewarddb.ListDue(ctx, tx, 1); return err },
		func() error { _, err := eventdb.List(ctx, r, "t", event.Filter{Account: "a", User: "u"}); return err },
		func() error { _, err := eventdb.List(ctx, r, "t", event.Filter{ID: "e"}); return err },
		func() error { _, err := userdb.UsersByID(ctx, r, "t", someUsers); return err },
		func() error {
			_, err := eventdb.ListByUsers(ctx, r, "t", someUsers, event.Filter{Key: "k", Limit: 1})
			return err
		},
		func() error {
			_, err := rewarddb.ListByUsers(ctx, r, "t", someUsers, reward.Filter{Kind: reward.Credit, Limit: 1})
			return err
		},
		func() error { _, err := rewarddb.GroupsByUsers(ctx, r, "t", 1, someUsers); return err },
		func() error {
			_, err := referraldb.MadeByUsers(ctx, r, "t", someUsers, referral.Filter{Limit: 1})
			return err
		},
		func() error {
			_, err := referraldb.MadeByUsers(ctx, r, "t", someUsers, referral.Filter{Program: "p", ReferredModeration: referral.SidePending, Limit: 1})
			return err
		},
		func() error {
			_, err := programdb.WidgetDue(ctx, r, "t", "p", referral.ReferrerSide, someUsers[0])
			return err
		},
		func() error { _, err := referraldb.ByIDs(ctx, r, "t", []string{"r", "s"}); return err },
		func() error {
			_, _, err := programdb.Widget(ctx, r, "t", widget.Type{Program: "p", Key: "k"})
			return err
		},
		func() error {
			_, _, err := programdb.WidgetReferrals(ctx, r, "t", "p", referral.Identity{Account: "a", User: "u"}, 1)
			return err
		},
		func() error { _, err := eventdb.Series(ctx, r, "t", aWeek, analytics.SeriesFilter{}); return err },
		func() error {
			_, err := eventdb.Series(ctx, r, "t", aWeek, analytics.SeriesFilter{Program: "p", Code: "c", ShareMedium: "SMS"})
			return err
		},
		func() error {
			_, err := eventdb.Series(ctx, r, "t", aWeek, analytics.SeriesFilter{EngagementMedium: "EMAIL"})
			return err
		},
		func() error { _, err := referraldb.CountPending(ctx, r, "t", 100); return err },
		func() error { _, err := webhookdb.CountFailed(ctx, r, "t", 100); return err },
		func() error { _, err := billingdb.CountParked(ctx, r, "t", 100); return err },
		func() error { _, err := rewarddb.TankLevels(ctx, r, "t", 10, 100); return err },
		func() error { return topReferrers(ctx, r, analytics.ByConverted) },
		func() error { return topReferrers(ctx, r, analytics.ByJoined) },
		func() error { return topReferrers(ctx, r, analytics.ByVisits) },
		func() error { _, err := tenantdb.SFTPKeyExists(ctx, r, "t", "f"); return err },
		func() error { _, _, err := referraldb.Decisions(ctx, r, "t", "a", 1, 0); return err },
		func() error { _, err := orderdb.Lists(ctx, r, "t", []string{"r", "s"}, 10, 0); return err },
	} {
		require.NoError(t, read())
	}
}

// The events of new deliveries are found like rows that are only read.
func TestUnit_DeliveriesFindByIndex(t *testing.T) {
	t.Parallel()
	sqltest.Explained{DB: sqltest.File(t), T: t}.Explain(putDeliveries, []any{"t", `["e"]`, 1})
}

// aWeek is a period of 7 days.
var aWeek = analytics.Period{Interval: analytics.Daily, Until: 7 * core.Day}

func topReferrers(ctx context.Context, r store.Reads, by analytics.Rank) error {
	_, err := eventdb.TopReferrers(ctx, r, "t", analytics.TopFilter{Period: aWeek, By: by, Program: "p", Limit: 10})
	return err
}

// wantingAll returns a unit of work that wants the facts and one item of each other kind.
func wantingAll(tx *store.Tx) *Unit {
	u := New(tx, "t", func(referral.Identity) string { return "hash" })
	who := referral.Identity{Account: "a", User: "u"}
	u.Facts.Want()
	u.Accounts.Want("a")
	u.Users.Want(who)
	u.Codes.Want("c")
	u.Referrals.Want("r")
	u.Referred.Want("a")
	u.Recent.Want(who)
	u.Untracked.Want(who)
	u.EventKeys.Want("k")
	u.RedeemKeys.Want("k")
	u.Customers.Want("p")
	u.Rewards.Want("w")
	u.Tanks.Want(state.TankKey{Program: "p", Side: referral.ReferrerSide})
	u.Earned.Want(state.EarnedKey{Program: "p", Who: who})
	u.Balances.Want(reward.Owner{Account: "a", User: "u", Unit: "CENTS"})
	for _, credits := range []bool{false, true} {
		u.Owing.Want(state.OwingKey{Owner: reward.Owner{Account: "a", User: "u", Unit: "CENTS"}, Currency: "USD", Credits: credits})
	}
	return u
}

// A referrer may have thousands of recent referrals. The index has the latest first, so
// that only state.MaxRecent of them are read and sorted.
func TestUnit_RecentReferralsAreReadInOrder(t *testing.T) {
	t.Parallel()
	db := sqltest.File(t)
	tx := &store.Tx{Reads: store.NewReads(db), Embedded: true}
	u := New(tx, "t", nil)
	u.Recent.Want(referral.Identity{Account: "a", User: "u"})
	latest := u.wanted()[0]
	plan := strings.Join(sqltest.Explained{DB: db, T: t}.Plan(latest.text, latest.args), "\n")
	require.Contains(t, plan, "SEARCH r USING COVERING INDEX referral_referrer (tenant=? AND referrer_account_id=? AND referrer_user_id=? AND started_at>?)")
	require.Equal(t, 1, strings.Count(plan, "TEMP B-TREE"), plan)
}

// A referral may have a reward for each of thousands of orders. The index has the first
// reward of each side first, so that only two of them are read.
func TestUnit_FirstRewardsAreReadInOrder(t *testing.T) {
	t.Parallel()
	db := sqltest.File(t)
	u := New(&store.Tx{Reads: store.NewReads(db), Embedded: true}, "t", nil)
	u.Referrals.Want("r")
	rewards := u.wanted()[1]
	plan := strings.Join(sqltest.Explained{DB: db, T: t}.Plan(rewards.text, rewards.args), "\n")
	require.Contains(t, plan, "SEARCH f USING COVERING INDEX reward_first (tenant=? AND referral_id=? AND source=?)")
	require.NotContains(t, plan, "TEMP B-TREE")
}

// inOrder is a database that fails the test if a query of rows sorts them.
type inOrder struct{ sqltest.Explained }

// QueryContext explains a query and runs it.
func (o inOrder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	for _, step := range o.Plan(query, args) {
		require.NotContains(o.T, step, "TEMP B-TREE", query)
	}
	return o.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query, such as one that counts.
func (o inOrder) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return o.DB.QueryRowContext(ctx, query, args...)
}

// The lists of all referrals, rewards and decisions of a tenant are read in their order.
func TestLists_AreReadInOrder(t *testing.T) {
	t.Parallel()
	r := store.NewReads(inOrder{sqltest.Explained{DB: sqltest.File(t), T: t}})
	for _, f := range []referral.Filter{
		{}, {Moderation: referral.SideApproved}, {ReferrerModeration: referral.SideApproved}, {ReferredModeration: referral.SidePending},
		{ReferrerModeration: referral.SideDenied, ReferredModeration: referral.SidePending},
	} {
		f.Limit = 10
		_, _, err := referraldb.List(t.Context(), r, "t", f)
		require.NoError(t, err)
	}
	_, _, err := rewarddb.List(t.Context(), r, "t", reward.Filter{Limit: 10})
	require.NoError(t, err)
	_, _, err = rewarddb.List(t.Context(), r, "t", reward.Filter{Kind: reward.Credit, Unit: "CENTS", Limit: 10})
	require.NoError(t, err)
	_, _, err = referraldb.Decisions(t.Context(), r, "t", "", 10, 0)
	require.NoError(t, err)
}
