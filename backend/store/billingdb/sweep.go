package billingdb

import (
	"context"
	"encoding/json"

	"kith/backend/store"
	"kith/backend/store/leasedb"
	"kith/core"
)

// Sweep is a search for a tenant's subscriptions at its gateway.
type Sweep struct {
	Tenant core.TenantAlias
	// Swept is when new subscriptions were last searched for, and SweptAll when all
	// were; zero is never.
	Swept, SweptAll core.Time
}

var sweepColumns = store.Selection[Sweep]{
	store.Col(`tenant`, func(s *Sweep) any { return &s.Tenant }),
	store.Col(`swept_at`, func(s *Sweep) any { return &s.Swept }),
	store.Col(`swept_all_at`, func(s *Sweep) any { return &s.SweptAll }),
}

// SweepDue reports whether a sweep is due.
func SweepDue(ctx context.Context, r store.Reads, now core.Time) (bool, error) {
	return store.One[bool](ctx, r, "sweep due", `SELECT EXISTS (SELECT 1 FROM gateway_connection WHERE sweep_at <= ? AND `+store.TenantExists("gateway_connection")+`)`, int64(now))
}

// TakeSweeps leases up to most sweeps that are due. Each is due again when its lease is
// released, unless EndSweep sets another time.
func TakeSweeps(ctx context.Context, tx *store.Tx, most int, token string) ([]Sweep, error) {
	rows, err := tx.QueryContext(ctx, `UPDATE gateway_connection SET sweep_at = ?, leased_by = ?
		WHERE tenant IN (SELECT tenant FROM gateway_connection WHERE sweep_at <= ? AND `+store.TenantExists("gateway_connection")+` ORDER BY sweep_at LIMIT ?)
		RETURNING `+sweepColumns.SQL(), int64(leasedb.Never), token, int64(tx.Now), most)
	return sweepColumns.All(rows, err, "take sweeps")
}

// EndSweep records the times of a sweep, and when the next one is due.
func EndSweep(ctx context.Context, tx *store.Tx, s Sweep, next core.Time) error {
	return tx.Exec(ctx, "end sweep", `UPDATE gateway_connection SET swept_at = ?, swept_all_at = ?, sweep_at = ?, leased_by = NULL WHERE tenant = ?`,
		int64(s.Swept), int64(s.SweptAll), int64(next), string(s.Tenant))
}

// AddSubscriptions adds those subscriptions of a list that are unknown, to be read
// from the gateway now, and returns how many it added.
func AddSubscriptions(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ids []string) (found int, err error) {
	list, err := json.Marshal(append([]string{}, ids...))
	if err != nil {
		return 0, err
	}
	return tx.Count(ctx, "find gateway subscriptions", `INSERT INTO gateway_subscription (tenant, id, customer_id, status, in_trial, paid, wanted, folded,
			problem, attempt, tries, due_at, created_at)
		SELECT ?1, value, '', '', 0, 0, 0, 0, '', 0, 0, ?2, ?2 FROM json_each(?3) WHERE true ON CONFLICT (tenant, id) DO NOTHING`,
		string(tenant), int64(tx.Now), string(list))
}

// AllRead reports whether all known subscriptions of a list were read from the
// gateway at least once.
func AllRead(ctx context.Context, r store.Reads, tenant core.TenantAlias, ids []string) (bool, error) {
	list, err := json.Marshal(append([]string{}, ids...))
	if err != nil {
		return false, err
	}
	return store.One[bool](ctx, r, "all gateway subscriptions read", `SELECT NOT EXISTS (SELECT 1 FROM json_each(?2) CROSS JOIN gateway_subscription s ON s.tenant = ?1 AND s.id = value
		WHERE s.status = '')`, string(tenant), string(list))
}

// Coupon is a referral code that the custom field of a customer at the gateway should
// have.
type Coupon struct {
	Tenant   core.TenantAlias
	Customer core.PaymentProviderID
	Code     core.ReferralCode
	// Tries is the number of failures in a row.
	Tries int
}

