package app_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/webhooks"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/tabledb"
	"kith/core"
	"kith/core/job"
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

// Work that was leased when a tenant was backed up is taken over after its restore, also if the
// process that had the lease runs. What that process still does counts no more.
func TestLeases_OfARestoredTenant(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 5000)
	made := b.create(t, b.jobInput("QUERY/USER", "{}"))
	b.subscribe(t, hook)
	require.NoError(t, second(b.Webhooks.Test(t.Context(), b.tenant, hook)))
	require.Len(t, b.begin(t), 1)
	write := func(do func(tx *store.Tx) error) {
		t.Helper()
		require.NoError(t, b.DB.WriteWithoutForeignKeys(t.Context(), b.Now(), do))
	}
	var lease jobdb.Lease
	write(func(tx *store.Tx) (err error) {
		var leased bool
		lease, leased, err = jobdb.LeaseJob(t.Context(), tx, b.tenant, made.ID, b.Process+".1")
		require.True(t, leased)
		return err
	})
	tables, err := tabledb.Tables(t.Context(), b.DB.Reads)
	require.NoError(t, err)
	for _, table := range tables {
		if table.Name != "job" && table.Name != "webhook_delivery" {
			continue
		}
		var lines []byte
		require.NoError(t, tabledb.Dump(t.Context(), b.DB.Reads, table, b.tenant, nil, func(line []byte) error {
			lines = append(append(lines, line...), '\n')
			return nil
		}))
		write(func(tx *store.Tx) error {
			if err := tx.Exec(t.Context(), "erase", `DELETE FROM `+table.Name); err != nil {
				return err
			}
			return second(tabledb.LoadRows(t.Context(), tx, table, lines, tabledb.Load{Tenant: b.tenant}))
		})
	}
	write(func(tx *store.Tx) error {
		renewed, err := jobdb.RenewLease(t.Context(), tx, lease, b.Process+".1")
		require.False(t, renewed)
		return err
	})
	require.Empty(t, b.begin(t))
	for released, beats := 0, 0; released < 2; beats++ {
		require.Less(t, beats, 10)
		n, err := b.Leases.Beat(t.Context())
		require.NoError(t, err)
		released += n
	}
	require.Len(t, b.begin(t), 1)
	require.Equal(t, job.Completed, b.worked(t, made.ID).Status)
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
