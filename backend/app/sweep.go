package app

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
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

// ChoreLease is how long a sweep, or a code that is to be written, is left alone
// once somebody took it on.
const ChoreLease = 5 * core.Minute

// SweepTask is a gateway to be asked for its subscriptions.
type SweepTask struct {
	store.Sweep
	Connection billing.Connection
	// All is true when all are asked for that may yet be billed, and From is since
	// when those that were made, whatever became of them; zero: none. What ended
	// before the tenant was connected is nobody's business.
	All  bool
	From core.Time

	began core.Time
}

// BeginSweeps takes up to most sweeps that are due.
func (e *Engine) BeginSweeps(ctx context.Context, most int) ([]SweepTask, error) {
	due, err := e.DB.SweepDue(ctx, e.Now())
	if err != nil || !due {
		return nil, err
	}
	var taken []store.Sweep
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) (err error) {
		taken, err = tx.TakeSweeps(ctx, most, tx.Now+ChoreLease)
		return err
	})
	tasks := make([]SweepTask, 0, len(taken))
	for _, s := range taken {
		if err != nil {
			return nil, err
		}
		task := SweepTask{Sweep: s, began: e.Now()}
		task.All = task.began >= s.SweptAll+SweepAllEvery
		task.From = max(0, s.Swept-sweepOverlap)
		task.Connection, err = e.OpenConnection(ctx, s.Tenant)
		tasks = append(tasks, task)
	}
	return tasks, err
}

// EndSweep has the subscriptions read that were found and not known, and returns
// how many there were.
func (e *Engine) EndSweep(ctx context.Context, task SweepTask, ids []string) (found int, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		if found, err = tx.FindSubscriptions(ctx, task.Tenant, ids); err != nil {
			return err
		}
		task.Swept = task.began
		if task.All {
			task.SweptAll = task.began
		}
		return tx.EndSweep(ctx, task.Sweep, tx.Now+SweepEvery)
	})
	if err == nil {
		e.Worked(base.WorkGateway, base.GatewaySweep, base.OutcomeDone, 1)
		e.Worked(base.WorkGateway, base.GatewayFound, base.OutcomeDone, int64(found))
	}
	return found, err
}

// CouponTask is a code that is to be written into a custom field.
type CouponTask struct {
	store.Coupon
	Connection billing.Connection
}

// BeginCoupons takes up to most codes that are to be written.
func (e *Engine) BeginCoupons(ctx context.Context, most int) ([]CouponTask, error) {
	due, err := e.DB.CouponDue(ctx, e.Now())
	if err != nil || !due {
		return nil, err
	}
	var taken []store.Coupon
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) (err error) {
		taken, err = tx.TakeCoupons(ctx, most, tx.Now+ChoreLease)
		return err
	})
	tasks := make([]CouponTask, 0, len(taken))
	for _, c := range taken {
		if err != nil {
			return nil, err
		}
		task := CouponTask{Coupon: c}
		task.Connection, err = e.OpenConnection(ctx, c.Tenant)
		tasks = append(tasks, task)
	}
	return tasks, err
}

// EndCoupon gives a code back that was written, or why it was not. after is when
// to try again; zero: not.
func (e *Engine) EndCoupon(ctx context.Context, task CouponTask, problem string, after core.Time) error {
	err := e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		next := core.Time(0)
		if after != 0 {
			next = tx.Now + after
		}
		if task.Tries++; problem == "" {
			task.Tries = 0
		}
		return tx.EndCoupon(ctx, task.Coupon, problem, next)
	})
	if err == nil {
		e.Worked(base.WorkGateway, base.GatewayCoupon, outcomeOf(problem), 1)
	}
	return err
}

// PayloadLife is how long the payload of a notification is kept once it was
// read, for whoever looks for a fault. Its hash stays, so that it cannot be sent
// again.
const PayloadLife = 30 * core.Day

// payloadBatch bounds one transaction.
const payloadBatch = 500

// ForgetPayloads empties notifications that are old. It takes a batch, and
// returns how many it held.
func (e *Engine) ForgetPayloads(ctx context.Context) (n int, err error) {
	old, err := e.DB.PayloadsOld(ctx, e.Now()-PayloadLife)
	if err != nil || !old {
		return 0, err
	}
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) (err error) {
		n, err = tx.ForgetPayloads(ctx, tx.Now-PayloadLife, payloadBatch)
		return err
	})
	return n, err
}
