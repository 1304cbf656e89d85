// Package billingdb has the SQL of payment gateways: connections, notifications,
// subscriptions, charges, refunds and coupons.
package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/billing"
)

// Subscription is what Kith stores of a subscription at the gateway.
type Subscription struct {
	billing.Standing
	// Customer is the customer who pays, and Account the account of the customer.
	// Either is empty while it is unknown.
	Customer core.PaymentProviderID
	Account  core.AccountID
	// Want is the discount that the subscription should have.
	Want billing.Discount
	// Period is the first day, such as 2026-11-21, of the latest billing cycle whose
	// charge was read; empty before the first.
	Period string
	// User is the user whose events its bills are, and Code the referral code that the
	// gateway has for it; empty while unknown.
	User core.UserID
	Code core.ReferralCode
	// Opened is when the subscription was created at the gateway; zero until it is
	// read.
	Opened core.Time
	// Attempt is that of the latest lease.
	Attempt Attempt
}

// TouchSubscription schedules a subscription, known or not, to be read from the
// gateway now.
func TouchSubscription(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string) error {
	return tx.Exec(ctx, "touch gateway subscription", `INSERT INTO gateway_subscription (tenant, id, customer_id, status, in_trial, paid,
			wanted, folded, problem, attempt, tries, due_at, created_at) VALUES (?1, ?2, '', '', 0, 0, 0, 0, '', 0, 0, ?3, ?3)
		ON CONFLICT (tenant, id) DO UPDATE SET due_at = ?3, tries = 0`, string(tenant), id, int64(tx.Now))
}

// TouchOthers schedules the LiveSubscriptions of an account, except one, to
// be read from the gateway now.
func TouchOthers(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, except string) error {
	return tx.Exec(ctx, "touch other subscriptions", `UPDATE gateway_subscription SET due_at = ?
		WHERE tenant = ? AND account_id = ? AND id <> ? AND `+LiveSubscription, int64(tx.Now), string(tenant), string(account), except)
}

// LiveSubscription is the SQL condition that a subscription will be billed again, or owes credit.
const LiveSubscription = `(status NOT IN ('Canceled', 'Expired') OR owed > 0)`

// Subscriptions are read from their gateways and applied. due_at stays free while one is leased, for
// what makes it due meanwhile. The attempt fences what a worker stores.
var Subscriptions = Kind{
	Name: "subscription", table: "gateway_subscription", id: "id",
	due: `(t.leased_until IS NULL AND t.due_at <= ?1 OR t.leased_until <= ?1)`, first: `coalesce(t.leased_until, t.due_at)`,
	lease:   `attempt = attempt + 1, leased_until = ?2, due_at = NULL`,
	columns: store.Selection[Task]{store.Col(`attempt`, func(t *Task) any { return &t.Attempt })},
	end:     endSubscription,
}

// Attempt is the number of the lease of a subscription. Writes of a worker whose number is no
// longer the row's are rejected.
type Attempt int

// endSubscription ends a lease. The subscription is due again at the given time, or at once if it
// was touched meanwhile. If another worker has leased it meanwhile, it is due at once: the calls
// of this worker may have reached the gateway after those of the worker that leased it next, and
// so have undone them.
func endSubscription(ctx context.Context, tx *store.Tx, t Task, e Ended) (bool, error) {
	owned, err := tx.Changed(ctx, "end billing", `UPDATE gateway_subscription SET leased_until = NULL, leased_by = NULL, problem = ?, tries = ?,
			due_at = min(coalesce(due_at, ?3), coalesce(?3, due_at))
		WHERE tenant = ? AND id = ? AND attempt = ? AND leased_until IS NOT NULL`,
		e.Problem, e.Tries, store.NullTime(e.Next), string(t.Tenant), t.ID, int(t.Attempt))
	if err == nil && !owned {
		err = tx.Exec(ctx, "read gateway subscription again", `UPDATE gateway_subscription SET due_at = ? WHERE tenant = ? AND id = ?`,
			int64(tx.Now), string(t.Tenant), t.ID)
	}
	return owned, err
}

var standingColumns = store.Selection[billing.Standing]{
	store.Col(`id`, func(s *billing.Standing) any { return &s.ID }),
	store.Col(`status`, func(s *billing.Standing) any { return &s.Status }),
	store.Col(`in_trial`, func(s *billing.Standing) any { return &s.Trial }),
	store.Col(`paid`, func(s *billing.Standing) any { return &s.Paid }),
	store.Col(`currency`, func(s *billing.Standing) any { return &s.Currency }),
	store.Col(`next_period`, func(s *billing.Standing) any { return &s.Next }),
	store.Col(`room`, func(s *billing.Standing) any { return &s.Room }),
	store.Col(`held`, func(s *billing.Standing) any { return &s.Held }),
	store.Col(`owed`, func(s *billing.Standing) any { return &s.Owed }),
}

