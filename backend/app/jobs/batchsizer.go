package jobs

import (
	"sync/atomic"
	"time"
)

// A batch of an import is one transaction: it holds the write lock, for which the
// calls of the API wait. So its size follows from how long batches take here and
// now: on a file such that a call waits for less than 100 ms. On a server a batch
// costs some round trips, and every page that it changes is written twice, to the
// database and for the replicas, so that more rows in one are much cheaper.
const (
	fileBatch   = 45 * time.Millisecond
	serverBatch = 200 * time.Millisecond
	// firstRows is the size of the first batch, leastRows and mostRows bound all
	// others; mostBytes bounds what is read at a time when rows are long.
	firstRows = 500
	leastRows = 20
	mostRows  = 5000
	mostBytes = 1 << 20
	// fileRest is for how long the lock of a file is left alone between batches.
	// Calls in this process queue for it with the import; another process can only
	// ask again and again whether it is free.
	fileRest = 3 * time.Millisecond
)

// batchSizer sizes the batches of an import so that each takes about as long as it
// should. Its size may be asked for while another goroutine uses the rest.
type batchSizer struct {
	aim, rest time.Duration
	rows      atomic.Int64
}

func newBatchSizer(embedded bool) *batchSizer {
	b := &batchSizer{aim: serverBatch}
	if embedded {
		b.aim, b.rest = fileBatch, fileRest
	}
	b.rows.Store(firstRows)
	return b
}

func (b *batchSizer) size() int { return int(b.rows.Load()) }

// took notes how long a batch took. One that was much too fast says little about
// a larger one, and one that was slow may have met something that seldom comes,
// so the size at most doubles, and at least halves.
func (b *batchSizer) took(rows int, d time.Duration) {
	fit, now := int64(float64(rows)*float64(b.aim)/float64(max(d, time.Microsecond))), b.rows.Load()
	b.rows.Store(min(max(fit, now/2, leastRows), 2*now, mostRows))
}
