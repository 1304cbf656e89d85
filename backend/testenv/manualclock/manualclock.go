// Package manualclock has a clock that a test advances: a timeout expires only when the
// test wants it to, however slow the machine is.
package manualclock

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadline bounds each wait. A test that passes never waits that long.
const deadline = 2 * time.Minute

// Clock shows the same time until a test advances it. Make it with New.
type Clock struct {
	mu     sync.Mutex
	at     time.Time
	timers map[*timer]bool
	begun  map[time.Duration]int
}

type timer struct {
	lasts  time.Duration
	end    time.Time
	expire context.CancelCauseFunc
}

// New returns a clock without timers.
func New() *Clock {
	return &Clock{at: time.UnixMilli(1_700_000_000_000), timers: map[*timer]bool{}, begun: map[time.Duration]int{}}
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// WithTimeout is context.WithTimeout measured by this clock.
func (c *Clock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{d, c.at.Add(d), cancel}
	c.timers[t] = true
	c.begun[d]++
	return timedContext{ctx}, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
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

// Advance moves the clock forward, and expires the timers that are due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	for t := range c.timers {
		if !t.end.After(c.at) {
			delete(c.timers, t)
			t.expire(context.DeadlineExceeded)
		}
	}
}

// Running returns how many timers of a duration are running.
func (c *Clock) Running(d time.Duration) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.timers {
		if t.lasts == d {
			n++
		}
	}
	return n
}

// Pass waits until n timers of a duration are running, and then advances the clock by it.
func (c *Clock) Pass(t testing.TB, d time.Duration, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return c.Running(d) >= n }, deadline, time.Millisecond, fmt.Sprintf("%d timers of %v", n, d))
	c.Advance(d)
}

// Total returns how many timers of a duration were started.
func (c *Clock) Total(d time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun[d]
}

// AdvanceUntil advances the clock by d, again and again, until a condition holds. An
// advance can end what would make it hold, such as a request that is on its way, so each
// leaves twice the time of the one before, up to a second.
func (c *Clock) AdvanceUntil(t testing.TB, d time.Duration, is func() bool, why ...any) {
	t.Helper()
	began := time.Now()
	for pause := time.Millisecond; !is(); pause = min(2*pause, time.Second) {
		require.Less(t, time.Since(began), deadline, why...)
		c.Advance(d)
		<-time.After(pause)
	}
}