var subscriptionColumns = store.Selection[Subscription]{
	store.Col(`customer_id`, func(b *Subscription) any { return &b.Customer }),
	store.Col(`coalesce(account_id, '')`, func(b *Subscription) any { return &b.Account }),
	store.Col(`wanted`, func(b *Subscription) any { return &b.Want.Amount }),
	store.Col(`folded`, func(b *Subscription) any { return &b.Want.Credit }),
	store.Col(`period`, func(b *Subscription) any { return &b.Period }),
	store.Col(`opened_at`, func(b *Subscription) any { return &b.Opened }),
	store.Col(`user_id`, func(b *Subscription) any { return &b.User }),
	store.Col(`code`, func(b *Subscription) any { return &b.Code }),
	store.Col(`attempt`, func(b *Subscription) any { return &b.Attempt }),
}.With(store.Nested(standingColumns, func(b *Subscription) *billing.Standing { return &b.Standing }))

// FindSubscription returns a subscription; ok is false if it is unknown.
func FindSubscription(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (b Subscription, ok bool, err error) {
	ok, err = subscriptionColumns.One(r.QueryRowContext(ctx, `SELECT `+subscriptionColumns.SQL()+` FROM gateway_subscription WHERE tenant = ? AND id = ?`,
		string(tenant), id), "gateway subscription", &b)
	return b, ok, err
}

// Standings returns the state of an account's subscriptions, oldest first.
func Standings(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID) ([]billing.Standing, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+standingColumns.SQL()+` FROM gateway_subscription
		WHERE tenant = ? AND account_id = ? ORDER BY opened_at, id`, string(tenant), string(account))
	return standingColumns.All(rows, err, "gateway subscriptions")
}

// PutSubscription updates a subscription that exists.
func PutSubscription(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, b Subscription) error {
	return tx.Exec(ctx, "put gateway subscription", `UPDATE gateway_subscription SET status = ?, in_trial = ?, paid = ?, customer_id = ?,
			account_id = ?, wanted = ?, folded = ?, period = ?, next_period = ?, opened_at = ?, user_id = ?, code = ?, currency = ?, room = ?, held = ?, owed = ? WHERE tenant = ? AND id = ?`,
		string(b.Status), b.Trial, b.Paid, string(b.Customer), store.NullText(b.Account), b.Want.Amount, b.Want.Credit, b.Period, b.Next,
		int64(b.Opened), string(b.User), string(b.Code), b.Currency, b.Room, b.Held, b.Owed, string(tenant), b.ID)
}

// Bill is a charge that was read from the gateway.
type Bill struct {
	billing.Charge
	Subscription string
	Account      core.AccountID
	// Credit is the part of the account's credit that it used, in minor units.
	Credit int64
	// First is true for the charge that made the account PAID.
	First bool
}

// BillExists reports whether a charge is stored.
func BillExists(ctx context.Context, r store.Reads, tenant core.TenantAlias, transaction string) (bool, error) {
	return store.One[bool](ctx, r, "gateway bill", `SELECT EXISTS (SELECT 1 FROM gateway_bill WHERE tenant = ? AND transaction_id = ?)`,
		string(tenant), transaction)
}

