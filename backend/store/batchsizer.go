package store

import (
	"cmp"
	"sync/atomic"
	"time"
)

// Rows that are committed together are a batch. While its transaction has the write lock, calls
// of the API wait. So the number of rows follows from the measured duration of the batches before.
const (
	// fileBatch is the intended duration of a batch on a database file: calls then wait
	// for less than 100 ms.
	fileBatch = 45 * time.Millisecond
	// serverBatch is the intended duration of a batch on a server. It is longer because
	// a batch costs several round trips there, and a page that it changes is written
	// twice, to the database and for the replicas, so that large batches are much
	// cheaper.
	serverBatch = 200 * time.Millisecond
	// firstRows is the number of rows in the first batch, before it is known how long a row
	// takes: the deletion of a user with thousands of rewards takes half a second. All others
	// have from minRows to maxRows.
	firstRows = 128
	minRows   = 20
	maxRows   = 5000
	// filePause is the pause between two batches on a database file. Calls in this
	// process queue for the write lock, but another process can only poll it.
	filePause = 3 * time.Millisecond
)

// BatchSizer sets the number of rows in a batch so that a batch takes about as long as
// intended. Size may be called while another goroutine calls Took.
type BatchSizer struct {
	// Pause is the time that a caller lets pass between two batches, zero on a server.
	Pause    time.Duration
	intended time.Duration
	rows     atomic.Int64
}

// NewBatchSizer returns the sizer for a database file or a server. intended is 0 for the default.
func NewBatchSizer(embedded bool, intended time.Duration) *BatchSizer {
	b := &BatchSizer{intended: cmp.Or(intended, serverBatch)}
	if embedded {
		b.intended, b.Pause = cmp.Or(intended, fileBatch), filePause
	}
	b.rows.Store(firstRows)
	return b
}

// Size returns the number of rows that the next batch should have: if there are many, a
// multiple of ManyRows, so that no rest is written row by row.
func (b *BatchSizer) Size() int {
	rows := int(b.rows.Load())
	if rows > ManyRows {
		rows -= rows % ManyRows
	}
	return rows
}

// Late returns a function that reports whether a batch whose rows are applied from now on should
// apply no more: one row may take as long as a batch should, such as a redemption by a user with
// thousands of credits. What the rows need is loaded before, for all of them.
func (b *BatchSizer) Late() func() bool {
	end := time.Now().Add(b.intended)
	return func() bool { return time.Now().After(end) }
}

// Took records the duration of a batch. One batch changes the size by a factor of at most
// 2: a very fast batch says little about larger ones, and a slow batch may be an
// exception.
func (b *BatchSizer) Took(rows int, d time.Duration) {
	fit, now := int64(float64(rows)*float64(b.intended)/float64(max(d, time.Microsecond))), b.rows.Load()
	b.rows.Store(min(max(fit, now/2, minRows), 2*now, maxRows))
}
