package worker_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/rowtest"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/backend/testenv"
	"kith/backend/worker"
	"kith/core"
	"kith/core/event"
	"kith/core/link"
	"kith/core/referral"
)

const now core.Time = 1_700_000_000_000

// drawn is a counter that makes ids unique.
var drawn atomic.Int64

// buffer is a log that can be read while it is written.
type buffer struct{ testenv.Log }

// await waits for a text in the log.
func (b *buffer) await(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(b.String(), text) }, sqldtest.Deadline, time.Millisecond, text)
}

// bundle is a running worker.
type bundle struct {
	db     *store.Primary
	intake *worker.Worker
	log    *buffer
	// stop stops the worker and waits for its end.
	stop func()
}

func run(t *testing.T, url string) bundle {
	t.Helper()
	db, err := store.Open(url, "")
	require.NoError(t, err)
	db.SetTimeout(sqldtest.Deadline)
	require.NoError(t, db.Migrate(t.Context(), now))
	require.NoError(t, db.Write(t.Context(), now, func(tx *store.Tx) error {
		_, err := tenantdb.Insert(t.Context(), tx, tenantdb.Tenant{Alias: "t", Policy: link.Policy{Consent: link.ConsentOff}})
		if err == nil {
			err = rowtest.PutAccount(t.Context(), tx, "t", referral.NewAccount("a", now))
		}
		if err == nil {
			err = rowtest.PutUser(t.Context(), tx, "t", referral.NewUser("a", "u", now))
		}
		return err
	}))
	b := bundle{db: db, log: &buffer{}}
	b.intake = worker.NewIntake(db, func() core.Time { return now }, func() {}, slog.New(slog.NewTextHandler(b.log, nil)))
	b.intake.Finish = sqldtest.Deadline
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.intake.Run(ctx) })
	b.stop = func() { cancel(); running.Wait() }
	t.Cleanup(func() { b.stop(); _ = db.Close() })
	return b
}

func (b bundle) append(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		batch := event.Call{Account: "a", User: "u", Events: []event.Event{{Key: strconv.Itoa(i)}}}
		var raw [6]byte
		copy(raw[:], strconv.FormatInt(drawn.Add(1)+1e5, 10))
		batch.Stamp(now, raw)
		added, err := eventdb.AppendIntake(t.Context(), b.db, "t", batch)
		require.NoError(t, err)
		require.True(t, added)
	}
}

// processed waits until all event calls are processed.
func (b bundle) processed(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		waits, err := eventdb.IntakeWaits(t.Context(), b.db.Reads)
		return err == nil && !waits
	}, sqldtest.Deadline, time.Millisecond)
}

func TestIntake_ProcessesOnWake(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	b.append(t, 3)
	for range 100 {
		b.intake.Wake() // never blocks
	}
	b.processed(t)
}

// An edge in another process cannot wake the worker; the worker polls.
func TestIntake_ProcessesWithoutWake(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	b.append(t, 3)
	b.processed(t)
}

func TestIntake_StopFinishesPendingCalls(t *testing.T) {
	t.Parallel()
	b := run(t, storetest.File(t))
	b.append(t, 700) // more than a batch
	b.stop()
	waits, err := eventdb.IntakeWaits(t.Context(), b.db.Reads)
	require.NoError(t, err)
	require.False(t, waits)
	require.Empty(t, b.log.String(), "a clean stop logs nothing")
}

// Several workers, as in several backends, can run on one database.
func TestIntake_WorkersShareTheWork(t *testing.T) {
	t.Parallel()
	url := storetest.File(t)
	first := run(t, url)
	second := worker.NewIntake(first.db, func() core.Time { return now }, func() {}, slog.New(slog.NewTextHandler(first.log, nil)))
	second.Finish = sqldtest.Deadline
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { second.Run(ctx) })
	first.append(t, 50)
	first.processed(t)
	cancel()
	running.Wait()
	first.stop()
	require.Empty(t, first.log.String())
}

func TestIntake_SurvivesADatabaseOutage(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	b := run(t, c.PrimaryURL())
	b.append(t, 1)
	b.processed(t)
	c.KillPrimary(t)
	b.log.await(t, "worker stopped; trying again")
	c.StartPrimary(t)
	b.append(t, 1)
	b.processed(t)
	b.stop()
}

// The worker stops even while the database is unavailable.
func TestIntake_StopsWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	b := run(t, c.PrimaryURL())
	b.append(t, 1)
	b.processed(t)
	c.KillPrimary(t)
	b.stop()
	require.Contains(t, b.log.String(), "work left at the stop")
}
