package stripelab

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// keepOpen is how long a session waits to be paid.
const keepOpen = 24 * time.Hour

func (b *book) createSession(c *call) object {
	f := c.form
	mode := c.oneOf(f, "mode", "mode", "payment", "payment", "subscription", "setup")
	if mode == "setup" {
		return c.refuse(invalid("", "mode", "The lab does not model the mode setup: want payment or subscription."))
	}
	customer := b.referred(c, "customer", f.str("customer"), "customer")
	lines := b.sessionLines(c, f)
	b.checkSessionLines(c, mode, lines)
	if c.failed != nil {
		return nil
	}
	s := b.newSession(c, f, mode, lines)
	s["success_url"], s["cancel_url"] = or(f.str("success_url")), or(f.str("cancel_url"))
	if s["success_url"] == nil {
		c.refuse(invalid("parameter_missing", "success_url", "Missing required param: success_url."))
	}
	if email := f.str("customer_email"); email != "" {
		if customer != nil {
			c.refuse(invalid("", "customer_email", "You may only specify one of these parameters: customer, customer_email."))
		}
		s["customer_email"] = email
	}
	if customer != nil {
		s["customer"] = customer.id()
		s["customer_details"] = customerDetails(customer.text("email"), customer.text("name"))
	} else if mode == "payment" {
		s["customer_creation"] = c.oneOf(f, "customer_creation", "customer_creation", "if_required", "if_required", "always")
	}
	if reference := f.str("client_reference_id"); reference != "" {
		if len(reference) > 200 {
			c.refuse(invalid("", "client_reference_id", "Invalid string: at most 200 characters"))
		}
		s["client_reference_id"] = reference
	}
	b.sessionGrants(c, f, s)
	if c.failed != nil {
		return nil
	}
	return b.openSession(s)
}

// sessionGrants reads the discounts that a session begins with.
func (b *book) sessionGrants(c *call, f *form, s object) {
	if !f.has("discounts") {
		return
	}
	if f.yes("allow_promotion_codes") {
		c.refuse(invalid("", "allow_promotion_codes", "You may only specify one of these parameters: allow_promotion_codes, discounts."))
	}
	made, _ := b.grants(c, f, "discounts", s.text("currency"))
	if len(made) > 1 {
		c.refuse(invalid("", "discounts", "You can only apply up to 1 discount to a Checkout Session."))
	}
	for _, g := range made {
		s["discounts"] = append(s.objects("discounts"), sessionDiscount(g))
	}
}

func sessionDiscount(g grant) object {
	if g.promotion != nil {
		return object{"coupon": nil, "promotion_code": g.promotion.id()}
	}
	return object{"coupon": g.coupon.id(), "promotion_code": nil}
}

// sessionLines reads line_items[].
func (b *book) sessionLines(c *call, f *form) (all []orderLine) {
	c.need("line_items")
	for i, one := range f.list("line_items") {
		param := fmt.Sprintf("line_items[%d]", i)
		l := b.orderLine(c, one, param)
		if !one.has("quantity") {
			c.refuse(invalid("parameter_missing", param+"[quantity]", "Quantity is required. Add `quantity` to `"+param+"`"))
		}
		all = append(all, l)
	}
	return all
}

func (b *book) checkSessionLines(c *call, mode string, lines []orderLine) {
	if c.failed != nil || len(lines) == 0 {
		c.refuse(invalid("parameter_missing", "line_items", "Missing required param: line_items."))
		return
	}
	if mode == "subscription" {
		b.checkItems(c, lines, "line_items")
		return
	}
	for _, one := range lines {
		if one.price.text("currency") != lines[0].price.text("currency") {
			c.refuse(invalid("", "line_items", "All line items must have the same currency."))
		}
		if one.price["recurring"] != nil {
			c.refuse(invalid("", "line_items", "You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only one-time prices."))
		}
	}
}

