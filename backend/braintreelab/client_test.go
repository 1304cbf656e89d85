package braintreelab_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/gateway/braintree"
	"kith/core"
)

// refused returns the error of a call as a *braintree.Error, and fails for any other.
func refused(t *testing.T, err error) *braintree.Error {
	t.Helper()
	var e *braintree.Error
	require.ErrorAs(t, err, &e)
	return e
}

// withShortSilence makes the lab close unanswered calls soon, so that no client needs a
// short timeout, which a slow machine could exceed.
func withShortSilence(o *braintreelab.Options) { o.Silence = time.Millisecond }

// A discount is added, updated and removed. Each step can be repeated, and the error
// shows when the state is not the expected one.
func TestClient_DiscountLife(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	gw, ctx := b.client(t), t.Context()
	b.must(t, "settings", "prorate", "true")
	b.subscribe(t, "anna", "s1", "pro")

	offered, err := gw.Discounts(ctx)
	require.NoError(t, err)
	require.Equal(t, braintree.Modification{ID: "svc_discount", Amount: "1.00", Quantity: 1, NeverExpires: true}, offered[0])

	_, err = gw.UpdateDiscount(ctx, "s1", "svc_discount", "5.00", braintree.Duration{})
	require.Equal(t, braintree.SwitchToAdd, refused(t, err).Action)
	_, err = gw.RemoveDiscount(ctx, "s1", "svc_discount")
	require.Equal(t, braintree.AlreadyDone, refused(t, err).Action)
	_, err = gw.AddDiscount(ctx, "s1", "no_such", "5.00", braintree.Duration{})
	require.Equal(t, braintree.SetUp, refused(t, err).Action)

	s, err := gw.AddDiscount(ctx, "s1", "svc_discount", "5.00", braintree.Duration{})
	require.NoError(t, err)
	require.Equal(t, braintree.Amount("5.00"), s.Discounts[0].Amount)
	require.Equal(t, braintree.Amount("45.00"), b.State().Subscriptions[0].Next)
	_, err = gw.AddDiscount(ctx, "s1", "svc_discount", "7.00", braintree.Duration{})
	require.Equal(t, braintree.SwitchToUpdate, refused(t, err).Action)
	require.Equal(t, "subscription.base", refused(t, err).Failures[0].Attribute)
	for range 2 {
		s, err = gw.UpdateDiscount(ctx, "s1", "svc_discount", "12.50", braintree.Duration{})
		require.NoError(t, err)
		require.Equal(t, braintree.Amount("12.50"), s.Discounts[0].Amount)
		require.Equal(t, braintree.Amount("37.50"), b.State().Subscriptions[0].Next)
	}
	_, err = gw.UpdateDiscount(ctx, "s1", "svc_discount", "1000000.01", braintree.Duration{})
	require.Equal(t, braintree.Alert, refused(t, err).Action)
	s, err = gw.RemoveDiscount(ctx, "s1", "svc_discount")
	require.NoError(t, err)
	require.Empty(t, s.Discounts)
	require.Len(t, s.Transactions, 1, "no change of a discount charged the customer, although the merchant prorates")
	require.Equal(t, braintree.Amount("0.00"), b.State().Subscriptions[0].Balance)
}

// The merchant's own discounts are not changed.
func TestClient_ForeignDiscountsStay(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	gw, ctx := b.client(t), t.Context()
	b.subscribe(t, "anna", "s1", "pro")
	for _, own := range []string{"loyalty", "svc_discount"} {
		_, err := gw.AddDiscount(ctx, "s1", own, "2.00", braintree.Duration{})
		require.NoError(t, err)
	}
	_, err := gw.UpdateDiscount(ctx, "s1", "svc_discount", "4.00", braintree.Duration{})
	require.NoError(t, err)
	s, err := gw.RemoveDiscount(ctx, "s1", "svc_discount")
	require.NoError(t, err)
	require.Len(t, s.Discounts, 1)
	require.Equal(t, "loyalty", s.Discounts[0].ID)
}

func TestClient_RefusedChanges(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	gw, ctx := b.client(t), t.Context()
	b.subscribe(t, "anna", "s1", "pro", "discount", "5.00")
	b.must(t, "decline", "customer", "anna", "on", "true")
	b.must(t, "advance", "by", "1m")
	for _, change := range []func() error{
		func() error { _, err := gw.AddDiscount(ctx, "s1", "loyalty", "1.00", braintree.Duration{}); return err },
		func() error {
			_, err := gw.UpdateDiscount(ctx, "s1", "svc_discount", "1.00", braintree.Duration{})
			return err
		},
		func() error { _, err := gw.RemoveDiscount(ctx, "s1", "svc_discount"); return err },
	} {
		require.Equal(t, braintree.Park, refused(t, change()).Action)
	}
	b.must(t, "cancel", "subscription", "s1")
	_, err := gw.RemoveDiscount(ctx, "s1", "svc_discount")
	require.Equal(t, braintree.Terminal, refused(t, err).Action)
	_, err = gw.Subscription(ctx, "s2")
	require.Equal(t, braintree.Missing, refused(t, err).Action)
}

