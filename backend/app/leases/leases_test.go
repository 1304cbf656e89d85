package leases

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/leasedb"
)

const stale = 150

func beats(of ...leasedb.Process) []leasedb.Process { return of }

func TestWatch_ReleasesTheLeasesOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	var w watch
	var end ending
	for n := range deadBeats + 1 {
		require.Empty(t, end, "after %d beats", n)
		w, end = w.beat("a", state{beats(leasedb.Process{ID: "a", Beat: int64(n)}, leasedb.Process{ID: "b", Beat: 7}), []string{"a.1", "b.1", "b.2"}}, stale)
	}
	require.Equal(t, ending{tokens: []string{"b.1", "b.2"}, processes: []string{"b"}}, end)
}

// A process that beats more slowly than it should, or the number of which begins again, is
// not stopped.
func TestWatch_KeepsTheLeasesOfASlowProcess(t *testing.T) {
	t.Parallel()
	var w watch
	var end ending
	for n := range int64(100) {
		w, end = w.beat("a", state{beats(leasedb.Process{ID: "b", Beat: n / deadBeats % 4}), []string{"b.1"}}, stale)
		require.Empty(t, end, "after %d beats", n)
	}
}

func TestWatch_ReleasesTokensWithoutAProcess(t *testing.T) {
	t.Parallel()
	_, end := watch{}.beat("a", state{beats(leasedb.Process{ID: "a"}), []string{"a.1", "c.1", "other"}}, stale)
	require.Equal(t, ending{tokens: []string{"c.1", "other"}}, end)
}

// A lease that its process forgot is released, although the process runs; a renewed lease
// has another token.
func TestWatch_ReleasesForgottenLeases(t *testing.T) {
	t.Parallel()
	var w watch
	var end ending
	for n := range int64(stale + 1) {
		require.Empty(t, end, "after %d beats", n)
		renewed := "a." + string(rune('A'+n%20))
		w, end = w.beat("a", state{beats(leasedb.Process{ID: "a", Beat: n}), []string{renewed, "a.1"}}, stale)
	}
	require.Equal(t, ending{tokens: []string{"a.1"}}, end)
}

// A process without leases leaves after a while; others do not count for it.
func TestWatch_AnIdleProcessLeaves(t *testing.T) {
	t.Parallel()
	var w watch
	left := 0
	for n := range int64(4 * idleBeats) {
		s := state{processes: beats(leasedb.Process{ID: "a", Beat: n}, leasedb.Process{ID: "b", Beat: n}), tokens: []string{"b.1"}}
		if n == idleBeats-2 {
			s.tokens = append(s.tokens, "a.1")
		}
		var end ending
		w, end = w.beat("a", s, stale)
		if slices.Contains(end.processes, "a") {
			left++
			require.GreaterOrEqual(t, n, int64(2*idleBeats-2))
		}
	}
	require.Equal(t, 3, left)
}
