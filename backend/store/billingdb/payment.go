package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/billing"
)

// Payment is what is stored of a payment at a gateway that names them.
type Payment struct {
	ID string
	// Subscription is empty if the payment is not of one, or is unknown.
	Subscription string
	// Account and User are whose purchase it is; empty while unknown.
	Account core.AccountID
	User    core.UserID
	billing.Recorded
	Currency string
	// Credit is the account's credit that it redeemed.
	Credit int64
}

var paymentColumns = store.Selection[Payment]{
	store.Col(`id`, func(p *Payment) any { return &p.ID }),
	store.Col(`subscription_id`, func(p *Payment) any { return &p.Subscription }),
	store.Col(`account_id`, func(p *Payment) any { return &p.Account }),
	store.Col(`user_id`, func(p *Payment) any { return &p.User }),
	store.Col(`amount`, func(p *Payment) any { return &p.Amount }),
	store.Col(`revenue`, func(p *Payment) any { return &p.Revenue }),
	store.Col(`currency`, func(p *Payment) any { return &p.Currency }),
	store.Col(`credit`, func(p *Payment) any { return &p.Credit }),
	store.Col(`reported`, func(p *Payment) any { return &p.Reported }),
	store.Col(`refunded`, func(p *Payment) any { return &p.Refunded }),
	store.Col(`reversed`, func(p *Payment) any { return &p.Reversed }),
}

// FindPayment returns a payment; ok is false if it is unknown.
func FindPayment(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (p Payment, ok bool, err error) {
	p.ID = id
	ok, err = paymentColumns.One(r.QueryRowContext(ctx, `SELECT `+paymentColumns.SQL()+` FROM gateway_payment WHERE tenant = ? AND id = ?`,
		string(tenant), id), "gateway payment", &p)
	return p, ok, err
}

// PutPayment stores a payment. It does not change when it is read next.
func PutPayment(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p Payment) error {
	return tx.Exec(ctx, "put gateway payment", `INSERT INTO gateway_payment (tenant, id, subscription_id, account_id, user_id, amount, revenue, currency,
			credit, reported, refunded, reversed, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
		ON CONFLICT (tenant, id) DO UPDATE SET subscription_id = ?3, account_id = ?4, user_id = ?5, amount = ?6, revenue = ?7, currency = ?8,
			credit = ?9, reported = ?10, refunded = ?11, reversed = ?12`,
		string(tenant), p.ID, p.Subscription, string(p.Account), string(p.User), p.Amount, p.Revenue, p.Currency, p.Credit, p.Reported,
		p.Refunded, p.Reversed, int64(tx.Now))
}

// TouchPayment schedules a payment, known or not, to be read from the gateway now.
func TouchPayment(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string) error {
	return tx.Exec(ctx, "touch gateway payment", `INSERT INTO gateway_payment (tenant, id, touched, due_at, created_at) VALUES (?1, ?2, 1, ?3, ?3)
		ON CONFLICT (tenant, id) DO UPDATE SET touched = touched + 1, tries = 0, due_at = iif(leased_by IS NULL, ?3, due_at)`,
		string(tenant), id, int64(tx.Now))
}

// AddPayments schedules those payments of a list that are unknown to be read from the
// gateway now, and the known ones too, and returns the number of the unknown ones.
func AddPayments(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ids []string) (found int, err error) {
	for _, id := range ids {
		_, known, err := FindPayment(ctx, tx.Reads, tenant, id)
		if err == nil {
			err = TouchPayment(ctx, tx, tenant, id)
		}
		if err != nil {
			return found, err
		}
		if !known {
			found++
		}
	}
	return found, nil
}

// Payments are read from their gateways and applied; applying one twice is safe. One that was named
// since the task began is due again at once: Touched is how often it was named before.
var Payments = by("due_at", Kind{
	Name: "payment", table: "gateway_payment", id: "id", connected: onlyStripe,
	columns: store.Selection[Task]{store.Col(`touched`, func(t *Task) any { return &t.Touched })},
	end: func(ctx context.Context, tx *store.Tx, t Task, e Ended) (bool, error) {
		return tx.Changed(ctx, "end payment", `UPDATE gateway_payment SET problem = ?, tries = ?, leased_by = NULL, due_at = iif(touched <> ?, ?, ?)
			WHERE tenant = ? AND id = ?`, e.Problem, e.Tries, t.Touched, int64(tx.Now), store.NullTime(e.Next), string(t.Tenant), t.ID)
	},
})

// TouchCustomer schedules the subscriptions of a customer to be read from the gateway now.
func TouchCustomer(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, customer core.PaymentProviderID) error {
	return tx.Exec(ctx, "touch gateway customer", `UPDATE gateway_subscription SET due_at = ? WHERE tenant = ? AND customer_id = ?`,
		int64(tx.Now), string(tenant), string(customer))
}

// Credit is credit that was redeemed to be given as a balance of a customer.
type Credit struct {
	ID           string
	Account      core.AccountID
	Customer     core.PaymentProviderID
	Subscription string
	// Amount is in minor units of Currency.
	Amount   int64
	Currency string
}

var creditColumns = store.Selection[Credit]{
	store.Col(`id`, func(c *Credit) any { return &c.ID }),
	store.Col(`account_id`, func(c *Credit) any { return &c.Account }),
	store.Col(`customer_id`, func(c *Credit) any { return &c.Customer }),
	store.Col(`subscription_id`, func(c *Credit) any { return &c.Subscription }),
	store.Col(`amount`, func(c *Credit) any { return &c.Amount }),
	store.Col(`currency`, func(c *Credit) any { return &c.Currency }),
}

// InsertCredit adds credit to be given by a worker. Redeem it in the same transaction.
func InsertCredit(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, c Credit) error {
	return tx.Exec(ctx, "insert gateway credit", `INSERT INTO gateway_credit (tenant, id, account_id, customer_id, subscription_id, amount, currency,
			state, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?)`,
		string(tenant), c.ID, string(c.Account), string(c.Customer), c.Subscription, c.Amount, c.Currency, int64(tx.Now))
}

// CreditsWaiting returns the credit for a subscription that is still to be given.
func CreditsWaiting(ctx context.Context, r store.Reads, tenant core.TenantAlias, subscription string) ([]Credit, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+creditColumns.SQL()+` FROM gateway_credit INDEXED BY gateway_credit_waiting
		WHERE tenant = ? AND subscription_id = ? AND state = 'waiting' ORDER BY id`, string(tenant), subscription)
	return creditColumns.All(rows, err, "gateway credits")
}

