package stripelab_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v86"
)

// price creates a monthly price.
func (b bundle) price(t testing.TB, amount int64, currency string) *stripe.Price {
	t.Helper()
	p, err := b.api.V1Prices.Create(t.Context(), &stripe.PriceCreateParams{
		UnitAmount: stripe.Int64(amount), Currency: stripe.String(currency), Recurring: &stripe.PriceCreateRecurringParams{Interval: stripe.String("month")},
		ProductData: &stripe.PriceCreateProductDataParams{Name: stripe.String("Basic")},
	})
	require.NoError(t, err)
	return p
}

// promotion creates a coupon and a promotion code for it.
func (b bundle) promotion(t testing.TB, code string, percent float64) *stripe.PromotionCode {
	t.Helper()
	coupon, err := b.api.V1Coupons.Create(t.Context(), &stripe.CouponCreateParams{PercentOff: stripe.Float64(percent), Duration: stripe.String("once")})
	require.NoError(t, err)
	p, err := b.api.V1PromotionCodes.Create(t.Context(), &stripe.PromotionCodeCreateParams{
		Code: stripe.String(code), Promotion: &stripe.PromotionCodeCreatePromotionParams{Type: stripe.String("coupon"), Coupon: stripe.String(coupon.ID)},
	})
	require.NoError(t, err)
	return p
}

// pay sends the form of the hosted page, and returns where the browser is sent.
func pay(t testing.TB, page string, fields ...string) *url.URL {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.PostForm(page, form)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	to, err := answer.Location()
	require.NoError(t, err)
	return to
}

// A customer subscribes with a promotion code and a trial, is charged when it ends, and
// gets a part back; every step sends its events.
func TestStory(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	price := b.price(t, 2000, "usd")
	promotion := b.promotion(t, "ANNA10", 10)
	in := b.listen(t)
	session, err := b.api.V1CheckoutSessions.Create(ctx, &stripe.CheckoutSessionCreateParams{
		Mode: stripe.String("subscription"), SuccessURL: stripe.String("http://127.0.0.1/done?session={CHECKOUT_SESSION_ID}"), AllowPromotionCodes: stripe.Bool(true),
		ClientReferenceID: stripe.String("ANNA10"), Metadata: map[string]string{"order": "7"},
		LineItems:        []*stripe.CheckoutSessionCreateLineItemParams{{Price: stripe.String(price.ID), Quantity: stripe.Int64(1)}},
		SubscriptionData: &stripe.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: stripe.Int64(14), Metadata: map[string]string{"kith_user": "bob"}},
	})
	require.NoError(t, err)
	require.Equal(t, stripe.CheckoutSessionStatusOpen, session.Status)

	require.Equal(t, "This code is invalid.", pay(t, session.URL, "email", "bob@example.com", "promotion_code", "NOPE").Query().Get("problem"))
	require.Equal(t, "session="+session.ID, pay(t, session.URL, "email", "bob@example.com", "promotion_code", "anna10").RawQuery)
	b.Flush(ctx)
	require.Equal(t, []string{
		"customer.created", "payment_method.attached", "promotion_code.updated", "invoice.created", "invoice.finalized", "invoice.paid", "invoice.payment_succeeded",
		"customer.subscription.created", "customer.discount.created", "checkout.session.completed",
	}, without(in.take(), "coupon.updated"))

	params := &stripe.CheckoutSessionRetrieveParams{}
	params.AddExpand("subscription.discounts")
	params.AddExpand("discounts.promotion_code")
	session, err = b.api.V1CheckoutSessions.Retrieve(ctx, session.ID, params)
	require.NoError(t, err)
	require.Equal(t, stripe.CheckoutSessionStatusComplete, session.Status)
	require.Equal(t, stripe.CheckoutSessionPaymentStatusNoPaymentRequired, session.PaymentStatus)
	require.Equal(t, "ANNA10", session.Discounts[0].PromotionCode.Code)
	require.Equal(t, "ANNA10", session.ClientReferenceID)
	require.Equal(t, "bob@example.com", session.CustomerDetails.Email)
	require.Equal(t, stripe.SubscriptionStatusTrialing, session.Subscription.Status)
	require.Equal(t, map[string]string{"kith_user": "bob"}, session.Subscription.Metadata)
	require.Equal(t, promotion.ID, session.Subscription.Discounts[0].PromotionCode.ID)

	b.advance(t, "11d")
	b.Flush(ctx)
	require.Equal(t, []string{"customer.subscription.trial_will_end"}, in.take())
	b.advance(t, "3d")
	b.Flush(ctx)
	require.Equal(t, []string{"customer.discount.deleted", "invoice.created", "customer.subscription.updated"}, in.take()[0:3])
	b.advance(t, "1h")
	b.Flush(ctx)
	require.Equal(t, []string{
		"invoice.finalized", "payment_intent.created", "charge.succeeded", "payment_intent.succeeded", "invoice_payment.paid", "invoice.paid", "invoice.payment_succeeded",
	}, in.take())

	var paid []*stripe.Invoice
	list := &stripe.InvoiceListParams{Subscription: stripe.String(session.Subscription.ID), Status: stripe.String("paid")}
	list.AddExpand("data.payments")
	list.AddExpand("data.total_discount_amounts.discount")
	for one, err := range b.api.V1Invoices.List(ctx, list).All(ctx) {
		require.NoError(t, err)
		paid = append(paid, one)
	}
	require.Len(t, paid, 2)
	require.Equal(t, int64(1800), paid[0].AmountPaid)
	require.Equal(t, int64(200), paid[0].TotalDiscountAmounts[0].Amount)
	require.Equal(t, promotion.ID, paid[0].TotalDiscountAmounts[0].Discount.PromotionCode.ID)
	require.Equal(t, session.Subscription.ID, paid[0].Parent.SubscriptionDetails.Subscription.ID)
	intent := paid[0].Payments.Data[0].Payment.PaymentIntent.ID

	refund, err := b.api.V1Refunds.Create(ctx, &stripe.RefundCreateParams{PaymentIntent: stripe.String(intent), Amount: stripe.Int64(500), Metadata: map[string]string{"kith": "r1"}})
	require.NoError(t, err)
	require.Equal(t, stripe.RefundStatusSucceeded, refund.Status)
	b.Flush(ctx)
	require.Equal(t, []string{"charge.refunded", "refund.created"}, in.take())

	// The next bill is reduced by credit.
	_, err = b.api.V1CustomerBalanceTransactions.Create(ctx, &stripe.CustomerBalanceTransactionCreateParams{
		Customer: stripe.String(session.Customer.ID), Amount: stripe.Int64(-1500), Currency: stripe.String("usd"),
	})
	require.NoError(t, err)
	b.advance(t, "1m")
	b.advance(t, "1h")
	list.Status = nil
	for one, err := range b.api.V1Invoices.List(ctx, list).All(ctx) {
		require.NoError(t, err)
		require.Equal(t, []int64{2000, 500, -1500, 0}, []int64{one.Total, one.AmountPaid, one.StartingBalance, one.EndingBalance})
		break
	}
	require.Zero(t, in.invalid)
}

func without(all []string, unwanted string) (kept []string) {
	for _, one := range all {
		if one != unwanted {
			kept = append(kept, one)
		}
	}
	return kept
}
