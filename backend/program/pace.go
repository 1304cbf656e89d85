package program

import (
	"sync/atomic"
	"time"
)

// A batch of an import is one transaction: it holds the write lock, for which the
// calls of the API wait. So its size follows from how long batches take here and
// now. On a file a batch costs little beside its rows, and an event call, which
// takes a tenth of a millisecond, waits for a whole one. On a server each batch
// costs a dozen round trips, and every page that it changes is written twice,
// to the database and for the replicas, so that more rows in one are much cheaper.
const (
	fileBatch   = 25 * time.Millisecond
	serverBatch = 200 * time.Millisecond
	// firstRows is the size of the first batch, leastRows and mostRows bound all
	// others; mostBytes bounds what is in memory when rows are long.
	firstRows = 500
	leastRows = 20
	mostRows  = 5000
	mostBytes = 1 << 20
)

// Calls in this process queue for the lock of a file with the import. Another
// process, an edge, can only ask again and again whether the lock is free, and
// SQLite asks at intervals that grow: up to 25 ms within the first tenth of a
// second, and then less often. So the lock is left alone for such an interval:
// now and then while nobody else writes, after each batch while somebody does.
const (
	shortRest = time.Millisecond
	longRest  = 25 * time.Millisecond
	// aloneWork is how long an import works between long rests when it is alone.
	aloneWork = 500 * time.Millisecond
	// sharedFor is how long others are expected to write again.
	sharedFor = 5 * time.Second
)

// pace sizes the batches of an import so that each takes about as long as it
// should, and parts them by rests. One goroutine uses it, but for size.
type pace struct {
	aim  time.Duration
	rows atomic.Int64
	// polled is true for a database whose other processes poll its lock. worked is
	// how long was worked since the last long rest, shared when others wrote last,
	// and version what the database's was then.
	polled  bool
	worked  time.Duration
	shared  time.Time
	version int64
}

// newPace is the pace on a file or a server.
func newPace(embedded bool) *pace {
	p := &pace{aim: serverBatch, polled: embedded}
	if embedded {
		p.aim = fileBatch
	}
	p.rows.Store(firstRows)
	return p
}

// size is how many rows the next batch should have. It may be asked for while
// another goroutine uses the rest.
func (p *pace) size() int { return int(p.rows.Load()) }

// took notes how long a batch took. One that was much too fast says little about
// a larger one, and one that was slow may have met something that seldom comes,
// so the size at most doubles, and at least halves.
func (p *pace) took(rows int, d time.Duration) {
	p.worked += d
	fit := int64(float64(rows) * float64(p.aim) / float64(max(d, time.Microsecond)))
	now := p.rows.Load()
	p.rows.Store(min(max(fit, now/2, leastRows), 2*now, mostRows))
}

// saw notes the version of a file, which changes when another process writes.
func (p *pace) saw(version int64, now time.Time) {
	if p.version != 0 && version != p.version {
		p.shared = now
	}
	p.version = version
}

// rest is how long to leave the lock alone before the next batch.
func (p *pace) rest(now time.Time) time.Duration {
	switch {
	case !p.polled:
		return 0
	case p.worked < aloneWork && now.Sub(p.shared) >= sharedFor:
		return shortRest
	}
	p.worked = 0
	return longRest
}
