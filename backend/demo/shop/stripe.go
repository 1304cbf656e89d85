package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stripe is the shop's account at Stripe, which is the Stripe lab. Its key is public.
type Stripe struct {
	// URL is the base URL of the lab. Without it, the shop takes no payments.
	URL string
	Key string
}

// stripeAccount calls Stripe for one page, as a merchant does, and records the calls.
type stripeAccount struct {
	Stripe
	*recorder
}

var errNoStripe = &refusal{"The demo shop cannot take payments: the Stripe lab is off. Start kith dev without KITH_STRIPE_LAB_ADDR=off."}

// stripe returns Stripe for this page.
func (v *visit) stripe() stripeAccount { return stripeAccount{*v.tenant.Stripe, v.calls} }

// call makes a call of Stripe's API, and reads its answer into one. The official clients
// make the same call: see the code of the panel.
func (g stripeAccount) call(ctx context.Context, method, path string, form url.Values, into any) error {
	if g.URL == "" {
		return errNoStripe
	}
	target, body := g.URL+path, io.Reader(nil)
	if method == http.MethodGet && len(form) > 0 {
		target += "?" + form.Encode()
	} else if len(form) > 0 {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return err
	}
	if strings.HasPrefix(path, "/v1/") {
		r.SetBasicAuth(g.Key, "")
	}
	if body != nil {
		r.Header.Set("Content-Type", formType)
	}
	response, text, err := g.exchange(r)
	if err != nil {
		return fmt.Errorf("stripe: %w", err)
	}
	if response.StatusCode > 299 {
		var refused struct{ Error struct{ Message string } }
		if json.Unmarshal(text, &refused) == nil && refused.Error.Message != "" {
			return refuse("Stripe refused: %s", refused.Error.Message)
		}
		return fmt.Errorf("stripe: %s %s was answered with %d", method, path, response.StatusCode)
	}
	return json.Unmarshal(text, into)
}

// customer creates a customer whose metadata names the account and the user at Kith, and
// returns its id.
func (g stripeAccount) customer(ctx context.Context, c Customer) (string, error) {
	id, email, name := strconv.Quote(c.ID), strconv.Quote(c.Email), strconv.Quote(strings.TrimSpace(c.First+" "+c.Last))
	g.announce("Stripe: create the customer, and name the account at Kith",
		"customer, err := sc.V1Customers.Create(ctx, &stripe.CustomerCreateParams{\n\tEmail: stripe.String("+email+"), Name: stripe.String("+name+"),\n\tMetadata: map[string]string{\"kith_account\": "+id+", \"kith_user\": "+id+"},\n})",
		"const customer = await stripe.customers.create({\n  email: "+email+", name: "+name+",\n  metadata: { kith_account: "+id+", kith_user: "+id+" },\n});")
	var made struct{ ID string }
	err := g.call(ctx, http.MethodPost, "/v1/customers", url.Values{
		"email": {c.Email}, "name": {strings.TrimSpace(c.First + " " + c.Last)}, "metadata[kith_account]": {c.ID}, "metadata[kith_user]": {c.ID},
	}, &made)
	return made.ID, err
}

// promotion returns the id of the promotion code that Kith has made of a friend's code, or
// "" if there is none: then the customer may type one.
func (g stripeAccount) promotion(ctx context.Context, code string) (string, error) {
	quotedCode := strconv.Quote(code)
	g.announce("Stripe: find the promotion code that Kith has made of the friend's code",
		"params := &stripe.PromotionCodeListParams{Code: stripe.String("+quotedCode+"), Active: stripe.Bool(true)}\nfor found, err := range sc.V1PromotionCodes.List(ctx, params).All(ctx) {\n\t_, _ = found, err\n}",
		"const { data: [promotion] } = await stripe.promotionCodes.list({ code: "+quotedCode+", active: true });")
	var found struct{ Data []struct{ ID string } }
	if err := g.call(ctx, http.MethodGet, "/v1/promotion_codes", url.Values{"code": {code}, "active": {"true"}}, &found); err != nil || len(found.Data) == 0 {
		return "", err
	}
	return found.Data[0].ID, nil
}

