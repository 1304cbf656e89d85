package stripelab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// draft is what an invoice is made from.
type draft struct {
	customer, subscription object
	currency, reason       string
	lines                  []*priced
	// discounts are those that may apply.
	discounts []object
	rates     []object
	automatic bool
	shipping  object
	// start and end are the period of the invoice.
	start, end int64
	metadata   map[string]string
	// pending is whether the customer's pending items of the currency are added.
	pending bool
	// preview is whether nothing may be stored.
	preview bool
}

// pendingItems returns the items of a customer that wait for an invoice: those of a
// subscription, and those of none.
func (b *book) pendingItems(customer, subscription object, currency string) (all []object) {
	for _, item := range b.where("invoiceitem", "customer", customer.id()) {
		owner := item.at("parent").at("subscription_details").text("subscription")
		if item["invoice"] == nil && item.text("currency") == currency && (owner == "" || subscription != nil && owner == subscription.id()) {
			all = append(all, item)
		}
	}
	return all
}

// invoice makes a draft invoice. It is stored unless it is a preview.
func (b *book) invoice(d draft) object {
	id := b.id("in")
	if d.preview {
		id = "upcoming_" + id
	}
	lines := slices.Clone(d.lines)
	if d.pending {
		for _, item := range b.pendingItems(d.customer, d.subscription, d.currency) {
			lines = append(lines, lineOfItem(b, item))
			if !d.preview {
				item["invoice"] = id
			}
		}
	}
	var applied, coupons []object
	for _, one := range d.discounts {
		if b.applicable(one) {
			applied = append(applied, one)
			coupons = append(coupons, b.all[one.at("source").text("coupon")])
		}
	}
	t := b.total(d.currency, lines, coupons, d.rates, d.automatic, d.shipping.at("fixed_amount").num("amount"))
	o := b.invoiceObject(id, d, t, applied)
	if d.preview {
		return o
	}
	setCurrency(d.customer, d.currency)
	if d.subscription != nil {
		d.subscription["latest_invoice"] = id
	}
	b.add(o)
	// A discount for one invoice is used up by the first from which it takes something:
	// that of a trial leaves it.
	for i, one := range applied {
		if coupons[i].text("duration") == "once" && t.offs[i] > 0 {
			b.endDiscount(one)
		}
	}
	b.emit("invoice.created", o, nil)
	return o
}

func (b *book) invoiceObject(id string, d draft, t *bill, applied []object) object {
	ids := []string{}
	offs := []object{}
	for i, one := range applied {
		ids = append(ids, one.id())
		offs = append(offs, object{"amount": t.offs[i], "discount": one.id()})
	}
	o := object{
		"id": id, "object": "invoice", "account_country": "US", "account_name": "Stripe lab", "account_tax_ids": nil, "amount_due": max(t.total, 0), "amount_overpaid": int64(0),
		"amount_paid": int64(0), "amount_paid_off_stripe": int64(0), "amount_remaining": max(t.total, 0), "amount_shipping": t.shipping, "application": nil, "attempt_count": int64(0), "attempted": false,
		"auto_advance": true, "automatic_tax": automaticTax(d.automatic), "automatically_finalizes_at": nil, "billing_reason": d.reason,
		"collection_method": "charge_automatically", "created": b.unix(), "currency": t.currency, "custom_fields": nil, "customer": d.customer.id(), "customer_account": nil,
		"customer_address": d.customer["address"], "customer_email": d.customer["email"], "customer_name": d.customer["name"], "customer_phone": d.customer["phone"],
		"customer_shipping": nil, "customer_tax_exempt": d.customer["tax_exempt"], "customer_tax_ids": []object{}, "default_payment_method": nil,
		"default_source": nil, "default_tax_rates": d.rates, "description": nil, "discounts": ids, "due_date": nil, "effective_at": nil, "ending_balance": nil,
		"footer": nil, "from_invoice": nil, "hosted_invoice_url": nil, "invoice_pdf": nil, "issuer": object{"type": "self"}, "last_finalization_error": nil,
		"latest_revision": nil, "livemode": false, "metadata": d.metadata, "next_payment_attempt": nil, "number": nil, "on_behalf_of": nil, "parent": nil,
		"payment_settings": object{"default_mandate": nil, "payment_method_options": nil, "payment_method_types": nil}, "period_end": d.end, "period_start": d.start,
		"post_payment_credit_notes_amount": int64(0), "pre_payment_credit_notes_amount": int64(0), "receipt_number": nil, "rendering": nil, "shipping_cost": nil,
		"shipping_details": nil, "starting_balance": d.customer.num("balance"), "statement_descriptor": nil, "status": "draft",
		"status_transitions": object{"finalized_at": nil, "marked_uncollectible_at": nil, "paid_at": nil, "voided_at": nil}, "subtotal": t.subtotal,
		"subtotal_excluding_tax": t.subtotal - t.included, "test_clock": d.customer["test_clock"], "total": t.total, "total_discount_amounts": offs, "total_excluding_tax": t.total - t.tax,
		"total_pretax_credit_amounts": []object{}, "total_taxes": taxes(t.lines), "webhooks_delivered_at": nil,
	}
	if d.rates == nil {
		o["default_tax_rates"] = []object{}
	}
	if d.metadata == nil {
		o["metadata"] = map[string]string{}
	}
	if s := d.subscription; s != nil {
		o["parent"] = object{"quote_details": nil, "subscription_details": object{"metadata": maps.Clone(meta(s)), "subscription": s.id()}, "type": "subscription_details"}
	}
	if d.shipping != nil {
		o["shipping_cost"] = object{"amount_subtotal": t.shipping, "amount_tax": int64(0), "amount_total": t.shipping, "shipping_rate": d.shipping.id()}
	}
	o["lines"] = listOf("/v1/invoices/"+id+"/lines", b.lineObjects(id, t, applied), false)
	b.setBalance(o, d.customer)
	return o
}

