package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// CountParked returns the number of operations at the payment gateway that failed and that
// no worker tries again by itself: discounts of subscriptions, refunds, and codes in
// customers. It counts to most. Without INDEXED BY, SQLite would read all of the tenant.
func CountParked(ctx context.Context, r store.Reads, tenant core.TenantAlias, most int) (int, error) {
	return store.One[int](ctx, r, "count parked gateway operations", `SELECT count(*) FROM (
		SELECT 1 FROM gateway_subscription INDEXED BY gateway_subscription_problem WHERE tenant = ?1 AND problem <> '' AND due_at IS NULL AND leased_until IS NULL
		UNION ALL SELECT 1 FROM gateway_refund INDEXED BY gateway_refund_failed WHERE tenant = ?1 AND state = 'failed'
		UNION ALL SELECT 1 FROM gateway_coupon INDEXED BY gateway_coupon_problem WHERE tenant = ?1 AND problem <> '' AND due_at IS NULL
		UNION ALL SELECT 1 FROM gateway_payment INDEXED BY gateway_payment_problem WHERE tenant = ?1 AND problem <> '' AND due_at IS NULL
		UNION ALL SELECT 1 FROM gateway_credit INDEXED BY gateway_credit_failed WHERE tenant = ?1 AND state = 'failed' LIMIT ?2)`, string(tenant), most)
}
