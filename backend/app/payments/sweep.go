package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// A gateway is searched at these intervals for subscriptions that no notification named:
// gateways send none when a subscription is created, and notifications get lost.
const (
	// SweepEvery is the interval of searches for new subscriptions. It is short, so
	// that a trial has its discount before its first bill.
	SweepEvery = 10 * core.Minute
	// SweepAllEvery is the interval of searches for all subscriptions with future bills.
	SweepAllEvery = core.Day
)

// sweepOverlap is the time by which a sweep overlaps the last one, since clocks differ
// and a gateway's search may lag.
const sweepOverlap = core.Day

// Sweeps leases sweeps to workers: searches at payment gateways for subscriptions that
// no notification named.
type Sweeps struct {
	*base.Base
	Gateways *Gateways
}

// SweepTask is a search that a worker must make at a tenant's gateway.
type SweepTask struct {
	billingdb.Sweep
	Connection billing.Connection
	// DiscountID is the id of the tenant's discount at the gateway.
	DiscountID string
	// All is true if the search is for all subscriptions with future bills.
	All bool
	// From is the time since which created subscriptions are searched for, in any
	// status. Zero means none: subscriptions that ended before the tenant was
	// connected are not needed.
	From core.Time

	began core.Time
}

// Begin leases up to limit sweeps that are due.
func (ss *Sweeps) Begin(ctx context.Context, limit int) ([]SweepTask, error) {
	due, err := billingdb.SweepDue(ctx, ss.DB.Reads, ss.Now())
	if err != nil || !due {
		return nil, err
	}
	var taken []billingdb.Sweep
	err = ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) error {
		token, err := ss.Lease(ctx, tx)
		if err == nil {
			taken, err = billingdb.TakeSweeps(ctx, tx, limit, token)
		}
		return err
	})
	tasks := make([]SweepTask, 0, len(taken))
	for _, s := range taken {
		if err != nil {
			return nil, err
		}
		task := SweepTask{Sweep: s, began: ss.Now()}
		task.All = task.began >= s.SweptAll+SweepAllEvery
		task.From = max(0, s.Swept-sweepOverlap)
		task.Connection, task.DiscountID, err = ss.Gateways.settings(ctx, s.Tenant)
		tasks = append(tasks, task)
	}
	return tasks, err
}

// End ends a sweep that found the subscriptions ids. The unknown ones among them are
// stored, so that a worker reads them; found is their number.
func (ss *Sweeps) End(ctx context.Context, task SweepTask, ids []string) (found int, err error) {
	err = ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) error {
		if found, err = billingdb.AddSubscriptions(ctx, tx, task.Tenant, ids); err != nil {
			return err
		}
		task.Swept = task.began
		if task.All {
			task.SweptAll = task.began
		}
		return billingdb.EndSweep(ctx, tx, task.Sweep, tx.Now+SweepEvery)
	})
	if err == nil {
		ss.ReportWork(base.WorkGateway, base.GatewaySweep, base.OutcomeDone, 1)
		ss.ReportWork(base.WorkGateway, base.GatewayFound, base.OutcomeDone, int64(found))
	}
	return found, err
}
