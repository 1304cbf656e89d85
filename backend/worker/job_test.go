package worker_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/worker"
	"kith/core"
	"kith/core/job"
)

func (b bundle) engine(t *testing.T, dir file.Dir) *app.Engine {
	t.Helper()
	e := app.New(base.Base{DB: b.db, Now: func() core.Time { return now }, Entropy: func(p []byte) { _, _ = rand.Read(p) }})
	e.Files.Store = dir
	return e
}

// pending stores jobs that no worker runs yet.
func (b bundle) pending(t *testing.T, ids ...string) {
	t.Helper()
	require.NoError(t, b.db.Write(t.Context(), now, func(tx *store.Tx) error {
		for _, id := range ids {
			err := jobdb.InsertJob(t.Context(), tx, "t", job.Job{
				ID: id, Created: now,
				Input: job.Input{Type: job.User, Requester: "API", Format: job.CSV, Params: "{}"},
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

func (b bundle) completed(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, total, err := jobdb.Jobs(t.Context(), b.db.Reads, "t", job.Filter{Statuses: []job.Status{job.Completed}, Limit: 1})
		return err == nil && total == n
	}, sqldtest.Deadline, time.Millisecond)
}

// Workers of several processes on one database, each with several slots, run every
// job, and none disturbs another.
func TestJobs_WorkersShareTheWork(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	dir := file.Dir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	var all []*worker.Worker
	for range 3 {
		w := worker.NewJobs(&b.engine(t, dir).Jobs, 2, slog.New(slog.NewTextHandler(b.log, nil)))
		all = append(all, w)
		workers.Go(func() { w.Run(ctx) })
	}
	for i := range 20 {
		b.pending(t, strconv.Itoa(i))
	}
	for _, w := range all {
		w.Wake()
	}
	b.completed(t, 20)
	cancel()
	workers.Wait()
	require.Empty(t, b.log.String())
}

// A worker finds the jobs of another process without a wake.
func TestJobs_WorkWithoutWake(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	b.pending(t, "first")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		worker.NewJobs(&b.engine(t, file.Dir(t.TempDir())).Jobs, 1, slog.New(slog.NewTextHandler(b.log, nil))).Run(ctx)
	})
	b.completed(t, 1)
	b.pending(t, "second")
	b.completed(t, 2)
	cancel()
	running.Wait()
}

// A worker that was stopped begins no job.
func TestJobs_StopBeginsNothing(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	b.pending(t, "first")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	worker.NewJobs(&b.engine(t, file.Dir(t.TempDir())).Jobs, 1, slog.New(slog.NewTextHandler(b.log, nil))).Run(ctx)
	waits, err := jobdb.AnyWaiting(t.Context(), b.db.Reads)
	require.NoError(t, err)
	require.True(t, waits)
	require.Empty(t, b.log.String())
}
