package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
)

// Coupons leases codes to workers, which write them into custom fields of customers at
// payment gateways.
type Coupons struct {
	*base.Base
	Gateways *Gateways
}

// CouponTask is a code that a worker must write into a custom field.
type CouponTask struct {
	billingdb.Coupon
	Access
}

// Begin leases up to limit codes that are due.
func (cs *Coupons) Begin(ctx context.Context, limit int) ([]CouponTask, error) {
	return begin(ctx, cs.Base, limit, billingdb.CouponDue, billingdb.TakeCoupons, func(c billingdb.Coupon) CouponTask {
		return CouponTask{Coupon: c, Access: cs.Gateways.access(ctx, c.Tenant)}
	})
}

// End records that a code was written, if problem is empty, or why it was not. The task
// is retried after the given time; zero means never.
func (cs *Coupons) End(ctx context.Context, task CouponTask, problem string, after core.Time) error {
	if task.Tries++; problem == "" {
		task.Tries = 0
	}
	err := cs.DB.Write(ctx, cs.Now(), func(tx *store.Tx) error {
		next := core.Time(0)
		if after != 0 {
			next = tx.Now + after
		}
		return billingdb.EndCoupon(ctx, tx, task.Coupon, problem, next)
	})
	if err == nil {
		cs.ReportWork(base.WorkGateway, base.GatewayCoupon, outcomeOf(problem), 1)
	}
	return err
}
