package stripelab_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v86"

	"kith/backend/labkit"
	"kith/backend/stripelab"
)

// problem returns the gateway's error of a call that must fail.
func problem(t testing.TB, err error) *stripe.Error {
	t.Helper()
	var e *stripe.Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e
}

// The same idempotency key runs a call once, and with other parameters is refused; after a
// day it is forgotten.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	create := func(email, key string) (*stripe.Customer, error) {
		params := &stripe.CustomerCreateParams{Email: stripe.String(email)}
		params.SetIdempotencyKey(key)
		return b.api.V1Customers.Create(ctx, params)
	}
	first, err := create("a@example.com", "k1")
	require.NoError(t, err)
	require.Empty(t, first.LastResponse.Header.Get("Idempotent-Replayed"))
	again, err := create("a@example.com", "k1")
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, "true", again.LastResponse.Header.Get("Idempotent-Replayed"))
	require.Equal(t, first.LastResponse.RequestID, again.LastResponse.RequestID)
	_, err = create("b@example.com", "k1")
	e := problem(t, err)
	require.Equal(t, []any{stripe.ErrorTypeIdempotency, 400}, []any{e.Type, e.HTTPStatusCode})

	// A call with invalid parameters does not use up its key; a declined card does.
	_, err = create("no address", "k2")
	require.Equal(t, stripe.ErrorCodeEmailInvalid, problem(t, err).Code)
	_, err = create("c@example.com", "k2")
	require.NoError(t, err)
	customer := b.must(t, "POST", "/v1/customers", "invoice_settings[default_payment_method]=pm_card_chargeDeclined").Get("id").String()
	declined := &stripe.SubscriptionCreateParams{
		Customer: stripe.String(customer), PaymentBehavior: stripe.String("error_if_incomplete"),
		Items: []*stripe.SubscriptionCreateItemParams{{Price: stripe.String(b.price(t, 500, "usd").ID)}},
	}
	declined.SetIdempotencyKey("k3")
	for range 2 {
		_, err = b.api.V1Subscriptions.Create(ctx, declined)
		require.Equal(t, []any{stripe.ErrorTypeCard, stripe.DeclineCodeGenericDecline}, []any{problem(t, err).Type, problem(t, err).DeclineCode})
	}
	require.Len(t, b.State().Charges, 1)

	b.advance(t, "25h")
	late, err := create("a@example.com", "k1")
	require.NoError(t, err)
	require.NotEqual(t, first.ID, late.ID)
}

// A restricted key may make the calls of its permissions; the refusal names the missing
// one. A call about a record that does not exist shows that a key may write.
func TestKeys(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	key, err := b.NewKey("customer_read", "rak_charge_write")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(key, "rk_test_"), key)
	api := client(b.url, key, 0)
	for _, err := range api.V1Customers.List(ctx, &stripe.CustomerListParams{}).All(ctx) {
		require.NoError(t, err)
	}
	_, err = api.V1Customers.Create(ctx, &stripe.CustomerCreateParams{})
	e := problem(t, err)
	require.Equal(t, http.StatusForbidden, e.HTTPStatusCode)
	require.Contains(t, e.Msg, "does not have the required permissions for this endpoint on account 'acct_")
	require.Contains(t, e.Msg, `Enabling "Customers Write" ('customer_write') permissions on this key would allow this request to continue.`)
	require.NotContains(t, e.Msg, key)
	_, err = api.V1Refunds.Update(ctx, "re_none", &stripe.RefundUpdateParams{Metadata: map[string]string{"a": "b"}})
	require.Equal(t, stripe.ErrorCodeResourceMissing, problem(t, err).Code)
	_, err = api.V1Charges.Retrieve(ctx, "ch_none", nil)
	require.Equal(t, http.StatusNotFound, problem(t, err).HTTPStatusCode)

	_, err = b.NewKey("customers_read")
	require.ErrorContains(t, err, "want a permission such as")
	b.control(t, "revoke", "key", key)
	_, err = api.V1Charges.Retrieve(ctx, "ch_none", nil)
	e = problem(t, err)
	require.Equal(t, http.StatusUnauthorized, e.HTTPStatusCode)
	require.Contains(t, e.Msg, "Invalid API Key provided: rk_test_***")
	_, err = client(b.url, "sk_live_lab", 0).V1Accounts.Retrieve(ctx, nil)
	require.Equal(t, http.StatusUnauthorized, problem(t, err).HTTPStatusCode)
	_, err = client(b.url, stripelab.PublishableKey, 0).V1Accounts.Retrieve(ctx, nil)
	require.Equal(t, stripe.ErrorCodeSecretKeyRequired, problem(t, err).Code)
}