// A client finds the subscriptions of a customer, and the customer of a subscription,
// before the first charge.
func TestClient_CustomerAndSubscriptions(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	gw, ctx := b.client(t), t.Context()
	b.must(t, "customers", "id", "bob", "coupon", "ANNA10")
	b.must(t, "subscriptions", "id", "s1", "customer", "bob", "plan", "pro", "trial_days", "14")

	c, err := gw.Customer(ctx, "bob")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"svc_coupon": "ANNA10"}, c.CustomFields)
	require.Equal(t, "s1", c.PaymentMethods[0].Subscriptions[0].ID)
	s, err := gw.Subscription(ctx, "s1")
	require.NoError(t, err)
	require.True(t, b.State().Subscriptions[0].Trial)
	require.Empty(t, s.CustomerID())
	m, err := gw.PaymentMethod(ctx, s.PaymentMethod)
	require.NoError(t, err)
	require.Equal(t, "bob", m.CustomerID)
	plans, err := gw.Plans(ctx)
	require.NoError(t, err)
	require.Equal(t, braintree.Plan{ID: "pro", Currency: "USD"}, plans[1])

	c, err = gw.SetCustomField(ctx, "bob", "svc_coupon", "EVA&CO")
	require.NoError(t, err)
	require.Equal(t, "EVA&CO", c.CustomFields["svc_coupon"])
	_, err = gw.SetCustomField(ctx, "bob", "coupon", "X")
	require.Equal(t, braintree.SetUp, refused(t, err).Action)

	b.must(t, "advance", "by", "2w")
	s, err = gw.Subscription(ctx, "s1")
	require.NoError(t, err)
	require.False(t, b.State().Subscriptions[0].Trial)
	require.Equal(t, []string{"bob", "USD"}, []string{s.CustomerID(), s.Currency()})
}

// A search finds the subscriptions that have one of some states, or were made since a time.
func TestClient_Searches(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	b.must(t, "customers", "id", "bob")
	for range 60 {
		b.must(t, "subscriptions", "customer", "bob", "plan", "basic")
	}
	b.must(t, "advance", "by", "1d")
	b.must(t, "subscriptions", "customer", "bob", "plan", "pro")
	count := func(s braintree.Search) int {
		ids, err := b.client(t).SubscriptionIDs(t.Context(), s)
		require.NoError(t, err)
		slices.Sort(ids)
		require.Len(t, slices.Compact(slices.Clone(ids)), len(ids))
		return len(ids)
	}
	require.Equal(t, 61, count(braintree.Search{}))
	require.Equal(t, 61, count(braintree.Search{Statuses: []braintree.Status{braintree.Active, braintree.PastDue}}))
	require.Equal(t, 1, count(braintree.Search{CreatedFrom: core.Time(start.Add(time.Hour).UnixMilli())}))
	require.Zero(t, count(braintree.Search{Statuses: []braintree.Status{braintree.Expired}}))
}

var refund = braintree.Refund{Amount: "5.00", OrderID: "svc-r1", Key: "svc-refund-r1"}

// settled makes a subscription whose first charge is settled, and returns the
// charge.
func (b bundle) settled(t *testing.T) string {
	t.Helper()
	b.subscribe(t, "bob", "s1", "pro")
	b.must(t, "advance", "by", "1d")
	return b.State().Transactions[0].ID
}

// refunds returns the refunds in the lab's state.
func (b bundle) refunds() (all []braintreelab.TransactionState) {
	for _, t := range b.State().Transactions {
		if t.Kind == braintree.Credit {
			all = append(all, t)
		}
	}
	return all
}

func TestRefund_NotBeforeItSettles(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	gw, ctx := b.client(t), t.Context()
	b.subscribe(t, "bob", "s1", "pro")
	id := b.State().Transactions[0].ID
	_, err := gw.Refund(ctx, id, refund)
	require.Equal(t, braintree.AwaitSettlement, refused(t, err).Action)
	b.must(t, "advance", "by", "12h")
	sale, err := gw.Transaction(ctx, id)
	require.NoError(t, err)
	require.Equal(t, braintree.Settling, sale.Status)
	_, err = gw.Refund(ctx, id, refund)
	require.Equal(t, braintree.ReadBack, refused(t, err).Action, "the refusal used up the key")
	again := refund
	again.Key += "-2"
	_, err = gw.Refund(ctx, id, again)
	require.NoError(t, err)
	require.Len(t, b.refunds(), 1)
}

// A refund is made once, whatever happens to the answer and however often the call is
// repeated.
func TestRefund_AtMostOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"lost", "cut", "silent", "429", "503", "500", "in-flight"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			b := newLab(t, withShortSilence)
			id := b.settled(t)
			b.must(t, "faults", "kind", fault, "times", "2", "path", "/refund")
			made, err := b.client(t).Refund(t.Context(), id, refund)
			require.NoError(t, err)
			require.Equal(t, braintree.Amount("5.00"), made.Amount)
			// A worker that crashed before it stored the answer repeats the call.
			again, err := b.client(t).Refund(t.Context(), id, refund)
			require.NoError(t, err)
			require.Equal(t, made.ID, again.ID)
			require.Len(t, b.refunds(), 1)
			require.Equal(t, id, b.refunds()[0].RefundOf)
		})
	}
}

