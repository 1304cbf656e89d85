package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// Coupons are codes that are to be written into custom fields at gateways.
type Coupons struct {
	*base.Base
	Gateways *Gateways
}

// CouponTask is a code that is to be written into a custom field.
type CouponTask struct {
	billingdb.Coupon
	Connection billing.Connection
}

// Begin takes up to most codes that are to be written.
func (cs *Coupons) Begin(ctx context.Context, most int) ([]CouponTask, error) {
	due, err := billingdb.CouponDue(ctx, cs.DB.Reads, cs.Now())
	if err != nil || !due {
		return nil, err
	}
	var taken []billingdb.Coupon
	err = cs.DB.Write(ctx, cs.Now(), func(tx *store.Tx) (err error) {
		taken, err = billingdb.TakeCoupons(ctx, tx, most, tx.Now+TaskLease)
		return err
	})
	tasks := make([]CouponTask, 0, len(taken))
	for _, c := range taken {
		if err != nil {
			return nil, err
		}
		task := CouponTask{Coupon: c}
		task.Connection, err = cs.Gateways.Open(ctx, c.Tenant)
		tasks = append(tasks, task)
	}
	return tasks, err
}

// End gives a code back that was written, or why it was not. after is when
// to try again; zero: not.
func (cs *Coupons) End(ctx context.Context, task CouponTask, problem string, after core.Time) error {
	err := cs.DB.Write(ctx, cs.Now(), func(tx *store.Tx) error {
		next := core.Time(0)
		if after != 0 {
			next = tx.Now + after
		}
		if task.Tries++; problem == "" {
			task.Tries = 0
		}
		return billingdb.EndCoupon(ctx, tx, task.Coupon, problem, next)
	})
	if err == nil {
		cs.ReportWork(base.WorkGateway, base.GatewayCoupon, outcomeOf(problem), 1)
	}
	return err
}