// newSession returns a session that is not stored yet. A session of a payment link is made
// from the parameters of the link.
func (b *book) newSession(c *call, f *form, mode string, lines []orderLine) object {
	currency := lines[0].price.text("currency")
	id := b.id("cs_test")
	s := object{
		"id": id, "object": "checkout.session", "adaptive_pricing": nil, "after_expiration": nil, "allow_promotion_codes": nil, "amount_subtotal": int64(0),
		"amount_total": int64(0), "automatic_tax": object{"enabled": f.yes("automatic_tax", "enabled"), "liability": nil, "provider": nil, "status": nil}, "billing_address_collection": nil, "cancel_url": nil,
		"client_reference_id": nil, "client_secret": nil, "collected_information": nil, "consent": nil, "consent_collection": nil, "created": b.unix(), "currency": currency, "currency_conversion": nil,
		"custom_fields": []object{}, "custom_text": object{"after_submit": nil, "shipping_address": nil, "submit": nil, "terms_of_service_acceptance": nil},
		"customer": nil, "customer_account": nil, "customer_creation": nil, "customer_details": nil, "customer_email": nil, "discounts": []object{},
		"expires_at": b.now.Add(keepOpen).Unix(), "integration_identifier": nil, "invoice": nil, "invoice_creation": nil, "livemode": false, "locale": nil, "metadata": c.metadata(f, nil), "mode": mode, "origin_context": nil,
		"payment_intent": nil, "payment_link": nil, "payment_method_collection": nil, "payment_method_configuration_details": nil, "payment_method_options": object{}, "payment_method_types": []string{"card"},
		"payment_status": "unpaid", "permissions": nil, "phone_number_collection": object{"enabled": false}, "recovered_from": nil, "saved_payment_method_options": nil,
		"setup_intent": nil, "shipping_address_collection": nil, "shipping_cost": nil, "shipping_options": []object{}, "status": "open", "submit_type": nil, "subscription": nil,
		"success_url": nil, "total_details": nil, "ui_mode": "hosted_page", "url": c.base + "/c/pay/" + id, "wallet_options": nil,
		"_lines": lines,
	}
	if f.has("allow_promotion_codes") {
		s["allow_promotion_codes"] = f.yes("allow_promotion_codes")
	}
	if mode == "subscription" {
		s["payment_method_collection"] = "always"
		data := f.at("subscription_data")
		s["_trial"], s["_meta"] = c.trialDays(data), c.metadata(data, nil)
	} else {
		s["_meta"] = c.metadata(f.at("payment_intent_data"), nil)
		if options := f.list("shipping_options"); len(options) > 0 {
			b.setShipping(c, s, options)
		}
	}
	return s
}

// setShipping sets the choices of shipping; the first is chosen.
func (b *book) setShipping(c *call, s object, options []*form) {
	if len(options) > 5 {
		c.refuse(invalid("", "shipping_options", "At most 5 shipping options are allowed."))
	}
	all := []object{}
	for i, one := range options {
		rate := b.newShippingRate(c, one.at("shipping_rate_data"), fmt.Sprintf("shipping_options[%d][shipping_rate_data]", i))
		if rate == nil {
			return
		}
		all = append(all, object{"shipping_amount": rate.at("fixed_amount").num("amount"), "shipping_rate": rate.id()})
		if rate.at("fixed_amount").text("currency") != s.text("currency") {
			c.refuse(invalid("", "shipping_options", "The currency of the shipping rate does not match."))
		}
	}
	s["shipping_options"] = all
	amount := all[0].num("shipping_amount")
	s["shipping_cost"] = object{"amount_subtotal": amount, "amount_tax": int64(0), "amount_total": amount, "shipping_rate": all[0].text("shipping_rate")}
}

// openSession stores a session.
func (b *book) openSession(s object) object {
	b.reckon(s)
	b.watch(b.add(s))
	return s
}

