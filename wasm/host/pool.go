package host

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
)

var (
	errBusy    = errors.New("host: too many requests are waiting")
	errClosing = errors.New("host: shutting down")
	// errReserved reports that the request needs more than a reserved instance may do.
	errReserved = errors.New("host: not allowed in a reserved instance")
)

// begin counts a request that Close waits for, unless the host is closing. Every
// begin without an error is paired with one end.
func (h *Host) begin() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return errClosing
	}
	h.active++
	return nil
}

func (h *Host) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active--
	if h.closing && h.active == 0 {
		close(h.drained)
	}
}

// reserved returns the number of instances that only look-ups may use.
func (o *Options) reserved() int { return o.Instances / 4 }

// maxLookUps and maxOthers bound the requests that run or wait. Look-ups and other
// requests have separate queues, so that neither can fill that of the other.
func (o *Options) maxLookUps() int { return o.Instances + o.Queue }
func (o *Options) maxOthers() int  { return o.Instances - o.reserved() + o.Queue }

// enter admits a request, whose body was read, to the instances and their queue, and
// starts its time. Every enter without an error is paired with one leave.
func (h *Host) enter(in *request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.running == nil:
		return errClosing
	case in.lookUp && h.lookUps < h.options.maxLookUps():
		h.lookUps++
	case !in.lookUp && h.others < h.options.maxOthers():
		h.others++
	default:
		h.stats.refused.Add(1)
		return errBusy
	}
	in.deadline = h.options.now().Add(h.options.Timeout)
	h.running[in] = struct{}{}
	if !h.looks {
		h.looks = true
		h.looker.Reset(lookEvery)
	}
	return nil
}

func (h *Host) leave(in *request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, in)
	in.end(context.Canceled)
	if in.lookUp {
		h.lookUps--
	} else {
		h.others--
	}
}

// demote counts a look-up as one of the other requests.
func (h *Host) demote(in *request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.others >= h.options.maxOthers() {
		h.stats.refused.Add(1)
		return errBusy
	}
	in.lookUp = false
	h.lookUps--
	h.others++
	return nil
}

// run serves the request with an instance. A look-up uses a reserved instance while all
// unreserved ones are in use. If it needs more than to read databases, it waits for an
// unreserved instance. So look-ups that only read never wait behind requests that wait
// for a backend.
func (h *Host) run(in *request) (*response, error) {
	if in.lookUp {
		out, err := h.runLookUp(in)
		if !errors.Is(err, errReserved) {
			return out, err
		}
		if err := h.demote(in); err != nil {
			return nil, err
		}
	}
	if err := acquire(in, h.unreserved); err != nil {
		return nil, err
	}
	defer func() { <-h.unreserved }()
	return h.runIn(in, false)
}

// runLookUp uses the first free instance, preferably an unreserved one. In a reserved
// instance, a request that needs more than to read databases gets errReserved.
func (h *Host) runLookUp(in *request) (*response, error) {
	select {
	case h.unreserved <- struct{}{}:
		defer func() { <-h.unreserved }()
		return h.runIn(in, false)
	default:
	}
	select {
	case h.unreserved <- struct{}{}:
		defer func() { <-h.unreserved }()
		return h.runIn(in, false)
	case h.reserved <- struct{}{}:
		defer func() { <-h.reserved }()
		return h.runIn(in, true)
	case <-in.Done():
		return nil, in.Err()
	}
}

func acquire(in *request, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	default: // only a request that waits needs the channel of Done
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-in.Done():
		return in.Err()
	}
}

// runIn serves the request with an instance. After any error the instance is dropped,
// since its state is unknown.
func (h *Host) runIn(in *request, reserved bool) (*response, error) {
	g, err := h.get(in)
	if err != nil {
		h.stats.dropped(in, err)
		return nil, err
	}
	g.reserved, g.refused = reserved, false
	h.mayWrite()
	out, err := g.serve(in)
	h.mayNotWrite()
	if err != nil {
		g.close()
		h.stats.dropped(in, err)
		return nil, err
	}
	refused := g.refused
	h.put(g)
	if refused {
		return nil, errReserved
	}
	return out, nil
}

// get returns an instance for exclusive use, the most recently used one first, so that
// instances made for a burst of requests become idle.
func (h *Host) get(in *request) (*guest, error) {
	h.mu.Lock()
	if n := len(h.idle); n > 0 {
		g := h.idle[n-1]
		h.idle = h.idle[:n-1]
		h.mu.Unlock()
		h.stats.reused.Add(1)
		return g, nil
	}
	h.mu.Unlock()
	return h.newGuest(in)
}

// put keeps a healthy instance for another request, unless its memory has grown.
func (h *Host) put(g *guest) {
	switch {
	case h.options.Fresh:
		g.close()
	case !h.image.restore(g, g.used):
		h.stats.retired.Add(1)
		g.close()
	default:
		h.mu.Lock()
		h.idle = append(h.idle, g)
		h.mu.Unlock()
	}
}

// Memory returns the memory of all instances in bytes, without what running requests made
// it grow.
func (h *Host) Memory() int64 { return h.stats.live.Load() * int64(h.image.size()) }

// Stats counts instances by their result since Load.
type Stats struct {
	// Made counts new instances, Reused requests that an older instance served.
	Made, Reused uint64
	// Trapped, Faulty, TimedOut and Cancelled count instances dropped because of a
	// trap, of a violation of the ABI, of Timeout, and of a client that closed the
	// connection or a Close that did not wait.
	Trapped, Faulty, TimedOut, Cancelled uint64
	// Retired counts healthy instances dropped because their memory had grown.
	Retired uint64
	// Refused counts requests answered with 503 because the queue, or the memory for
	// bodies, was full.
	Refused uint64
}

type counters struct {
	made, reused, trapped, faulty, timedOut, cancelled, retired, refused atomic.Uint64
	live                                                                 atomic.Int64
}

// Stats returns the current counts.
func (h *Host) Stats() Stats {
	c := &h.stats
	return Stats{
		Made: c.made.Load(), Reused: c.reused.Load(),
		Trapped: c.trapped.Load(), Faulty: c.faulty.Load(),
		TimedOut: c.timedOut.Load(), Cancelled: c.cancelled.Load(),
		Retired: c.retired.Load(), Refused: c.refused.Load(),
	}
}

// dropped counts one instance by the reason why it was dropped. Whether the request has
// ended is checked first, since a guest that is ended fails in various ways.
func (c *counters) dropped(in *request, err error) {
	var broken fault
	switch {
	case errors.Is(in.Err(), context.DeadlineExceeded):
		c.timedOut.Add(1)
	case in.Err() != nil:
		c.cancelled.Add(1)
	case errors.As(err, &broken):
		c.faulty.Add(1)
	default:
		c.trapped.Add(1)
	}
}

// randomSource reads random bytes of the operating system for guests.
type randomSource struct{}

func (randomSource) Read(b []byte) (int, error) { return rand.Read(b) }
