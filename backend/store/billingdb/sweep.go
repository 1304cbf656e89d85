package billingdb

import (
	"context"
	"encoding/json"

	"kith/backend/store"
	"kith/core"
)

// Swept is when a tenant's gateway was last searched for new subscriptions, and when for All;
// zero is never.
type Swept struct{ New, All core.Time }

// Sweeps search gateways for what no notification named. A search that fails is not ended: it is
// made again when its lease was released as stale.
var Sweeps = by("sweep_at", Kind{
	Name: "sweep", table: "gateway_connection",
	columns: store.Selection[Task]{
		store.Col(`swept_at`, func(t *Task) any { return &t.Swept.New }),
		store.Col(`swept_all_at`, func(t *Task) any { return &t.Swept.All }),
	},
	end: func(ctx context.Context, tx *store.Tx, t Task, e Ended) (bool, error) {
		return tx.Changed(ctx, "end sweep", `UPDATE gateway_connection SET swept_at = ?, swept_all_at = ?, sweep_at = ?, leased_by = NULL WHERE tenant = ?`,
			int64(t.Swept.New), int64(t.Swept.All), int64(e.Next), string(t.Tenant))
	},
})

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

// PutCoupon schedules a code to be written to the custom field of a customer now.
func PutCoupon(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, customer core.PaymentProviderID, code core.ReferralCode) error {
	return tx.Exec(ctx, "put gateway coupon", `INSERT INTO gateway_coupon (tenant, customer_id, code, problem, tries, due_at) VALUES (?, ?, ?, '', 0, ?)
		ON CONFLICT (tenant, customer_id) DO UPDATE SET code = excluded.code, problem = '', tries = 0, due_at = excluded.due_at, leased_by = NULL WHERE code <> excluded.code`,
		string(tenant), string(customer), string(code), int64(tx.Now))
}

// Coupons are referral codes that the custom fields of customers should have. Writing one twice is
// safe. A result does not count if the customer has another code by now.
var Coupons = by("due_at", Kind{
	Name: "coupon", table: "gateway_coupon", id: "customer_id",
	columns: store.Selection[Task]{store.Col(`code`, func(t *Task) any { return &t.Code })},
	end: func(ctx context.Context, tx *store.Tx, t Task, e Ended) (bool, error) {
		return tx.Changed(ctx, "end coupon", `UPDATE gateway_coupon SET problem = ?, tries = ?, due_at = ?, leased_by = NULL WHERE tenant = ? AND customer_id = ? AND code = ?`,
			e.Problem, e.Tries, store.NullTime(e.Next), string(t.Tenant), t.ID, string(t.Code))
	},
})

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
