package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// How often a gateway is asked for subscriptions that nobody has told of: there
// is no notification when one is made, and others get lost. The shorter time is
// for those that are new, so that a trial has its discount before its first
// bill; the longer for all that may yet be billed.
const (
	SweepEvery    = 10 * core.Minute
	SweepAllEvery = core.Day
)

// sweepOverlap is how far before the last sweep the next one begins: clocks
// differ, and a search may lag.
const sweepOverlap = core.Day

// TaskLease is how long a sweep, or a code that is to be written, is left alone
// once somebody took it on.
const TaskLease = 5 * core.Minute

// Sweeps are searches at gateways for subscriptions that no notification named.
type Sweeps struct {
	*base.Base
	Gateways *Gateways
}

// SweepTask is a gateway to be asked for its subscriptions.
type SweepTask struct {
	billingdb.Sweep
	Connection billing.Connection
	// All is true when all are asked for that may yet be billed, and From is since
	// when those that were made, whatever became of them; zero: none. What ended
	// before the tenant was connected is nobody's business.
	All  bool
	From core.Time

	began core.Time
}

// Begin takes up to most sweeps that are due.
func (ss *Sweeps) Begin(ctx context.Context, most int) ([]SweepTask, error) {
	due, err := billingdb.SweepDue(ctx, ss.DB.Reads, ss.Now())
	if err != nil || !due {
		return nil, err
	}
	var taken []billingdb.Sweep
	err = ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) (err error) {
		taken, err = billingdb.TakeSweeps(ctx, tx, most, tx.Now+TaskLease)
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
		task.Connection, err = ss.Gateways.Open(ctx, s.Tenant)
		tasks = append(tasks, task)
	}
	return tasks, err
}

// End has the subscriptions read that were found and not known, and returns
// how many there were.
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
