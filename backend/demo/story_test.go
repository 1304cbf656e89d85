package demo_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/statistics"
	"kith/backend/demo"
	"kith/core"
	"kith/core/analytics"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/webhook"
)

func newShop(t *testing.T) (*app.Engine, demo.Story) {
	t.Helper()
	e := newEngine(t)
	for range 2 { // as after a restart
		require.NoError(t, demo.SeedShop(t.Context(), e, "http://127.0.0.1:3000", "http://localhost:3000"))
	}
	return e, demo.Story{Engine: e, Log: slog.New(slog.DiscardHandler)}
}

func weeks(t *testing.T, e *app.Engine, tenant core.TenantAlias) (all []analytics.Point) {
	t.Helper()
	in := statistics.Range{Interval: analytics.Weekly, From: now - 90*core.Day, Until: now}
	found, err := e.Analytics.Series(t.Context(), tenant, in, analytics.SeriesFilter{Program: demo.ShopProgram})
	require.NoError(t, err)
	return found.Points
}

// After the story each chart shows something: visits, sign-ups, conversions and cost over
// the weeks, a referral to moderate, a return, spent credit and a webhook to deliver.
func TestStory_FillsTheCharts(t *testing.T) {
	t.Parallel()
	e, story := newShop(t)
	played, err := story.Played(t.Context(), "demo")
	require.NoError(t, err)
	require.False(t, played)
	last := -1
	require.NoError(t, story.Play(t.Context(), "demo", func(done, all int, text string) {
		require.Equal(t, last+1, done)
		require.LessOrEqual(t, done, all)
		require.NotEmpty(t, text)
		last = done
	}))
	played, err = story.Played(t.Context(), "demo")
	require.NoError(t, err)
	require.True(t, played)

	points := weeks(t, e, "demo")
	require.GreaterOrEqual(t, len(points), 13)
	var joined, converted, cost int64
	converting := 0
	for _, p := range points[:len(points)-1] {
		require.Positive(t, p.Visits)
		joined, converted = joined+p.Joined, converted+p.Converted
		if p.Converted > 0 {
			converting++
		}
		for _, c := range p.Rewards {
			cost += c.Amount
		}
	}
	require.Greater(t, joined, converted)
	require.Greater(t, converted, int64(20))
	require.Greater(t, converting, 8, "weeks with conversions")
	require.Positive(t, cost)

	_, pending, err := e.Referrals.List(t.Context(), "demo", referral.Filter{ReferrerModeration: referral.SidePending, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 1, pending)
	maya, err := e.Rewards.Balances(t.Context(), "demo", "story-maya", "story-maya", reward.Credit)
	require.NoError(t, err)
	require.Len(t, maya, 1)
	require.Equal(t, int64(500), maya[0].Redeemed)
	require.Positive(t, maya[0].Pending)
	require.Positive(t, maya[0].Reversed, "a friend of hers returned an order")
	subscriptions, err := e.Webhooks.List(t.Context(), "demo")
	require.NoError(t, err)
	require.Len(t, subscriptions, 1)
	_, deliveries, err := e.Deliveries.List(t.Context(), webhook.Queue{Tenant: "demo", Endpoint: subscriptions[0].Endpoint}, "", base.Page{Limit: 1})
	require.NoError(t, err)
	require.Positive(t, deliveries)
	require.Empty(t, joinedIn(weeks(t, e, "test_demo")), "the other tenant has its own story")
}

func joinedIn(points []analytics.Point) (all []analytics.Point) {
	for _, p := range points {
		if p.Joined > 0 || p.Visits > 0 {
			all = append(all, p)
		}
	}
	return all
}

// A story that was interrupted and is played again leaves what one without interruption
// does, and playing it twice changes nothing.
func TestStory_Continues(t *testing.T) {
	t.Parallel()
	whole, story := newShop(t)
	require.NoError(t, story.Play(t.Context(), "demo", func(int, int, string) {}))
	want := weeks(t, whole, "demo")
	require.NoError(t, story.Play(t.Context(), "demo", func(int, int, string) {}))
	require.Equal(t, conversions(want), conversions(weeks(t, whole, "demo")))

	e, story := newShop(t)
	for _, at := range []int{3, 150, 400} {
		ctx, cancel := context.WithCancel(t.Context())
		err := story.Play(ctx, "demo", func(done, _ int, _ string) {
			if done == at {
				cancel()
			}
		})
		require.True(t, errors.Is(err, context.Canceled), "%v", err)
		played, err := story.Played(t.Context(), "demo")
		require.NoError(t, err)
		require.False(t, played)
	}
	require.NoError(t, story.Play(t.Context(), "demo", func(int, int, string) {}))
	require.Equal(t, conversions(want), conversions(weeks(t, e, "demo")))
}

// conversions are the points without visits: those that belong to no sign-up are counted
// again when the story continues.
func conversions(points []analytics.Point) []analytics.Point {
	var all []analytics.Point
	for _, p := range points {
		p.Visits, p.BotVisits = 0, 0
		all = append(all, p)
	}
	return all
}

// The program of the shop is older than the story, so that its orders count by its terms.
func TestSeedShop(t *testing.T) {
	t.Parallel()
	e, _ := newShop(t)
	for tenant, url := range map[core.TenantAlias]string{"demo": "http://127.0.0.1:3000/shop", "test_demo": "http://localhost:3000/shop"} {
		p, err := e.Programs.ByKey(t.Context(), tenant, demo.ShopProgram)
		require.NoError(t, err)
		require.Equal(t, url, p.LandingURL)
		require.LessOrEqual(t, p.Created, now-90*core.Day)
		classic, err := e.Programs.ByKey(t.Context(), tenant, core.ClassicProgram)
		require.NoError(t, err)
		require.Equal(t, url, classic.LandingURL)
	}
	// A friend of the referrer is attributed in this program.
	code := demo.ShopCode
	name := "Bob"
	out, err := e.Identification.Identify(t.Context(), "demo", rules.Identification{Server: true, Update: referral.UserUpdate{
		Account: "bob", ID: "bob", FirstName: &name, Claims: []referral.Claim{{Code: code, Source: referral.SourceCodes}},
	}})
	require.NoError(t, err)
	require.True(t, out.Created)
	found, _, err := e.Referrals.List(t.Context(), "demo", referral.Filter{ReferredAccount: "bob", Limit: 1})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, demo.ShopProgram, found[0].Program)
}
