package stripelab_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// follow opens a payment link as a browser does, and returns the session that it opens.
func (b bundle) follow(t testing.TB, link, query string) string {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Get(b.url + "/p/" + strings.TrimPrefix(link, "plink_") + "?" + query)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	to, err := answer.Location()
	require.NoError(t, err)
	return strings.TrimPrefix(to.Path, "/c/pay/")
}

func text(t testing.TB, url string) string {
	t.Helper()
	answer, err := own.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(body)
}

// A payment link carries the code of its URL into the session, and drops one that the
// gateway would drop. A person who pays sees what is due.
func TestPaymentLink(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	price := b.monthly(t, 2000, "usd")
	b.promotion(t, "ANNA10", 10)
	link := b.must(t, "POST", "/v1/payment_links", "allow_promotion_codes=true&metadata[a]=b&line_items[0][price]="+price+"&line_items[0][quantity]=1&subscription_data[metadata][c]=d").Get("id").String()
	bad := b.must(t, "GET", "/v1/checkout/sessions/"+b.follow(t, link, "client_reference_id=a%20b"), "")
	require.Empty(t, bad.Get("client_reference_id").String())
	id := b.follow(t, link, "client_reference_id=ANNA10")
	page := text(t, b.url+"/c/pay/"+id+"?promotion_code=ANNA10&email=eve@example.com")
	for _, want := range []string{"20.00 USD", `value="eve@example.com"`, `value="ANNA10"`, "Subscribe"} {
		require.Contains(t, page, want)
	}
	require.Equal(t, "Your card was declined.", pay(t, b.url+"/c/pay/"+id, "email", "eve@example.com", "card", "4000 0000 0000 0002").Query().Get("problem"))
	require.Equal(t, "Enter your email address.", pay(t, b.url+"/c/pay/"+id, "email", "").Query().Get("problem"))
	require.Equal(t, "/c/pay/"+id, pay(t, b.url+"/c/pay/"+id, "email", "eve@example.com", "promotion_code", "anna10", "card", "4242 4242 4242 4242").Path)
	s := b.must(t, "GET", "/v1/checkout/sessions/"+id, "expand[]=subscription&expand[]=invoice&expand[]=discounts.promotion_code")
	require.Equal(t, []string{"ANNA10", "ANNA10", "complete", "paid", "b", "d", link, "1800"}, []string{
		s.Get("client_reference_id").String(), s.Get("discounts.0.promotion_code.code").String(), s.Get("status").String(), s.Get("payment_status").String(),
		s.Get("metadata.a").String(), s.Get("subscription.metadata.c").String(), s.Get("payment_link").String(), s.Get("invoice.amount_paid").String(),
	})
	require.Len(t, b.State().Customers, 1)
	require.Contains(t, text(t, b.url+"/c/pay/"+id), "Your payment was received")
	require.Equal(t, "This session is complete.", pay(t, b.url+"/c/pay/"+id, "email", "eve@example.com").Query().Get("problem"))
	require.Contains(t, text(t, b.url+"/p/none"), "not active")
}

