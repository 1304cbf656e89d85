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

// reserved is how many instances only look-ups may use.
func (o *Options) reserved() int { return o.Instances / 4 }

// enter admits a request whose body was read to the instances and to the queue
// for them. Look-ups and other requests have a queue each, so that neither fills
// that of the other. Every enter without an error is paired with one leave.
func (h *Host) enter(in *request) error {
	admitted, most := &h.others, h.options.Instances-h.options.reserved()+h.options.Queue
	if in.lookUp {
		admitted, most = &h.lookUps, h.options.Instances+h.options.Queue
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if *admitted >= most {
		h.stats.refused.Add(1)
		return errBusy
	}
	*admitted++
	return nil
}

func (h *Host) leave(in *request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.lookUp {
		h.lookUps--
	} else {
		h.others--
	}
}

// occupy waits for the right to use an instance, which vacate gives back.
// Requests that are no look-ups first need one of the rights that are not
// reserved.
func (h *Host) occupy(ctx context.Context, in *request) error {
	if !in.lookUp {
		if err := acquire(ctx, h.unreserved); err != nil {
			return err
		}
	}
	err := acquire(ctx, h.slots)
	if err != nil && !in.lookUp {
		<-h.unreserved
	}
	return err
}

func (h *Host) vacate(in *request) {
	<-h.slots
	if !in.lookUp {
		<-h.unreserved
	}
}

func acquire(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run has an instance serve the request. Whatever goes wrong, the instance does
// not survive it: after an error nobody knows what state it is in.
func (h *Host) run(ctx context.Context, in *request) (*response, error) {
	if err := h.occupy(ctx, in); err != nil {
		return nil, err
	}
	defer h.vacate(in)
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
	// Refused is requests answered 503 because the queue, or the memory for
	// bodies, was full.
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