func automaticTax(enabled bool) object {
	status := any(nil)
	if enabled {
		status = "complete"
	}
	return object{"disabled_reason": nil, "enabled": enabled, "liability": nil, "provider": nil, "status": status}
}

func (b *book) lineObjects(invoice string, t *bill, applied []object) []object {
	all := []object{}
	for _, p := range t.lines {
		offs := []object{}
		for i, one := range applied {
			if p.offs[i] > 0 {
				offs = append(offs, object{"amount": p.offs[i], "discount": one.id()})
			}
		}
		line := object{
			"id": b.id("il"), "object": "line_item", "amount": p.amount, "currency": t.currency, "description": or(p.description), "discount_amounts": offs,
			"discountable": !p.noDiscount, "discounts": []string{}, "invoice": invoice, "livemode": false, "metadata": p.metadata,
			"period": object{"end": p.end, "start": p.start}, "pretax_credit_amounts": []object{}, "quantity": p.quantity, "quantity_decimal": strconv.FormatInt(p.quantity, 10), "subtotal": p.amount,
			"subscription": or(p.subscription), "taxes": taxes([]*priced{p}), "pricing": nil, "parent": nil,
		}
		if p.metadata == nil {
			line["metadata"] = map[string]string{}
		}
		if p.price != nil {
			line["pricing"] = object{
				"price_details": object{"price": p.price.id(), "product": p.price.text("product")}, "type": "price_details",
				"unit_amount_decimal": p.price.text("unit_amount_decimal"),
			}
		}
		if p.item != "" {
			line["parent"] = object{"invoice_item_details": nil, "type": "subscription_item_details", "subscription_item_details": object{
				"invoice_item": or(p.pending), "proration": p.proration, "proration_details": object{"credited_items": nil}, "subscription": or(p.subscription),
				"subscription_item": p.item,
			}}
		} else if p.pending != "" {
			line["parent"] = object{"subscription_item_details": nil, "type": "invoice_item_details", "invoice_item_details": object{
				"invoice_item": p.pending, "proration": p.proration, "proration_details": object{"credited_items": nil}, "subscription": or(p.subscription),
			}}
		}
		all = append(all, line)
	}
	return all
}

