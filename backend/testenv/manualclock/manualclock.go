// Package manualclock has a clock that a test advances: however slow the machine is,
// nothing runs out of time that the test does not want to.
package manualclock

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadline bounds the wait of Pass. It is only ever spent on failure.
const deadline = 2 * time.Minute

// Clock stands still until a test advances it. Make it with New.
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

// New returns a clock on which no timer runs.
func New() *Clock {
	return &Clock{at: time.UnixMilli(1_700_000_000_000), timers: map[*timer]bool{}, begun: map[time.Duration]int{}}
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// WithTimeout is context.WithTimeout by this clock.
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

// Advance lets time pass.
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

// Running is how many timers of a duration run.
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

// Pass waits until n timers of a duration run, and lets that time pass.
func (c *Clock) Pass(t testing.TB, d time.Duration, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return c.Running(d) >= n }, deadline, time.Millisecond, fmt.Sprintf("%d timers of %v", n, d))
	c.Advance(d)
}

// Total is how many timers of a duration were begun.
func (c *Clock) Total(d time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun[d]
}
