package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"kith/backend/gateway/xmltree"
)

const (
	// firstPause is doubled with every attempt and spread by half of it either
	// way, so that callers that failed together do not return together.
	firstPause = 500 * time.Millisecond
	// maxPause bounds what a call waits for. A longer pause is told to the
	// caller, who has something better to do.
	maxPause = 30 * time.Second
	// maxRetryAfter bounds what the gateway may ask for.
	maxRetryAfter = 24 * time.Hour
)

// do sends a call until it has an outcome, the attempts are used up, or the
// gateway asks for a pause that is too long to wait for.
func (c *Client) do(ctx context.Context, out call) (*xmltree.Node, error) {
	for attempt := 1; ; attempt++ {
		if err := c.gate.pass(ctx); err != nil {
			return nil, err
		}
		doc, err := c.attempt(ctx, out)
		var e *Error
		if err == nil || !errors.As(err, &e) || e.Action != Retry {
			return doc, err
		}
		wait := max(pauseAfter(attempt), e.RetryAfter)
		if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
			c.gate.hold(wait)
		}
		if attempt >= c.attempts || wait > maxPause {
			return nil, err
		}
		if err := pause(ctx, wait); err != nil {
			return nil, &Error{Action: Retry, Err: err}
		}
	}
}

func pauseAfter(attempt int) time.Duration {
	d := min(firstPause<<(min(attempt, 8)-1), maxPause/2)
	return d/2 + rand.N(d) // #nosec G404 -- it spreads retries
}

// pause returns an error when ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// retryAfter reads the header of the same name: seconds, or a date.
func retryAfter(answer *http.Response) time.Duration {
	text := answer.Header.Get("Retry-After")
	d := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = max(0, time.Until(at))
	}
	return min(d, maxRetryAfter)
}

// gate keeps all calls of a client back while the gateway wants to be left
// alone.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

func (g *gate) hold(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.until) {
		g.until = until
	}
}

// pass returns when the gate is open, or at once with an error when that takes
// too long.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		left := time.Until(g.until)
		g.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if left > maxPause {
			return &Error{Action: Retry, RetryAfter: left, Err: errors.New("the gateway asked for a pause that is not over")}
		}
		if err := pause(ctx, left); err != nil {
			return &Error{Action: Retry, Err: err}
		}
	}
}
