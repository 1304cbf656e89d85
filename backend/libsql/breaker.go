package libsql

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Breaker is a circuit breaker for the writes of a database. It is closed while writes
// succeed. Its owner opens it when one has waited for the longest time, or when the
// connection that writes failed: all writes that wait then fail, and so do new ones, at
// once, until the owner's probe succeeds and closes it. Otherwise each of them would wait
// for the same primary or the same lock, one after the other. Make it with NewBreaker; it
// is safe for concurrent use.
type Breaker struct {
	log *slog.Logger

	mu sync.Mutex
	// opened is closed when the breaker opens, and replaced when it closes.
	opened chan struct{}
	// why is the reason why it is open; nil while it is closed.
	why   error
	since time.Time
}

// NewBreaker returns a closed breaker. The log records when it opens and closes.
func NewBreaker(log *slog.Logger) *Breaker {
	return &Breaker{log: log, opened: make(chan struct{})}
}

// ErrRefused reports that a write was not sent because a Breaker is open.
var ErrRefused = fmt.Errorf("%w: the database accepts no writes at the moment", errNotRun)

// Admit returns a channel that is closed when the breaker opens, or an error if it is
// open.
func (b *Breaker) Admit() (opened <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil {
		return nil, fmt.Errorf("%w, because: %w", ErrRefused, b.why)
	}
	return b.opened, nil
}

// Open opens the breaker. It returns false if it was open.
func (b *Breaker) Open(why error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil {
		return false
	}
	b.why, b.since = why, time.Now()
	close(b.opened)
	b.log.Warn("writes are refused until the database accepts one again", "error", why)
	return true
}

// Close closes the breaker: writes are accepted again.
func (b *Breaker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why == nil {
		return
	}
	b.why, b.opened = nil, make(chan struct{})
	b.log.Info("writes are accepted again", "after", time.Since(b.since).Round(time.Millisecond))
}

// IsOpen reports whether the breaker is open.
func (b *Breaker) IsOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why != nil
}

// WhileClosed returns a context that ends when the breaker opens; if it is open, at once.
func (b *Breaker) WhileClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	opened, err := b.Admit()
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
