package stripelab

import (
	"maps"
	"strings"
)

func (b *book) createCustomer(c *call) object {
	o := object{
		"id": b.id("cus"), "object": "customer", "address": nil, "balance": int64(0), "created": b.unix(), "currency": nil, "default_source": nil,
		"delinquent": false, "description": nil, "discount": nil, "email": nil, "invoice_prefix": strings.ToUpper(b.secret("x")[2:10]),
		"invoice_settings": object{"custom_fields": nil, "default_payment_method": nil, "footer": nil, "rendering_options": nil},
		"livemode":         false, "metadata": map[string]string{}, "name": nil, "next_invoice_sequence": int64(1), "phone": nil, "preferred_locales": []string{},
		"shipping": nil, "tax_exempt": "none", "test_clock": nil,
	}
	b.setCustomer(c, o)
	method := b.methodFor(c, c.form.str("payment_method"), "payment_method")
	if c.failed != nil {
		return nil
	}
	b.add(o)
	b.emit("customer.created", o, nil)
	if method != nil {
		b.attach(method, o)
	}
	if wanted := c.form.str("invoice_settings", "default_payment_method"); wanted != "" {
		b.setDefaultMethod(c, o, wanted)
	}
	return o
}

// setCustomer sets the fields that a call gives.
func (b *book) setCustomer(c *call, o object) {
	for _, name := range []string{"email", "name"} {
		if c.form.has(name) {
			if len(c.form.str(name)) > 512 {
				c.refuse(invalid("", name, "Invalid string: at most 512 characters"))
			}
			o[name] = or(c.form.str(name))
		}
	}
	if email := o.text("email"); email != "" && !strings.Contains(email, "@") {
		c.refuse(invalid("email_invalid", "email", "Invalid email address: "+email))
	}
	o["metadata"] = c.metadata(c.form, meta(o))
}

func (b *book) updateCustomer(c *call, o object) object {
	changed, _ := clone(o).(object)
	b.setCustomer(c, changed)
	if c.failed != nil {
		return nil
	}
	b.change("customer.updated", o, func() {
		maps.Copy(o, changed)
		if wanted := c.form.at("invoice_settings", "default_payment_method"); wanted != nil {
			b.setDefaultMethod(c, o, wanted.text)
		}
	})
	return o
}

func (b *book) deleteCustomer(_ *call, o object) object {
	// As at the gateway, the customer's subscriptions are canceled at once.
	for _, s := range b.where("subscription", "customer", o.id()) {
		if live(s) {
			b.cancelNow(s, "cancellation_requested")
		}
	}
	b.remove(o)
	b.emit("customer.deleted", o, nil)
	return deleted(o)
}

// getCustomer answers a customer; a deleted one as deleted, as the gateway does.
func (b *book) getCustomer(c *call) object {
	if o := b.all[c.id]; o != nil && o.kind() == "customer" && o.yes("_deleted") {
		return deleted(o)
	}
	return b.named(c, "customer")
}

// setCurrency fixes the currency of a customer with the first record that has one.
func setCurrency(customer object, currency string) {
	if customer["currency"] == nil {
		customer["currency"] = currency
	}
}

// createBalance changes the balance of a customer: a negative amount is a credit.
func (b *book) createBalance(c *call, customer object) object {
	c.need("amount", "currency")
	if c.failed != nil {
		return nil
	}
	currency := c.currency(c.form, "currency")
	amount := c.amountOf(c.form, "amount", "amount", currency)
	metadata := c.metadata(c.form, nil)
	if have := customer.text("currency"); have != "" && have != currency {
		c.refuse(invalid("", "currency", "Cannot combine currencies on a single customer. This customer has had a subscription, invoice or balance transaction in "+have+"."))
	}
	if c.failed != nil {
		return nil
	}
	var t object
	b.change("customer.updated", customer, func() {
		setCurrency(customer, currency)
		t = b.moveBalance(customer, amount, "adjustment", nil)
	})
	t["description"], t["metadata"] = or(c.form.str("description")), metadata
	return t
}

// moveBalance adds a transaction to the balance of a customer. invoice is the one to which
// a credit is applied, or nil.
func (b *book) moveBalance(customer object, amount int64, kind string, invoice object) object {
	customer["balance"] = customer.num("balance") + amount
	t := object{
		"id": b.id("cbtxn"), "object": "customer_balance_transaction", "amount": amount, "checkout_session": nil, "created": b.unix(), "credit_note": nil,
		"currency": customer.text("currency"), "customer": customer.id(), "description": nil, "ending_balance": customer.num("balance"), "invoice": nil,
		"livemode": false, "metadata": map[string]string{}, "type": kind,
	}
	if invoice != nil {
		t["invoice"], t["currency"] = invoice.id(), invoice.text("currency")
	}
	return b.add(t)
}

func (b *book) listBalance(c *call, _ object) object {
	return b.list(c, "customer_balance_transaction", nil, func(o object) bool { return o.text("customer") == c.id })
}
