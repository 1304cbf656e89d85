package labkit

import "time"

// MaxBody bounds a request, in bytes.
const MaxBody = 1 << 20

// Call is a recorded call, for the lab's page and for tests.
type Call struct {
	At     time.Time `json:"at"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	// Status is that of the answer; 0 if there was none.
	Status int   `json:"status"`
	Fault  Fault `json:"fault,omitempty"`
	// IdempotencyKey is that of the request, if the gateway has it in a header.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	// Replayed is whether the answer was that of an earlier request with the same key.
	Replayed bool `json:"replayed,omitempty"`
}

// maxCalls is how many calls are recorded.
const maxCalls = 1000

// Calls are the last calls, oldest first.
type Calls []Call

// Add records a call.
func (c *Calls) Add(one Call) {
	*c = append(*c, one)
	if len(*c) > maxCalls {
		*c = (*c)[len(*c)-maxCalls:]
	}
}
