package braintree

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"kith/backend/gateway"
	"kith/backend/gateway/xmltree"
)

const (
	// firstPause is doubled with every attempt and varied by up to half of it, so that
	// calls that failed together are not repeated together.
	firstPause = 500 * time.Millisecond
	// maxPause bounds how long a call waits. A longer pause is returned to the caller,
	// which can do other work meanwhile.
	maxPause = 30 * time.Second
	// maxRetryAfter bounds the pause that the gateway may ask for.
	maxRetryAfter = 24 * time.Hour
)

// do sends a call until it has a result, the attempts are used up, or the gateway asks
// for a pause longer than maxPause.
func (c *Client) do(ctx context.Context, out call) (*xmltree.Node, error) {
	for attempt := 1; ; attempt++ {
		if err := c.gate.pass(ctx); err != nil {
			return nil, err
		}
		doc, err := c.attempt(ctx, out)
		e, failed := errors.AsType[*Error](err)
		if !failed || e.Action != Retry {
			return doc, err
		}
		wait := max(pauseAfter(attempt), e.RetryAfter)
		if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
			c.gate.close(wait)
		}
		if attempt >= c.attempts || wait > maxPause {
			return nil, err
		}
		if err := gateway.Wait(ctx, wait); err != nil {
			return nil, &Error{Action: Retry, Err: err}
		}
	}
}

func pauseAfter(attempt int) time.Duration {
	d := min(firstPause<<(min(attempt, 8)-1), maxPause/2)
	return d/2 + rand.N(d) // #nosec G404 -- it spreads retries
}

// retryAfter parses the header Retry-After: seconds, or a date.
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

// gate delays all calls of a client during a pause that the gateway asked for.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

func (g *gate) close(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.until) {
		g.until = until
	}
}

// pass returns when the gate is open, or at once with an error if that takes longer than
// maxPause.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		left := time.Until(g.until)
		g.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if left > maxPause {
			return &Error{Action: Retry, RetryAfter: left, Err: errors.New("the pause that the gateway asked for is not over")}
		}
		if err := gateway.Wait(ctx, left); err != nil {
			return &Error{Action: Retry, Err: err}
		}
	}
}