// sessionGrant returns the discount of a session, if it has one.
func (b *book) sessionGrant(s object) (g grant, ok bool) {
	all := s.objects("discounts")
	if len(all) == 0 {
		return grant{}, false
	}
	if p := b.all[all[0].text("promotion_code")]; p != nil {
		return grant{b.all[p.at("promotion").text("coupon")], p}, true
	}
	return grant{b.all[all[0].text("coupon")], nil}, true
}

// reckon computes the amounts of a session: what is to be paid now.
func (b *book) reckon(s object) {
	lines, _ := s["_lines"].([]orderLine)
	var all []*priced
	for _, one := range lines {
		p := &priced{price: one.price, quantity: one.quantity, amount: one.price.num("unit_amount") * one.quantity, description: b.nameOf(one.price)}
		if s.num("_trial") > 0 {
			p.amount = 0
		}
		all = append(all, p)
	}
	var coupons []object
	if g, has := b.sessionGrant(s); has {
		coupons = append(coupons, g.coupon)
	}
	t := b.total(s.text("currency"), all, coupons, s.at("automatic_tax").yes("enabled"))
	shipping := s.at("shipping_cost").num("amount_total")
	s["amount_subtotal"], s["amount_total"] = t.subtotal, t.total+shipping
	s["total_details"] = object{"amount_discount": t.off, "amount_shipping": shipping, "amount_tax": t.tax}
	if s.at("automatic_tax").yes("enabled") {
		s.at("automatic_tax")["status"] = "complete"
	}
	items := []object{}
	for _, p := range all {
		items = append(items, object{"description": p.description, "quantity": p.quantity, "amount_subtotal": p.amount})
	}
	// The page shows them.
	s["_items"] = items
}

func customerDetails(email, name string) object {
	return object{
		"address": nil, "business_name": nil, "email": or(email), "individual_name": nil, "name": or(name), "phone": nil, "tax_exempt": "none", "tax_ids": []object{},
	}
}

// payer is what a person enters on the hosted page.
type payer struct {
	email, name, code string
	// card is a number of a test card, or the name of one.
	card string
}

// complete pays a session. It returns why that is not possible, for the person.
func (b *book) complete(s object, who payer) string {
	customer := b.all[s.text("customer")]
	if s.text("status") != "open" {
		return "This session is " + s.text("status") + "."
	}
	if customer != nil {
		who.email, who.name = customer.text("email"), customer.text("name")
	} else if s.text("customer_email") != "" {
		who.email = s.text("customer_email")
	}
	if customer == nil && !strings.Contains(who.email, "@") {
		return "Enter your email address."
	}
	card := numbers[strings.ReplaceAll(who.card, " ", "")]
	if card == "" {
		card = strings.TrimPrefix(who.card, "pm_card_")
	}
	if _, known := cards[card]; !known {
		return "Your card number is invalid."
	}
	if problem := b.enterCode(s, who.code); problem != "" {
		return problem
	}
	b.reckon(s)
	if code := cards[card].decline; code != "" && s.num("amount_total") > 0 {
		return declines[code]
	}
	made := customer == nil && (s.text("mode") == "subscription" || s.text("customer_creation") == "always")
	if f := b.purchase(s, customer, made, who, card); f != nil {
		return f.message
	}
	return ""
}

// enterCode applies the promotion code that a person typed.
func (b *book) enterCode(s object, code string) string {
	code = strings.TrimSpace(code)
	if code == "" {
		return ""
	}
	if !s.yes("allow_promotion_codes") {
		return "This session accepts no promotion code."
	}
	for _, p := range b.table("promotion_code") {
		if !strings.EqualFold(p.text("code"), code) || !p.yes("active") {
			continue
		}
		if why := b.unusable(p, s.text("currency")); why != "" {
			return why
		}
		s["discounts"] = []object{{"coupon": nil, "promotion_code": p.id()}}
		return ""
	}
	return "This code is invalid."
}

