package libsql

import "sync/atomic"

// inFlight counts the requests that may write soon: those that compute or read, but
// not those that wait for their write or for the answer of another server.
type inFlight struct {
	n atomic.Int64
	// idle receives a value when the count becomes zero.
	idle chan struct{}
}

func newInFlight() *inFlight { return &inFlight{idle: make(chan struct{}, 1)} }

func (a *inFlight) any() bool { return a.n.Load() > 0 }

func (a *inFlight) begin() { a.n.Add(1) }

func (a *inFlight) end() {
	if a.n.Add(-1) == 0 {
		select {
		case a.idle <- struct{}{}:
		default:
		}
	}
}
