package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/billing"
)

var operationColumns = store.Selection[billing.Operation]{
	store.Col(`kind`, func(o *billing.Operation) any { return &o.Kind }),
	store.Col(`id`, func(o *billing.Operation) any { return &o.ID }),
	store.Col(`account`, func(o *billing.Operation) any { return &o.Account }),
	store.Col(`problem`, func(o *billing.Operation) any { return &o.Problem }),
	store.Col(`tries`, func(o *billing.Operation) any { return &o.Tries }),
	store.Col(`due`, func(o *billing.Operation) any { return &o.Due }),
}

// Operations returns the operations of a tenant that have failed, up to limit of each kind.
func Operations(ctx context.Context, r store.Reads, tenant core.TenantAlias, limit int) ([]billing.Operation, error) {
	rows, err := r.QueryContext(ctx, operations, string(tenant), limit)
	return operationColumns.All(rows, err, "gateway operations")
}

var operations = `SELECT ` + operationColumns.SQL() + ` FROM (
	SELECT * FROM (SELECT '` + string(billing.MakeRefund) + `' AS kind, transaction_id AS id, account_id AS account, problem, key_number AS tries, 0 AS due
		FROM gateway_refund INDEXED BY gateway_refund_failed WHERE tenant = ?1 AND state = 'failed' ORDER BY transaction_id LIMIT ?2)
	UNION ALL SELECT * FROM (SELECT '` + string(billing.ReadSubscription) + `', id, coalesce(account_id, ''), problem, tries, coalesce(due_at, 0)
		FROM gateway_subscription INDEXED BY gateway_subscription_problem WHERE tenant = ?1 AND problem <> '' ORDER BY id LIMIT ?2)
	UNION ALL SELECT * FROM (SELECT '` + string(billing.WriteCoupon) + `', customer_id, '', problem, tries, iif(leased_by IS NULL, coalesce(due_at, 0), 0)
		FROM gateway_coupon INDEXED BY gateway_coupon_problem WHERE tenant = ?1 AND problem <> '' ORDER BY customer_id LIMIT ?2)
	UNION ALL SELECT * FROM (SELECT '` + string(billing.ReadPayment) + `', id, account_id, problem, tries, iif(leased_by IS NULL, coalesce(due_at, 0), 0)
		FROM gateway_payment INDEXED BY gateway_payment_problem WHERE tenant = ?1 AND problem <> '' ORDER BY id LIMIT ?2)
	UNION ALL SELECT * FROM (SELECT '` + string(billing.GiveCredit) + `', id, account_id, problem, 1, 0
		FROM gateway_credit INDEXED BY gateway_credit_failed WHERE tenant = ?1 AND state = 'failed' ORDER BY id LIMIT ?2)
	UNION ALL SELECT * FROM (SELECT '` + string(billing.MakePromotion) + `', code, '', problem, tries, iif(leased_by IS NULL, coalesce(due_at, 0), 0)
		FROM gateway_promotion INDEXED BY gateway_promotion_problem WHERE tenant = ?1 AND problem <> '' AND tries > 0 ORDER BY code LIMIT ?2))`
