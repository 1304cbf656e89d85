package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// pause is the delay after a failure, so that a worker does not query an
	// unavailable database in a tight loop.
	pause = time.Second
	// finishTime is the Finish of a new worker.
	finishTime = 5 * time.Second
	// turn is how long a worker that begins waits for the one before it.
	turn = 100 * time.Millisecond
)

// Worker does one kind of work repeatedly: when it is woken, and at every tick, which
// finds the work that other processes left.
type Worker struct {
	// Finish bounds the work that the worker may still do after it was stopped. It
	// may be set before Run. Default 5 s.
	Finish time.Duration

	name  string
	every time.Duration
	// drain works until no work is left.
	drain func(context.Context) error
	// stopsAtOnce is true for a worker with long work: it begins nothing more once it
	// was stopped.
	stopsAtOnce bool
	// last is called after the worker was stopped; nil means drain.
	last func(context.Context) error
	log  *slog.Logger
	// wake contains at most one signal that there is work.
	wake chan struct{}
}

func newWorker(name string, every time.Duration, log *slog.Logger, drain func(context.Context) error) *Worker {
	return &Worker{Finish: finishTime, name: name, every: every, drain: drain, log: log, wake: make(chan struct{}, 1)}
}

// Wake signals the worker that there is work; it does not block.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Begin runs workers as goroutines of a group. Each begins when the one before it has found no
// more work, and at the latest after a turn: all at once, each would open a connection of its own to
// the database, and to read the schema for one takes milliseconds of a processor.
func Begin(ctx context.Context, group *sync.WaitGroup, all ...*Worker) {
	before := make(chan struct{})
	close(before)
	for _, w := range all {
		last, drained := before, make(chan struct{})
		before = drained
		group.Go(func() {
			select {
			case <-last:
			case <-time.After(turn):
			case <-ctx.Done():
			}
			w.run(ctx, sync.OnceFunc(func() { close(drained) }))
		})
	}
}

// Run works until ctx is done. A worker with short work then also does the work that
// arrived before the stop, so that little is left for the next start.
func (w *Worker) Run(ctx context.Context) { w.run(ctx, func() {}) }

// run is Run; it calls drained whenever no work is left.
func (w *Worker) run(ctx context.Context, drained func()) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		delay := time.Duration(0)
		if err := w.drain(ctx); err != nil && ctx.Err() == nil {
			w.log.Error("worker stopped; trying again", "worker", w.name, "error", err)
			delay = pause
		}
		drained()
		select {
		case <-ctx.Done():
			if !w.stopsAtOnce {
				w.finish()
			}
			return
		case <-time.After(delay):
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
		w.log.Warn("work left at the stop", "worker", w.name, "error", err)
	}
}
