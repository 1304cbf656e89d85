package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
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
	Connection billing.Connection
	// DiscountID is the id of the tenant's discount at the gateway.
	DiscountID string
}

// Begin leases up to limit codes that are due.
func (cs *Coupons) Begin(ctx context.Context, limit int) ([]CouponTask, error) {
	due, err := billingdb.CouponDue(ctx, cs.DB.Reads, cs.Now())
	if err != nil || !due {
		return nil, err
	}
	var taken []billingdb.Coupon
	err = cs.DB.Write(ctx, cs.Now(), func(tx *store.Tx) error {
		token, err := cs.Lease(ctx, tx)
		if err == nil {
			taken, err = billingdb.TakeCoupons(ctx, tx, limit, token)
		}
		return err
	})
	tasks := make([]CouponTask, 0, len(taken))
	for _, c := range taken {
		if err != nil {
			return nil, err
		}
		task := CouponTask{Coupon: c}
		task.Connection, task.DiscountID, err = cs.Gateways.settings(ctx, c.Tenant)
		tasks = append(tasks, task)
	}
	return tasks, err
}

// End records that a code was written, if problem is empty, or why it was not. The task
// is retried after the given time; zero means never.
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
