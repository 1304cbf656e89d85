package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/widget"
)

// explained is a database that fails the test at a query that looks at more
// rows than it has to: all of a table, or all of a tenant.
type explained struct {
	*sql.DB
	t *testing.T
}

var (
	tooMany = regexp.MustCompile(`^SCAN [a-z]|\(tenant=\?\)`)
	// few are the lists that a call brings along, what a tenant has few of, an index
	// of what waits, and what the index of words found.
	few = regexp.MustCompile(`^SCAN (json_each|given|hit)\b|_waiting$|^SEARCH (webhook_subscription|gateway_connection|gateway_key|program)\b|^SCAN user_index VIRTUAL TABLE INDEX 0:M1$`)
)

func (e explained) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.explain(query, args)
	return e.DB.QueryContext(ctx, query, args...)
}

func (e explained) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	e.explain(query, args)
	return e.DB.QueryRowContext(ctx, query, args...)
}

func (e explained) explain(query string, args []any) {
	for _, step := range e.plan(query, args) {
		if !few.MatchString(step) {
			require.NotRegexp(e.t, tooMany, step, query)
		}
	}
}

// plan is what SQLite does for a query, step by step.
func (e explained) plan(query string, args []any) (steps []string) {
	rows, err := e.DB.QueryContext(e.t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	require.NoError(e.t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(e.t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(e.t, rows.Err())
	return steps
}

// someUsers are what a read of several is asked for.
var someUsers = []referral.Identity{{Account: "a", User: "u"}, {Account: "b", User: "v"}}

// What a call reads must not grow with what a tenant has, least of all while it
// holds the write lock. Lists of everything are not meant.
func TestReads_FindByIndex(t *testing.T) {
	t.Parallel()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Migrate(t.Context(), 1))
	r, ctx := Reads{q: explained{p.read, t}}, t.Context()
	for _, read := range []func() error{
		func() error {
			_, err := r.Program(ctx, "t", "p")
			require.ErrorContains(t, err, "no such program")
			return nil
		},
		func() error { _, _, err := r.Account(ctx, "t", "a"); return err },
		func() error { _, err := r.AccountOfProvider(ctx, "t", "p"); return err },
		func() error { _, _, err := r.User(ctx, "t", "a", "u"); return err },
		func() error { _, err := r.UserKnown(ctx, "t", "a", "u"); return err },
		func() error { _, err := r.KnownUsers(ctx, "t", someUsers); return err },
		func() error { _, err := r.WithoutUsers(ctx, "t", []core.AccountID{"a", "b"}); return err },
		func() error {
			_, _, err := r.Users(ctx, "t", referral.UserFilter{Words: []string{"a", "b"}, Limit: 10})
			return err
		},
		func() error { _, err := r.Accounts(ctx, "t", []core.AccountID{"a", "b"}); return err },
		func() error { _, err := r.ReferralsOf(ctx, "t", []core.AccountID{"a", "b"}); return err },
		func() error { return r.attachCodes(ctx, "t", []referral.User{{ID: "a"}, {ID: "b"}}) },
		func() error { _, _, err := r.FirstUser(ctx, "t", "a"); return err },
		func() error { _, _, err := r.Code(ctx, "t", "c"); return err },
		func() error { _, _, err := r.LinkTargetOnHost(ctx, "h", "c"); return err },
		func() error {
			_, err := r.LinkTarget(ctx, "t", "c")
			require.Equal(t, core.UnknownTenant(), err)
			return nil
		},
		func() error { _, err := r.ReferralOf(ctx, "t", "a"); return err },
		func() error { return r.attachRewards(ctx, "t", []referral.Referral{{ID: "1"}, {ID: "2"}}) },
		func() error { _, _, err := r.Referrals(ctx, "t", referral.Filter{ID: "r"}); return err },
		func() error { _, _, err := r.Referrals(ctx, "t", referral.Filter{ReferredAccount: "a"}); return err },
		func() error { _, _, err := r.Referrals(ctx, "t", referral.Filter{ReferrerAccount: "a"}); return err },
		func() error {
			_, _, err := r.Referrals(ctx, "t", referral.Filter{ReferrerAccount: "a", ReferrerUser: "u"})
			return err
		},
		func() error { _, err := r.Referral(ctx, "t", "r"); return err },
		func() error { _, err := r.FuelTank(ctx, "t", "p", referral.ReferrerSide); return err },
		func() error {
			_, err := (&Tx{Reads: r}).TakeFuelDues(ctx, "t", "p", referral.ReferrerSide, 1)
			return err
		},
		func() error { _, err := r.Reward(ctx, "t", "r"); require.Error(t, err); return nil },
		func() error { _, _, err := r.Rewards(ctx, "t", reward.Filter{ID: "r"}); return err },
		func() error { _, _, err := r.Rewards(ctx, "t", reward.Filter{Account: "a"}); return err },
		func() error { _, _, err := r.Rewards(ctx, "t", reward.Filter{Referral: "r"}); return err },
		func() error {
			_, _, err := r.Rewards(ctx, "t", reward.Filter{Account: "a", User: "u", Kind: reward.Credit, Unit: "CENTS"})
			return err
		},
		func() error { _, err := r.RewardGroups(ctx, "t", 1, "a", "u", reward.Credit); return err },
		func() error { _, err := r.RewardsDue(ctx, 1); return err },
		func() error { _, err := (&Tx{Reads: r}).Drawable(ctx, "t", []reward.Draw{{Account: "a"}}); return err },
		func() error { return (&Tx{Reads: r, embedded: true}).queries(ctx, wantingAll(r).wanted()) },
		func() error { _, err := (&Tx{Reads: r}).DueRewards(ctx, 1); return err },
		func() error {
			return r.attachRedemptions(ctx, "t", []reward.Reward{{ID: "r", Sums: reward.Sums{Redeemed: 1}}})
		},
		func() error { _, err := r.Events(ctx, "t", event.Filter{Account: "a", User: "u"}); return err },
		func() error { _, err := r.Events(ctx, "t", event.Filter{ID: "e"}); return err },
		func() error { _, err := r.UsersByID(ctx, "t", someUsers); return err },
		func() error { _, err := r.EventsOf(ctx, "t", someUsers, event.Filter{Key: "k", Limit: 1}); return err },
		func() error {
			_, err := r.RewardsOf(ctx, "t", someUsers, reward.Filter{Kind: reward.Credit, Limit: 1})
			return err
		},
		func() error { _, err := r.RewardGroupsOf(ctx, "t", 1, someUsers); return err },
		func() error { _, err := r.ReferralsMade(ctx, "t", someUsers, referral.Filter{Limit: 1}); return err },
		func() error { _, err := r.ReferralsByID(ctx, "t", []string{"r", "s"}); return err },
		func() error { _, _, err := r.Widget(ctx, "t", widget.Type{Program: "p", Key: "k"}); return err },
		func() error {
			_, _, err := r.WidgetReferrals(ctx, "t", "p", referral.Identity{Account: "a", User: "u"}, 1)
			return err
		},
		func() error { _, err := r.SFTPKeyKnown(ctx, "t", "f"); return err },
		func() error { _, _, err := r.Decisions(ctx, "t", "a", 1, 0); return err },
	} {
		require.NoError(t, read())
	}
	explained{p.read, t}.explain(putRewards, []any{"t", "[]"})
	for _, statement := range append(erasure, accountErasure...) {
		explained{p.read, t}.explain(statement, []any{"t", "[]"})
	}
}

// wantingAll is a unit of work that wants something of each kind but the facts, which
// are all programs of a tenant.
func wantingAll(r Reads) *Unit {
	u := (&Tx{Reads: r}).Unit("t", func(referral.Identity) string { return "hash" })
	who := referral.Identity{Account: "a", User: "u"}
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
	return u
}

// Somebody may refer thousands within the time that is looked at: the index has the
// latest of them first, so that no more are read than are looked at, and only those
// are sorted.
func TestUnit_RecentReferralsAreReadInOrder(t *testing.T) {
	t.Parallel()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Migrate(t.Context(), 1))
	u := (&Tx{Reads: p.Reads, embedded: true}).Unit("t", nil)
	u.Recent.Want(referral.Identity{Account: "a", User: "u"})
	latest := u.wanted()[0]
	plan := strings.Join((explained{p.read, t}).plan(latest.text, latest.args), "\n")
	require.Contains(t, plan, "SEARCH r USING COVERING INDEX referral_referrer (tenant=? AND referrer_account_id=? AND referrer_user_id=? AND started_at>?)")
	require.Equal(t, 1, strings.Count(plan, "TEMP B-TREE"), plan)
}
