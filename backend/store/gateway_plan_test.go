package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the gateway's workers read does not grow with the notifications and
// subscriptions there are.
func TestReads_GatewayFindsByIndex(t *testing.T) {
	t.Parallel()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Migrate(t.Context(), 1))
	r, ctx := Reads{q: explained{p.read, t}}, t.Context()
	for _, read := range []func() error{
		func() error { _, _, err := r.Connection(ctx, "t"); return err },
		func() error { _, err := r.Connected(ctx, "t"); return err },
		func() error { _, err := r.Notifications(ctx, 1); return err },
		func() error { _, err := r.BillingDue(ctx, 1); return err },
		func() error { _, err := (&Tx{Reads: r}).LeaseBilling(ctx, 1, nil, 1); return err },
		func() error { _, _, err := r.Billed(ctx, "t", "s"); return err },
		func() error { _, err := r.Standings(ctx, "t", "a"); return err },
		func() error { _, err := r.BillKnown(ctx, "t", "x"); return err },
		func() error { _, err := r.SubscriptionOfBill(ctx, "t", "x"); return err },
		func() error { _, _, err := r.FirstBill(ctx, "t", "a"); return err },
		func() error { _, err := r.FirstBillOf(ctx, "t", "s"); return err },
		func() error { _, err := r.RefundKnown(ctx, "t", "a"); return err },
		func() error { _, err := r.AllRead(ctx, "t", []string{"s"}); return err },
		func() error { _, err := r.RefundsWaiting(ctx, "t", "s"); return err },
		func() error { _, err := r.SweepDue(ctx, 1); return err },
		func() error { _, err := (&Tx{Reads: r}).TakeSweeps(ctx, 1, 1); return err },
		func() error { _, err := r.CouponDue(ctx, 1); return err },
		func() error { _, err := (&Tx{Reads: r}).TakeCoupons(ctx, 1, 1); return err },
		func() error { _, err := r.PayloadsOld(ctx, 1); return err },
		func() error { _, _, err := r.RefundState(ctx, "t", "x"); return err },
	} {
		require.NoError(t, read())
	}
}
