package guess

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
)

// ErrFull is the error of Slots.Enter if too many calls wait already.
var ErrFull = errors.New("guess: too many calls wait")

// Slots lets a bounded number of expensive calls run at once. The others wait in a queue of
// their network, and the networks take turns, so that a flood from one network delays that
// network. A network is a /24 or, for IPv6, a /48: a stranger gets one for nothing. It is safe
// for concurrent use.
type Slots struct {
	most, share int

	mu      sync.Mutex
	free    int
	waiting int
	// queues has the calls that wait, by network; none is empty. turns lists the networks,
	// the next one first.
	queues map[string][]chan struct{}
	turns  []string
}

// NewSlots returns slots for a number of calls at once. At most most calls wait, of them at most
// share from one network. The limit for a network holds for public addresses only: all
// clients of a proxy that is not trusted have its address.
func NewSlots(slots, most, share int) *Slots {
	return &Slots{most: most, share: share, free: slots, queues: map[string][]chan struct{}{}}
}

// Enter waits for a slot. The caller must call leave once its work is done. The error is
// ErrFull at once if too many calls wait, or that of ctx.
func (s *Slots) Enter(ctx context.Context, from netip.Addr) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	network := queueOf(from)
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return s.leave, nil
	}
	queue := s.queues[network]
	if s.waiting >= s.most || len(queue) >= s.share && Public(from) {
		s.mu.Unlock()
		return nil, ErrFull
	}
	entered := make(chan struct{})
	if len(queue) == 0 {
		s.turns = append(s.turns, network)
	}
	s.queues[network] = append(queue, entered)
	s.waiting++
	s.mu.Unlock()
	select {
	case <-entered:
		return s.leave, nil
	case <-ctx.Done():
		if !s.abandon(network, entered) {
			s.leave() // it was given the slot meanwhile
		}
		return nil, ctx.Err()
	}
}

// queueOf returns the name of the queue of an address.
func queueOf(a netip.Addr) string {
	if of, ok := prefix(a, 48); ok {
		return of.String()
	}
	return Network(a)
}

// leave gives a slot to the call that waits longest of the next network.
func (s *Slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		s.free++
		return
	}
	network := s.turns[0]
	next := s.queues[network][0]
	s.turns = append(s.turns[1:], network)
	s.remove(network, 0)
	close(next)
}

// abandon removes a call from the queue of its network. It returns false if the call does
// not wait any more.
func (s *Slots) abandon(network string, entered chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queues[network], entered)
	if i >= 0 {
		s.remove(network, i)
	}
	return i >= 0
}

// remove removes one call from a queue, and the network of an empty queue.
func (s *Slots) remove(network string, i int) {
	s.waiting--
	s.queues[network] = slices.Delete(s.queues[network], i, i+1)
	if len(s.queues[network]) == 0 {
		delete(s.queues, network)
		s.turns = slices.DeleteFunc(s.turns, func(of string) bool { return of == network })
	}
}
