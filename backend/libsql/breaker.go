package libsql

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// breaker is a circuit breaker for the writes of a database. It is closed while writes
// succeed. It opens when one has waited for the longest time, or when the connection
// that writes failed: all writes that wait then fail, and so do new ones, at once,
// until a probe succeeds. Otherwise each of them would wait for the same primary or the
// same lock, one group after the other, and use an instance of the component meanwhile.
type breaker struct {
	log *slog.Logger

	mu sync.Mutex
	// opened is closed when the breaker opens, and replaced when it closes.
	opened chan struct{}
	// why is the reason why it is open; nil while it is closed.
	why   error
	since time.Time
}

func newBreaker(log *slog.Logger) *breaker {
	return &breaker{log: log, opened: make(chan struct{})}
}

// errRefused reports that a write was not sent because the breaker is open.
var errRefused = fmt.Errorf("%w: the database accepts no writes at the moment", errNotRun)

// admit returns a channel that is closed when the breaker opens, or an error if it is
// open.
func (b *breaker) admit() (opened <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil {
		return nil, fmt.Errorf("%w, because: %w", errRefused, b.why)
	}
	return b.opened, nil
}

// open opens the breaker.
func (b *breaker) open(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil {
		return
	}
	b.why, b.since = why, time.Now()
	close(b.opened)
	b.log.Warn("writes are refused until the database accepts one again", "error", why)
}

// close closes the breaker.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why == nil {
		return
	}
	b.why, b.opened = nil, make(chan struct{})
	b.log.Info("writes are accepted again", "after", time.Since(b.since).Round(time.Millisecond))
}

// isOpen reports whether the breaker is open.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why != nil
}

// whileClosed returns a context that ends when the breaker opens.
func (b *breaker) whileClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	opened, err := b.admit()
	if err != nil {
		cancel()
		return ctx, cancel
	}
	go func() {
		select {
		case <-opened:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
