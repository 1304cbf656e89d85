package webhook

import "kith/core"

// Queue identifies the queue of deliveries to one endpoint.
type Queue struct {
	Tenant   core.TenantAlias
	Endpoint Endpoint
}

// Due is a queue whose first delivery may be attempted now.
type Due struct {
	Queue
	// Failing is true if the last attempt of the queue failed.
	Failing bool
}

// Slots limits the concurrent attempts of a process.
type Slots struct {
	// All is the most attempts in total. PerQueue is the most for one healthy endpoint;
	// it gets fewer when few slots are free. A failing endpoint gets one at a time.
	All, PerQueue int
	// PerSlot is how many events a slot takes at most, which it sends to a quick endpoint one after
	// the other; 0 means 1.
	PerSlot int
}

// Busy counts the attempts in progress.
type Busy struct {
	// Well and Failing count those for endpoints that were healthy or failing when
	// the attempt began.
	Healthy, Failing int
	// Queues counts those of each queue.
	Queues map[Queue]int
	// Quick are the queues whose endpoint answered the last attempt at once.
	Quick map[Queue]bool
}

// Share returns how many slots each queue gets, in the order of due.
//
// Neither kind of endpoint, healthy or failing, may use more than three quarters of
// all slots. So endpoints that time out leave slots for those that respond, and still
// get slots themselves. A queue gets at most one attempt and a quarter of the slots
// left for its kind, so that many healthy endpoints that stop responding together do
// not use up all slots.
func (s Slots) Share(due []Due, busy Busy) []int {
	most := (s.All*3 + 3) / 4
	free := s.All - busy.Healthy - busy.Failing
	well, failing := most-busy.Healthy, most-busy.Failing
	share := make([]int, len(due))
	for i, d := range due {
		has := busy.Queues[d.Queue]
		room, kind := min(s.PerQueue, 1+(well+has)/4), &well
		if d.Failing {
			room, kind = 1, &failing
		}
		n := max(0, min(room-has, *kind, free))
		share[i] = n
		*kind -= n
		free -= n
	}
	return share
}

// MostFor returns how many events a queue may get that has n slots of Share.
func (s Slots) MostFor(d Due, n int, busy Busy) int {
	if d.Failing || !busy.Quick[d.Queue] {
		return n
	}
	return n * max(1, s.PerSlot)
}
