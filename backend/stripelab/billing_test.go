package stripelab_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/stripelab"
)

// monthly creates a product with a monthly price, and returns the price.
func (b bundle) monthly(t testing.TB, amount int64, currency string) string {
	t.Helper()
	return b.must(t, "POST", "/v1/prices", fmt.Sprintf("product_data[name]=Plan&currency=%s&unit_amount=%d&recurring[interval]=month", currency, amount)).Get("id").String()
}

// payer creates a customer with a card.
func (b bundle) payer(t testing.TB, params string) string {
	t.Helper()
	return b.must(t, "POST", "/v1/customers", "email=a@example.com&invoice_settings[default_payment_method]=pm_card_visa&"+params).Get("id").String()
}

func (b bundle) subscribe(t testing.TB, customer, price, params string) gjson.Result {
	t.Helper()
	return b.must(t, "POST", "/v1/subscriptions", "customer="+customer+"&items[0][price]="+price+"&"+params)
}

func (b bundle) sub(t testing.TB, id string) gjson.Result {
	t.Helper()
	return b.must(t, "GET", "/v1/subscriptions/"+id, "expand[]=latest_invoice.payments")
}

// invoices returns a value of each invoice of a subscription, newest first.
func (b bundle) invoices(t testing.TB, subscription, path string) (all []string) {
	t.Helper()
	for _, one := range b.must(t, "GET", "/v1/invoices", "subscription="+subscription+"&limit=100").Get("data").Array() {
		all = append(all, one.Get(path).String())
	}
	return all
}

// next advances to the next period, and past the hour of the draft.
func (b bundle) next(t testing.TB) {
	t.Helper()
	b.advance(t, "1m")
	b.advance(t, "2h")
}

// A period ends on the day of the month on which the subscription began, or on the last.
func TestBilling_EndOfMonth(t *testing.T) {
	t.Parallel()
	b := newLabWith(t, stripelab.Options{Now: func() time.Time { return time.Date(2026, time.January, 31, 10, 0, 0, 0, time.UTC) }})
	s := b.subscribe(t, b.payer(t, ""), b.monthly(t, 1000, "usd"), "")
	var ends []string
	for range 4 {
		end := b.sub(t, s.Get("id").String()).Get("items.data.0.current_period_end").Int()
		ends = append(ends, time.Unix(end, 0).UTC().Format(time.DateOnly))
		b.control(t, "advance", "to", time.Unix(end, 0).UTC().Format(time.RFC3339))
	}
	require.Equal(t, []string{"2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"}, ends)
}

// An invoice that cannot be charged is tried again after 3, 5 and 7 days; meanwhile the
// subscription is past due, and after the last attempt it is canceled.
func TestBilling_FailureUntilCanceled(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	customer := b.payer(t, "")
	id := b.subscribe(t, customer, b.monthly(t, 1000, "usd"), "").Get("id").String()
	in := b.listen(t, "invoice.payment_failed", "customer.subscription.updated", "customer.subscription.deleted", "invoice.paid")
	b.control(t, "decline", "customer", customer, "on", "true")
	b.next(t)
	b.Flush(t.Context())
	require.Equal(t, []string{"customer.subscription.updated", "invoice.payment_failed", "customer.subscription.updated"}, in.take())
	s := b.sub(t, id)
	require.Equal(t, []any{"past_due", "open", int64(1)}, []any{s.Get("status").String(), s.Get("latest_invoice.status").String(), s.Get("latest_invoice.attempt_count").Int()})
	require.NotZero(t, s.Get("latest_invoice.next_payment_attempt").Int())
	for _, days := range []string{"3d", "5d"} {
		b.advance(t, days)
		b.Flush(t.Context())
		require.Equal(t, []string{"invoice.payment_failed"}, in.take())
		require.Equal(t, "past_due", b.sub(t, id).Get("status").String())
	}
	b.advance(t, "7d")
	b.Flush(t.Context())
	require.Equal(t, []string{"invoice.payment_failed", "customer.subscription.deleted"}, in.take())
	s = b.sub(t, id)
	require.Equal(t, []string{"canceled", "payment_failed"}, []string{s.Get("status").String(), s.Get("cancellation_details.reason").String()})
	b.advance(t, "2m")
	require.Len(t, b.invoices(t, id, "id"), 2)
}