// setBalance computes what a draft has to be paid after the balance of the customer is
// applied, which happens when it is finalized. applied is what that adds to the balance;
// small is an amount too little to be charged, which waits there for the next invoice.
func (b *book) setBalance(o, customer object) (applied, small int64) {
	total, balance := o.num("total"), customer.num("balance")
	var due int64
	switch {
	case total < 0:
		// The customer gets it as credit.
		applied = total
	case total > 0 && balance < 0:
		applied = min(total, -balance)
		due = total - applied
	case total > 0:
		applied, due = -balance, total+balance
	}
	if due > 0 && due < minimum(o.text("currency")) {
		small, due = due, 0
	}
	o["starting_balance"], o["amount_due"], o["amount_remaining"] = balance, due, due
	return applied, small
}

// finalize makes a draft final, applies the balance of the customer, and creates the
// payment.
func (b *book) finalize(o object) {
	customer := b.all[o.text("customer")]
	applied, small := b.setBalance(o, customer)
	if applied != 0 || small != 0 {
		b.change("customer.updated", customer, func() {
			if applied != 0 {
				b.moveBalance(customer, applied, "applied_to_invoice", o)
			}
			if small != 0 {
				b.moveBalance(customer, small, "invoice_too_small", o)
			}
		})
	}
	n := customer.num("next_invoice_sequence")
	customer["next_invoice_sequence"] = n + 1
	o["ending_balance"], o["number"], o["status"] = customer.num("balance"), fmt.Sprintf("%s-%04d", customer.text("invoice_prefix"), n), "open"
	o["effective_at"], o["automatically_finalizes_at"] = b.unix(), nil
	o.at("status_transitions")["finalized_at"] = b.unix()
	delete(o, "_due")
	b.emit("invoice.finalized", o, nil)
	if due := o.num("amount_due"); due > 0 {
		intent := b.intent(customer, due, o.text("currency"), "Subscription creation", map[string]string{})
		if o.text("billing_reason") != "subscription_create" {
			intent["description"] = "Subscription update"
		}
		b.add(object{
			"id": b.id("inpay"), "object": "invoice_payment", "amount_paid": nil, "amount_requested": due, "created": b.unix(), "currency": o.text("currency"),
			"invoice": o.id(), "is_default": true, "livemode": false, "payment": object{"payment_intent": intent.id(), "type": "payment_intent"}, "status": "open",
			"status_transitions": object{"canceled_at": nil, "paid_at": nil},
		})
		b.emit("payment_intent.created", intent, nil)
	}
}

// payment returns the payment of a final invoice and its intent, or nil.
func (b *book) payment(o object) (payment, intent object) {
	for _, payment := range b.where("invoice_payment", "invoice", o.id()) {
		if payment.yes("is_default") {
			return payment, b.all[payment.at("payment").text("payment_intent")]
		}
	}
	return nil, nil
}

// collect tries to have a final invoice paid, with a payment method or with the default
// one. It returns the failure of the charge, or nil.
func (b *book) collect(o, method object) *failure {
	if o.num("amount_due") == 0 {
		b.settle(o)
		return nil
	}
	customer := b.all[o.text("customer")]
	if method == nil {
		method = b.defaultMethod(o, customer)
	}
	payment, intent := b.payment(o)
	o["attempted"], o["attempt_count"] = true, o.num("attempt_count")+1
	f := b.confirm(intent, method)
	if f != nil {
		b.emit("invoice.payment_failed", o, nil)
		return f
	}
	payment["status"], payment["amount_paid"] = "paid", o.num("amount_due")
	payment.at("status_transitions")["paid_at"] = b.unix()
	o["amount_paid"], o["amount_remaining"] = o.num("amount_due"), int64(0)
	b.emit("invoice_payment.paid", payment, nil)
	b.settle(o)
	return nil
}

// settle marks an invoice as paid.
func (b *book) settle(o object) {
	o["status"], o["attempted"], o["next_payment_attempt"] = "paid", true, nil
	o.at("status_transitions")["paid_at"] = b.unix()
	delete(o, "_due")
	b.emit("invoice.paid", o, nil)
	b.emit("invoice.payment_succeeded", o, nil)
}

// invoiceStep runs what is due for an invoice: it is finalized, or charged again.
func (b *book) invoiceStep(o object) {
	subscription := b.all[subscriptionOf(o)]
	delete(o, "_due")
	if o.text("status") == "draft" {
		b.finalize(o)
	}
	b.attempt(o, subscription)
}