var couponColumns = store.Selection[Coupon]{
	store.Col(`tenant`, func(c *Coupon) any { return &c.Tenant }),
	store.Col(`customer_id`, func(c *Coupon) any { return &c.Customer }),
	store.Col(`code`, func(c *Coupon) any { return &c.Code }),
	store.Col(`tries`, func(c *Coupon) any { return &c.Tries }),
}

// PutCoupon schedules a code to be written to the custom field of a customer now.
func PutCoupon(ctx context.Context, tx *store.Tx, c Coupon) error {
	return tx.Exec(ctx, "put gateway coupon", `INSERT INTO gateway_coupon (tenant, customer_id, code, problem, tries, due_at) VALUES (?, ?, ?, '', 0, ?)
		ON CONFLICT (tenant, customer_id) DO UPDATE SET code = excluded.code, problem = '', tries = 0, due_at = excluded.due_at, leased_by = NULL WHERE code <> excluded.code`,
		string(c.Tenant), string(c.Customer), string(c.Code), int64(tx.Now))
}

// dueCoupons selects the coupons of connected tenants that are due.
var dueCoupons = ` FROM gateway_coupon g
	WHERE g.due_at <= ?1 AND EXISTS (SELECT 1 FROM gateway_connection WHERE gateway_connection.tenant = g.tenant) AND ` + store.TenantExists("g") + ` `

// CouponDue reports whether a coupon is due to be written.
func CouponDue(ctx context.Context, r store.Reads, now core.Time) (bool, error) {
	return store.One[bool](ctx, r, "coupon due", `SELECT EXISTS (SELECT 1`+dueCoupons+`)`, int64(now))
}

// TakeCoupons leases up to most coupons that are due. Each is due again when its lease is
// released, unless EndCoupon sets another time: writing a code twice is safe.
func TakeCoupons(ctx context.Context, tx *store.Tx, most int, token string) ([]Coupon, error) {
	rows, err := tx.QueryContext(ctx, `UPDATE gateway_coupon SET due_at = ?2, leased_by = ?4
		WHERE (tenant, customer_id) IN (SELECT g.tenant, g.customer_id`+dueCoupons+`ORDER BY g.due_at LIMIT ?3)
		RETURNING `+couponColumns.SQL(), int64(tx.Now), int64(leasedb.Never), most, token)
	return couponColumns.All(rows, err, "take coupons")
}

// EndCoupon records that a code was written, or the problem, and when to try next;
// zero is never. If the customer has another code by now, it changes nothing.
func EndCoupon(ctx context.Context, tx *store.Tx, c Coupon, problem string, next core.Time) error {
	return tx.Exec(ctx, "end coupon", `UPDATE gateway_coupon SET problem = ?, tries = ?, due_at = ?, leased_by = NULL WHERE tenant = ? AND customer_id = ? AND code = ?`,
		problem, c.Tries, store.NullTime(next), string(c.Tenant), string(c.Customer), string(c.Code))
}

// ClearPayloads empties the payloads of up to most notifications that were processed
// before a time, and returns how many.
func ClearPayloads(ctx context.Context, tx *store.Tx, before core.Time, most int) (int, error) {
	return tx.Count(ctx, "forget gateway payloads", `UPDATE gateway_notification SET payload = '' WHERE seq IN (SELECT seq
		FROM gateway_notification INDEXED BY gateway_notification_old WHERE payload <> '' AND read_at <= ? LIMIT ?)`, int64(before), most)
}

// HasOldPayloads reports whether ClearPayloads has anything to empty.
func HasOldPayloads(ctx context.Context, r store.Reads, before core.Time) (bool, error) {
	return store.One[bool](ctx, r, "old gateway payloads", `SELECT EXISTS (SELECT 1 FROM gateway_notification INDEXED BY gateway_notification_old
		WHERE payload <> '' AND read_at <= ?)`, int64(before))
}
