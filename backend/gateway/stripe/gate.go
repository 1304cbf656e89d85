package stripe

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"kith/backend/gateway"
)

// gate sends requests, and holds all of them back for a time when Stripe answers that
// there were too many (gateway 4.1.4).
type gate struct {
	mu    sync.Mutex
	until time.Time
}

const (
	// pause is that after an answer 429 without Retry-After, and maxPause the longest one
	// that a call waits for.
	pause    = time.Second
	maxPause = 20 * time.Second
)

// transport has the connections to the gateway. Other code may close the idle ones of the
// default transport, which fails a request whose answer arrives then.
var transport = http.DefaultTransport.(*http.Transport).Clone()

var errPaused = errors.New("the pause that the gateway asked for is not over")

// RoundTrip waits for the end of a pause, and sends a request.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	left := time.Until(g.until)
	g.mu.Unlock()
	if left > maxPause {
		return nil, errPaused
	}
	if err := gateway.Wait(r.Context(), left); err != nil {
		return nil, err
	}
	answer, err := transport.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusTooManyRequests {
		after := pause
		if seconds, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 16); err == nil && seconds > 0 {
			after = time.Duration(seconds) * time.Second
		}
		g.mu.Lock()
		g.until = time.Now().Add(after)
		g.mu.Unlock()
	}
	return answer, err
}
