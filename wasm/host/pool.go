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
)

// enter admits a request, or says why not. Who was admitted must leave.
func (h *Host) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return errClosing
	}
	if h.active >= h.options.Instances+h.options.Queue {
		h.stats.refused.Add(1)
		return errBusy
	}
	h.active++
	return nil
}

func (h *Host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active--
	if h.closing && h.active == 0 {
		close(h.drained)
	}
}

// run has an instance serve the request. Whatever goes wrong, the instance does
// not survive it: after an error nobody knows what state it is in.
func (h *Host) run(ctx context.Context, in *request) (*response, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g, err := h.get(ctx)
	if err != nil {
		h.stats.dropped(ctx, err)
		return nil, err
	}
	h.atWork.begin()
	out, err := g.serve(ctx, in)
	h.atWork.end()
	if err != nil {
		g.close()
		h.stats.dropped(ctx, err)
		return nil, err
	}
	h.put(g)
	return out, nil
}

// get returns an instance that nobody else uses. The last one used comes first,
// so that a burst's surplus grows old at the other end.
func (h *Host) get(ctx context.Context) (*guest, error) {
	h.mu.Lock()
	if n := len(h.idle); n > 0 {
		g := h.idle[n-1]
		h.idle = h.idle[:n-1]
		h.mu.Unlock()
		h.stats.reused.Add(1)
		return g, nil
	}
	h.mu.Unlock()
	return h.newGuest(ctx)
}

// put keeps a healthy instance for another request, unless it has grown.
func (h *Host) put(g *guest) {
	g.measure()
	switch {
	case h.options.Fresh:
		g.close()
	case g.size > h.options.RetireMemory:
		h.stats.retired.Add(1)
		g.close()
	default:
		h.mu.Lock()
		h.idle = append(h.idle, g)
		h.mu.Unlock()
	}
}

// Memory returns the memory of all instances in bytes, each as it was after its
// last request.
func (h *Host) Memory() int64 { return h.stats.memory.Load() }

// Stats counts what became of instances since Load.
type Stats struct {
	// Made is instances made, Reused requests served by one made earlier.
	Made, Reused uint64
	// Trapped, Faulty, TimedOut and Cancelled are instances dropped because of a
	// trap, of a broken ABI, of Timeout, and of a client that went away or a
	// Close that did not wait.
	Trapped, Faulty, TimedOut, Cancelled uint64
	// Retired is healthy instances dropped above RetireMemory.
	Retired uint64
	// Refused is requests answered 503 because the queue was full.
	Refused uint64
}

type counters struct {
	made, reused, trapped, faulty, timedOut, cancelled, retired, refused atomic.Uint64
	memory                                                               atomic.Int64
}

// Stats returns the counts as they are now.
func (h *Host) Stats() Stats {
	c := &h.stats
	return Stats{
		Made: c.made.Load(), Reused: c.reused.Load(),
		Trapped: c.trapped.Load(), Faulty: c.faulty.Load(),
		TimedOut: c.timedOut.Load(), Cancelled: c.cancelled.Load(),
		Retired: c.retired.Load(), Refused: c.refused.Load(),
	}
}

// dropped counts one instance by the reason it was dropped for. The context is
// asked first: a guest that is ended by it fails in many ways.
func (c *counters) dropped(ctx context.Context, err error) {
	var broken fault
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		c.timedOut.Add(1)
	case ctx.Err() != nil:
		c.cancelled.Add(1)
	case errors.As(err, &broken):
		c.faulty.Add(1)
	default:
		c.trapped.Add(1)
	}
}

// randomSource gives guests random bytes of the operating system.
type randomSource struct{}

func (randomSource) Read(b []byte) (int, error) { return rand.Read(b) }
