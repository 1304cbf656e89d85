// Package watchdog detects that a server hangs: it accepts connections and requests, and
// answers none. A time limit for calls would not distinguish a server that hangs from one
// that works on a slow call. So a watchdog sends the server a health check while calls wait
// for it. When two checks in a row fail, it ends all calls that wait, and refuses new ones
// at once until a check succeeds.
package watchdog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// ErrSilent reports that a server is away: it answers no health check. A call that was
// sent may or may not have run.
var ErrSilent = errors.New("the server does not answer")

// Config describes a watchdog.
type Config struct {
	// Name names the server in the log.
	Name string
	// Check sends a health check. The server is alive if Check returns nil.
	Check func(context.Context) error
	// Timeout bounds a check.
	Timeout time.Duration
	// Log records when the server stops answering and when it answers again.
	Log *slog.Logger

	// WithTimeout measures Timeout and the pauses. Default context.WithTimeout.
	WithTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

const (
	// pause is the time between two checks. The first is made when a call has waited for
	// one to two pauses, so that quick calls cause none.
	pause = 250 * time.Millisecond
	// tries is how many checks in a row must fail, so that one lost answer does no harm.
	tries = 2
)

// Watchdog watches one server. Make it with New. It is safe for concurrent use.
type Watchdog struct {
	Config
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	mu sync.Mutex
	// round counts the pauses. waiting has the numbers of calls that wait for the server,
	// those that began in this round and those that began before.
	round   int
	waiting struct{ young, old int }
	// watching is true while watch runs: while calls wait, or the server is away.
	watching bool
	// alive ends when the server is found to be away; nil while it is away.
	alive context.Context
	lost  context.CancelCauseFunc
}

// New returns a Watchdog. The caller must call Close.
func New(config Config) *Watchdog {
	if config.WithTimeout == nil {
		config.WithTimeout = context.WithTimeout
	}
	w := &Watchdog{Config: config}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.alive, w.lost = context.WithCancelCause(w.ctx)
	return w
}

// Close ends the watch.
func (w *Watchdog) Close() {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock()
	w.done.Wait()
}

// Begin begins a call. The context that it returns ends when the server is found to be
// away; its cause is then ErrSilent. If the server is known to be away, Begin returns
// ErrSilent. Every Begin without an error is paired with one call of end.
func (w *Watchdog) Begin(ctx context.Context) (_ context.Context, end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive == nil {
		return nil, nil, ErrSilent
	}
	w.waiting.young++
	began := w.round
	if !w.watching && w.ctx.Err() == nil {
		w.watching = true
		w.done.Go(w.watch)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.alive, func() { cancel(ErrSilent) })
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel(nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		if began == w.round {
			w.waiting.young--
		} else {
			w.waiting.old--
		}
	}), nil
}

// Away reports whether the server is known to be away.
func (w *Watchdog) Away() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.alive == nil
}

// watch checks the server while calls wait, or until it answers again.
func (w *Watchdog) watch() {
	for {
		w.sleep()
		check, ok := w.next()
		if !ok {
			return
		}
		if !check {
			continue
		}
		var err error
		for range tries {
			if err = w.check(); err == nil || w.ctx.Err() != nil {
				break
			}
		}
		if err == nil {
			w.found()
		} else {
			w.lose(err)
		}
	}
}

func (w *Watchdog) sleep() {
	ctx, cancel := w.WithTimeout(w.ctx, pause)
	defer cancel()
	<-ctx.Done()
}

func (w *Watchdog) check() error {
	ctx, cancel := w.WithTimeout(w.ctx, w.Timeout)
	defer cancel()
	return w.Check(ctx)
}

// next begins a round. ok is false if there is nothing left to watch; check is true if a
// call has waited for a whole pause, or the server is away.
func (w *Watchdog) next() (check, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	check = w.waiting.old > 0 || w.alive == nil
	ok = w.ctx.Err() == nil && (check || w.waiting.young > 0)
	w.round++
	w.waiting.old, w.waiting.young = w.waiting.old+w.waiting.young, 0
	w.watching = ok
	return check, ok
}

// found records that a check has succeeded.
func (w *Watchdog) found() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive == nil {
		w.alive, w.lost = context.WithCancelCause(w.ctx)
		w.Log.Info("a server answers again", "server", w.Name)
	}
}

// lose ends the calls that wait.
func (w *Watchdog) lose(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive != nil && w.ctx.Err() == nil {
		w.alive = nil
		w.lost(ErrSilent)
		w.Log.Warn("a server does not answer: calls to it fail until it does", "server", w.Name, "error", why)
	}
}
