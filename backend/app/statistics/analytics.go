// Package statistics has the use cases of analytics: counting share links that are
// followed and the actions of visitors, and reading the counts.
package statistics

import (
	"context"
	"sync"

	"kith/backend/app/base"
	"kith/backend/app/visits"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/analytics"
)

// Analytics counts what edges and browser scripts report.
type Analytics struct {
	*base.Base
	// Visits counts the share links that this backend answers.
	Visits *visits.Counter
	counts tally
}

// New returns the use cases on b.
func New(b *base.Base) Analytics {
	return Analytics{Base: b, Visits: visits.New(func() core.Time { return b.Now() }, func(ctx context.Context, batch analytics.VisitBatch) error {
		return eventdb.PutVisits(ctx, b.DB, batch)
	})}
}

// tally has the counts that are not yet stored. Its zero value is empty.
type tally struct {
	mu      sync.Mutex
	waiting map[analytics.Event]int64
	taken   int
}

// maxTally is the number of reports that a backend counts between two flushes; further
// reports are dropped. Reports need no credentials, so they must neither fill the memory
// nor cause a write each.
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

// take returns the counts and empties the tally.
func (t *tally) take() map[analytics.Event]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.waiting
	t.waiting, t.taken = nil, 0
	return waiting
}

// Count counts an event for the current day, in UTC. The next Flush stores it; if the
// backend ends before, the count is lost. Events of unknown users, codes and programs
// are not counted. An unknown tenant is core.UnknownTenant.
func (a *Analytics) Count(ctx context.Context, tenant core.TenantAlias, event analytics.Event) error {
	if _, err := tenantdb.Find(ctx, a.DB.Reads, tenant); err != nil {
		return err
	}
	now := a.Now()
	event.Tenant, event.Day = tenant, now-now%core.Day
	a.counts.add(event, 1)
	return nil
}

// Flush stores the counts. If it fails, the next Flush stores them.
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

// List returns a page of the counts that match the filter, the latest days first, and
// their total number. It flushes the counts of this backend first.
func (a *Analytics) List(ctx context.Context, tenant core.TenantAlias, f analytics.Filter) ([]analytics.Count, int, error) {
	if err := a.Flush(ctx); err != nil {
		return nil, 0, err
	}
	return eventdb.Analytics(ctx, a.DB.Lists, tenant, f)
}
