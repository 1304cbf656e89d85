package billingdb

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqltest"
)

// The workers of the gateway read no more rows when there are more notifications and
// subscriptions.
func TestReads_GatewayFindsByIndex(t *testing.T) {
	t.Parallel()
	r, ctx := store.NewReads(sqltest.Explained{DB: sqltest.File(t), T: t}), t.Context()
	tx := &store.Tx{Reads: r}
	for _, read := range []func() error{
		func() error { _, _, err := Connection(ctx, r, "t"); return err },
		func() error { _, err := Connected(ctx, r, "t"); return err },
		func() error { _, err := Notifications(ctx, r, 1); return err },
		func() error { return findsDue(ctx, tx, &Subscriptions) },
		func() error { return findsDue(ctx, tx, &Sweeps) },
		func() error { return findsDue(ctx, tx, &Coupons) },
		func() error { return findsDue(ctx, tx, &Payments) },
		func() error { return findsDue(ctx, tx, &Promotions) },
		func() error { _, _, err := FindSubscription(ctx, r, "t", "s"); return err },
		func() error { _, err := Standings(ctx, r, "t", "a"); return err },
		func() error { _, err := BillExists(ctx, r, "t", "x"); return err },
		func() error { _, err := SubscriptionOfBill(ctx, r, "t", "x"); return err },
		func() error { _, _, err := FirstBill(ctx, r, "t", "a"); return err },
		func() error { _, err := FirstBillOf(ctx, r, "t", "s"); return err },
		func() error { _, err := RefundExists(ctx, r, "t", "a"); return err },
		func() error { _, err := AllRead(ctx, r, "t", []string{"s"}); return err },
		func() error { _, err := RefundsWaiting(ctx, r, "t", "s"); return err },
		func() error { _, err := NotificationLog(ctx, r, "t", false, 1, 1); return err },
		func() error { _, err := NotificationLog(ctx, r, "t", true, 1, 1); return err },
		func() error { _, _, err := FindReceived(ctx, r, "t", 1); return err },
		func() error { return ReplayNotification(ctx, tx, "t", 1) },
		func() error { _, err := HasOldPayloads(ctx, r, 1); return err },
		func() error { _, _, err := FindPayment(ctx, r, "t", "in"); return err },
		func() error { return TouchCustomer(ctx, tx, "t", "cus") },
		func() error { _, err := CreditsWaiting(ctx, r, "t", "s"); return err },
		func() error { _, _, err := FindPromotion(ctx, r, "t", "C"); return err },
		func() error { _, err := OfStripe(ctx, r, "t"); return err },
	} {
		require.NoError(t, read())
	}
}

func findsDue(ctx context.Context, tx *store.Tx, k *Kind) error {
	_, err := Due(ctx, tx.Reads, k, 1)
	_, takeErr := Take(ctx, tx, k, 1, nil, "p.1")
	return errors.Join(err, takeErr)
}

// The operations that failed are read by indexes that have no others.
func TestOperations_UsesIndexes(t *testing.T) {
	t.Parallel()
	var looks []string
	for _, step := range (sqltest.Explained{DB: sqltest.File(t), T: t}).Plan(operations, []any{"t", 1}) {
		if strings.Contains(step, " gateway_") {
			looks = append(looks, step)
		}
	}
	require.ElementsMatch(t, []string{
		"SEARCH gateway_refund USING INDEX gateway_refund_failed (tenant=?)",
		"SEARCH gateway_subscription USING INDEX gateway_subscription_problem (tenant=?)",
		"SEARCH gateway_coupon USING INDEX gateway_coupon_problem (tenant=?)",
		"SEARCH gateway_payment USING INDEX gateway_payment_problem (tenant=?)",
		"SEARCH gateway_credit USING INDEX gateway_credit_failed (tenant=?)",
		"SEARCH gateway_promotion USING INDEX gateway_promotion_problem (tenant=?)",
	}, looks)
}