// If all answers are lost, the caller gets an error, and the refund exists once.
func TestRefund_OutcomeUnknown(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	id := b.settled(t)
	b.must(t, "faults", "kind", "cut", "times", "4", "path", "/refund")
	gw := b.client(t)
	_, err := gw.Refund(t.Context(), id, refund)
	require.Equal(t, braintree.Retry, refused(t, err).Action)
	found, ok, err := gw.FindRefund(t.Context(), id, refund.OrderID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, b.refunds()[0].ID, found.ID)
	require.Len(t, b.refunds(), 1)
}

func TestRefund_ManySenders(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	id := b.settled(t)
	b.must(t, "faults", "kind", "cut", "times", "5", "path", "/refund")
	var senders sync.WaitGroup
	ids := make([]string, 16)
	for i := range ids {
		senders.Go(func() {
			made, err := b.client(t).Refund(context.Background(), id, refund)
			if err == nil {
				ids[i] = made.ID
			}
		})
	}
	senders.Wait()
	require.Len(t, b.refunds(), 1)
	for _, got := range ids {
		require.Equal(t, b.refunds()[0].ID, got)
	}
}

func TestRefund_OfMoreThanIsLeft(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	id := b.settled(t)
	gw := b.client(t)
	_, err := gw.Refund(t.Context(), id, braintree.Refund{Amount: "50.01", OrderID: "o", Key: "k1"})
	require.Equal(t, braintree.ReadBack, refused(t, err).Action)
	_, err = gw.Refund(t.Context(), id, braintree.Refund{Amount: "50.00", OrderID: "o", Key: "k2"})
	require.NoError(t, err)
	_, err = gw.Refund(t.Context(), id, braintree.Refund{Amount: "0.01", OrderID: "o2", Key: "k3"})
	require.Equal(t, braintree.ReadBack, refused(t, err).Action)
	_, err = gw.Refund(t.Context(), id, braintree.Refund{Amount: "49.00", OrderID: "o", Key: "k2"})
	require.Equal(t, braintree.Alert, refused(t, err).Action, "a key with another body")
	_, err = gw.Refund(t.Context(), id, braintree.Refund{Amount: "0.00", OrderID: "o", Key: "k4"})
	require.Equal(t, braintree.Alert, refused(t, err).Action)
	require.Len(t, b.refunds(), 1)
}

// Refund works for a merchant without at-most-once keys.
func TestRefund_WithoutKeys(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	id := b.settled(t)
	b.must(t, "settings", "request_keys", "false")
	gw := b.client(t)
	made, err := gw.Refund(t.Context(), id, refund)
	require.NoError(t, err)
	again, err := gw.Refund(t.Context(), id, refund)
	require.NoError(t, err)
	require.Equal(t, made.ID, again.ID)
	require.Len(t, b.refunds(), 1)
}

// A key expires after 30 days.
func TestKeys_Life(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	id := b.settled(t)
	gw := b.client(t)
	_, err := gw.Refund(t.Context(), id, refund)
	require.NoError(t, err)
	b.must(t, "advance", "by", "30d")
	_, err = gw.Refund(t.Context(), id, refund)
	require.NoError(t, err)
	require.Len(t, b.refunds(), 1)
	b.must(t, "advance", "by", "1h")
	_, err = gw.Refund(t.Context(), id, refund)
	require.NoError(t, err)
	require.Len(t, b.refunds(), 2, "a key is not remembered after 30 days")
}

// When the answer to a change is lost, the repeated call reports that the change exists.
func TestClient_AddDiscountIsLostAfterItWasMade(t *testing.T) {
	t.Parallel()
	b := newLab(t, withShortSilence)
	gw := b.client(t)
	b.subscribe(t, "anna", "s1", "pro")
	b.must(t, "faults", "kind", "lost", "method", "PUT")
	_, err := gw.AddDiscount(t.Context(), "s1", "svc_discount", "5.00", braintree.Duration{})
	require.Equal(t, braintree.SwitchToUpdate, refused(t, err).Action)
	s, err := gw.UpdateDiscount(t.Context(), "s1", "svc_discount", "5.00", braintree.Duration{})
	require.NoError(t, err)
	require.Len(t, s.Discounts, 1)
	require.Equal(t, braintree.Amount("5.00"), s.Discounts[0].Amount)
}

func TestClient_KeepsTheRateLimit(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	b.must(t, "faults", "kind", "429", "retry_after", "3600")
	gw := b.client(t)
	for range 2 {
		_, err := gw.Plans(t.Context())
		require.Equal(t, braintree.Retry, refused(t, err).Action)
		require.Greater(t, refused(t, err).RetryAfter, 59*time.Minute)
	}
	require.Len(t, b.State().Calls, 1, "the second was not sent")
}
