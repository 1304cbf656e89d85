// Package statistics has the use cases of analytics: counting share links that are
// followed and the actions of visitors, and reading the counts.
package statistics

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/visits"
	"kith/backend/guess"
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
	// Networks limits what each network reports without credentials; nil is no limit.
	Networks *guess.Limiter
	widgets  *guess.Names
	counts   tally
}

const (
	// ReportsPerMinute is how many reports of a network without credentials are counted.
	ReportsPerMinute = 60
	// ReportsPerHour is how many reports of a kind about a user and program are counted,
	// by all senders.
	ReportsPerHour = 20
)

// New returns the use cases on b.
func New(b *base.Base) Analytics {
	clock := func() time.Time { return time.UnixMilli(int64(b.Now())) }
	return Analytics{Base: b, widgets: guess.NewNames(ReportsPerHour, time.Hour, clock), Visits: visits.New(func() core.Time { return b.Now() }, func(ctx context.Context, batch analytics.VisitBatch) error {
		return eventdb.PutVisits(ctx, b.DB, batch)
	})}
}

// AddVisits stores the visits that an edge without a database has counted.
func (a *Analytics) AddVisits(ctx context.Context, batch analytics.VisitBatch) error {
	return eventdb.PutVisits(ctx, a.DB, batch)
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

// CountFrom is Count for an event that an address reports without credentials. Those beyond
// the limit of its network are not counted.
func (a *Analytics) CountFrom(ctx context.Context, from netip.Addr, tenant core.TenantAlias, event analytics.Event) error {
	if a.Networks.Take(from) {
		return a.Count(ctx, tenant, event)
	}
	a.ReportWork(base.WorkReport, string(event.Kind), base.OutcomeRefused, 1)
	_, err := tenantdb.Find(ctx, a.DB.Reads, tenant)
	return err
}

// Count counts an event for the current day, in UTC. The next Flush stores it; if the
// backend ends before, the count is lost. Events of unknown users, codes and programs
// are not counted, and of a widget no more than ReportsPerHour. An unknown tenant is
// core.UnknownTenant.
func (a *Analytics) Count(ctx context.Context, tenant core.TenantAlias, event analytics.Event) error {
	if _, err := tenantdb.Find(ctx, a.DB.Reads, tenant); err != nil {
		return err
	}
	// Share links may be followed by many people.
	if event.Kind != analytics.Visited && !a.widgets.Take(fmt.Sprintf("%q", []string{
		string(tenant), string(event.Kind), string(event.Program), string(event.Account), string(event.User),
	})) {
		a.ReportWork(base.WorkReport, string(event.Kind), base.OutcomeRefused, 1)
		return nil
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