// Each fault fails as many calls as it says; the official client repeats those that may be
// repeated, and a call whose answer was lost has run once.
func TestFaults(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	once := func() error {
		_, err := b.api.V1Customers.Create(ctx, &stripe.CustomerCreateParams{Email: stripe.String("a@example.com")})
		return err
	}
	for kind, status := range map[string]int{"429": 429, "500": 500, "503": 503, "in-flight": 409} {
		b.control(t, "faults", "kind", kind, "times", "1", "method", "POST", "path", "/v1/customers", "retry_after", "1")
		require.Equal(t, status, problem(t, once()).HTTPStatusCode, kind)
		require.NoError(t, once(), kind)
	}
	require.Equal(t, labkit.Fault("429"), labkit.TooMany)
	before := len(b.State().Customers)
	retrying := client(b.url, stripelab.SecretKey, 2)
	for _, kind := range []string{"lost", "cut"} {
		b.control(t, "faults", "kind", kind, "times", "1")
		_, err := retrying.V1Customers.Create(ctx, &stripe.CustomerCreateParams{Email: stripe.String("once@example.com")})
		require.NoError(t, err, kind)
	}
	require.Len(t, b.State().Customers, before+2)
	// The transport repeats a call with a key once on a new connection.
	b.control(t, "faults", "kind", "silent", "times", "2")
	require.Error(t, once())
	b.control(t, "faults", "times", "0")
	require.Len(t, b.State().Customers, before+2)
	status, _ := b.tryControl(t, "faults", "kind", "flood")
	require.Equal(t, http.StatusBadRequest, status)
	b.control(t, "faults", "kind", "500", "times", "9")
	b.control(t, "faults", "times", "0")
	require.NoError(t, once())
}

// Wrong calls are refused with the gateway's error objects; nothing is ignored.
func TestErrors(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	for _, one := range []struct {
		call, params string
		status       int
		code, param  string
	}{
		{"GET /v1/customers/cus_x", "", 404, "resource_missing", "id"},
		{"GET /v1/teapots", "", 404, "", ""},
		{"POST /v1/customers", "colour=red", 400, "parameter_unknown", "colour"},
		{"POST /v1/customers", "invoice_settings[footer]=x", 400, "parameter_unknown", "invoice_settings[footer]"},
		{"POST /v1/customers", "email=" + strings.Repeat("a", 600) + "@b", 400, "", "email"},
		{"POST /v1/customers", "metadata[" + strings.Repeat("a", 41) + "]=b", 400, "", "metadata"},
		{"POST /v1/customers", "a[b=c", 400, "", ""},
		{"POST /v1/coupons", "percent_off=0&duration=once", 400, "", "percent_off"},
		{"POST /v1/coupons", "percent_off=5&amount_off=5&currency=usd", 400, "", ""},
		{"POST /v1/coupons", "percent_off=5&duration=repeating", 400, "parameter_missing", "duration_in_months"},
		{"POST /v1/coupons", "amount_off=x&currency=usd&duration=once", 400, "parameter_invalid_integer", "amount_off"},
		{"POST /v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]=none&code=X", 400, "resource_missing", "promotion[coupon]"},
		{"POST /v1/refunds", "charge=ch_none", 400, "resource_missing", "charge"},
		{"POST /v1/refunds", "amount=5", 400, "parameter_missing", ""},
		{"POST /v1/checkout/sessions", "mode=setup", 400, "", "mode"},
		{"POST /v1/subscriptions", "customer=cus_x&items[0][price]=price_x&collection_method=send_invoice", 400, "", "collection_method"},
		{"POST /v1/prices", "currency=usd&unit_amount=5", 400, "parameter_missing", "product_data[name]"},
		{"GET /v1/customers", "limit=101", 400, "", "limit"},
		{"GET /v1/customers", "starting_after=cus_none", 404, "resource_missing", "starting_after"},
		{"POST /v1/webhook_endpoints", "url=ftp://x&enabled_events[]=*", 400, "url_invalid", "url"},
	} {
		method, path, _ := strings.Cut(one.call, " ")
		status, answer := b.do(t, method, path, one.params)
		require.Equal(t, []any{one.status, one.code, one.param}, []any{status, answer.Get("error.code").String(), answer.Get("error.param").String()}, "%s %s: %s", one.call, one.params, answer)
		require.Equal(t, "invalid_request_error", answer.Get("error.type").String())
	}
	customer := b.must(t, "POST", "/v1/customers", "email=a@example.com").Get("id").String()
	status, answer := b.do(t, "GET", "/v1/customers/"+customer, "expand[]=email")
	require.Equal(t, []any{400, "This property cannot be expanded (email)."}, []any{status, answer.Get("error.message").String()})
	status, _ = b.do(t, "POST", "/v1/customers", "name="+strings.Repeat("a", 1<<20))
	require.Equal(t, http.StatusBadRequest, status)
	status, _ = b.do(t, "GET", "/v1/customers", "", "Stripe-Version", "2020-08-27")
	require.Equal(t, http.StatusBadRequest, status)
}

// A list has each record once, over all of its pages.
func TestLists(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	var made []string
	for range 25 {
		c, err := b.api.V1Customers.Create(ctx, &stripe.CustomerCreateParams{})
		require.NoError(t, err)
		made = append([]string{c.ID}, made...)
	}
	var found []string
	params := &stripe.CustomerListParams{}
	params.Limit = stripe.Int64(7)
	for c, err := range b.api.V1Customers.List(ctx, params).All(ctx) {
		require.NoError(t, err)
		found = append(found, c.ID)
	}
	require.Equal(t, made, found)
	b.advance(t, "1h")
	b.must(t, "POST", "/v1/customers", "")
	require.Len(t, b.must(t, "GET", "/v1/customers", "created[gte]="+itoa(start.Add(time.Second))).Get("data").Array(), 1)
}

func itoa(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
