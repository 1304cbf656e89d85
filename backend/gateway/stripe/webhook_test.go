package stripe_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway"
	"kith/backend/gateway/stripe"
	"kith/core/billing"
)

var at = time.Unix(1_780_000_000, 0)

func header(payload, secret string) string {
	return fmt.Sprintf("t=%d,v1=%x", at.Unix(), sdk.ComputeSignature(at, []byte(payload), secret))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const payload = `{"id":"evt_1","type":"invoice.paid"}`
	good := header(payload, "whsec_b")
	for _, c := range []struct {
		name    string
		secrets []string
		header  string
		payload string
		now     time.Time
		want    error
	}{
		{"the first secret", []string{"whsec_b"}, good, payload, at, nil},
		{"the second secret", []string{"whsec_a", "whsec_b"}, good, payload, at, nil},
		{"two signatures", []string{"whsec_b"}, header(payload, "whsec_old") + good[strings.Index(good, ",v1="):], payload, at, nil},
		{"at the limit", []string{"whsec_b"}, good, payload, at.Add(stripe.Tolerance), nil},
		{"too old", []string{"whsec_b"}, good, payload, at.Add(stripe.Tolerance + time.Second), stripe.ErrTime},
		{"of the future", []string{"whsec_b"}, good, payload, at.Add(-stripe.Tolerance - time.Second), stripe.ErrTime},
		{"another time", []string{"whsec_b"}, strings.Replace(good, "t=1", "t=2", 1), payload, at, stripe.ErrSignature},
		{"another payload", []string{"whsec_b"}, good, payload + " ", at, stripe.ErrSignature},
		{"another secret", []string{"whsec_c"}, good, payload, at, stripe.ErrSignature},
		{"an empty secret", []string{""}, header(payload, ""), payload, at, stripe.ErrSignature},
		{"no secret", nil, good, payload, at, stripe.ErrSignature},
		{"no header", []string{"whsec_b"}, "", payload, at, stripe.ErrSignature},
		{"a header too long", []string{"whsec_b"}, good + strings.Repeat(",v0=1", 1000), payload, at, stripe.ErrSignature},
		{"a payload too long", []string{"whsec_b"}, good, strings.Repeat("x", stripe.MaxPayload+1), at, stripe.ErrSignature},
	} {
		require.Equal(t, c.want, stripe.Verify(c.secrets, c.header, []byte(c.payload), c.now), c.name)
	}
}

// Whatever the header is, Verify says what Stripe's own client says.
func FuzzVerify(f *testing.F) {
	const payload, secret = `{"id":"evt_1"}`, "whsec_b"
	good := header(payload, secret)
	signature := good[strings.Index(good, ",v1="):]
	for _, h := range []string{
		good, signature[1:] + "," + good[:len(good)-len(signature)], good + ",v0=abc,v2", good + ",v1=zz", good + "=", good + ",", "t=1" + signature, good + ",t=1", "t=1," + good,
		"t=" + signature, "t=x" + signature, "t=+1780000000" + signature, "t=01780000000" + signature, " " + good, signature[1:], "t=1780000000", "v1=", "", "=", "t=99999999999999999999" + signature,
		strings.ToUpper(good), "t=1780000000" + strings.ToUpper(signature), "t=1780000000" + strings.Replace(signature, "v1", "v0", 1), good[:len(good)-1],
	} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, h string) {
		if len(h) > 4096 {
			return
		}
		want := sdk.ValidatePayload([]byte(payload), h, secret, sdk.WithIgnoreTolerance()) == nil
		got := stripe.Verify([]string{secret}, h, []byte(payload), at)
		if (got != stripe.ErrSignature) != want {
			t.Errorf("%q: %v, and the official client says %v", h, got, want)
		}
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	event := func(kind, object string) string {
		return `{"id":"evt_1","object":"event","type":"` + kind + `","livemode":false,"data":{"object":` + object + `}}`
	}
	for payload, want := range map[string]gateway.Notification{
		event("checkout.session.completed", `{"id":"cs_1","subscription":"sub_1","payment_intent":null}`):           {Kind: "checkout.session.completed", Known: true, Subscription: "sub_1"},
		event("checkout.session.completed", `{"id":"cs_1","subscription":null,"payment_intent":{"id":"pi_1"}}`):     {Kind: "checkout.session.completed", Known: true, Payment: "pi_1"},
		event("checkout.session.async_payment_succeeded", `{"id":"cs_1","payment_intent":"pi_1"}`):                  {Kind: "checkout.session.async_payment_succeeded", Known: true, Payment: "pi_1"},
		event("customer.subscription.created", `{"id":"sub_1"}`):                                                    {Kind: "customer.subscription.created", Known: true, Subscription: "sub_1"},
		event("customer.subscription.deleted", `{"id":"sub_1"}`):                                                    {Kind: "customer.subscription.deleted", Known: true, Subscription: "sub_1"},
		event("invoice.paid", `{"id":"in_1","parent":{"subscription_details":{"subscription":"sub_1"}}}`):           {Kind: "invoice.paid", Known: true, Subscription: "sub_1"},
		event("invoice.paid", `{"id":"in_1","parent":null}`):                                                        {Kind: "invoice.paid", Known: true, Payment: "in_1"},
		event("invoice.payment_failed", `{"id":"in_1","parent":{"subscription_details":{"subscription":"sub_1"}}}`): {Kind: "invoice.payment_failed", Known: true, Subscription: "sub_1"},
		event("charge.refunded", `{"id":"ch_1","payment_intent":"pi_1"}`):                                           {Kind: "charge.refunded", Known: true, Payment: "pi_1"},
		event("charge.dispute.closed", `{"id":"dp_1","charge":"ch_1","payment_intent":"pi_1"}`):                     {Kind: "charge.dispute.closed", Known: true, Payment: "pi_1"},
		event("customer.updated", `{"id":"cus_1"}`):                                                                 {Kind: "customer.updated", Known: true, Customer: "cus_1"},
		event("coupon.deleted", `{"id":"kith-check-abc"}`):                                                          {Kind: billing.CheckKind, Known: true},
		event("coupon.deleted", `{"id":"SUMMER"}`):                                                                  {Kind: "coupon.deleted", Known: true},
		event("price.created", `{"id":"price_1"}`):                                                                  {Kind: "price.created"},
	} {
		require.Equal(t, want, stripe.Adapter.Parse(payload), payload)
	}
	for _, payload := range []string{``, `[]`, `{}`, `{"id":"evt_1"}`, `{"type":"invoice.paid"}`, `{"id":"evt_1","type":"invoice.paid","data":{"object":[]}}`} {
		require.NotEmpty(t, stripe.Adapter.Parse(payload).Problem, payload)
	}
	require.Len(t, stripe.Events(), 12)
}

func FuzzParse(f *testing.F) {
	f.Add(`{"id":"evt_1","type":"invoice.paid","data":{"object":{"id":"in_1","parent":{"subscription_details":{"subscription":{"id":"sub_1"}}}}}}`)
	f.Add(`{"id":"evt_1","type":"charge.refunded","data":{"object":{"payment_intent":7}}}`)
	f.Fuzz(func(t *testing.T, payload string) {
		n := stripe.Adapter.Parse(payload)
		if n.Problem != "" && (n.Subscription != "" || n.Payment != "" || n.Customer != "") {
			t.Errorf("%+v names an object", n)
		}
	})
}
