// Package worker carries out what state changes left to do, apart from the calls
// that made them.
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
	// intakePoll is how soon event calls of an edge in another process are seen.
	intakePoll = 200 * time.Millisecond
	// intakeBatch bounds one transaction: it holds the write lock, for which
	// the intake of new events waits.
	intakeBatch = 500
)

// NewIntake returns the worker that turns event calls into events, in the order
// of their receipt. Several may run on one database: the write lock makes them
// take turns.
func NewIntake(db *store.Primary, now func() core.Time, log *slog.Logger) *Worker {
	in := intake{db: db, now: now, log: log}
	return newWorker("intake", intakePoll, log, in.drain)
}

type intake struct {
	db  *store.Primary
	now func() core.Time
	log *slog.Logger
}

// drain processes what waits. What arrives meanwhile is for the next time: under
// load, something always does, and a transaction for each few calls costs every
// replica more than the calls.
func (in intake) drain(ctx context.Context) error {
	for left := true; left; {
		// Looking first spares an idle database a write lock at every tick.
		waiting, err := eventdb.IntakeWaits(ctx, in.db.Reads)
		if err != nil || !waiting {
			return err
		}
		var done eventdb.Processed
		err = in.db.Write(ctx, in.now(), func(tx *store.Tx) (err error) {
			done, err = eventdb.ProcessIntake(ctx, tx, intakeBatch)
			return err
		})
		if err != nil {
			return err
		}
		left = done.Left
		in.log.Debug("intake processed", "calls", done.Calls, "events", done.Events)
		if done.Orphaned > 0 {
			in.log.Info("events of deleted users passed over", "events", done.Orphaned)
		}
		if done.Unreadable > 0 {
			in.log.Error("events passed over: they are not what the edge and the backend write", "events", done.Unreadable)
		}
	}
	return nil
}