// EndCredit records that credit was given, with the id of the balance transaction. If the
// id is empty, it records that it cannot be given, and the problem.
func EndCredit(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id, transaction, problem string) (bool, error) {
	state := "done"
	if transaction == "" {
		state = "failed"
	}
	return tx.Changed(ctx, "end gateway credit", `UPDATE gateway_credit SET state = ?, transaction_id = ?, problem = ?, ended_at = ?
		WHERE tenant = ? AND id = ? AND state = 'waiting'`, state, transaction, problem, int64(tx.Now), string(tenant), id)
}

// Promotion is a referral code that customers can enter at the gateway's checkout.
type Promotion struct {
	Code core.ReferralCode
	// Coupon and ID are the ids at the gateway of the coupon with the terms and of the
	// code; empty until they are made.
	Coupon, ID string
	Problem    string
}

var promotionColumns = store.Selection[Promotion]{
	store.Col(`code`, func(p *Promotion) any { return &p.Code }),
	store.Col(`coupon_id`, func(p *Promotion) any { return &p.Coupon }),
	store.Col(`promotion_id`, func(p *Promotion) any { return &p.ID }),
	store.Col(`problem`, func(p *Promotion) any { return &p.Problem }),
}

// FindPromotion returns the promotion of a code; ok is false if nothing has asked for it.
func FindPromotion(ctx context.Context, r store.Reads, tenant core.TenantAlias, code core.ReferralCode) (p Promotion, ok bool, err error) {
	ok, err = promotionColumns.One(r.QueryRowContext(ctx, `SELECT `+promotionColumns.SQL()+` FROM gateway_promotion WHERE tenant = ? AND code = ?`,
		string(tenant), string(code)), "gateway promotion", &p)
	return p, ok, err
}