// A past due subscription is active again as soon as its invoice is paid. With other settings
// it ends unpaid.
func TestBilling_FailureAndBack(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	customer := b.payer(t, "")
	id := b.subscribe(t, customer, b.monthly(t, 1000, "usd"), "").Get("id").String()
	b.control(t, "decline", "customer", customer, "on", "true")
	b.next(t)
	b.control(t, "decline", "customer", customer, "on", "false")
	b.advance(t, "3d")
	require.Equal(t, "active", b.sub(t, id).Get("status").String())

	b.control(t, "decline", "customer", customer, "on", "true")
	b.control(t, "settings", "retry_days", "1", "after_retries", "unpaid", "draft", "0s")
	b.advance(t, "1m")
	b.advance(t, "1d")
	require.Equal(t, "unpaid", b.sub(t, id).Get("status").String())
}

// The first payment decides: a declined one leaves a subscription incomplete for 23 hours,
// or refuses it.
func TestBilling_FirstPaymentFails(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	customer := b.must(t, "POST", "/v1/customers", "invoice_settings[default_payment_method]=pm_card_chargeCustomerFail").Get("id").String()
	price := b.monthly(t, 1000, "usd")
	status, answer := b.do(t, "POST", "/v1/subscriptions", "customer="+customer+"&items[0][price]="+price+"&payment_behavior=error_if_incomplete")
	require.Equal(t, []any{http.StatusPaymentRequired, "card_error"}, []any{status, answer.Get("error.type").String()})
	id := b.subscribe(t, customer, price, "").Get("id").String()
	require.Equal(t, "incomplete", b.sub(t, id).Get("status").String())
	b.advance(t, "24h")
	require.Equal(t, []string{"incomplete_expired", "void"}, []string{b.sub(t, id).Get("status").String(), b.sub(t, id).Get("latest_invoice.status").String()})
	status, answer = b.do(t, "POST", "/v1/subscriptions", "customer="+b.must(t, "POST", "/v1/customers", "").Get("id").String()+"&items[0][price]="+price)
	require.Equal(t, []any{http.StatusBadRequest, "resource_missing"}, []any{status, answer.Get("error.code").String()})
}

// Discounts end as their coupons say: after one invoice with an amount, after some months,
// or never. A discount that is put on a running subscription applies to the next invoice.
func TestBilling_Discounts(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	price := b.monthly(t, 1000, "usd")
	for _, one := range []struct {
		coupon, trial string
		want          []string
	}{
		{"percent_off=10&duration=once", "", []string{"1000", "1000", "900"}},
		{"percent_off=10&duration=once", "trial_period_days=3", []string{"1000", "1000", "900", "0"}},
		{"percent_off=10&duration=repeating&duration_in_months=2", "", []string{"1000", "900", "900"}},
		{"amount_off=2500&currency=usd&duration=forever", "", []string{"0", "0", "0"}},
		{"percent_off=33.3&duration=forever", "", []string{"667", "667", "667"}},
	} {
		coupon := b.must(t, "POST", "/v1/coupons", one.coupon).Get("id").String()
		id := b.subscribe(t, b.payer(t, ""), price, "discounts[0][coupon]="+coupon+"&"+one.trial).Get("id").String()
		if one.trial != "" {
			b.advance(t, "3d")
			b.advance(t, "2h")
		}
		b.next(t)
		b.next(t)
		require.Equal(t, one.want, b.invoices(t, id, "amount_paid"), one.coupon)
	}
	id := b.subscribe(t, b.payer(t, ""), price, "").Get("id").String()
	for _, amount := range []int64{300, 400} {
		coupon := b.must(t, "POST", "/v1/coupons", fmt.Sprintf("amount_off=%d&currency=usd&duration=once", amount)).Get("id").String()
		b.must(t, "POST", "/v1/subscriptions/"+id, "discounts[0][coupon]="+coupon)
		require.Equal(t, 1000-amount, b.must(t, "POST", "/v1/invoices/create_preview", "subscription="+id).Get("amount_due").Int())
	}
	b.next(t)
	b.next(t)
	require.Equal(t, []string{"1000", "600", "1000"}, b.invoices(t, id, "amount_paid"))
	require.Empty(t, b.sub(t, id).Get("discounts").Array())
}

// A change of the plan in the middle of a period is prorated with the next invoice, or not at
// all. A change of the interval is refused.
func TestBilling_Proration(t *testing.T) {
	t.Parallel()
	for behavior, want := range map[string]string{"create_prorations": "7500", "none": "6000"} {
		// April has 30 days.
		b := newLabWith(t, stripelab.Options{Now: func() time.Time { return time.Date(2026, time.April, 1, 0, 0, 0, 0, time.UTC) }})
		s := b.subscribe(t, b.payer(t, ""), b.monthly(t, 3000, "usd"), "")
		id, item := s.Get("id").String(), "items[0][id]="+s.Get("items.data.0.id").String()
		b.advance(t, "15d")
		b.must(t, "POST", "/v1/subscriptions/"+id, item+"&items[0][price]="+b.monthly(t, 6000, "usd")+"&proration_behavior="+behavior)
		b.advance(t, "15d")
		b.advance(t, "2h")
		require.Equal(t, []string{want, "3000"}, b.invoices(t, id, "amount_paid"))

		yearly := b.must(t, "POST", "/v1/prices", "product_data[name]=Year&currency=usd&unit_amount=30000&recurring[interval]=year").Get("id").String()
		status, answer := b.do(t, "POST", "/v1/subscriptions/"+id, item+"&items[0][price]="+yearly)
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, answer.Get("error.message").String(), "recurring.interval")
	}
}