// A promotion code is accepted in any case of its letters while it and its coupon are
// valid.
func TestPromotionCodes(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	price := b.monthly(t, 2000, "usd")
	coupon := b.must(t, "POST", "/v1/coupons", "percent_off=50&duration=once").Get("id").String()
	code := func(text, params string) string {
		return b.must(t, "POST", "/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]="+coupon+"&code="+text+"&"+params).Get("id").String()
	}
	try := func(customer, text string) string {
		t.Helper()
		session := b.must(t, "POST", "/v1/checkout/sessions", "mode=subscription&success_url=http://127.0.0.1/&allow_promotion_codes=true&line_items[0][price]="+price+"&line_items[0][quantity]=1&"+customer)
		return pay(t, session.Get("url").String(), "email", "a@example.com", "promotion_code", text).Query().Get("problem")
	}
	once := code("ONCE", "max_redemptions=1")
	require.Empty(t, try("", "once"))
	require.Equal(t, "This code is invalid.", try("", "ONCE"))
	require.Equal(t, []any{false, int64(1)}, []any{b.must(t, "GET", "/v1/promotion_codes/"+once, "").Get("active").Bool(), b.must(t, "GET", "/v1/promotion_codes/"+once, "").Get("times_redeemed").Int()})

	status, _ := b.do(t, "POST", "/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]="+coupon+"&code=a_b")
	require.Equal(t, http.StatusBadRequest, status)
	first := code("FIRST", "")
	status, answer := b.do(t, "POST", "/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]="+coupon+"&code=first")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer.Get("error.message").String(), "already exists")
	require.Empty(t, try("customer="+b.payer(t, ""), "FIRST"))
	b.must(t, "POST", "/v1/promotion_codes/"+first, "active=false")
	require.Equal(t, "This code is invalid.", try("", "FIRST"))
	// A code that is inactive leaves its text to another.
	code("FIRST", "")
	require.Empty(t, try("", "FIRST"))
	b.must(t, "DELETE", "/v1/coupons/"+coupon, "")
	require.Contains(t, try("", "FIRST"), "not active")
	require.Len(t, b.must(t, "GET", "/v1/promotion_codes", "code=fIrSt").Get("data").Array(), 2)
}

// A one-off order has tax and shipping beside its amount, and a guest has no customer.
func TestCheckout_Payment(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	in := b.listen(t, "checkout.session.completed", "checkout.session.expired", "customer.created")
	price := b.must(t, "POST", "/v1/prices", "product_data[name]=Cup&currency=usd&unit_amount=1000").Get("id").String()
	const post = "shipping_options[0][shipping_rate_data][display_name]=Post&shipping_options[0][shipping_rate_data][type]=fixed_amount" +
		"&shipping_options[0][shipping_rate_data][fixed_amount][amount]=500&shipping_options[0][shipping_rate_data][fixed_amount][currency]=usd"
	b.promotion(t, "ANNA10", 10)
	order := func(params string) string {
		return b.must(t, "POST", "/v1/checkout/sessions", "mode=payment&success_url=http://127.0.0.1/&allow_promotion_codes=true&line_items[0][price]="+price+"&line_items[0][quantity]=3&"+params).Get("id").String()
	}
	id := order(post + "&automatic_tax[enabled]=true&payment_intent_data[metadata][order]=7")
	pay(t, b.url+"/c/pay/"+id, "email", "guest@example.com", "promotion_code", "ANNA10")
	s := b.must(t, "GET", "/v1/checkout/sessions/"+id, "expand[]=payment_intent")
	require.Equal(t, []int64{3000, 300, 270, 500, 3470, 3470}, []int64{
		s.Get("amount_subtotal").Int(), s.Get("total_details.amount_discount").Int(), s.Get("total_details.amount_tax").Int(), s.Get("total_details.amount_shipping").Int(),
		s.Get("amount_total").Int(), s.Get("payment_intent.amount_received").Int(),
	})
	require.Equal(t, "7", s.Get("payment_intent.metadata.order").String())
	require.Equal(t, []string{"", "guest@example.com"}, []string{s.Get("customer").String(), s.Get("customer_details.email").String()})
	require.Empty(t, b.State().Customers)
	id = order("customer_creation=always")
	pay(t, b.url+"/c/pay/"+id, "email", "member@example.com")
	require.Len(t, b.State().Customers, 1)
	left := order("")
	b.advance(t, "25h")
	require.Equal(t, "expired", b.must(t, "GET", "/v1/checkout/sessions/"+left, "").Get("status").String())
	require.Equal(t, "This session is expired.", pay(t, b.url+"/c/pay/"+left, "email", "a@example.com").Query().Get("problem"))
	b.Flush(t.Context())
	require.Equal(t, []string{"checkout.session.completed", "customer.created", "checkout.session.completed", "checkout.session.expired"}, in.take())
}
