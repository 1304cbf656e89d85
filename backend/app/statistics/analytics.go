// Package statistics holds the use cases of analytics: counting what visitors do, and
// reading the counts.
package statistics

import (
	"context"
	"sync"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/analytics"
)

// Analytics count what edges and scripts report.
type Analytics struct {
	*base.Base
	counts tally
}

// tally holds what was reported and is not stored yet. Its zero value is empty.
type tally struct {
	mu      sync.Mutex
	waiting map[analytics.Event]int64
	taken   int
}

// maxTally bounds what waits, and so how many reports a backend takes between
// two flushes: what comes beyond is not counted. Reports need no credentials, so
// they must not be able to fill memory, nor each cause a write.
const maxTally = 10_000

func (t *tally) add(e analytics.Event, times int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken >= maxTally {
		return
	}
	if t.waiting == nil {
		t.waiting = map[analytics.Event]int64{}
	}
	t.taken++
	t.waiting[e] += times
}

// take empties the tally.
func (t *tally) take() map[analytics.Event]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.waiting
	t.waiting, t.taken = nil, 0
	return waiting
}

// Count counts something for today. It is stored by the next Flush; a
// backend that is killed before loses it. Events of users, codes and programs
// that the tenant does not have are not counted.
func (a *Analytics) Count(ctx context.Context, tenant core.TenantAlias, event analytics.Event) error {
	if _, err := tenantdb.Find(ctx, a.DB.Reads, tenant); err != nil {
		return err
	}
	now := a.Now()
	event.Tenant, event.Day = tenant, now-now%core.Day
	a.counts.add(event, 1)
	return nil
}

// Flush stores what was counted. When it fails, the counts wait for the
// next one.
func (a *Analytics) Flush(ctx context.Context) error {
	waiting := a.counts.take()
	if len(waiting) == 0 {
		return nil
	}
	err := a.DB.Write(ctx, a.Now(), func(tx *store.Tx) error {
		for event, times := range waiting {
			if err := eventdb.CountAnalytics(ctx, tx, analytics.Count{Event: event, Times: times}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for event, times := range waiting {
			a.counts.add(event, times)
		}
	}
	return err
}

// List returns a page of counts, the latest days first, and how many there
// are in all. What this backend has counted so far is in it.
func (a *Analytics) List(ctx context.Context, tenant core.TenantAlias, f analytics.Filter) ([]analytics.Count, int, error) {
	if err := a.Flush(ctx); err != nil {
		return nil, 0, err
	}
	return eventdb.Analytics(ctx, a.DB.Reads, tenant, f)
}