// purchase makes the payment or the subscription of a session.
func (b *book) purchase(s, customer object, make bool, who payer, card string) *failure {
	method := b.newMethod(card)
	if make {
		customer = b.newCustomerOf(s, who)
	}
	if customer != nil && method.text("customer") == "" {
		b.attach(method, customer)
	}
	var f *failure
	if s.text("mode") == "subscription" {
		f = b.purchaseSubscription(s, customer, method)
	} else {
		f = b.purchaseOnce(s, customer, method)
	}
	if f != nil {
		return f
	}
	s["status"], s["url"] = "complete", nil
	s["customer_details"] = customerDetails(who.email, who.name)
	if customer != nil {
		s["customer"] = customer.id()
	}
	s["payment_status"] = "paid"
	if s.num("amount_total") == 0 {
		s["payment_status"] = "no_payment_required"
	}
	b.emit("checkout.session.completed", s, nil)
	return nil
}

func (b *book) newCustomerOf(s object, who payer) object {
	c := &call{form: &form{fields: map[string]*form{"email": {text: who.email}, "name": {text: who.name}}}}
	customer := b.createCustomer(c)
	if customer == nil {
		// The address has been checked.
		customer = b.createCustomer(&call{form: &form{}})
	}
	return customer
}

func (b *book) purchaseSubscription(s, customer, method object) *failure {
	lines, _ := s["_lines"].([]orderLine)
	metadata, _ := s["_meta"].(map[string]string)
	o := order{
		customer: customer, lines: lines, metadata: maps.Clone(metadata), method: method, automatic: s.at("automatic_tax").yes("enabled"),
		behavior: "error_if_incomplete", trialDays: s.num("_trial"),
	}
	if g, has := b.sessionGrant(s); has {
		o.grants = append(o.grants, g)
	}
	sub, invoice, f := b.subscribe(o)
	if f != nil {
		return f
	}
	for _, id := range sub.texts("discounts") {
		b.all[id]["checkout_session"] = s.id()
	}
	s["subscription"], s["invoice"] = sub.id(), invoice.id()
	return nil
}

func (b *book) purchaseOnce(s, customer, method object) *failure {
	metadata, _ := s["_meta"].(map[string]string)
	total := s.num("amount_total")
	if total > 0 {
		intent := b.intent(customer, total, s.text("currency"), "", maps.Clone(metadata))
		b.emit("payment_intent.created", intent, nil)
		if f := b.confirm(intent, method); f != nil {
			return f
		}
		s["payment_intent"] = intent.id()
	}
	if g, has := b.sessionGrant(s); has {
		d := b.redeem(g, customer, nil)
		d["checkout_session"], d["_ended"] = s.id(), true
	}
	return nil
}

func (b *book) expireSession(s object) {
	s["status"], s["url"] = "expired", nil
	b.emit("checkout.session.expired", s, nil)
}

func (b *book) listSessions(c *call) object {
	email := c.form.str("customer_details", "email")
	return b.list(c, "checkout.session", []string{"payment_intent", "status", "subscription"}, func(s object) bool {
		return email == "" || strings.EqualFold(s.at("customer_details").text("email"), email)
	})
}