// Credit is applied to the next invoice, what is left of it to the one after. An amount
// that is too small to be charged waits for the next invoice.
func TestBilling_Balance(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	customer := b.payer(t, "")
	id := b.subscribe(t, customer, b.monthly(t, 1000, "usd"), "").Get("id").String()
	add := func(amount int) {
		b.must(t, "POST", "/v1/customers/"+customer+"/balance_transactions", fmt.Sprintf("amount=%d&currency=usd", amount))
	}
	add(-1200)
	b.next(t)
	b.next(t)
	require.Equal(t, []string{"800", "0", "1000"}, b.invoices(t, id, "amount_paid"))
	require.Equal(t, []string{"-200", "-1200", "0"}, b.invoices(t, id, "starting_balance"))
	require.Equal(t, []string{"0", "-200", "0"}, b.invoices(t, id, "ending_balance"))
	add(-970)
	b.next(t)
	require.Equal(t, []string{"0", "30"}, []string{b.invoices(t, id, "amount_paid")[0], b.invoices(t, id, "ending_balance")[0]})
	b.next(t)
	require.Equal(t, "1030", b.invoices(t, id, "amount_paid")[0])
	var kinds []string
	for _, one := range b.must(t, "GET", "/v1/customers/"+customer+"/balance_transactions", "").Get("data").Array() {
		kinds = append(kinds, one.Get("type").String()+" "+one.Get("amount").String()+" "+one.Get("ending_balance").String())
	}
	require.Equal(t, []string{
		"applied_to_invoice -30 0", "invoice_too_small 30 30", "applied_to_invoice 970 0", "adjustment -970 -970", "applied_to_invoice 200 0", "applied_to_invoice 1000 -200", "adjustment -1200 -1200",
	}, kinds)
	status, _ := b.do(t, "POST", "/v1/customers/"+customer+"/balance_transactions", "amount=-5&currency=eur")
	require.Equal(t, http.StatusBadRequest, status)
}

// Amounts are in minor units: yen have none, and dinars end in 0.
func TestBilling_Currencies(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	coupon := b.must(t, "POST", "/v1/coupons", "percent_off=12.5&duration=forever").Get("id").String()
	for currency, want := range map[string]struct{ price, paid int64 }{"jpy": {999, 874}, "kwd": {5130, 4490}, "usd": {999, 874}, "isk": {500000, 437500}} {
		id := b.subscribe(t, b.payer(t, ""), b.monthly(t, want.price, currency), "discounts[0][coupon]="+coupon).Get("id").String()
		require.Equal(t, []string{fmt.Sprint(want.paid)}, b.invoices(t, id, "amount_paid"), currency)
	}
	status, answer := b.do(t, "POST", "/v1/prices", "product_data[name]=x&currency=kwd&unit_amount=5124")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer.Get("error.message").String(), "multiples of 10")
	dollars := b.must(t, "POST", "/v1/coupons", "amount_off=100&currency=usd&duration=once").Get("id").String()
	status, _ = b.do(t, "POST", "/v1/subscriptions", "customer="+b.payer(t, "")+"&items[0][price]="+b.monthly(t, 1000, "jpy")+"&discounts[0][coupon]="+dollars)
	require.Equal(t, http.StatusBadRequest, status)
}

// Tax is added to the price after the discount.
func TestBilling_Tax(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	coupon := b.must(t, "POST", "/v1/coupons", "percent_off=10&duration=forever").Get("id").String()
	for percent, want := range map[string][]int64{"20": {1080, 180, 900}, "7": {963, 63, 900}} {
		b.control(t, "settings", "tax_percent", percent)
		in := b.sub(t, b.subscribe(t, b.payer(t, ""), b.monthly(t, 1000, "eur"), "discounts[0][coupon]="+coupon+"&automatic_tax[enabled]=true").Get("id").String()).Get("latest_invoice")
		require.Equal(t, want, []int64{in.Get("amount_paid").Int(), in.Get("total_taxes.0.amount").Int(), in.Get("total_excluding_tax").Int()}, percent)
	}
}

