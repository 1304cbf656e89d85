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
	automatic bool
	// start and end are the period of the invoice.
	start, end int64
	// preview is whether nothing may be stored.
	preview bool
}

// pendingItems returns the items of a subscription that wait for an invoice.
func (b *book) pendingItems(subscription object) (all []object) {
	for _, item := range b.where("invoiceitem", "customer", subscription.text("customer")) {
		if item["invoice"] == nil && item.at("parent").at("subscription_details").text("subscription") == subscription.id() {
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
	for _, item := range b.pendingItems(d.subscription) {
		lines = append(lines, b.lineOfItem(item))
		if !d.preview {
			item["invoice"] = id
		}
	}
	var applied, coupons []object
	for _, one := range d.discounts {
		if b.applicable(one) {
			applied = append(applied, one)
			coupons = append(coupons, b.all[one.at("source").text("coupon")])
		}
	}
	t := b.total(d.currency, lines, coupons, d.automatic)
	o := b.invoiceObject(id, d, t, applied)
	if d.preview {
		return o
	}
	setCurrency(d.customer, d.currency)
	d.subscription["latest_invoice"] = id
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
		"amount_paid": int64(0), "amount_paid_off_stripe": int64(0), "amount_remaining": max(t.total, 0), "amount_shipping": int64(0), "application": nil, "attempt_count": int64(0), "attempted": false,
		"auto_advance": true, "automatic_tax": automaticTax(d.automatic), "automatically_finalizes_at": nil, "billing_reason": d.reason,
		"collection_method": "charge_automatically", "created": b.unix(), "currency": t.currency, "custom_fields": nil, "customer": d.customer.id(), "customer_account": nil,
		"customer_address": d.customer["address"], "customer_email": d.customer["email"], "customer_name": d.customer["name"], "customer_phone": d.customer["phone"],
		"customer_shipping": nil, "customer_tax_exempt": d.customer["tax_exempt"], "customer_tax_ids": []object{}, "default_payment_method": nil,
		"default_source": nil, "default_tax_rates": []object{}, "description": nil, "discounts": ids, "due_date": nil, "effective_at": nil, "ending_balance": nil,
		"footer": nil, "from_invoice": nil, "hosted_invoice_url": nil, "invoice_pdf": nil, "issuer": object{"type": "self"}, "last_finalization_error": nil,
		"latest_revision": nil, "livemode": false, "metadata": map[string]string{}, "next_payment_attempt": nil, "number": nil, "on_behalf_of": nil,
		"parent":           object{"quote_details": nil, "subscription_details": object{"metadata": maps.Clone(meta(d.subscription)), "subscription": d.subscription.id()}, "type": "subscription_details"},
		"payment_settings": object{"default_mandate": nil, "payment_method_options": nil, "payment_method_types": nil}, "period_end": d.end, "period_start": d.start,
		"post_payment_credit_notes_amount": int64(0), "pre_payment_credit_notes_amount": int64(0), "receipt_number": nil, "rendering": nil, "shipping_cost": nil,
		"shipping_details": nil, "starting_balance": d.customer.num("balance"), "statement_descriptor": nil, "status": "draft",
		"status_transitions": object{"finalized_at": nil, "marked_uncollectible_at": nil, "paid_at": nil, "voided_at": nil}, "subtotal": t.subtotal,
		"subtotal_excluding_tax": t.subtotal, "test_clock": nil, "total": t.total, "total_discount_amounts": offs, "total_excluding_tax": t.total - t.tax,
		"total_pretax_credit_amounts": []object{}, "total_taxes": taxes(t.lines), "webhooks_delivered_at": nil,
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
		all = append(all, object{
			"id": b.id("il"), "object": "line_item", "amount": p.amount, "currency": t.currency, "description": p.description, "discount_amounts": offs,
			"discountable": !p.proration, "discounts": []string{}, "invoice": invoice, "livemode": false, "metadata": p.metadata,
			"period": object{"end": p.end, "start": p.start}, "pretax_credit_amounts": []object{}, "quantity": p.quantity, "quantity_decimal": strconv.FormatInt(p.quantity, 10), "subtotal": p.amount,
			"subscription": p.subscription, "taxes": taxes([]*priced{p}), "pricing": pricing(p.price),
			"parent": object{"invoice_item_details": nil, "type": "subscription_item_details", "subscription_item_details": object{
				"invoice_item": or(p.pending), "proration": p.proration, "proration_details": object{"credited_items": nil}, "subscription": p.subscription,
				"subscription_item": p.item,
			}},
		})
	}
	return all
}

// pricing returns how the price of a line is answered.
func pricing(price object) object {
	return object{
		"price_details": object{"price": price.id(), "product": price.text("product")}, "type": "price_details", "unit_amount_decimal": price.text("unit_amount_decimal"),
	}
}

// lineOfItem returns the line of a pending item, which is a proration. Discounts are in its
// amount already.
func (b *book) lineOfItem(item object) *priced {
	details := item.at("parent").at("subscription_details")
	return &priced{
		price: b.all[item.at("pricing").at("price_details").text("price")], quantity: item.num("quantity"), amount: item.num("amount"), description: item.text("description"),
		start: item.at("period").num("start"), end: item.at("period").num("end"), proration: true, subscription: details.text("subscription"),
		item: details.text("subscription_item"), pending: item.id(), metadata: map[string]string{},
	}
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

// collect tries to have a final invoice paid with the default payment method. It returns the
// failure of the charge, or nil.
func (b *book) collect(o object) *failure {
	if o.num("amount_due") == 0 {
		b.settle(o)
		return nil
	}
	payment, intent := b.payment(o)
	o["attempted"], o["attempt_count"] = true, o.num("attempt_count")+1
	f := b.confirm(intent, b.defaultMethod(o, b.all[o.text("customer")]))
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

// invoiceStep runs what is due for an invoice of a subscription: it is finalized and charged, or
// charged again, which changes the status of the subscription. The next attempt is scheduled
// before, since the event of a failure has its time.
func (b *book) invoiceStep(o object) {
	delete(o, "_due")
	if o.text("status") == "draft" {
		b.finalize(o)
	}
	n := int(o.num("attempt_count"))
	o["next_payment_attempt"] = nil
	if n < len(b.settings.retryDays) && o.text("billing_reason") != "subscription_create" {
		next := b.now.AddDate(0, 0, b.settings.retryDays[n]).Unix()
		o["next_payment_attempt"], o["_due"] = next, next
		b.watch(o)
	}
	subscription := b.all[subscriptionOf(o)]
	if f := b.collect(o); f != nil {
		b.failedFor(subscription, o)
	} else {
		b.paidFor(subscription, o)
	}
}

func subscriptionOf(o object) string {
	return o.at("parent").at("subscription_details").text("subscription")
}

func (b *book) listInvoices(c *call) object {
	subscription := c.form.str("subscription")
	return b.list(c, "invoice", []string{"customer", "status"}, func(o object) bool { return subscription == "" || subscriptionOf(o) == subscription })
}

func (b *book) listInvoicePayments(c *call) object {
	intent := c.form.str("payment", "payment_intent")
	return b.list(c, "invoice_payment", []string{"invoice", "status"}, func(o object) bool { return intent == "" || o.at("payment").text("payment_intent") == intent })
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
