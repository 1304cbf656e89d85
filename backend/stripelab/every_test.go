package stripelab_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/stripelab"
)

// do makes a call with parameters such as "amount=5&currency=usd", and returns the status
// and the answer.
func (b bundle) do(t testing.TB, method, path, params string, headers ...string) (int, gjson.Result) {
	t.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(params)
	} else if params != "" {
		path += "?" + params
	}
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+stripelab.SecretKey)
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := own.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.True(t, json.Valid(text), string(text))
	return answer.StatusCode, gjson.ParseBytes(text)
}

// must makes a call that must succeed.
func (b bundle) must(t testing.TB, method, path, params string) gjson.Result {
	t.Helper()
	status, answer := b.do(t, method, path, params)
	require.Equal(t, http.StatusOK, status, "%s %s: %s", method, path, answer)
	return answer
}

// Every call that the lab has answers in the shape of the published document, and has only
// parameters that the document has.
func TestCalls_AllInTheDocument(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	made := map[string]bool{}
	ids := map[string]string{}
	// A path names the call, with ids as names of earlier answers in braces.
	call := func(name, params string) gjson.Result {
		t.Helper()
		method, pattern, _ := strings.Cut(name, " ")
		path := "/v1/" + pattern
		route := "/v1"
		for part := range strings.SplitSeq(pattern, "/") {
			if strings.HasPrefix(part, "{") {
				part = "{id}"
			}
			route += "/" + part
		}
		made[method+" "+route] = true
		for name, id := range ids {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
			params = strings.ReplaceAll(params, "{"+name+"}", id)
		}
		return b.must(t, method, path, params)
	}
	// keep makes a call and keeps the id of its answer.
	keep := func(as, name, params string) gjson.Result {
		t.Helper()
		answer := call(name, params)
		ids[as] = answer.Get("id").String()
		return answer
	}
	call("GET account", "")
	keep("we", "POST webhook_endpoints", "url=http://127.0.0.1:9/x&enabled_events[]=*&api_version="+stripelab.Version+"&description=d&metadata[a]=b")
	call("GET webhook_endpoints", "limit=3")
	call("GET webhook_endpoints/{we}", "")
	call("POST webhook_endpoints/{we}", "disabled=true&enabled_events[]=invoice.paid&url=http://127.0.0.1:9/y")

	keep("month", "POST prices", "product_data[name]=Tea&currency=usd&unit_amount=2000&recurring[interval]=month")
	keep("dear", "POST prices", "product_data[name]=Coffee&currency=usd&unit_amount=5000&recurring[interval]=month&metadata[a]=b")
	keep("once", "POST prices", "product_data[name]=Cup&currency=usd&unit_amount=700")
	keep("cpn", "POST coupons", "percent_off=12.5&duration=repeating&duration_in_months=3&name=Friend&max_redemptions=50&metadata[program]=p")
	keep("off", "POST coupons", "id=OFF5&amount_off=500&currency=usd&duration=once")
	call("GET coupons/{cpn}", "")
	call("POST coupons/{cpn}", "name=Friends")
	keep("promo", "POST promotion_codes", "promotion[type]=coupon&promotion[coupon]={cpn}&code=ANNA-10&max_redemptions=9")
	call("GET promotion_codes", "code=anna-10&active=true&expand[]=data.promotion.coupon")
	call("GET promotion_codes/{promo}", "expand[]=promotion.coupon")
	call("POST promotion_codes/{promo}", "metadata[a]=b&active=true")

	keep("cus", "POST customers", "email=bob@example.com&name=Bob&payment_method=pm_card_visa&invoice_settings[default_payment_method]=pm_card_visa")
	call("GET customers", "created[gte]=1")
	call("POST customers/{cus}", "metadata[kith_user]=bob")
	call("GET customers/{cus}", "expand[]=invoice_settings.default_payment_method")

	keep("sub", "POST subscriptions", "customer={cus}&items[0][price]={month}&items[0][quantity]=2&discounts[0][promotion_code]={promo}&automatic_tax[enabled]=true&trial_period_days=3"+
		"&payment_behavior=error_if_incomplete&metadata[a]=b")
	b.advance(t, "3d")
	b.advance(t, "2h")
	sub := call("GET subscriptions/{sub}", "expand[]=discounts.promotion_code&expand[]=discounts.source.coupon&expand[]=latest_invoice.payments&expand[]=customer")
	require.Equal(t, "active", sub.Get("status").String())
	ids["in"], ids["item"] = sub.Get("latest_invoice.id").String(), sub.Get("items.data.0.id").String()
	ids["pi"] = sub.Get("latest_invoice.payments.data.0.payment.payment_intent").String()
	ids["di"] = sub.Get("discounts.0.id").String()
	call("GET subscriptions", "customer={cus}&status=all")
	call("POST subscriptions/{sub}", "items[0][id]={item}&items[0][price]={dear}&items[0][quantity]=1&proration_behavior=create_prorations&discounts[0][coupon]={off}&discounts[1][discount]={di}")
	call("POST subscriptions/{sub}", "pause_collection[behavior]=void&cancel_at_period_end=true")
	call("POST subscriptions/{sub}", "pause_collection=&cancel_at_period_end=false")
	keep("cbtxn", "POST customers/{cus}/balance_transactions", "amount=-1000&currency=usd&description=credit&metadata[kith]=c1")
	call("GET customers/{cus}/balance_transactions", "limit=5")
	call("POST invoices/create_preview", "subscription={sub}&expand[]=total_discount_amounts.discount")
	call("GET invoices", "subscription={sub}&status=paid&expand[]=data.payments&expand[]=data.total_discount_amounts.discount")
	call("GET invoices/{in}", "expand[]=customer")
	call("GET invoice_payments", "payment[type]=payment_intent&payment[payment_intent]={pi}&status=paid&expand[]=data.invoice")

	call("GET payment_intents", "customer={cus}&created[gte]=1")
	ids["ch"] = call("GET payment_intents/{pi}", "expand[]=latest_charge").Get("latest_charge.id").String()
	call("GET charges", "customer={cus}&payment_intent={pi}")
	call("GET charges/{ch}", "expand[]=customer&expand[]=payment_intent")
	keep("re", "POST refunds", "payment_intent={pi}&amount=100&reason=requested_by_customer&metadata[kith]=r")
	call("GET refunds", "payment_intent={pi}&expand[]=data.charge")
	call("POST refunds/{re}", "metadata[a]=b")
	b.control(t, "dispute", "charge", ids["ch"], "status", "open")
	ids["dp"] = call("GET disputes", "payment_intent={pi}").Get("data.0.id").String()
	call("GET disputes/{dp}", "expand[]=charge&expand[]=payment_intent")

	keep("cs", "POST checkout/sessions", "mode=payment&success_url=http://127.0.0.1/ok&cancel_url=http://127.0.0.1/&customer_creation=always&line_items[0][price]={once}&line_items[0][quantity]=2&metadata[code]=ANNA-10"+
		"&line_items[1][price_data][currency]=usd&line_items[1][price_data][unit_amount]=250&line_items[1][price_data][product_data][name]=Cup&line_items[1][quantity]=1"+
		"&shipping_options[0][shipping_rate_data][display_name]=Post&shipping_options[0][shipping_rate_data][type]=fixed_amount"+
		"&shipping_options[0][shipping_rate_data][fixed_amount][amount]=300&shipping_options[0][shipping_rate_data][fixed_amount][currency]=usd"+
		"&automatic_tax[enabled]=true&allow_promotion_codes=true&client_reference_id=ANNA-10&payment_intent_data[metadata][a]=b")
	b.control(t, "checkout", "session", ids["cs"], "email", "eve@example.com", "promotion_code", "anna-10")
	done := call("GET checkout/sessions/{cs}", "expand[]=payment_intent.latest_charge&expand[]=customer&expand[]=discounts.promotion_code")
	require.Equal(t, "paid", done.Get("payment_status").String())
	call("GET checkout/sessions", "payment_intent="+done.Get("payment_intent.id").String())
	call("POST checkout/sessions", "mode=subscription&success_url=http://127.0.0.1/ok&customer={cus}&line_items[0][price]={month}&line_items[0][quantity]=1&discounts[0][coupon]={cpn}"+
		"&subscription_data[trial_period_days]=7&subscription_data[metadata][a]=b")
	call("POST payment_links", "line_items[0][price]={month}&line_items[0][quantity]=1&allow_promotion_codes=true&metadata[a]=b&subscription_data[trial_period_days]=3")

	call("DELETE subscriptions/{sub}", "")
	call("DELETE coupons/{cpn}", "")
	call("DELETE customers/{cus}", "")
	require.True(t, call("GET customers/{cus}", "").Get("deleted").Bool())
	call("DELETE webhook_endpoints/{we}", "")
	call("GET events", "types[]=invoice.paid&types[]=charge.refunded&created[gte]=1&limit=100")
	for after, more := "", true; more; {
		page := call("GET events", url.Values{"limit": {"100"}, "starting_after": {after}}.Encode())
		data := page.Get("data").Array()
		after, more = data[len(data)-1].Get("id").String(), page.Get("has_more").Bool()
	}
	for _, name := range stripelab.Calls() {
		require.True(t, made[name], "%s is not called", name)
	}
}