// Subscriptions of one customer are billed each for itself, and end at once or at the
// end of the period.
func TestBilling_SeveralAndEnds(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	customer, price := b.payer(t, ""), b.monthly(t, 1000, "usd")
	one, two := b.subscribe(t, customer, price, "").Get("id").String(), b.subscribe(t, customer, price, "").Get("id").String()
	b.must(t, "POST", "/v1/subscriptions/"+one, "cancel_at_period_end=true")
	b.advance(t, "10d")
	require.Equal(t, []string{"active", "active"}, []string{b.sub(t, one).Get("status").String(), b.sub(t, two).Get("status").String()})
	b.next(t)
	require.Equal(t, "canceled", b.sub(t, one).Get("status").String())
	require.Len(t, b.invoices(t, one, "id"), 1)
	require.Len(t, b.invoices(t, two, "id"), 2)
	b.must(t, "DELETE", "/v1/subscriptions/"+two, "")
	require.Empty(t, b.must(t, "GET", "/v1/subscriptions", "customer="+customer).Get("data").Array())
	require.Len(t, b.must(t, "GET", "/v1/subscriptions", "status=canceled&customer="+customer).Get("data").Array(), 2)
	status, answer := b.do(t, "POST", "/v1/invoices/create_preview", "subscription="+two)
	require.Equal(t, []any{404, "invoice_upcoming_none"}, []any{status, answer.Get("error.code").String()})
}

// A charge is refunded in parts up to its amount, and not while it is disputed.
func TestRefundsAndDisputes(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	in := b.listen(t, "charge.refunded", "charge.dispute.created", "charge.dispute.closed", "charge.dispute.funds_reinstated")
	s := b.sub(t, b.subscribe(t, b.payer(t, ""), b.monthly(t, 1000, "usd"), "").Get("id").String())
	intent := s.Get("latest_invoice.payments.data.0.payment.payment_intent").String()
	charge := b.must(t, "GET", "/v1/payment_intents/"+intent, "").Get("latest_charge").String()
	refund := func(amount string) (int, string) {
		status, answer := b.do(t, "POST", "/v1/refunds", "payment_intent="+intent+amount)
		return status, answer.Get("error.code").String()
	}
	status, _ := refund("&amount=400")
	require.Equal(t, http.StatusOK, status)
	status, _ = refund("&amount=601")
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, []any{int64(400), false}, []any{b.must(t, "GET", "/v1/charges/"+charge, "").Get("amount_refunded").Int(), b.must(t, "GET", "/v1/charges/"+charge, "").Get("refunded").Bool()})

	b.control(t, "dispute", "charge", charge, "status", "open")
	_, code := refund("")
	require.Equal(t, "charge_disputed", code)
	b.control(t, "dispute", "charge", charge, "status", "won")
	status, _ = refund("")
	require.Equal(t, http.StatusOK, status)
	_, code = refund("")
	require.Equal(t, "charge_already_refunded", code)
	b.Flush(t.Context())
	require.Equal(t, []string{"charge.refunded", "charge.dispute.created", "charge.dispute.closed", "charge.dispute.funds_reinstated", "charge.refunded"}, in.take())

	b.next(t)
	intent = b.sub(t, s.Get("id").String()).Get("latest_invoice.payments.data.0.payment.payment_intent").String()
	charge = b.must(t, "GET", "/v1/payment_intents/"+intent, "").Get("latest_charge").String()
	b.control(t, "dispute", "charge", charge, "status", "open")
	b.control(t, "dispute", "charge", charge, "status", "lost")
	require.Equal(t, "lost", b.must(t, "GET", "/v1/disputes", "charge="+charge).Get("data.0.status").String())
	status, _ = b.tryControl(t, "dispute", "charge", charge, "status", "won")
	require.Equal(t, http.StatusBadRequest, status)
}

// A bill that a customer pays by hand is refused, and leaves nothing.
func TestBilling_SendInvoiceIsRefused(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	price, customer := b.monthly(t, 1800, "usd"), b.payer(t, "")
	status, answer := b.do(t, "POST", "/v1/subscriptions", "customer="+customer+"&collection_method=send_invoice&items[0][price]="+price)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, []string{"invalid_request_error", "collection_method", "The lab only charges automatically: send charge_automatically, or leave collection_method out."},
		[]string{answer.Get("error.type").String(), answer.Get("error.param").String(), answer.Get("error.message").String()})
	require.Empty(t, b.must(t, "GET", "/v1/subscriptions", "customer="+customer).Get("data").Array())
	require.Equal(t, "charge_automatically", b.subscribe(t, customer, price, "collection_method=charge_automatically").Get("collection_method").String())
}