// session is a checkout session.
type session struct {
	ID, URL, Status string
	Intent          string `json:"payment_intent"`
	Subscription    string
	Details         struct {
		Discount cents `json:"amount_discount"`
		Shipping cents `json:"amount_shipping"`
		Tax      cents `json:"amount_tax"`
	} `json:"total_details"`
}

// line is a parameter of a call, as curl, Go and TypeScript have it.
type line struct{ name, value, goCode, typeScript string }

// sessionFor returns the parameters of the checkout of an order. promotion is the id of a
// promotion code; without it, the customer may type one.
func (v *visit) sessionFor(p *Product, order *Order, code, promotion string) (all []line) {
	done, back := v.tenant.URL+Path+"/orders/"+order.ID, v.tenant.URL+Path+"/buy/"+p.ID
	mode, recurring := "payment", ""
	if p.Monthly() {
		mode, recurring = "subscription", ",\n\t\t\tRecurring: &stripe.CheckoutSessionCreateLineItemPriceDataRecurringParams{Interval: stripe.String(\"month\")}"
	}
	amount, name := strconv.FormatInt(int64(p.Price), 10), strconv.Quote(p.Name)
	all = []line{
		{"mode", mode, "Mode: stripe.String(" + strconv.Quote(mode) + ")", "mode: '" + mode + "'"},
		{"customer", v.customer.StripeID, "Customer: stripe.String(" + strconv.Quote(v.customer.StripeID) + ")", "customer: '" + v.customer.StripeID + "'"},
		{"success_url", done, "SuccessURL: stripe.String(" + strconv.Quote(done) + ")", "success_url: '" + done + "'"},
		{"cancel_url", back, "CancelURL: stripe.String(" + strconv.Quote(back) + ")", "cancel_url: '" + back + "'"},
		{"line_items[0][quantity]", "1", "", ""},
		{"line_items[0][price_data][currency]", strings.ToLower(currency), "", ""},
		{"line_items[0][price_data][unit_amount]", amount, "", ""},
		{"line_items[0][price_data][product_data][name]", p.Name,
			"LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{Quantity: stripe.Int64(1), PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{\n\t\t\tCurrency: stripe.String(\"usd\"), UnitAmount: stripe.Int64(" + amount + "),\n\t\t\tProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: stripe.String(" + name + ")}" + recurring + ",\n\t}}}",
			"line_items: [{ quantity: 1, price_data: { currency: 'usd', unit_amount: " + amount + ", product_data: { name: " + name + " }" + map[bool]string{true: ", recurring: { interval: 'month' }"}[p.Monthly()] + " } }]"},
	}
	if code != "" {
		all = append(all, line{"client_reference_id", code, "ClientReferenceID: stripe.String(" + strconv.Quote(code) + ")", "client_reference_id: '" + code + "'"})
	}
	if promotion != "" {
		all = append(all, line{"discounts[0][promotion_code]", promotion,
			"Discounts: []*stripe.CheckoutSessionCreateDiscountParams{{PromotionCode: stripe.String(" + strconv.Quote(promotion) + ")}}", "discounts: [{ promotion_code: '" + promotion + "' }]"})
	} else {
		all = append(all, line{"allow_promotion_codes", "true", "AllowPromotionCodes: stripe.Bool(true)", "allow_promotion_codes: true"})
	}
	if p.Monthly() {
		days := strconv.Itoa(p.TrialDays)
		return append(all, line{"line_items[0][price_data][recurring][interval]", "month", "", ""},
			line{"subscription_data[trial_period_days]", days, "SubscriptionData: &stripe.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: stripe.Int64(" + days + ")}", "subscription_data: { trial_period_days: " + days + " }"})
	}
	fee := strconv.FormatInt(int64(shipping), 10)
	return append(all, line{"automatic_tax[enabled]", "true", "AutomaticTax: &stripe.CheckoutSessionCreateAutomaticTaxParams{Enabled: stripe.Bool(true)}", "automatic_tax: { enabled: true }"},
		line{"shipping_options[0][shipping_rate_data][type]", "fixed_amount", "", ""},
		line{"shipping_options[0][shipping_rate_data][display_name]", "Parcel", "", ""},
		line{"shipping_options[0][shipping_rate_data][fixed_amount][currency]", strings.ToLower(currency), "", ""},
		line{"shipping_options[0][shipping_rate_data][fixed_amount][amount]", fee,
			"ShippingOptions: []*stripe.CheckoutSessionCreateShippingOptionParams{{ShippingRateData: &stripe.CheckoutSessionCreateShippingOptionShippingRateDataParams{\n\t\tType: stripe.String(\"fixed_amount\"), DisplayName: stripe.String(\"Parcel\"),\n\t\tFixedAmount: &stripe.CheckoutSessionCreateShippingOptionShippingRateDataFixedAmountParams{Currency: stripe.String(\"usd\"), Amount: stripe.Int64(" + fee + ")},\n\t}}}",
			"shipping_options: [{ shipping_rate_data: { type: 'fixed_amount', display_name: 'Parcel', fixed_amount: { currency: 'usd', amount: " + fee + " } } }]"})
}

