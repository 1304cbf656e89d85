package worker

import (
	"context"
	"log/slog"
	"time"
)

const (
	// pause is the rest after a failure, so that a database that is away is
	// not asked in a tight loop.
	pause = time.Second
	// finishTime is the Finish of a new worker.
	finishTime = 5 * time.Second
)

// Worker does one kind of work again and again: when it is woken, and at every
// tick for what other processes left.
type Worker struct {
	// Finish bounds the work that the worker may still do after it was told to
	// stop: 5 s unless it is set before Run.
	Finish time.Duration

	name  string
	every time.Duration
	// drain works until nothing waits.
	drain func(context.Context) error
	// leaves is true for a worker whose work is long: it begins nothing more
	// once it was told to stop.
	leaves bool
	// last is what is done in place of drain once it was told to stop; nil:
	// drain.
	last func(context.Context) error
	log  *slog.Logger
	// wake holds at most one note that there is work.
	wake chan struct{}
}

func newWorker(name string, every time.Duration, log *slog.Logger, drain func(context.Context) error) *Worker {
	return &Worker{Finish: finishTime, name: name, every: every, drain: drain, log: log, wake: make(chan struct{}, 1)}
}

// Wake tells the worker that there is work; it does not block.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx is done. A worker whose work is short then takes what
// arrived up to the end, so that a clean stop leaves little to the next start.
func (w *Worker) Run(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		rest := time.Duration(0)
		if err := w.drain(ctx); err != nil && ctx.Err() == nil {
			w.log.Error("worker stopped; trying again", "worker", w.name, "error", err)
			rest = pause
		}
		select {
		case <-ctx.Done():
			if !w.leaves {
				w.finish()
			}
			return
		case <-time.After(rest):
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-tick.C:
		}
	}
}

func (w *Worker) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), w.Finish)
	defer cancel()
	last := w.last
	if last == nil {
		last = w.drain
	}
	if err := last(ctx); err != nil {
		w.log.Warn("work waits for the next start", "worker", w.name, "error", err)
	}
}
