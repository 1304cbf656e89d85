package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/backend/store/leasedb"
	"kith/core"
	"kith/core/billing"
)

// Task is work at the gateway of a tenant. A worker leases it when it is due, and ends it; if the
// worker's process stops before, the task is due again.
type Task struct {
	Tenant core.TenantAlias
	// ID is that of the subscription, the payment or the customer at the gateway, or the
	// referral code. A search has none.
	ID string
	// Tries is the number of failures in a row.
	Tries int
	// The kind of the task says which of these it has. The kinds are not generic types: the binary
	// would have all functions for each of them.
	Attempt   Attempt
	Touched   int
	Code      core.ReferralCode
	Promotion Promotion
	Swept     Swept
}

// Ended is the result of a task: the problem, or "", the failures in a row with this one, and when
// the task is due again; zero is when something makes it due.
type Ended struct {
	Problem string
	Tries   int
	Next    core.Time
}

// Kind is a kind of tasks: a table whose rows are tasks.
type Kind struct {
	// Name names the kind, and is its kind of base.WorkGateway.
	Name string
	// table has the primary key tenant and id; id is empty if that is the tenant alone.
	table, id string
	// due is the condition that the row t is due at the time ?1, and first what it is ordered by.
	// lease makes a row due at the time ?2, which never comes.
	due, first, lease string
	// connected is a condition on the connection of the row's tenant, or empty.
	connected string
	// failed is the condition that a task has failed, besides its problem; see Retry.
	failed string
	// columns are those of the kind alone.
	columns store.Selection[Task]
	// end stores the end of a task. It returns false if the result does not count any more.
	end func(context.Context, *store.Tx, Task, Ended) (bool, error)
}

// by returns k with the column that is when a row is due.
func by(column string, k Kind) Kind {
	k.due, k.first, k.lease = `t.`+column+` <= ?1`, `t.`+column, column+` = ?2`
	return k
}

// onlyStripe is a condition on the connection of a tenant.
const onlyStripe = ` AND kind = 'stripe'`

// ready selects the tasks of a table that are due, of connected tenants.
func ready(k *Kind) string {
	return ` FROM ` + k.table + ` t WHERE ` + k.due + ` AND ` + store.TenantExists("t") + `
		AND EXISTS (SELECT 1 FROM gateway_connection WHERE gateway_connection.tenant = t.tenant` + k.connected + `)`
}

// Due reports whether a task of a kind is due.
func Due(ctx context.Context, r store.Reads, k *Kind, now core.Time) (bool, error) {
	return store.One[bool](ctx, r, k.Name+" due", `SELECT EXISTS (SELECT 1`+ready(k)+`)`, int64(now))
}

// Take leases up to most tasks of a kind that are due, of tenants that are not busy.
func Take(ctx context.Context, tx *store.Tx, k *Kind, most int, busy []core.TenantAlias, token string) ([]Task, error) {
	key, id, tries := `tenant`, `''`, `0`
	if k.id != "" {
		key, id, tries = `tenant, `+k.id, k.id, `tries`
	}
	columns := store.Selection[Task]{
		store.Col(`tenant`, func(t *Task) any { return &t.Tenant }),
		store.Col(id, func(t *Task) any { return &t.ID }),
		store.Col(tries, func(t *Task) any { return &t.Tries }),
	}.With(k.columns)
	rows, err := tx.QueryContext(ctx, `UPDATE `+k.table+` SET `+k.lease+`, leased_by = ?3
		WHERE (`+key+`) IN (SELECT `+key+ready(k)+` AND t.tenant NOT IN (SELECT value FROM json_each(?4)) ORDER BY `+k.first+` LIMIT ?5)
		RETURNING `+columns.SQL(), int64(tx.Now), int64(leasedb.Never), token, store.TextList(busy), most)
	return columns.All(rows, err, "lease "+k.Name)
}

// End ends a task that was leased, and stores its result. It returns false if the result does not
// count any more: see the kinds.
func End(ctx context.Context, tx *store.Tx, k *Kind, t Task, e Ended) (bool, error) {
	return k.end(ctx, tx, t, e)
}

// retried are the kinds of the operations that can be retried; see billing.Retried.
var retried = map[billing.OperationKind]*Kind{
	billing.ReadSubscription: &Subscriptions,
	billing.WriteCoupon:      &Coupons,
	billing.ReadPayment:      &Payments,
	billing.MakePromotion:    &Promotions,
}

// Retry makes operations of a kind due that have failed, all of a tenant if id is empty,
// and returns their number.
func Retry(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, kind billing.OperationKind, id string) (int, error) {
	k := retried[kind]
	return tx.Count(ctx, "retry "+k.Name, `UPDATE `+k.table+` INDEXED BY `+k.table+`_problem SET due_at = ?1, tries = 0
		WHERE tenant = ?2 AND (?3 = '' OR `+k.id+` = ?3) AND problem <> ''`+k.failed, int64(tx.Now), string(tenant), id)
}
