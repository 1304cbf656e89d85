package host

import (
	"context"
	"time"
)

// A request is the context of all that is done for it. It ends when the client's context
// ends, at its deadline, or when the host stops. The host looks for that every lookEvery:
// a timer, and functions that the client's context calls, took a fifteenth of the time of
// a share link, and nearly every request is answered before. After its answer it ends too.
const lookEvery = 20 * time.Millisecond

// Done implements context.Context.
func (in *request) Done() <-chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.done == nil {
		in.done = make(chan struct{})
		if in.err != nil {
			close(in.done)
		}
	}
	return in.done
}

// Err implements context.Context.
func (in *request) Err() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.err
}

// Deadline implements context.Context.
func (in *request) Deadline() (time.Time, bool) { return in.deadline, true }

// guestKey is the key of the instance that a request runs in, by which an import finds it.
type guestKey struct{}

// Value implements context.Context.
func (in *request) Value(key any) any {
	if _, ok := key.(guestKey); ok {
		return in.guest
	}
	return in.client.Value(key)
}

// end ends the request, and the call of the guest that it runs in.
func (in *request) end(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err != nil {
		return
	}
	in.err = err
	if in.done != nil {
		close(in.done)
	}
	if in.guest != nil {
		in.guest.end.Set(1)
	}
}

// use sets the guest that the request runs in; nil if it runs in none any more. It returns
// the error of the request if that has ended: a guest that was used then must not be used
// again.
func (in *request) use(g *guest) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.guest = g
	return in.err
}

// look ends the requests whose client has closed the connection and those that are too
// late. While there are requests, it is called again and again.
func (h *Host) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.options.now()
	for in := range h.running {
		if err := in.client.Err(); err != nil {
			in.end(err)
		} else if now.After(in.deadline) {
			in.end(context.DeadlineExceeded)
		}
	}
	if h.looks = len(h.running) > 0; h.looks {
		h.looker.Reset(lookEvery)
	}
}
