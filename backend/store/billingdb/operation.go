package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// Operation is work at a gateway that has failed.
type Operation struct {
	Kind string
	// ID is the id of the subscription, the customer or the charge at the gateway.
	ID string
	// Account is empty if it is unknown.
	Account core.AccountID
	Problem string
	// Tries is the number of failures in a row. Due is when it is tried again; zero: never,
	// unless it is retried.
	Tries int
	Due   core.Time
}

// The kinds of operations.
const (
	// ReadSubscription reads a subscription and sets its discount.
	ReadSubscription = "subscription"
	// WriteCoupon writes a referral code into the custom field of a customer.
	WriteCoupon = "coupon"
	// MakeRefund refunds a charge.
	MakeRefund = "refund"
)

var operationColumns = store.Selection[Operation]{
	store.Col(`kind`, func(o *Operation) any { return &o.Kind }),
	store.Col(`id`, func(o *Operation) any { return &o.ID }),
	store.Col(`account`, func(o *Operation) any { return &o.Account }),
	store.Col(`problem`, func(o *Operation) any { return &o.Problem }),
	store.Col(`tries`, func(o *Operation) any { return &o.Tries }),
	store.Col(`due`, func(o *Operation) any { return &o.Due }),
}

// Operations returns the operations of a tenant that have failed, up to limit of each kind.
func Operations(ctx context.Context, r store.Reads, tenant core.TenantAlias, limit int) ([]Operation, error) {
	rows, err := r.QueryContext(ctx, operations, string(tenant), limit)
	return operationColumns.All(rows, err, "gateway operations")
}

var operations = `SELECT ` + operationColumns.SQL() + ` FROM (
	SELECT * FROM (SELECT '` + MakeRefund + `' AS kind, transaction_id AS id, account_id AS account, problem, key_number AS tries, 0 AS due
		FROM gateway_refund INDEXED BY gateway_refund_failed WHERE tenant = ?1 AND state = 'failed' ORDER BY transaction_id LIMIT ?2)
	UNION ALL SELECT * FROM (SELECT '` + ReadSubscription + `', id, coalesce(account_id, ''), problem, tries, coalesce(due_at, 0)
		FROM gateway_subscription INDEXED BY gateway_subscription_problem WHERE tenant = ?1 AND problem <> '' ORDER BY id LIMIT ?2)
	UNION ALL SELECT * FROM (SELECT '` + WriteCoupon + `', customer_id, '', problem, tries, coalesce(due_at, 0)
		FROM gateway_coupon INDEXED BY gateway_coupon_problem WHERE tenant = ?1 AND problem <> '' ORDER BY customer_id LIMIT ?2))`

// RetrySubscription makes the reading of a subscription due that has failed. It returns
// false if none has.
func RetrySubscription(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string) (bool, error) {
	return tx.Changed(ctx, "retry gateway subscription", `UPDATE gateway_subscription SET due_at = ?, tries = 0 WHERE tenant = ? AND id = ? AND problem <> ''`,
		int64(tx.Now), string(tenant), id)
}

// RetryCoupon makes a code due that could not be written. It returns false if there is
// none.
func RetryCoupon(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, customer string) (bool, error) {
	return tx.Changed(ctx, "retry gateway coupon", `UPDATE gateway_coupon SET due_at = ?, tries = 0 WHERE tenant = ? AND customer_id = ? AND problem <> ''`,
		int64(tx.Now), string(tenant), customer)
}