// open opens a checkout session.
func (g stripeAccount) open(ctx context.Context, params []line) (s session, err error) {
	form := url.Values{}
	var goCode, typeScript []string
	for _, p := range params {
		form.Set(p.name, p.value)
		if p.goCode != "" {
			goCode, typeScript = append(goCode, p.goCode), append(typeScript, p.typeScript)
		}
	}
	g.announce("Stripe: open a checkout session, and send the browser to it",
		"session, err := sc.V1CheckoutSessions.Create(ctx, &stripe.CheckoutSessionCreateParams{\n\t"+strings.Join(goCode, ",\n\t")+",\n})",
		"const session = await stripe.checkout.sessions.create({\n  "+strings.Join(typeScript, ",\n  ")+",\n});")
	err = g.call(ctx, http.MethodPost, "/v1/checkout/sessions", form, &s)
	return s, err
}

// session returns a checkout session.
func (g stripeAccount) session(ctx context.Context, id string) (s session, err error) {
	g.announce("Stripe: read the checkout session", "session, err := sc.V1CheckoutSessions.Retrieve(ctx, "+strconv.Quote(id)+", nil)",
		"const session = await stripe.checkout.sessions.retrieve('"+id+"');")
	err = g.call(ctx, http.MethodGet, "/v1/checkout/sessions/"+id, nil, &s)
	return s, err
}

// read brings a subscription and its charges up to date.
func (g stripeAccount) read(ctx context.Context, o *Order) error {
	id := o.Subscription
	g.announce("Stripe: read the subscription", "subscription, err := sc.V1Subscriptions.Retrieve(ctx, "+strconv.Quote(id)+", nil)",
		"const subscription = await stripe.subscriptions.retrieve('"+id+"');")
	var s struct {
		Status   string
		TrialEnd int64 `json:"trial_end"`
	}
	if err := g.call(ctx, http.MethodGet, "/v1/subscriptions/"+id, nil, &s); err != nil {
		return err
	}
	o.Status = "Active"
	if s.Status == "canceled" {
		o.Status = "Canceled"
	}
	o.FirstBill = time.Unix(s.TrialEnd, 0).UTC().Format(time.DateOnly)
	g.announce("Stripe: list the bills that were paid",
		"params := &stripe.InvoiceListParams{Subscription: stripe.String("+strconv.Quote(id)+"), Status: stripe.String(\"paid\")}\nfor invoice, err := range sc.V1Invoices.List(ctx, params).All(ctx) {\n\t_, _ = invoice, err\n}",
		"const { data: invoices } = await stripe.invoices.list({ subscription: '"+id+"', status: 'paid' });")
	var bills struct {
		Data []struct {
			ID   string
			Paid cents `json:"amount_paid"`
		}
	}
	if err := g.call(ctx, http.MethodGet, "/v1/invoices", url.Values{"subscription": {id}, "status": {"paid"}}, &bills); err != nil {
		return err
	}
	o.Charges = nil
	for _, bill := range slices.Backward(bills.Data) {
		if bill.Paid > 0 { // the bill of the trial is 0
			o.Charges = append(o.Charges, Charge{Transaction: bill.ID, Amount: bill.Paid})
		}
	}
	return nil
}

