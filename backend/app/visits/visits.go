// Package visits counts followed share links in memory and stores the counts in
// batches, so that no redirect waits for a write. What a process has counted and not
// stored is lost if the process is killed.
package visits

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
)

const (
	// maxCounts bounds the different counts in memory. Further ones count for the
	// program only.
	maxCounts = 10_000
	// maxFolded is how many counts of programs may follow. Further visits are lost.
	maxFolded = 1_000
	// batchSize is the number of counts that are stored by one statement.
	batchSize = 500
	// maxPause is the longest time until a failed batch is sent again.
	maxPause = 30 * core.Second
	// stopPause is the time between two attempts of a process that stops.
	stopPause = 200 * time.Millisecond
)

// Counter counts followed share links. Its methods may be called concurrently.
type Counter struct {
	now   func() core.Time
	store func(context.Context, analytics.VisitBatch) error

	mu     sync.Mutex
	counts map[count]int64
	stats  Stats

	// flushing protects the fields below it.
	flushing sync.Mutex
	// batches have been made and not yet stored.
	batches []analytics.VisitBatch
	// After a failure, Tick waits until next, and the time after it is pause.
	next, pause core.Time
}

// count is what a visit counts for.
type count struct {
	link.Followed
	day core.Time
}

// Stats are the numbers of visits since the counter was made.
type Stats struct {
	// Counted includes Folded, the visits that were counted for their program only
	// because there were too many different counts. Lost were not counted.
	Counted, Folded, Lost int64
}

// New returns a counter. store stores a batch; it must add nothing for a batch with an
// id that it has stored before.
func New(now func() core.Time, store func(context.Context, analytics.VisitBatch) error) *Counter {
	return &Counter{now: now, store: store, counts: map[count]int64{}}
}

// Add counts a followed share link on the current day. The zero value counts nothing.
func (c *Counter) Add(f link.Followed) {
	if f == (link.Followed{}) {
		return
	}
	now := c.now()
	key := count{Followed: f, day: now - now%core.Day}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Counted++
	if c.fits(key, maxCounts) {
		c.counts[key]++
		return
	}
	key.Code, key.EngagementMedium, key.ShareMedium = "", "", ""
	if c.fits(key, maxCounts+maxFolded) {
		c.stats.Folded++
		c.counts[key]++
		return
	}
	c.stats.Counted--
	c.stats.Lost++
}

func (c *Counter) fits(key count, most int) bool {
	_, known := c.counts[key]
	return known || len(c.counts) < most
}

// Stats returns the numbers of visits until now.
func (c *Counter) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Tick stores the counts, unless the last attempt failed a moment ago. It is called
// once a second.
func (c *Counter) Tick(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	now := c.now()
	if now < c.next && c.next <= now+maxPause {
		return nil
	}
	err := c.flush(ctx)
	if err == nil {
		c.next, c.pause = 0, 0
		return nil
	}
	c.pause = min(max(2*c.pause, core.Second), maxPause)
	c.next = now + c.pause
	return err
}

// Flush stores the counts now.
func (c *Counter) Flush(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	return c.flush(ctx)
}

// Stop stores the counts before the process stops: it tries until the context ends. The error says
// how many visits are lost then.
func (c *Counter) Stop(ctx context.Context) error {
	for {
		err := c.Flush(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d visits of share links are lost: %w", c.waiting(), err)
		case <-time.After(stopPause):
		}
	}
}

// waiting returns how many visits are not stored.
func (c *Counter) waiting() (n int64) {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	for _, b := range c.batches {
		for _, v := range b.Visits {
			n += v.Times
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, times := range c.counts {
		n += times
	}
	return n
}

// flush stores the batches that are left from earlier, and then the counts. New counts
// become batches only when no batch is left, so that memory stays bounded.
func (c *Counter) flush(ctx context.Context) error {
	if err := c.storeBatches(ctx); err != nil {
		return err
	}
	c.makeBatches()
	return c.storeBatches(ctx)
}

func (c *Counter) makeBatches() {
	c.mu.Lock()
	counts := c.counts
	c.counts = map[count]int64{}
	c.mu.Unlock()
	var b *analytics.VisitBatch
	for key, times := range counts {
		if b == nil || len(b.Visits) == batchSize {
			now := c.now()
			c.batches = append(c.batches, analytics.VisitBatch{ID: core.NewID(now, entropy()), Made: now})
			b = &c.batches[len(c.batches)-1]
		}
		b.Visits = append(b.Visits, analytics.Visits{Followed: key.Followed, Day: key.day, Times: times})
	}
}

// storeBatches stores the batches that were made. One whose answer was lost may be
// stored already; its id makes sure that it is not added twice. The id is forgotten
// some time after BatchLife, so an older batch is lost.
func (c *Counter) storeBatches(ctx context.Context) error {
	for len(c.batches) > 0 {
		b := c.batches[0]
		if c.now() >= b.Made+analytics.BatchLife {
			c.lose(b)
		} else if err := c.store(ctx, b); err != nil {
			return errors.Join(errNotStored, err)
		}
		c.batches = c.batches[1:]
	}
	return nil
}

var errNotStored = errors.New("visits: counts of share links could not be stored")

func (c *Counter) lose(b analytics.VisitBatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range b.Visits {
		c.stats.Counted -= v.Times
		c.stats.Lost += v.Times
	}
}

func entropy() (b [6]byte) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}
