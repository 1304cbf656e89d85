package app_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app/statistics"
	"kith/backend/guess"
	"kith/core"
	"kith/core/analytics"
)

// Reports are counted by day. Reports about unknown users, codes and programs are not.
func TestCount_ByDayAndOnlyKnownIDs(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	loaded := analytics.Event{Kind: analytics.Loaded, Account: "anna", User: "u", EngagementMedium: analytics.Popup}
	program := loaded
	program.Program = core.ClassicProgram
	visit := analytics.Event{Kind: analytics.Visited, Code: "anna10", ShareMedium: "SMS"}
	for _, e := range []analytics.Event{
		loaded, loaded, program, visit,
		{Kind: analytics.Loaded, Account: "nobody", User: "u"},
		{Kind: analytics.Loaded, Account: "anna", User: "u", Program: "nothing"},
		{Kind: analytics.Visited, Code: "NOBODY"},
	} {
		require.NoError(t, b.Analytics.Count(t.Context(), b.tenant, e))
	}
	require.Equal(t, core.UnknownTenant(), b.Analytics.Count(t.Context(), "nobody", loaded))
	require.NoError(t, b.Analytics.Flush(t.Context()))
	require.NoError(t, b.Analytics.Count(t.Context(), b.tenant, loaded))
	b.pass(core.Day)
	require.NoError(t, b.Analytics.Count(t.Context(), b.tenant, visit))

	today := start - start%core.Day
	of := func(e analytics.Event, day core.Time, times int64) analytics.Count {
		e.Tenant, e.Day = b.tenant, day
		if e.Kind == analytics.Visited {
			e.Code, e.Program = "ANNA10", core.ClassicProgram
		}
		return analytics.Count{Event: e, Times: times}
	}
	got, total, err := b.Analytics.List(t.Context(), b.tenant, analytics.Filter{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 4, total)
	require.Equal(t, []analytics.Count{of(visit, today+core.Day, 1), of(loaded, today, 3), of(program, today, 1), of(visit, today, 1)}, got)

	for _, c := range []struct {
		f    analytics.Filter
		want int
	}{
		{analytics.Filter{Kind: analytics.Visited}, 2}, {analytics.Filter{Code: "anna10"}, 2}, {analytics.Filter{Account: "anna", User: "u"}, 2},
		{analytics.Filter{From: today + core.Day}, 1}, {analytics.Filter{Until: today + core.Day}, 3}, {analytics.Filter{User: "bert"}, 0},
	} {
		_, total, err := b.Analytics.List(t.Context(), b.tenant, c.f)
		require.NoError(t, err)
		require.Equal(t, c.want, total, "%+v", c.f)
	}
}

// Reports cannot fill the memory: beyond the limit they are not counted until the counts
// are stored.
func TestCount_HasALimitPerFlush(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	visit := analytics.Event{Kind: analytics.Visited, Code: "ANNA10"}
	for range 10_100 {
		require.NoError(t, b.Analytics.Count(t.Context(), b.tenant, visit))
	}
	require.NoError(t, b.Analytics.Flush(t.Context()))
	require.NoError(t, b.Analytics.Count(t.Context(), b.tenant, visit))
	got, _, err := b.Analytics.List(t.Context(), b.tenant, analytics.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.EqualValues(t, 10_001, got[0].Times)
}

// Reports beyond the limits are answered as others are, and not counted.
func TestCount_LimitsOfNetworkAndUser(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	refused := map[string]int64{}
	b.OnWork = func(work, kind, outcome string, n int64) { refused[work+" "+kind+" "+outcome] += n }
	b.Analytics.Networks = guess.New(statistics.ReportsPerMinute, func() time.Time { return time.UnixMilli(int64(b.Now())) })
	one, other := netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("198.51.100.9")
	visit := analytics.Event{Kind: analytics.Visited, Code: "ANNA10"}
	anna := analytics.Event{Kind: analytics.Loaded, Account: "anna", User: "u"}
	bert, shared, program := anna, anna, anna
	bert.Account, shared.Kind, program.Program = "bert", analytics.Shared, core.ClassicProgram
	times := func(e analytics.Event) (n int64) {
		found, _, err := b.Analytics.List(t.Context(), b.tenant, analytics.Filter{Kind: e.Kind, Account: e.Account, Limit: 10})
		require.NoError(t, err)
		for _, c := range found {
			if c.Program == e.Program || e.Kind == analytics.Visited {
				n += c.Times
			}
		}
		return n
	}
	send := func(from netip.Addr, e analytics.Event, n int) {
		for range n {
			require.NoError(t, b.Analytics.CountFrom(t.Context(), from, b.tenant, e))
		}
	}
	send(one, visit, statistics.ReportsPerMinute)
	require.EqualValues(t, statistics.ReportsPerMinute, times(visit))
	send(one, visit, 5)
	send(one, bert, 5)
	require.Equal(t, core.UnknownTenant(), b.Analytics.CountFrom(t.Context(), one, "nobody", visit))
	require.EqualValues(t, statistics.ReportsPerMinute, times(visit))
	require.Zero(t, times(bert), "the network has reported enough")

	send(other, anna, statistics.ReportsPerHour)
	require.EqualValues(t, statistics.ReportsPerHour, times(anna))
	send(other, anna, 1)
	send(netip.Addr{}, anna, 1)
	send(other, bert, 2)
	send(other, shared, 3)
	send(other, program, 4)
	require.EqualValues(t, statistics.ReportsPerHour, times(anna), "by all senders")
	require.EqualValues(t, 2, times(bert))
	require.EqualValues(t, 3, times(shared))
	require.EqualValues(t, 4, times(program))
	require.Equal(t, map[string]int64{"report visited refused": 6, "report loaded refused": 7}, refused)
	b.pass(2 * core.Hour)
	send(one, anna, 1)
	require.EqualValues(t, statistics.ReportsPerHour+1, times(anna))
}