// InsertBill stores a new charge. If it is the account's first, it replaces another
// charge as the first.
func InsertBill(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, b Bill) error {
	if b.First {
		err := tx.Exec(ctx, "replace first gateway bill", `UPDATE gateway_bill SET first = 0 WHERE tenant = ? AND account_id = ? AND first = 1`,
			string(tenant), string(b.Account))
		if err != nil {
			return err
		}
	}
	return tx.Exec(ctx, "insert gateway bill", `INSERT INTO gateway_bill (tenant, transaction_id, subscription_id, account_id, amount,
			discount, credit, first, charged_at, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, string(tenant), b.Transaction, b.Subscription,
		string(b.Account), b.Amount, b.Discount, b.Credit, b.First, int64(b.At), int64(tx.Now))
}

var billColumns = store.Selection[Bill]{
	store.Col(`transaction_id`, func(b *Bill) any { return &b.Transaction }),
	store.Col(`subscription_id`, func(b *Bill) any { return &b.Subscription }),
	store.Col(`amount`, func(b *Bill) any { return &b.Amount }),
	store.Col(`discount`, func(b *Bill) any { return &b.Discount }),
	store.Col(`credit`, func(b *Bill) any { return &b.Credit }),
	store.Col(`charged_at`, func(b *Bill) any { return &b.At }),
}

// FirstBill returns the charge that made an account PAID; ok is false if the account
// has none.
func FirstBill(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID) (b Bill, ok bool, err error) {
	b.Account, b.First = account, true
	ok, err = billColumns.One(r.QueryRowContext(ctx, `SELECT `+billColumns.SQL()+` FROM gateway_bill
		WHERE tenant = ? AND account_id = ? AND first = 1`, string(tenant), string(account)), "first gateway bill", &b)
	return b, ok, err
}

// SubscriptionOfBill returns the subscription of a charge, or "" if the charge is
// unknown.
func SubscriptionOfBill(ctx context.Context, r store.Reads, tenant core.TenantAlias, transaction string) (subscription string, err error) {
	return store.OneOrZero[string](ctx, r, "subscription of gateway bill", `SELECT subscription_id FROM gateway_bill WHERE tenant = ? AND transaction_id = ?`,
		string(tenant), transaction)
}

// FirstBillOf returns the charge of a subscription that made its account PAID, or ""
// if there is no such charge.
func FirstBillOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, subscription string) (transaction string, err error) {
	return store.OneOrZero[string](ctx, r, "first bill of subscription", `SELECT b.transaction_id FROM gateway_subscription s
		JOIN gateway_bill b ON b.tenant = s.tenant AND b.account_id = s.account_id AND b.first = 1
		WHERE s.tenant = ? AND s.id = ? AND b.subscription_id = s.id`, string(tenant), subscription)
}

// Refund is a refund of a charge, waiting or done.
type Refund struct {
	Transaction, Subscription string
	Account                   core.AccountID
	// Amount is in minor units of Currency.
	Amount   int64
	Currency string
	// KeyNumber is part of the idempotency key at the gateway. It increases by 1
	// after each refusal, because a refused key cannot be used again.
	KeyNumber int
}

// InsertRefund adds a refund, which the gateway worker makes. It returns false if the
// account has a refund already.
func InsertRefund(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, f Refund) (bool, error) {
	return tx.Inserted(ctx, "gateway refund", `INSERT INTO gateway_refund (tenant, transaction_id, account_id, subscription_id, amount,
			currency, state, key_number, refund_id, problem, created_at) VALUES (?, ?, ?, ?, ?, ?, 'waiting', 1, '', '', ?)
		ON CONFLICT DO NOTHING`,
		string(tenant), f.Transaction, string(f.Account), f.Subscription, f.Amount, f.Currency, int64(tx.Now))
}

// RefundExists reports whether an account has a refund, waiting or done.
func RefundExists(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID) (bool, error) {
	return store.One[bool](ctx, r, "gateway refund", `SELECT EXISTS (SELECT 1 FROM gateway_refund WHERE tenant = ? AND account_id = ?)`,
		string(tenant), string(account))
}

var refundColumns = store.Selection[Refund]{
	store.Col(`transaction_id`, func(f *Refund) any { return &f.Transaction }),
	store.Col(`subscription_id`, func(f *Refund) any { return &f.Subscription }),
	store.Col(`account_id`, func(f *Refund) any { return &f.Account }),
	store.Col(`amount`, func(f *Refund) any { return &f.Amount }),
	store.Col(`currency`, func(f *Refund) any { return &f.Currency }),
	store.Col(`key_number`, func(f *Refund) any { return &f.KeyNumber }),
}

// RefundsWaiting returns the refunds of a subscription's charges that are still to
// be made.
func RefundsWaiting(ctx context.Context, r store.Reads, tenant core.TenantAlias, subscription string) ([]Refund, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+refundColumns.SQL()+`
		FROM gateway_refund INDEXED BY gateway_refund_waiting
		WHERE tenant = ? AND subscription_id = ? AND state = 'waiting'`, string(tenant), subscription)
	return refundColumns.All(rows, err, "gateway refunds")
}

// EndRefund records that a refund was made, with its id at the gateway. If the id is
// empty, it records that the refund has failed, and the problem.
func EndRefund(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, transaction, id, problem string) error {
	state := "done"
	if id == "" {
		state = "failed"
	}
	return tx.Exec(ctx, "end gateway refund", `UPDATE gateway_refund SET state = ?, refund_id = ?, problem = ?, ended_at = ?
		WHERE tenant = ? AND transaction_id = ? AND state = 'waiting'`, state, id, problem, int64(tx.Now), string(tenant), transaction)
}

// RefuseRefund records that the gateway refused a refund for now: the next try needs
// another idempotency key.
func RefuseRefund(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, transaction string, keyNumber int, problem string) error {
	return tx.Exec(ctx, "refuse gateway refund", `UPDATE gateway_refund SET key_number = ? + 1, problem = ?
		WHERE tenant = ? AND transaction_id = ? AND state = 'waiting' AND key_number = ?1`, keyNumber, problem, string(tenant), transaction)
}
