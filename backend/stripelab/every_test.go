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
		// The first record that a path names is {id}, and the second {sub}.
		route, n := "/v1", 0
		for part := range strings.SplitSeq(pattern, "/") {
			if strings.HasPrefix(part, "{") {
				part = []string{"{id}", "{sub}"}[n]
				n++
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
	call("GET balance", "")
	keep("we", "POST webhook_endpoints", "url=http://127.0.0.1:9/x&enabled_events[]=*&api_version="+stripelab.Version+"&description=d&metadata[a]=b")
	call("GET webhook_endpoints", "limit=3")
	call("GET webhook_endpoints/{we}", "")
	call("POST webhook_endpoints/{we}", "disabled=true&enabled_events[]=invoice.paid&url=http://127.0.0.1:9/y")

	keep("prod", "POST products", "name=Tea&description=green&images[]=https://example.com/i.png&default_price_data[currency]=usd&default_price_data[unit_amount]=500")
	call("GET products", "active=true&ids[]={prod}")
	call("GET products/{prod}", "expand[]=default_price")
	call("POST products/{prod}", "name=Tea2&metadata[x]=y")
	keep("month", "POST prices", "product={prod}&currency=usd&unit_amount=2000&recurring[interval]=month&nickname=n&lookup_key=k")
	keep("dear", "POST prices", "product={prod}&currency=usd&unit_amount=5000&recurring[interval]=month&tax_behavior=exclusive")
	keep("once", "POST prices", "product={prod}&currency=usd&unit_amount=700")
	call("GET prices", "active=true&lookup_keys[]=k&type=recurring&created[gte]=1&expand[]=data.product")
	call("GET prices/{month}", "expand[]=product")
	call("POST prices/{month}", "nickname=m&metadata[x]=")
	keep("empty", "POST products", "name=Empty")
	call("DELETE products/{empty}", "")

	keep("cpn", "POST coupons", "percent_off=12.5&duration=repeating&duration_in_months=3&name=Friend&max_redemptions=50&metadata[program]=p")
	keep("off", "POST coupons", "id=OFF5&amount_off=500&currency=usd&duration=once")
	call("GET coupons", "limit=1")
	call("GET coupons/{cpn}", "expand[]=applies_to")
	call("POST coupons/{cpn}", "name=Friends")
	keep("promo", "POST promotion_codes", "promotion[type]=coupon&promotion[coupon]={cpn}&code=ANNA-10&restrictions[first_time_transaction]=true&max_redemptions=9")
	call("GET promotion_codes", "code=anna-10&active=true&expand[]=data.promotion.coupon")
	call("GET promotion_codes/{promo}", "expand[]=promotion.coupon")
	call("POST promotion_codes/{promo}", "metadata[a]=b&active=true")
	keep("txr", "POST tax_rates", "display_name=VAT&inclusive=true&percentage=20")
	call("GET tax_rates", "active=true")
	call("GET tax_rates/{txr}", "")
	keep("shr", "POST shipping_rates", "display_name=Post&type=fixed_amount&fixed_amount[amount]=300&fixed_amount[currency]=usd")
	call("GET shipping_rates", "")
	call("GET shipping_rates/{shr}", "")

	keep("cus", "POST customers", "email=bob@example.com&name=Bob&payment_method=pm_card_visa&invoice_settings[default_payment_method]=pm_card_visa&address[city]=Ulm&preferred_locales[]=de")
	call("GET customers", "email=bob@example.com")
	call("POST customers/{cus}", "metadata[kith_user]=bob&description=x")
	keep("pm", "POST payment_methods", "type=card&card[token]=tok_mastercard")
	call("POST payment_methods/{pm}/attach", "customer={cus}")
	call("GET payment_methods/{pm}", "expand[]=customer")
	call("GET payment_methods", "customer={cus}&type=card")
	call("GET customers/{cus}/payment_methods", "")
	call("POST payment_methods/{pm}/detach", "")

	keep("sub", "POST subscriptions", "customer={cus}&items[0][price]={month}&items[0][quantity]=2&discounts[0][promotion_code]={promo}&default_tax_rates[]={txr}"+
		"&metadata[a]=b&expand[]=latest_invoice.payments&expand[]=discounts.source.coupon&expand[]=items.data.price.product")
	call("GET subscriptions", "customer={cus}&status=all&price={month}&expand[]=data.discounts")
	item := call("GET subscriptions/{sub}", "expand[]=customer&expand[]=latest_invoice.customer").Get("items.data.0.id").String()
	ids["si"] = item
	call("GET subscription_items", "subscription={sub}")
	call("POST subscriptions/{sub}", "items[0][id]={si}&items[0][price]={dear}&proration_behavior=create_prorations&cancel_at_period_end=false")
	preview := call("POST invoices/create_preview", "subscription={sub}&discounts=&expand[]=total_discount_amounts")
	require.Greater(t, preview.Get("total").Int(), int64(10000))
	call("POST invoices/create_preview", "subscription={sub}&discounts[0][coupon]={off}&subscription_details[items][0][id]={si}&subscription_details[items][0][price]={month}")
	call("DELETE subscriptions/{sub}/discount", "")

	keep("cbtxn", "POST customers/{cus}/balance_transactions", "amount=-1000&currency=usd&description=credit&metadata[kith]=c1")
	call("GET customers/{cus}/balance_transactions", "limit=100")
	call("GET customers/{cus}/balance_transactions/{cbtxn}", "expand[]=customer")
	call("POST customers/{cus}/balance_transactions/{cbtxn}", "description=d2&metadata[a]=b")
	call("GET customers/{cus}", "expand[]=subscriptions&expand[]=invoice_settings.default_payment_method")
	b.advance(t, "1m")
	b.advance(t, "1h")
	paid := call("GET invoices", "customer={cus}&status=paid&subscription={sub}&expand[]=data.payments&expand[]=data.discounts")
	ids["in"] = paid.Get("data.0.id").String()
	ids["inpay"] = paid.Get("data.0.payments.data.0.id").String()
	ids["pi"] = paid.Get("data.0.payments.data.0.payment.payment_intent").String()
	call("GET invoices/{in}", "expand[]=parent.subscription_details.subscription&expand[]=customer")
	call("POST invoices/{in}", "description=d")
	call("GET invoices/{in}/lines", "limit=2")
	call("GET invoice_payments", "invoice={in}&payment[type]=payment_intent&payment[payment_intent]={pi}")
	call("GET invoice_payments/{inpay}", "expand[]=invoice")

	keep("ii", "POST invoiceitems", "customer={cus}&amount=900&currency=usd&description=extra&discountable=false")
	keep("ii2", "POST invoiceitems", "customer={cus}&pricing[price]={once}&quantity=3")
	call("GET invoiceitems", "pending=true&customer={cus}")
	call("GET invoiceitems/{ii}", "")
	call("DELETE invoiceitems/{ii}", "")
	keep("manual", "POST invoices", "customer={cus}&pending_invoice_items_behavior=include&discounts[0][coupon]={off}&shipping_cost[shipping_rate]={shr}&automatic_tax[enabled]=true&description=x")
	call("POST invoices/{manual}/finalize", "expand[]=discounts")
	call("POST invoices/{manual}/pay", "")
	keep("ii3", "POST invoiceitems", "customer={cus}&amount=900&currency=usd")
	keep("void", "POST invoices", "customer={cus}&pending_invoice_items_behavior=include&auto_advance=false")
	call("POST invoices/{void}/finalize", "")
	call("POST invoices/{void}/void", "")

	call("GET payment_intents", "customer={cus}&created[gt]=1")
	ch := call("GET payment_intents/{pi}", "expand[]=latest_charge").Get("latest_charge.id").String()
	ids["ch"] = ch
	call("POST payment_intents/{pi}", "metadata[a]=b&description=d")
	keep("pi2", "POST payment_intents", "amount=800&currency=usd&customer={cus}")
	call("POST payment_intents/{pi2}/confirm", "payment_method=pm_card_visa&off_session=true")
	keep("pi3", "POST payment_intents", "amount=800&currency=usd")
	call("POST payment_intents/{pi3}/cancel", "cancellation_reason=duplicate")
	keep("pi4", "POST payment_intents", "amount=900&currency=usd&confirm=true&payment_method=pm_card_createDispute&automatic_payment_methods[enabled]=true")
	call("GET charges", "customer={cus}&payment_intent={pi2}")
	call("GET charges/{ch}", "expand[]=refunds&expand[]=customer&expand[]=payment_intent")
	call("POST charges/{ch}", "description=d&metadata[a]=b")
	keep("re", "POST refunds", "payment_intent={pi}&amount=100&reason=requested_by_customer&metadata[kith]=r")
	call("GET refunds", "payment_intent={pi}&expand[]=data.charge")
	call("GET refunds/{re}", "")
	call("POST refunds/{re}", "metadata[a]=b")
	ids["dp"] = call("GET disputes", "payment_intent={pi4}").Get("data.0.id").String()
	call("GET disputes/{dp}", "expand[]=charge&expand[]=payment_intent")
	call("POST disputes/{dp}", "metadata[a]=b")
	call("POST disputes/{dp}/close", "")

	keep("cs", "POST checkout/sessions", "mode=payment&success_url=http://127.0.0.1/ok&customer_creation=always&line_items[0][price]={once}&line_items[0][quantity]=2&metadata[code]=ANNA-10"+
		"&line_items[1][price_data][currency]=usd&line_items[1][price_data][unit_amount]=250&line_items[1][price_data][product_data][name]=Cup&line_items[1][quantity]=1"+
		"&shipping_options[0][shipping_rate]={shr}&automatic_tax[enabled]=true&allow_promotion_codes=true&client_reference_id=ANNA-10&payment_intent_data[metadata][a]=b&invoice_creation[enabled]=true&expand[]=line_items")
	b.control(t, "checkout", "session", ids["cs"], "email", "eve@example.com", "promotion_code", "anna-10")
	done := call("GET checkout/sessions/{cs}", "expand[]=payment_intent.latest_charge&expand[]=invoice&expand[]=customer&expand[]=discounts.promotion_code&expand[]=line_items")
	require.Equal(t, "paid", done.Get("payment_status").String())
	call("GET checkout/sessions", "payment_intent="+done.Get("payment_intent.id").String())
	call("GET checkout/sessions/{cs}/line_items", "limit=1")
	call("POST checkout/sessions/{cs}", "metadata[a]=b")
	keep("cs2", "POST checkout/sessions", "mode=subscription&success_url=http://127.0.0.1/ok&customer={cus}&line_items[0][price]={month}&line_items[0][quantity]=1&discounts[0][coupon]={cpn}"+
		"&subscription_data[trial_period_days]=7&subscription_data[metadata][a]=b&subscription_data[default_tax_rates][]={txr}&payment_method_collection=always")
	call("POST checkout/sessions/{cs2}/expire", "")
	keep("plink", "POST payment_links", "line_items[0][price]={month}&line_items[0][quantity]=1&allow_promotion_codes=true&metadata[a]=b&subscription_data[trial_period_days]=3"+
		"&after_completion[type]=redirect&after_completion[redirect][url]=https://example.com/thanks")
	call("GET payment_links", "active=true")
	call("GET payment_links/{plink}", "expand[]=line_items")
	call("GET payment_links/{plink}/line_items", "")
	call("POST payment_links/{plink}", "active=true&metadata[b]=c")

	keep("clock", "POST test_helpers/test_clocks", "frozen_time=1767261600&name=n")
	keep("frozen", "POST customers", "test_clock={clock}&source=tok_visa")
	keep("fsub", "POST subscriptions", "customer={frozen}&items[0][price]={month}&trial_period_days=7")
	call("POST test_helpers/test_clocks/{clock}/advance", "frozen_time=1770026400")
	require.Equal(t, "ready", call("GET test_helpers/test_clocks/{clock}", "").Get("status").String())
	call("GET test_helpers/test_clocks", "")
	require.Equal(t, "active", call("GET subscriptions/{fsub}", "expand[]=test_clock").Get("status").String())
	call("DELETE test_helpers/test_clocks/{clock}", "")

	call("DELETE subscriptions/{sub}", "prorate=true&invoice_now=true")
	call("DELETE coupons/{cpn}", "")
	call("DELETE customers/{cus}", "")
	require.True(t, call("GET customers/{cus}", "").Get("deleted").Bool())
	call("DELETE webhook_endpoints/{we}", "")
	events := call("GET events", "types[]=invoice.paid&types[]=charge.refunded&created[gte]=1&limit=100")
	ids["evt"] = events.Get("data.0.id").String()
	call("GET events/{evt}", "")
	for after, more := "", true; more; {
		page := call("GET events", url.Values{"limit": {"100"}, "starting_after": {after}}.Encode())
		data := page.Get("data").Array()
		after, more = data[len(data)-1].Get("id").String(), page.Get("has_more").Bool()
	}
	for _, name := range stripelab.Calls() {
		require.True(t, made[name], "%s is not called", name)
	}
}