func subscriptionOf(o object) string {
	return o.at("parent").at("subscription_details").text("subscription")
}

// attempt charges an open invoice of a subscription, schedules the next attempt if it
// fails, and changes the status of the subscription.
func (b *book) attempt(o, subscription object) {
	if f := b.tryToCollect(o); f == nil {
		b.paidFor(subscription, o)
		return
	}
	b.failedFor(subscription, o)
}

// tryToCollect charges an invoice; if it fails, it schedules the next attempt first, since
// the event has its time.
func (b *book) tryToCollect(o object) *failure {
	n := int(o.num("attempt_count"))
	if n < len(b.settings.retryDays) && o.text("billing_reason") != "subscription_create" {
		next := b.now.AddDate(0, 0, b.settings.retryDays[n]).Unix()
		o["next_payment_attempt"], o["_due"] = next, next
		b.watch(o)
	} else {
		o["next_payment_attempt"] = nil
	}
	return b.collect(o, nil)
}

// lineOfItem returns the line of a pending item.
func lineOfItem(b *book, item object) *priced {
	return &priced{
		price: b.all[item.at("pricing").at("price_details").text("price")], quantity: item.num("quantity"), amount: item.num("amount"), description: item.text("description"),
		start: item.at("period").num("start"), end: item.at("period").num("end"), proration: item.yes("proration"), noDiscount: !item.yes("discountable"),
		subscription: item.at("parent").at("subscription_details").text("subscription"), item: item.at("parent").at("subscription_details").text("subscription_item"),
		pending: item.id(), metadata: maps.Clone(meta(item)),
	}
}

// invoiceItem stores an item that waits for the next invoice.
func (b *book) invoiceItem(customer object, p *priced, currency string) object {
	o := object{
		"id": b.id("ii"), "object": "invoiceitem", "amount": p.amount, "currency": currency, "customer": customer.id(), "customer_account": nil, "date": b.unix(),
		"created": b.unix(), "description": or(p.description), "discountable": !p.noDiscount, "discounts": []string{}, "invoice": nil, "livemode": false, "metadata": p.metadata,
		"parent": nil, "period": object{"end": p.end, "start": p.start}, "pricing": nil, "proration": p.proration, "quantity": p.quantity, "quantity_decimal": strconv.FormatInt(p.quantity, 10), "tax_rates": []object{},
		"test_clock": customer["test_clock"],
	}
	delete(o, "created")
	if p.metadata == nil {
		o["metadata"] = map[string]string{}
	}
	if p.price != nil {
		o["pricing"] = object{
			"price_details": object{"price": p.price.id(), "product": p.price.text("product")}, "type": "price_details",
			"unit_amount_decimal": p.price.text("unit_amount_decimal"),
		}
	}
	if p.subscription != "" {
		details := object{"subscription": p.subscription}
		if p.item != "" {
			details["subscription_item"] = p.item
		}
		o["parent"] = object{"subscription_details": details, "type": "subscription_details"}
	}
	b.add(o)
	b.emit("invoiceitem.created", o, nil)
	return o
}

func (b *book) createInvoiceItem(c *call) object {
	c.need("customer")
	customer := b.referred(c, "customer", c.form.str("customer"), "customer")
	if customer == nil {
		return nil
	}
	defer b.enter(customer)()
	p := &priced{quantity: 1, description: c.form.str("description"), metadata: c.metadata(c.form, nil), start: b.unix(), end: b.unix()}
	if c.form.has("discountable") {
		p.noDiscount = !c.form.yes("discountable")
	}
	var currency string
	if id := c.form.str("pricing", "price"); id != "" {
		if p.price = b.referred(c, "price", id, "pricing[price]"); p.price == nil {
			return nil
		}
		if n := c.number(c.form, "quantity", "quantity"); n > 0 {
			p.quantity = n
		}
		currency, p.amount = p.price.text("currency"), p.price.num("unit_amount")*p.quantity
	} else {
		c.need("amount", "currency")
		if c.failed != nil {
			return nil
		}
		currency = c.currency(c.form, "currency")
		p.amount = c.amountOf(c.form, "amount", "amount", currency)
	}
	if s := b.referred(c, "subscription", c.form.str("subscription"), "subscription"); s != nil {
		p.subscription = s.id()
	}
	in := b.referred(c, "invoice", c.form.str("invoice"), "invoice")
	if in != nil && in.text("status") != "draft" {
		c.refuse(invalid("invoice_not_editable", "invoice", "The invoice is no longer editable."))
	}
	if c.failed != nil {
		return nil
	}
	item := b.invoiceItem(customer, p, currency)
	if in != nil {
		item["invoice"] = in.id()
		b.reprice(in, lineOfItem(b, item))
	}
	return item
}

