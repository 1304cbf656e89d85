package stripelab_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/labkit/sdktest"
	"kith/backend/stripelab"
)

type fields = map[string]any

// The official library for Node runs a checkout, reads errors, repeats calls, and verifies
// webhooks.
func TestNode(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	n := sdktest.Start(t, "stripe", b.url, stripelab.SecretKey)
	type received struct{ body, signature string }
	got := make(chan received, 100)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{string(body), r.Header.Get("Stripe-Signature")}
	}))
	t.Cleanup(endpoint.Close)
	hook := n.Do(t, "webhookEndpoints.create", fields{"url": endpoint.URL, "enabled_events": []string{"checkout.session.completed"}, "api_version": stripelab.Version})

	price := n.Do(t, "prices.create", fields{"currency": "usd", "unit_amount": 1500, "recurring": fields{"interval": "month"}, "product_data": fields{"name": "Tea"}}).Get("id").String()
	coupon := n.Do(t, "coupons.create", fields{"percent_off": 20, "duration": "forever"}).Get("id").String()
	n.Do(t, "promotionCodes.create", fields{"code": "BOB-20", "promotion": fields{"type": "coupon", "coupon": coupon}})
	session := n.Do(t, "checkout.sessions.create", fields{
		"mode": "subscription", "success_url": "http://127.0.0.1/ok", "allow_promotion_codes": true, "client_reference_id": "BOB-20",
		"line_items": []fields{{"price": price, "quantity": 2}},
	})
	pay(t, session.Get("url").String(), "email", "eve@example.com", "promotion_code", "bob-20")
	paid := n.Do(t, "checkout.sessions.retrieve", session.Get("id").String(), fields{"expand": []string{"invoice", "subscription.discounts"}})
	require.Equal(t, int64(2400), paid.Get("invoice.amount_paid").Int())
	require.Equal(t, "paid", paid.Get("payment_status").String())
	require.Equal(t, coupon, paid.Get("subscription.discounts.0.source.coupon").String())

	b.Flush(t.Context())
	one := <-got
	secret := hook.Get("secret").String()
	event := n.Line(t, fields{"event": one.body, "signature": one.signature, "secret": secret})
	require.Equal(t, "checkout.session.completed", event.Get("value.type").String())
	require.Equal(t, session.Get("id").String(), event.Get("value.data.object.id").String())
	require.Equal(t, "StripeSignatureVerificationError", n.Line(t, fields{"event": one.body, "signature": one.signature, "secret": "whsec_other"}).Get("error.type").String())
	require.Equal(t, "StripeSignatureVerificationError", n.Line(t, fields{"event": one.body + " ", "signature": one.signature, "secret": secret}).Get("error.type").String())

	key := fields{"idempotencyKey": "k1"}
	first := n.Do(t, "customers.create", fields{"email": "a@example.com"}, key)
	again := n.Do(t, "customers.create", fields{"email": "a@example.com"}, key)
	require.Equal(t, first.Get("id").String(), again.Get("id").String())
	require.Equal(t, "true", again.Get("replayed").String())
	require.Equal(t, "StripeIdempotencyError", n.Fail(t, "customers.create", fields{"email": "b@example.com"}, key).Get("type").String())

	missing := n.Fail(t, "customers.retrieve", "cus_none")
	require.Equal(t, []string{"StripeInvalidRequestError", "resource_missing", "404"}, []string{missing.Get("type").String(), missing.Get("code").String(), missing.Get("status").String()})
	declining := n.Do(t, "customers.create", fields{"invoice_settings": fields{"default_payment_method": "pm_card_chargeDeclined"}}).Get("id").String()
	order := fields{"customer": declining, "items": []fields{{"price": price}}, "payment_behavior": "error_if_incomplete"}
	require.Equal(t, "StripeCardError", n.Fail(t, "subscriptions.create", order).Get("type").String())
	require.Equal(t, "StripeAuthenticationError", sdktest.Start(t, "stripe", b.url, "sk_test_other").Fail(t, "events.list").Get("type").String())

	// The library repeats a call that was refused for a while, with the same key.
	b.control(t, "faults", "kind", "in-flight", "times", "1")
	require.Equal(t, "c@example.com", n.Do(t, "customers.create", fields{"email": "c@example.com"}).Get("email").String())
	b.control(t, "faults", "kind", "429", "times", "1")
	require.Equal(t, "StripeRateLimitError", n.Fail(t, "customers.create", fields{"email": "d@example.com"}).Get("type").String())
}
