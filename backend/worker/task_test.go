package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/gateway"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/billing"
	"kith/core/link"
)

// The result of a task says when it is due again, and whether it has failed. 0 is never.
func TestRun_StoresTheResult(t *testing.T) {
	t.Parallel()
	const now core.Time = 1_700_000_000_000
	db, err := store.Open(storetest.File(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Migrate(t.Context(), now))
	write := func(do func(context.Context, *store.Tx) error) {
		t.Helper()
		require.NoError(t, db.Write(t.Context(), now, func(tx *store.Tx) error { return do(t.Context(), tx) }))
	}
	connection := billing.Connection{Kind: billing.Stripe, MerchantID: "m", Keys: []billing.Key{billing.StripeKey("rk_test_1")}}
	write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tenantdb.Insert(ctx, tx, tenantdb.Tenant{Alias: "test_t", Policy: link.Policy{Consent: link.ConsentOff}})
		return errors.Join(err, billingdb.PutConnection(ctx, tx, "test_t", connection))
	})
	e := app.New(base.Base{DB: db, Now: func() core.Time { return now }, Entropy: func([]byte) {}})
	g := &gateways{engine: e, log: slog.New(slog.DiscardHandler), clients: map[core.TenantAlias]dialled{}}

	failed := func(a gateway.Action) error { return &gateway.Error{Action: a, Err: gateway.Text("down")} }
	for _, c := range []struct {
		name  string
		kind  kind
		tries int
		done  payments.Result
		err   error
		// problem, failures and due are what is stored.
		problem  string
		failures int
		due      core.Time
	}{
		{"done", coupons, 2, payments.Result{}, nil, "", 0, 0},
		{"done for a time", paid, 2, payments.Result{After: core.Hour}, nil, "", 0, now + core.Hour},
		{"a problem is no failure", promotions, 2, payments.Result{Problem: "form", After: core.Hour}, nil, "form", 0, now + core.Hour},
		{"first failure", promotions, 0, payments.Result{}, errors.New("no"), "no", 1, now + core.Minute},
		{"third failure", paid, 2, payments.Result{}, failed(gateway.Retry), "down", 3, now + 4*core.Minute},
		{"many failures", coupons, 40, payments.Result{}, failed(gateway.Retry), "down", 41, now + core.Hour},
		{"the merchant must act", subscriptions, 0, payments.Result{}, failed(gateway.SetUp), "down", 1, now + core.Hour},
		{"the merchant must act for a coupon", coupons, 0, payments.Result{}, failed(gateway.SetUp), "down", 1, now + core.Day},
		{"missing", subscriptions, 2, payments.Result{}, failed(gateway.Missing), "down", 3, now + core.Hour},
		{"missing for long", subscriptions, 3, payments.Result{}, failed(gateway.Missing), "down", 4, 0},
		{"payment missing for long", paid, 3, payments.Result{}, failed(gateway.Missing), "down", 4, 0},
		{"promotion missing for long", promotions, 3, payments.Result{}, failed(gateway.Missing), "down", 4, now + core.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(func(ctx context.Context, tx *store.Tx) error {
				return errors.Join(billingdb.TouchSubscription(ctx, tx, "test_t", "X"), billingdb.TouchPayment(ctx, tx, "test_t", "X"),
					billingdb.PutCoupon(ctx, tx, "test_t", "X", "CODE"), billingdb.AskForPromotion(ctx, tx, "test_t", "X"),
					tx.Exec(ctx, "coupon is due", `UPDATE gateway_coupon SET due_at = 0 WHERE tenant = 'test_t'`))
			})
			leased, err := store.WriteValue(t.Context(), db.Write, now, func(tx *store.Tx) ([]billingdb.Task, error) {
				return billingdb.Take(t.Context(), tx, c.kind.Kind, 8, nil, "p.1")
			})
			require.NoError(t, err)
			require.Len(t, leased, 1)
			leased[0].Tries, leased[0].Promotion.Coupon = c.tries, "made"
			k := c.kind
			k.do = func(context.Context, *gateways, gateway.Gateway, *payments.Task) (payments.Result, error) {
				return c.done, c.err
			}
			g.run(t.Context(), &k, payments.Task{Task: leased[0], Access: payments.Access{Connection: connection}})

			row := db.Reads.QueryRowContext(t.Context(), `SELECT problem, tries, coalesce(due_at, 0), leased_by IS NULL FROM `+map[string]string{
				"subscription": "gateway_subscription", "coupon": "gateway_coupon", "payment": "gateway_payment", "promotion": "gateway_promotion",
			}[k.Name])
			var problem string
			var failures int
			var due core.Time
			var free bool
			require.NoError(t, row.Scan(&problem, &failures, &due, &free))
			require.Equal(t, []any{c.problem, c.failures, c.due, true}, []any{problem, failures, due, free})
		})
	}
}
