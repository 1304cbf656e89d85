// Package worker runs the background work that state changes leave behind: it
// processes events, runs jobs, sends webhooks and calls payment gateways.
package worker

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/core"
)

const (
	// intakePoll is the longest delay until an event call stored by another process is seen.
	intakePoll = 200 * time.Millisecond
	// intakeBatch is the number of calls in one transaction. While it runs, new event
	// calls wait for the write lock.
	intakeBatch = 500
)

// NewIntake returns the worker that turns event calls into events, in the order of
// their receipt. It calls placed after it stored events that may place orders; placed
// must not block. Several may run on one database: the write lock admits one at a time.
func NewIntake(db *store.Primary, now func() core.Time, placed func(), log *slog.Logger) *Worker {
	in := intake{db: db, now: now, placed: placed, log: log}
	return newWorker("intake", intakePoll, log, in.drain)
}

type intake struct {
	db  *store.Primary
	now func() core.Time
	// placed wakes the worker of orders.
	placed func()
	log    *slog.Logger
}

// drain processes the waiting calls. Calls that arrive meanwhile wait for the next
// tick: under load calls arrive all the time, and a transaction for every few calls
// costs each replica more than the calls themselves.
func (in intake) drain(ctx context.Context) error {
	for left := true; left; {
		// This read saves an idle database a write lock at every tick, and a busy one the
		// time that the read takes.
		batch, err := eventdb.NextBatch(ctx, in.db.Reads, intakeBatch)
		if err != nil || batch.Calls == 0 {
			return err
		}
		done, err := store.WriteValue(ctx, in.db.Write, in.now(), func(tx *store.Tx) (eventdb.Processed, error) {
			return eventdb.ProcessBatch(ctx, tx, batch)
		})
		if err != nil {
			return err
		}
		if left = done.Left; done.Orders > 0 {
			in.placed()
		}
		in.log.Debug("intake processed", "calls", done.Calls, "events", done.Events)
		if done.Orphaned > 0 {
			in.log.Info("events of deleted users skipped", "events", done.Orphaned)
		}
		if done.Unreadable > 0 {
			in.log.Error("events skipped: neither the edge nor the backend writes this form", "events", done.Unreadable)
		}
	}
	return nil
}
