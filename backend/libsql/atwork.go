package libsql

import "sync/atomic"

// atWork counts the requests of a host that compute or read, and may write next:
// not those that wait for their write or for another server's answer.
type atWork struct {
	n atomic.Int64
	// none gets a note when nobody is left.
	none chan struct{}
}

func newAtWork() *atWork { return &atWork{none: make(chan struct{}, 1)} }

func (a *atWork) some() bool { return a.n.Load() > 0 }

func (a *atWork) begin() { a.n.Add(1) }

func (a *atWork) end() {
	if a.n.Add(-1) == 0 {
		select {
		case a.none <- struct{}{}:
		default:
		}
	}
}
