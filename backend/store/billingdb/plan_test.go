package billingdb

import (
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
		func() error { _, err := SubscriptionDue(ctx, r, 1); return err },
		func() error { _, err := LeaseSubscriptions(ctx, tx, 1, nil, 1); return err },
		func() error { _, _, err := FindSubscription(ctx, r, "t", "s"); return err },
		func() error { _, err := Standings(ctx, r, "t", "a"); return err },
		func() error { _, err := BillExists(ctx, r, "t", "x"); return err },
		func() error { _, err := SubscriptionOfBill(ctx, r, "t", "x"); return err },
		func() error { _, _, err := FirstBill(ctx, r, "t", "a"); return err },
		func() error { _, err := FirstBillOf(ctx, r, "t", "s"); return err },
		func() error { _, err := RefundExists(ctx, r, "t", "a"); return err },
		func() error { _, err := AllRead(ctx, r, "t", []string{"s"}); return err },
		func() error { _, err := RefundsWaiting(ctx, r, "t", "s"); return err },
		func() error { _, err := SweepDue(ctx, r, 1); return err },
		func() error { _, err := TakeSweeps(ctx, tx, 1, 1); return err },
		func() error { _, err := CouponDue(ctx, r, 1); return err },
		func() error { _, err := TakeCoupons(ctx, tx, 1, 1); return err },
		func() error { _, err := HasOldPayloads(ctx, r, 1); return err },
	} {
		require.NoError(t, read())
	}
}
