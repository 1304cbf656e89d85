package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// CountParked returns the number of operations at the payment gateway that failed and that
// no worker tries again by itself: discounts of subscriptions, refunds, and codes in
// customers. It counts to most.
func CountParked(ctx context.Context, r store.Reads, tenant core.TenantAlias, most int) (int, error) {
	return store.One[int](ctx, r, "count parked gateway operations", `SELECT count(*) FROM (
		SELECT 1 FROM gateway_subscription WHERE tenant = ?1 AND problem <> '' AND due_at IS NULL AND leased_until IS NULL
		UNION ALL SELECT 1 FROM gateway_refund WHERE tenant = ?1 AND state = 'failed'
		UNION ALL SELECT 1 FROM gateway_coupon WHERE tenant = ?1 AND problem <> '' AND due_at IS NULL LIMIT ?2)`, string(tenant), most)
}