// reprice adds a line to a draft without discounts and taxes: a manual one.
func (b *book) reprice(in object, p *priced) {
	t := b.total(in.text("currency"), []*priced{p}, nil, nil, false, 0)
	lines := in.at("lines")
	lines["data"] = append(lines.objects("data"), b.lineObjects(in.id(), t, nil)...)
	for _, name := range []string{"subtotal", "subtotal_excluding_tax", "total", "total_excluding_tax"} {
		in[name] = in.num(name) + p.amount
	}
	b.setBalance(in, b.all[in.text("customer")])
}

func (b *book) deleteInvoiceItem(c *call) object {
	o := b.named(c, "invoiceitem")
	if o == nil {
		return nil
	}
	if o["invoice"] != nil {
		return c.refuse(invalid("invoice_not_editable", "", "You cannot delete an invoice item that is on an invoice."))
	}
	b.remove(o)
	b.emit("invoiceitem.deleted", o, nil)
	return object{"id": o.id(), "object": o.kind(), "deleted": true}
}

func (b *book) listInvoiceItems(c *call) object {
	pending := c.form.at("pending")
	return b.list(c, "invoiceitem", []string{"customer", "invoice"}, func(o object) bool { return pending == nil || (o["invoice"] == nil) == (pending.text == "true") })
}

func (b *book) listInvoices(c *call) object {
	subscription := c.form.str("subscription")
	return b.list(c, "invoice", []string{"customer", "status", "collection_method"}, func(o object) bool { return subscription == "" || subscriptionOf(o) == subscription })
}

func (b *book) listInvoiceLines(c *call) object {
	o := b.named(c, "invoice")
	if o == nil {
		return nil
	}
	return c.page(o.objects("lines"))
}

func (b *book) listInvoicePayments(c *call) object {
	intent := c.form.str("payment", "payment_intent")
	return b.list(c, "invoice_payment", []string{"invoice", "status"}, func(o object) bool { return intent == "" || o.at("payment").text("payment_intent") == intent })
}

// createInvoice makes an invoice by hand, of the customer's pending items.
func (b *book) createInvoice(c *call) object {
	c.need("customer")
	c.chargesAutomatically()
	customer := b.referred(c, "customer", c.form.str("customer"), "customer")
	if customer == nil {
		return nil
	}
	defer b.enter(customer)()
	d := draft{
		customer: customer, reason: "manual", currency: customer.text("currency"), metadata: c.metadata(c.form, nil), start: b.unix(), end: b.unix(),
		pending:   c.form.str("pending_invoice_items_behavior") == "include",
		automatic: c.form.yes("automatic_tax", "enabled"), rates: b.rates(c, c.form, "default_tax_rates"),
	}
	if c.form.has("currency") {
		d.currency = c.currency(c.form, "currency")
	}
	if d.currency == "" {
		d.currency = "usd"
	}
	if d.subscription = b.referred(c, "subscription", c.form.str("subscription"), "subscription"); d.subscription != nil {
		d.pending = true
	}
	if cost := c.form.at("shipping_cost"); cost != nil {
		d.shipping = b.shippingFor(c, cost, "shipping_cost")
	}
	made, kept := b.grants(c, c.form, "discounts", customer, d.currency)
	if c.failed != nil {
		return nil
	}
	d.discounts = kept
	for _, g := range made {
		d.discounts = append(d.discounts, b.redeem(g, customer, nil))
	}
	o := b.invoice(d)
	o["auto_advance"] = c.form.yes("auto_advance")
	o["description"] = or(c.form.str("description"))
	if o.yes("auto_advance") {
		o["_due"] = b.now.Add(b.settings.draft).Unix()
		o["automatically_finalizes_at"] = o["_due"]
		b.watch(o)
	}
	return o
}

