package host

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadline bounds every wait of these tests. It is only ever spent on failure.
const deadline = 2 * time.Minute

// eventually waits for a condition.
func eventually(t testing.TB, is func() bool, why ...any) {
	t.Helper()
	require.Eventually(t, is, deadline, time.Millisecond, why...)
}

// manualClock stands still until a test advances it: however slow the machine is,
// nothing runs out of time that the test does not want to.
type manualClock struct {
	mu     sync.Mutex
	at     time.Time
	timers map[*manualTimer]bool
	begun  map[time.Duration]int
}

type manualTimer struct {
	lasts  time.Duration
	end    time.Time
	expire context.CancelCauseFunc
}

func newManualClock() *manualClock {
	return &manualClock{at: time.UnixMilli(1_700_000_000_000), timers: map[*manualTimer]bool{}, begun: map[time.Duration]int{}}
}

func (c *manualClock) clock() clock { return clock{c.now, c.withTimeout} }

func (c *manualClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *manualClock) withTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &manualTimer{d, c.at.Add(d), cancel}
	c.timers[timer] = true
	c.begun[d]++
	return timedContext{ctx}, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, timer)
		cancel(nil)
	}
}

// timedContext has the error of a context whose deadline has passed.
type timedContext struct{ context.Context }

func (c timedContext) Err() error {
	if c.Context.Err() != nil && context.Cause(c.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// advance lets time pass.
func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	for timer := range c.timers {
		if !timer.end.After(c.at) {
			delete(c.timers, timer)
			timer.expire(context.DeadlineExceeded)
		}
	}
}

// running is how many timers of a duration run.
func (c *manualClock) running(d time.Duration) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for timer := range c.timers {
		if timer.lasts == d {
			n++
		}
	}
	return n
}

// pass waits until n timers of a duration run, and lets that time pass.
func (c *manualClock) pass(t testing.TB, d time.Duration, n int) {
	t.Helper()
	eventually(t, func() bool { return c.running(d) >= n }, fmt.Sprintf("%d timers of %v", n, d))
	c.advance(d)
}

// total is how many timers of a duration were begun.
func (c *manualClock) total(d time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun[d]
}