func (b *book) createLink(c *call) object {
	f := c.form
	lines := b.sessionLines(c, f)
	if c.failed != nil {
		return nil
	}
	mode := "payment"
	if lines[0].price["recurring"] != nil {
		mode = "subscription"
	}
	b.checkSessionLines(c, mode, lines)
	if c.failed != nil {
		return nil
	}
	s := b.newSession(c, f, mode, lines)
	id := b.id("plink")
	o := object{
		"id": id, "object": "payment_link", "active": true, "after_completion": object{"type": "hosted_confirmation", "hosted_confirmation": object{"custom_message": nil}},
		"allow_promotion_codes": f.yes("allow_promotion_codes"), "application": nil, "application_fee_amount": nil, "application_fee_percent": nil,
		"automatic_tax": object{"enabled": f.yes("automatic_tax", "enabled"), "liability": nil}, "billing_address_collection": "auto", "consent_collection": nil, "currency": s.text("currency"),
		"custom_fields": []object{}, "custom_text": object{"after_submit": nil, "shipping_address": nil, "submit": nil, "terms_of_service_acceptance": nil},
		"customer_creation": c.oneOf(f, "customer_creation", "customer_creation", "if_required", "if_required", "always"), "inactive_message": nil, "invoice_creation": nil, "livemode": false,
		"metadata": c.metadata(f, nil), "on_behalf_of": nil, "payment_intent_data": nil, "payment_method_collection": "always", "payment_method_types": nil,
		"phone_number_collection": object{"enabled": false}, "restrictions": nil, "shipping_address_collection": nil, "shipping_options": []object{}, "submit_type": "auto", "subscription_data": nil,
		"tax_id_collection": object{"enabled": false, "required": "never"}, "transfer_data": nil, "url": c.base + "/p/" + strings.TrimPrefix(id, "plink_"),
		"_form": f, "_lines": lines, "_mode": mode, "_base": c.base,
	}
	if mode == "subscription" {
		o["subscription_data"] = object{
			"description": nil, "invoice_settings": object{"issuer": object{"type": "self"}}, "metadata": s["_meta"], "trial_period_days": whole(s.num("_trial")), "trial_settings": nil,
		}
	}
	if c.failed != nil {
		return nil
	}
	b.add(o)
	b.emit("payment_link.created", o, nil)
	return o
}

// linkCall is the page of a payment link, which opens a session.
const linkCall = "GET /p/{id}"

// The characters of client_reference_id in the URL of a payment link. The gateway drops
// another value without an error.
var referenceText = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// followLink opens a session of a payment link, with what its URL says.
func (l *Lab) followLink(c *call) object {
	b := l.book
	o := b.find("payment_link", "plink_"+c.id)
	if o == nil || !o.yes("active") {
		return c.refuse(&failure{status: http.StatusNotFound, kind: invalidRequest, message: "This payment link is not active."})
	}
	f, _ := o["_form"].(*form)
	lines, _ := o["_lines"].([]orderLine)
	of := &call{form: f, base: o.text("_base")}
	s := b.newSession(of, f, o.text("_mode"), lines)
	s["payment_link"], s["metadata"], s["allow_promotion_codes"] = o.id(), maps.Clone(meta(o)), o.yes("allow_promotion_codes")
	if o.text("_mode") == "payment" {
		s["customer_creation"] = o.text("customer_creation")
	}
	if reference := c.form.str("client_reference_id"); referenceText.MatchString(reference) {
		s["client_reference_id"] = reference
	}
	if of.failed != nil {
		return c.refuse(of.failed)
	}
	b.openSession(s)
	return object{"_location": "/c/pay/" + s.id()}
}

// paySession is the form of the hosted page, and the control with the same fields.
func (l *Lab) paySession(c *call) object {
	b := l.book
	id := c.id
	if id == "" {
		id = c.form.str("session")
	}
	s := b.find("checkout.session", id)
	if s == nil {
		return c.refuse(missing("checkout.session", id, "session"))
	}
	who := payer{email: c.form.str("email"), name: c.form.str("name"), code: c.form.str("promotion_code"), card: c.form.str("card")}
	if who.card == "" {
		who.card = "visa"
	}
	if problem := b.complete(s, who); problem != "" {
		return c.refuse(&failure{status: http.StatusPaymentRequired, kind: cardError, message: problem})
	}
	to := strings.ReplaceAll(s.text("success_url"), "{CHECKOUT_SESSION_ID}", s.id())
	if to == "" {
		to = "/c/pay/" + s.id()
	}
	return object{"_location": to, "session": s.id()}
}