// AskForPromotion schedules a code to be made at the gateway now, unless it is there.
func AskForPromotion(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, code core.ReferralCode) error {
	return tx.Exec(ctx, "ask for promotion", `INSERT INTO gateway_promotion (tenant, code, due_at) VALUES (?1, ?2, ?3)
		ON CONFLICT (tenant, code) DO UPDATE SET tries = 0, due_at = ?3 WHERE promotion_id = '' AND leased_by IS NULL`,
		string(tenant), string(code), int64(tx.Now))
}

// Promotions are made at Stripe, and then compared with the terms of their programs at intervals.
// One with a problem has failed only if there were tries: a code that cannot be a promotion is no
// failure.
var Promotions = by("due_at", Kind{
	Name: "promotion", table: "gateway_promotion", id: "code", connected: onlyStripe, failed: ` AND tries > 0`,
	columns: store.Nested(promotionColumns, func(t *Task) *Promotion { return &t.Promotion }),
	end: func(ctx context.Context, tx *store.Tx, t Task, e Ended) (bool, error) {
		known, err := tx.Changed(ctx, "end promotion", `UPDATE gateway_promotion SET coupon_id = ?, promotion_id = ?, problem = ?, tries = ?, leased_by = NULL, due_at = ?
			WHERE tenant = ? AND code = ?`, t.Promotion.Coupon, t.Promotion.ID, e.Problem, e.Tries, store.NullTime(e.Next), string(t.Tenant), t.ID)
		if err == nil {
			err = dropPromotion(ctx, tx, t)
		}
		return known, err
	},
})

// dropPromotion deletes a code that is inactive at the gateway and has no owner.
func dropPromotion(ctx context.Context, tx *store.Tx, t Task) error {
	return tx.Exec(ctx, "drop promotion", `DELETE FROM gateway_promotion WHERE tenant = ?1 AND code = ?2 AND coupon_id = ''
		AND NOT EXISTS (SELECT 1 FROM code WHERE tenant = ?1 AND code = ?2)`, string(t.Tenant), t.ID)
}

// OfStripe reports whether a tenant is connected to Stripe.
func OfStripe(ctx context.Context, r store.Reads, tenant core.TenantAlias) (bool, error) {
	return store.One[bool](ctx, r, "connected to stripe", `SELECT EXISTS (SELECT 1 FROM gateway_connection WHERE tenant = ? AND kind = ?)`,
		string(tenant), string(billing.Stripe))
}

// followed selects the codes whose links people have followed since a day, of tenants with
// Stripe, and that nothing has asked for.
var followed = ` FROM gateway_connection c CROSS JOIN visit v ON v.tenant = c.tenant AND v.day >= ?1
	WHERE c.kind = 'stripe' AND v.code <> '' AND v.visits > 0
		AND NOT EXISTS (SELECT 1 FROM gateway_promotion p WHERE p.tenant = v.tenant AND p.code = v.code) AND ` + store.TenantExists("c")

// HasFollowed reports whether AskForFollowed would add a code.
func HasFollowed(ctx context.Context, r store.Reads, since core.Time) (bool, error) {
	return store.One[bool](ctx, r, "followed codes", `SELECT EXISTS (SELECT 1`+followed+`)`, int64(since))
}

// AskForFollowed schedules the codes whose links people have followed since a day, and
// that nothing has asked for, to be made at the gateway now. It returns their number, at
// most 500.
func AskForFollowed(ctx context.Context, tx *store.Tx, since core.Time) (int, error) {
	return tx.Count(ctx, "ask for followed codes", `INSERT INTO gateway_promotion (tenant, code, due_at)
		SELECT DISTINCT v.tenant, v.code, ?2`+followed+` LIMIT 500 ON CONFLICT (tenant, code) DO NOTHING`, int64(since), int64(tx.Now))
}
