package app

import (
	"math/bits"
	"sync/atomic"
	"time"

	"kith/backend/store"
)

// A batch of an import is one transaction: it holds the write lock, for which the
// calls of the API wait. So its size follows from how long batches take here and
// now. On a file an event call, which takes a tenth of a millisecond, waits for a
// whole batch: while others write, batches are short. While nobody does they are
// longer, though still such that one who comes waits for less than 100 ms, and end
// when that is seen and fileBatch is over: pages that many rows change are written
// once for more of them.
// On a server each batch costs a dozen round trips, and every page that it changes
// is written twice, to the database and for the replicas, so that more rows in one
// are much cheaper.
const (
	fileBatch   = 25 * time.Millisecond
	quietBatch  = 45 * time.Millisecond
	serverBatch = 200 * time.Millisecond
	// fewOthers is how many of the last 16 batches may have met somebody else's
	// write when others are said not to write: the time is written down once a
	// second.
	fewOthers = 4
	// firstRows is the size of the first batch, leastRows and mostRows bound all
	// others; mostBytes bounds what is read at a time when rows are long.
	firstRows = 500
	leastRows = 20
	mostRows  = 5000
	mostBytes = 1 << 20
)

// A batch is written in parts, each while the rules of the next are applied. With
// more of them there is less of the first one, during which nothing is written; on a
// server each takes some round trips.
const (
	fileParts   = 16
	serverParts = 3
)

// Between batches the lock of a file is left alone. Calls in this process queue for
// it with the import; who is in another process can only ask again and again whether
// it is free. An edge asks every millisecond, and can be seen while it waits: then the
// lock is left alone until it has come, or for mostRest. Others, such as Spin, have
// fileRest.
const (
	fileRest = 3 * time.Millisecond
	restPoll = 200 * time.Microsecond
	mostRest = 10 * time.Millisecond
)

// pace sizes the batches of an import so that each takes about as long as it
// should. One goroutine uses it, but for size.
type pace struct {
	aim time.Duration
	// rest is how long to leave the lock alone before the next batch.
	rest time.Duration
	// file is true on a file, and quiet while nobody else seems to write to it.
	file, quiet bool
	// parts is how many parts a batch has.
	parts int
	rows  atomic.Int64
	// mark is what had been written at the last batch, and met has a bit for each
	// of the last ones, set when others had written since the one before.
	mark store.Mark
	met  uint16
}

// newPace is the pace on a file, where nobody else is said to write at first, or on
// a server.
func newPace(embedded bool) *pace {
	p := &pace{aim: serverBatch, parts: serverParts, file: embedded}
	if embedded {
		p.aim, p.rest, p.quiet, p.parts = quietBatch, fileRest, true, fileParts
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
	fit := int64(float64(rows) * float64(p.aim) / float64(max(d, time.Microsecond)))
	now := p.rows.Load()
	p.rows.Store(min(max(fit, now/2, leastRows), 2*now, mostRows))
}

// saw notes what has been written when a batch begins. Only a file tells.
func (p *pace) saw(mark store.Mark) {
	if !p.file {
		return
	}
	p.met <<= 1
	if !mark.Next(p.mark) {
		p.met |= 1
	}
	p.mark = mark
	p.quiet = bits.OnesCount16(p.met) <= fewOthers
	p.aim = fileBatch
	if p.quiet {
		p.aim = quietBatch
	}
}
