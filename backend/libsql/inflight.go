package libsql

import "sync/atomic"

// inFlight counts requests that compute or read, and may write next: not those that
// wait for their write or for another server's answer.
type inFlight struct {
	n atomic.Int64
	// none receives when the count becomes zero.
	none chan struct{}
}

func newInFlight() *inFlight { return &inFlight{none: make(chan struct{}, 1)} }

func (a *inFlight) some() bool { return a.n.Load() > 0 }

func (a *inFlight) begin() { a.n.Add(1) }

func (a *inFlight) end() {
	if a.n.Add(-1) == 0 {
		select {
		case a.none <- struct{}{}:
		default:
		}
	}
}
