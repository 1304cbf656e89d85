package app_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/webhooks"
	"kith/core"
	"kith/core/webhook"
)

// The work of a process that was killed is taken over after a few beats of another one,
// whatever their clocks show. While the process runs, its work stays with it.
func TestLeases_DoNotDependOnClocks(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		for name, differ := range map[string]core.Time{"behind by an hour": -core.Hour, "ahead by an hour": core.Hour} {
			t.Run(name, func(t *testing.T) {
				queue := b.subscribe(t, hook)
				require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
				killed, other := b.processAt(0), b.processAt(differ)
				begin := func(e *app.Engine) []webhooks.Sending {
					begun, err := e.Deliveries.Begin(t.Context(), someSlots, webhook.Busy{})
					require.NoError(t, err)
					return slices.Concat(begun...)
				}
				beat := func(e *app.Engine) int {
					released, err := e.Leases.Beat(t.Context())
					require.NoError(t, err)
					return released
				}
				require.Len(t, begin(killed), 1)
				for range 20 {
					require.Zero(t, beat(other)+beat(killed))
					require.Empty(t, begin(other), "while the process runs")
				}
				released, beats := 0, 0
				for ; released == 0; beats++ {
					require.Less(t, beats, 6)
					require.Empty(t, begin(other))
					released = beat(other)
				}
				require.Equal(t, 1, released)
				require.GreaterOrEqual(t, beats, 4)
				again := begin(other)
				require.Len(t, again, 1)
				require.Equal(t, 2, again[0].Number)
				require.Zero(t, b.end(t, 200, again...))
				require.Equal(t, webhook.Delivered, b.delivery(t, queue).State)
				require.NoError(t, b.Webhooks.Unsubscribe(t.Context(), b.tenant, hook))
			})
		}
	})
}

// processAt returns the engine of another process, whose clock differs.
func (b bundle) processAt(differs core.Time) *app.Engine {
	e := b.otherProcess()
	e.Now = func() core.Time { return b.Now() + differs }
	return e
}

// A job that a process created whose clock was ahead does not wait for that time.
func TestJobs_DoNotWaitForAClock(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 5000)
	b.pass(core.Hour)
	made := b.create(t, b.jobInput("QUERY/USER", "{}"))
	b.pass(-core.Hour)
	done := b.worked(t, made.ID)
	require.NotEqual(t, made.Status, done.Status)
}

// A database without leases is not written.
func TestLeases_IdleDatabaseIsNotWritten(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	changes := func() (n int) {
		require.NoError(t, b.DB.Reads.QueryRowContext(t.Context(), `SELECT count(*) FROM worker_process`).Scan(&n))
		return n
	}
	b.subscribe(t, hook)
	require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
	begun := b.begin(t)
	require.Equal(t, 1, changes())
	b.end(t, 200, begun...)
	for range 31 {
		_, err := b.Leases.Beat(t.Context())
		require.NoError(t, err)
	}
	require.Zero(t, changes(), "a process without leases leaves")
}
