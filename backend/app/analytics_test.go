package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