// refund refunds an amount of a payment, or all that is left of it if the amount is 0.
func (g stripeAccount) refund(ctx context.Context, intent string, amount cents) error {
	form, title, goAmount, tsAmount := url.Values{"payment_intent": {intent}}, "Stripe: refund the payment", "", ""
	if amount > 0 {
		minor := strconv.FormatInt(int64(amount), 10)
		form.Set("amount", minor)
		title, goAmount, tsAmount = "Stripe: refund a part of the payment", ", Amount: stripe.Int64("+minor+")", ", amount: "+minor
	}
	g.announce(title, "refund, err := sc.V1Refunds.Create(ctx, &stripe.RefundCreateParams{PaymentIntent: stripe.String("+strconv.Quote(intent)+")"+goAmount+"})",
		"const refund = await stripe.refunds.create({ payment_intent: '"+intent+"'"+tsAmount+" });")
	return g.call(ctx, http.MethodPost, "/v1/refunds", form, &struct{}{})
}

// cancel ends a subscription.
func (g stripeAccount) cancel(ctx context.Context, id string) error {
	g.announce("Stripe: cancel the subscription", "subscription, err := sc.V1Subscriptions.Cancel(ctx, "+strconv.Quote(id)+", nil)", "await stripe.subscriptions.cancel('"+id+"');")
	return g.call(ctx, http.MethodDelete, "/v1/subscriptions/"+id, nil, &struct{}{})
}

// skip advances the clock of the lab past a trial, and past the hour for which a bill is a
// draft.
func (g stripeAccount) skip(ctx context.Context, days int) error {
	const note = "// The lab has a clock that can be advanced. In Stripe's test mode, a test clock does the same."
	for _, by := range []string{fmt.Sprintf("%dd", days), "2h"} {
		g.announce("Stripe lab: advance its clock by "+by, note, note)
		if err := g.call(ctx, http.MethodPost, "/lab/advance", url.Values{"by": {by}}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// payAtStripe opens the checkout of an order, and returns the page at which the customer
// pays.
func (v *visit) payAtStripe(p *Product, order *Order, code string) (page string, err error) {
	ctx, g := v.r.Context(), v.stripe()
	if v.customer.StripeID == "" {
		id, err := g.customer(ctx, v.customer)
		if err != nil {
			return "", err
		}
		if v.customer, err = v.book.change(v.customer.ID, func(c *Customer) error { c.StripeID = id; return nil }); err != nil {
			return "", err
		}
	}
	promotion := ""
	if code != "" {
		if promotion, err = g.promotion(ctx, code); err != nil {
			return "", err
		}
	}
	opened, err := g.open(ctx, v.sessionFor(p, order, code, promotion))
	order.Session, order.Checkout = opened.ID, opened.URL
	return opened.URL, err
}

// followCheckout brings an order up to date that is paid at Stripe.
func (v *visit) followCheckout(order *Order) error {
	if order.Session == "" || v.tenant.Stripe == nil {
		return nil
	}
	ctx, g := v.r.Context(), v.stripe()
	if order.Unpaid() {
		s, err := g.session(ctx, order.Session)
		if err != nil || s.Status != "complete" {
			return err
		}
		order.Checkout, order.Transaction, order.Subscription = "", s.Intent, s.Subscription
		order.Bill.Discount = s.Details.Discount
		if s.Details.Discount == 0 {
			order.Bill.Percent = 0
		}
		if s.Subscription == "" {
			order.Bill.Tax, order.Bill.Shipping = s.Details.Tax, s.Details.Shipping
		}
	}
	if order.Subscription != "" && !order.Cancelled() {
		if err := g.read(ctx, order); err != nil {
			return err
		}
	}
	var err error
	v.customer, err = v.book.change(v.customer.ID, func(c *Customer) error { return c.put(*order) })
	return err
}