// shippingFor returns a shipping rate: a stored one, or one that is made.
func (b *book) shippingFor(c *call, f *form, param string) object {
	if id := f.str("shipping_rate"); id != "" {
		return b.referred(c, "shipping_rate", id, param+"[shipping_rate]")
	}
	o := b.newShippingRate(c, f.at("shipping_rate_data"), param+"[shipping_rate_data]")
	if c.failed != nil {
		return nil
	}
	return b.add(o)
}

func (b *book) updateInvoice(c *call) object {
	o := b.named(c, "invoice")
	if o == nil {
		return nil
	}
	metadata := c.metadata(c.form, meta(o))
	if c.failed != nil {
		return nil
	}
	b.change("invoice.updated", o, func() {
		o["metadata"] = metadata
		if c.form.has("description") {
			o["description"] = or(c.form.str("description"))
		}
	})
	return o
}

func (b *book) finalizeInvoice(c *call) object {
	o := b.named(c, "invoice")
	if o == nil {
		return nil
	}
	if o.text("status") != "draft" {
		return c.refuse(invalid("invoice_already_finalized", "", "This invoice is already finalized, you can't re-finalize a non-draft invoice."))
	}
	defer b.enter(b.all[o.text("customer")])()
	b.finalize(o)
	if o.num("amount_due") == 0 {
		b.settle(o)
		b.paidFor(b.all[subscriptionOf(o)], o)
	} else if o.yes("auto_advance") {
		o["_due"] = b.now.Add(b.settings.draft).Unix()
		b.watch(o)
	}
	return o
}

func (b *book) payInvoice(c *call) object {
	o := b.named(c, "invoice")
	if o == nil {
		return nil
	}
	method := b.methodFor(c, c.form.str("payment_method"), "payment_method")
	switch o.text("status") {
	case "paid":
		c.refuse(invalid("", "", "Invoice is already paid"))
	case "void", "uncollectible":
		c.refuse(invalid("", "", "Invoice can't be paid because its status is "+o.text("status")))
	}
	if c.failed != nil {
		return nil
	}
	defer b.enter(b.all[o.text("customer")])()
	if o.text("status") == "draft" {
		b.finalize(o)
	}
	subscription := b.all[subscriptionOf(o)]
	if f := b.collect(o, method); f != nil {
		b.failedFor(subscription, o)
		return c.refuse(f)
	}
	b.paidFor(subscription, o)
	return o
}

func (b *book) voidInvoice(c *call) object {
	o := b.named(c, "invoice")
	if o == nil {
		return nil
	}
	if o.text("status") != "open" && o.text("status") != "uncollectible" {
		return c.refuse(invalid("", "", "You can only pass in open invoices. This invoice isn't open."))
	}
	b.void(o)
	return o
}

// void voids an open invoice. As at the gateway, credit that was applied to it goes back to
// the balance of the customer.
func (b *book) void(o object) {
	o["status"], o["next_payment_attempt"] = "void", nil
	o.at("status_transitions")["voided_at"] = b.unix()
	delete(o, "_due")
	if _, intent := b.payment(o); intent != nil && intent.text("status") != "succeeded" {
		intent["status"], intent["canceled_at"], intent["cancellation_reason"] = "canceled", b.unix(), "void_invoice"
		b.emit("payment_intent.canceled", intent, nil)
	}
	for _, t := range b.where("customer_balance_transaction", "invoice", o.id()) {
		if customer := b.all[o.text("customer")]; t.text("type") == "applied_to_invoice" {
			b.change("customer.updated", customer, func() { b.moveBalance(customer, -t.num("amount"), "unapplied_from_invoice", o) })
		}
	}
	b.emit("invoice.voided", o, nil)
}

// day is a time for a description, such as 2 Jan 2026.
func day(unix int64) string { return time.Unix(unix, 0).UTC().Format("2 Jan 2006") }
