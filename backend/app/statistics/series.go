package statistics

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/core"
	"kith/core/analytics"
)

// Range is the period that a caller asks for. Zero times are not given.
type Range struct {
	Interval    analytics.Interval
	From, Until core.Time
}

// Series returns the visits, referrals and rewards of a period by day or week. It
// stores the visits that this backend has counted first; those of edges are stored
// within a second.
func (a *Analytics) Series(ctx context.Context, tenant core.TenantAlias, in Range, f analytics.SeriesFilter) (analytics.Series, error) {
	p, err := a.period(ctx, in)
	if err != nil {
		return analytics.Series{}, err
	}
	return eventdb.Series(ctx, a.DB.Lists, tenant, p, f)
}

// TopReferrers returns the users with the most visits, referrals or conversions in a
// period of whole days, and the period.
func (a *Analytics) TopReferrers(ctx context.Context, tenant core.TenantAlias, in Range, f analytics.TopFilter) ([]analytics.Referrer, analytics.Period, error) {
	var err error
	in.Interval = analytics.Daily
	if f.Period, err = a.period(ctx, in); err != nil {
		return nil, f.Period, err
	}
	found, err := eventdb.TopReferrers(ctx, a.DB.Lists, tenant, f)
	return found, f.Period, err
}

func (a *Analytics) period(ctx context.Context, in Range) (analytics.Period, error) {
	p, err := analytics.NewPeriod(in.Interval, in.From, in.Until, a.Now())
	if err != nil {
		return p, err
	}
	return p, a.Visits.Flush(ctx)
}

// ForgetBatches removes the ids of batches of visits that no process sends again. It
// returns how many it removed.
func (a *Analytics) ForgetBatches(ctx context.Context) (removed int, err error) {
	return a.Forget(ctx, func(tx *store.Tx) (int, error) {
		return eventdb.ForgetVisitBatches(ctx, tx, tx.Now-analytics.BatchMemory, base.ForgetBatch)
	})
}
