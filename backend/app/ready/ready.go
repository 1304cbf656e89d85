// Package ready runs readiness checks so that probes cannot load what they check: a
// result is used again for a second, only one run is in progress at a time, and no caller
// waits longer than a time limit for a part that hangs.
package ready

import (
	"context"
	"sync"
	"time"
)

const (
	// age is how long a result is used.
	age = time.Second
	// waitTime is how long after its begin a run is waited for.
	waitTime = 1500 * time.Millisecond
	// promptTime is how long a new run is waited for if there is an older result: an edge
	// takes a backend that does not answer a health check within 500 ms for one that hangs.
	promptTime = 300 * time.Millisecond
	// runTime bounds a run. It is longer than waitTime: a run that is given up by its
	// callers continues, so that a hanging part gets no second one.
	runTime = time.Minute
)

// Check is a check whose result is cached. It is safe for concurrent use.
type Check struct {
	// Do runs the check.
	Do func(context.Context) error
	// Hangs is the result while Do takes too long.
	Hangs error

	mu    sync.Mutex
	begun time.Time
	ended time.Time
	err   error
	// running is closed at the end of the run in progress; nil without one.
	running chan struct{}
}

// Err returns the result of a run that ended within the last second, or of a new one. If
// the new one takes longer than 300 ms, the result is that of the run before, and from 1.5 s
// after its begin on Hangs. The first run of all is waited for for 1.5 s.
func (c *Check) Err(ctx context.Context) error {
	c.mu.Lock()
	if c.running == nil && time.Since(c.ended) < age {
		defer c.mu.Unlock()
		return c.err
	}
	if c.running == nil {
		c.begun, c.running = time.Now(), make(chan struct{})
		go c.run(c.running) // #nosec G118 -- other callers wait for the same run
	}
	running, late, wait := c.running, c.begun.Add(waitTime), waitTime
	if !c.ended.IsZero() {
		wait = promptTime
	}
	left := time.Until(c.begun.Add(wait))
	c.mu.Unlock()
	given := time.NewTimer(left)
	defer given.Stop()
	select {
	case <-running:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err
	case <-given.C:
	case <-ctx.Done():
	}
	if time.Now().Before(late) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.ended.IsZero() {
			return c.err
		}
	}
	return c.Hangs
}

func (c *Check) run(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), runTime)
	err := c.Do(ctx)
	cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err, c.ended, c.running = err, time.Now(), nil
	close(done)
}
