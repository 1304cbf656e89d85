// Package job carries out what state changes left to do, apart from the calls
// that made them.
package job

import (
	"context"
	"log/slog"
	"time"

	"kith/backend/store"
	"kith/core"
)

const (
	// poll is how soon event calls of an edge in another process are seen.
	poll = 200 * time.Millisecond
	// batch bounds one transaction: it holds the write lock, for which the
	// intake of new events waits.
	batch = 500
	// pause is the rest after a failure, so that a database that is away is
	// not asked in a tight loop.
	pause = time.Second
)

// Intake turns event calls into events, in the order of their receipt. Several
// may run on one database: the write lock makes them take turns.
type Intake struct {
	DB  *store.Primary
	Now func() core.Time
	Log *slog.Logger
	// wake holds at most one note that there is work.
	wake chan struct{}
}

// NewIntake returns a worker; Run must be called for it to work.
func NewIntake(db *store.Primary, now func() core.Time, log *slog.Logger) *Intake {
	return &Intake{DB: db, Now: now, Log: log, wake: make(chan struct{}, 1)}
}

// Wake tells the worker that there is work; it does not block.
func (in *Intake) Wake() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx is done, and finishes what is waiting then.
func (in *Intake) Run(ctx context.Context) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		rest := time.Duration(0)
		if err := in.drain(ctx); err != nil && ctx.Err() == nil {
			in.Log.Error("intake stopped; trying again", "error", err)
			rest = pause
		}
		select {
		case <-ctx.Done():
			in.finish()
			return
		case <-time.After(rest):
		}
		select {
		case <-ctx.Done():
		case <-in.wake:
		case <-tick.C:
		}
	}
}

// finish takes what arrived up to the end, so that a clean stop leaves nothing
// half-way. What it cannot take waits in the table for the next start.
func (in *Intake) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := in.drain(ctx); err != nil {
		in.Log.Warn("event calls wait for the next start", "error", err)
	}
}

// drain processes until nothing waits.
func (in *Intake) drain(ctx context.Context) error {
	for {
		// Looking first spares an idle database a write lock at every tick.
		waiting, err := in.DB.IntakeWaits(ctx)
		if err != nil || !waiting {
			return err
		}
		var done store.Processed
		err = in.DB.Write(ctx, in.Now(), func(tx *store.Tx) (err error) {
			done, err = tx.ProcessIntake(ctx, batch)
			return err
		})
		if err != nil {
			return err
		}
		in.Log.Debug("intake processed", "calls", done.Calls, "events", done.Events)
		if done.Unreadable > 0 {
			in.Log.Error("events passed over: they are not what the edge and the backend write", "events", done.Unreadable)
		}
	}
}
