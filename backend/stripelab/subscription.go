package stripelab

import (
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// expireAfter is how long the first invoice of a subscription may stay unpaid.
const expireAfter = 23 * time.Hour

// order is what a new subscription is made from.
type order struct {
	customer  object
	lines     []orderLine
	grants    []grant
	metadata  map[string]string
	trialDays int64
	method    object
	// automatic is whether tax is added.
	automatic bool
	// behavior is what a failed first payment does.
	behavior string
}

// orderLine is a price and how often it is bought.
type orderLine struct {
	price    object
	quantity int64
}

// live reports whether a subscription has not ended.
func live(s object) bool {
	return s.text("status") != "canceled" && s.text("status") != "incomplete_expired"
}

func (b *book) createSubscription(c *call) object {
	c.need("customer", "items")
	c.chargesAutomatically()
	customer := b.referred(c, "customer", c.form.str("customer"), "customer")
	if customer == nil {
		return nil
	}
	o := order{
		customer: customer, metadata: c.metadata(c.form, nil), automatic: c.form.yes("automatic_tax", "enabled"), trialDays: c.trialDays(c.form),
		behavior: c.oneOf(c.form, "payment_behavior", "payment_behavior", "allow_incomplete", "allow_incomplete", "error_if_incomplete"),
	}
	for i, one := range c.form.list("items") {
		o.lines = append(o.lines, b.orderLine(c, one, fmt.Sprintf("items[%d]", i)))
	}
	b.checkItems(c, o.lines, "items")
	if c.failed != nil {
		return nil
	}
	currency := o.lines[0].price.text("currency")
	b.refuseCurrency(c, customer, currency)
	o.grants, _ = b.grants(c, c.form, "discounts", currency)
	if c.failed != nil {
		return nil
	}
	if o.trialDays == 0 && b.defaultMethod(object{}, customer) == nil && o.lines[0].price.num("unit_amount") > 0 {
		return c.refuse(invalid("resource_missing", "", "This customer has no attached payment source or default payment method. Please consider adding a default payment method. For more information, visit https://stripe.com/docs/billing/subscriptions/payment-methods-setting."))
	}
	s, _, f := b.subscribe(o)
	if f != nil {
		return c.refuse(f)
	}
	return s
}

func (b *book) orderLine(c *call, f *form, param string) orderLine {
	l := orderLine{price: b.priceFor(c, f, param), quantity: 1}
	if f.has("quantity") {
		l.quantity = c.number(f, "quantity", param+"[quantity]")
	}
	if l.quantity < 0 || l.quantity > 10000 {
		c.refuse(invalid("", param+"[quantity]", "Invalid quantity: must be between 0 and 10000"))
	}
	return l
}

// trialDays returns the length of the trial that a form gives, or 0.
func (c *call) trialDays(f *form) int64 {
	days := c.number(f, "trial_period_days", "trial_period_days")
	if days < 0 || days > 730 {
		c.refuse(invalid("", "trial_period_days", "Invalid trial_period_days: must be between 1 and 730"))
	}
	return days
}

// checkItems refuses prices that cannot be on one subscription.
func (b *book) checkItems(c *call, lines []orderLine, param string) {
	if len(lines) == 0 || len(lines) > 20 {
		c.refuse(invalid("", param, "A subscription has between 1 and 20 items."))
	}
	if c.failed != nil {
		return
	}
	first := lines[0].price
	for _, one := range lines {
		switch p := one.price; {
		case p["recurring"] == nil:
			c.refuse(invalid("", param, "The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`."))
		case p.text("currency") != first.text("currency"):
			c.refuse(invalid("", param, "All prices on a subscription must have the same currency."))
		case p.at("recurring").text("interval") != first.at("recurring").text("interval"):
			c.refuse(invalid("", param, "Currently, all prices on a subscription must have the same `recurring.interval`."))
		}
		if c.failed != nil {
			return
		}
	}
}

func (b *book) refuseCurrency(c *call, customer object, currency string) {
	if have := customer.text("currency"); have != "" && have != currency {
		c.refuse(invalid("", "", "You cannot combine currencies on a single customer. This customer has had a subscription, coupon, or invoice item with currency "+have))
	}
}

// subscribe makes a subscription and its first invoice. It returns an error only if the
// order asks for one when the first payment fails; then nothing stays.
func (b *book) subscribe(o order) (s, first object, f *failure) {
	start := b.unix()
	price := o.lines[0].price
	s = object{
		"id": b.id("sub"), "object": "subscription", "application": nil, "application_fee_percent": nil,
		"automatic_tax":        object{"disabled_reason": nil, "enabled": o.automatic, "liability": nil},
		"billing_cycle_anchor": start, "billing_cycle_anchor_config": nil, "billing_mode": object{"type": "classic", "flexible": nil}, "billing_schedules": []object{}, "billing_thresholds": nil, "cancel_at": nil,
		"cancel_at_period_end": false, "canceled_at": nil, "cancellation_details": object{"comment": nil, "feedback": nil, "reason": nil},
		"collection_method": "charge_automatically", "created": start, "currency": price.text("currency"), "customer": o.customer.id(), "customer_account": nil, "days_until_due": nil,
		"default_payment_method": nil, "default_source": nil, "default_tax_rates": []object{}, "description": nil, "discounts": []string{}, "ended_at": nil,
		"invoice_settings": object{"account_tax_ids": nil, "custom_fields": nil, "description": nil, "footer": nil, "issuer": object{"type": "self"}}, "latest_invoice": nil, "livemode": false, "metadata": o.metadata, "next_pending_invoice_item_invoice": nil,
		"on_behalf_of": nil, "pause_collection": nil, "payment_settings": object{"payment_method_options": nil, "payment_method_types": nil, "save_default_payment_method": "off"},
		"pending_invoice_item_interval": nil, "pending_setup_intent": nil, "pending_update": nil, "schedule": nil, "start_date": start, "status": "active",
		"test_clock": nil, "transfer_data": nil, "trial_end": nil, "trial_settings": object{"end_behavior": object{"missing_payment_method": "create_invoice"}},
		"trial_start": nil,
	}
	if o.method != nil {
		s["default_payment_method"] = o.method.id()
	}
	end := after(b.now, price.at("recurring").text("interval"), 1).Unix()
	if o.trialDays > 0 {
		end = b.now.AddDate(0, 0, int(o.trialDays)).Unix()
		s["status"], s["trial_start"], s["trial_end"], s["billing_cycle_anchor"] = "trialing", start, end, end
	}
	items := []object{}
	for _, one := range o.lines {
		items = append(items, b.newItem(s, one, start, end))
	}
	s["items"] = listOf("/v1/subscription_items?subscription="+s.id(), items, false)
	b.add(s)
	ids := []string{}
	for _, g := range o.grants {
		discount := b.redeem(g, o.customer, s)
		b.watch(discount)
		ids = append(ids, discount.id())
	}
	s["discounts"] = ids
	d := b.draftOf(s, "subscription_create")
	d.start, d.end = start, start
	d.lines = b.periodLines(s, items, o.trialDays > 0)
	first = b.invoice(d)
	b.finalize(first)
	if f = b.collect(first); f != nil {
		s["status"] = "incomplete"
	}
	b.emit("customer.subscription.created", s, nil)
	if f != nil && o.behavior == "error_if_incomplete" {
		b.void(first)
		b.remove(s)
		return nil, nil, f
	}
	for _, id := range ids {
		b.emit("customer.discount.created", b.all[id], nil)
	}
	b.watch(s)
	return s, first, nil
}

func (b *book) newItem(s object, l orderLine, start, end int64) object {
	return object{
		"id": b.id("si"), "object": "subscription_item", "billing_thresholds": nil, "created": b.unix(), "current_period_end": end, "current_period_start": start,
		"discounts": []string{}, "metadata": map[string]string{}, "price": l.price, "quantity": l.quantity, "subscription": s.id(), "tax_rates": []object{},
	}
}

// draftOf returns the draft of an invoice of a subscription, without lines.
func (b *book) draftOf(s object, reason string) draft {
	d := draft{
		customer: b.all[s.text("customer")], subscription: s, currency: s.text("currency"), reason: reason,
		automatic: s.at("automatic_tax").yes("enabled"),
	}
	for _, id := range s.texts("discounts") {
		d.discounts = append(d.discounts, b.all[id])
	}
	return d
}

func (b *book) nameOf(price object) string { return b.all[price.text("product")].text("name") }

// periodLines returns the lines of a period of some items.
func (b *book) periodLines(s object, items []object, trial bool) (lines []*priced) {
	for _, item := range items {
		price := item.at("price")
		p := &priced{
			price: price, quantity: item.num("quantity"), amount: price.num("unit_amount") * item.num("quantity"), start: item.num("current_period_start"),
			end: item.num("current_period_end"), subscription: s.id(), item: item.id(), metadata: maps.Clone(meta(s)),
		}
		p.description = fmt.Sprintf("%d × %s (at %s / %s)", p.quantity, b.nameOf(price), pretty(price.num("unit_amount"), price.text("currency")), price.at("recurring").text("interval"))
		if trial {
			p.amount, p.description = 0, "Trial period for "+b.nameOf(price)
		}
		lines = append(lines, p)
	}
	return lines
}

// subscriptionDue returns when something happens to a subscription, or 0.
func subscriptionDue(s object) int64 {
	items := s.objects("items")
	var end int64
	switch s.text("status") {
	case "incomplete":
		return s.num("created") + int64(expireAfter.Seconds())
	case "trialing":
		end = s.num("trial_end")
		if warn := end - 3*24*3600; !s.yes("_warned") {
			end = max(warn, s.num("created"))
		}
	case "active", "past_due", "unpaid":
		end = items[0].num("current_period_end")
	default:
		return 0
	}
	if at := s.num("cancel_at"); at > 0 && at < end {
		return at
	}
	return end
}

// subscriptionStep runs what is due for a subscription.
func (b *book) subscriptionStep(s object) {
	switch {
	case s.text("status") == "incomplete":
		b.change("customer.subscription.updated", s, func() {
			s["status"], s["ended_at"] = "incomplete_expired", b.unix()
		})
		for _, o := range b.openInvoices(s) {
			b.void(o)
		}
	case s.num("cancel_at") > 0 && s.num("cancel_at") <= b.unix():
		b.cancelNow(s, "cancellation_requested")
	case s.text("status") == "trialing" && !s.yes("_warned"):
		s["_warned"] = true
		if s.num("trial_end") > b.unix() {
			b.emit("customer.subscription.trial_will_end", s, nil)
		}
	default:
		b.nextPeriod(s)
	}
}

// nextPeriod begins the next period of a subscription, with a draft invoice.
func (b *book) nextPeriod(s object) {
	var o object
	b.change("customer.subscription.updated", s, func() {
		if s.text("status") == "trialing" {
			s["status"] = "active"
		}
		b.advancePeriod(s, s.objects("items")[0].num("current_period_end"))
		d := b.draftOf(s, "subscription_cycle")
		first := s.objects("items")[0]
		d.start, d.end = first.num("_former"), first.num("current_period_start")
		d.lines = b.periodLines(s, s.objects("items"), false)
		o = b.invoice(d)
	})
	switch pause := s.at("pause_collection").text("behavior"); {
	case pause == "void":
		b.void(o)
		return
	case pause == "mark_uncollectible":
		o["status"], o["auto_advance"] = "uncollectible", false
		return
	case pause != "", s.text("status") == "unpaid":
		o["auto_advance"] = false
		return
	}
	due := b.now.Add(b.settings.draft).Unix()
	o["_due"], o["automatically_finalizes_at"] = due, due
	b.watch(o)
}

// advancePeriod sets the period of all items to the next one after a time.
func (b *book) advancePeriod(s object, from int64) {
	interval := s.objects("items")[0].at("price").at("recurring").text("interval")
	anchor := time.Unix(s.num("billing_cycle_anchor"), 0).UTC()
	end := from
	for k := int64(0); end <= from; k++ {
		end = after(anchor, interval, k).Unix()
	}
	for _, item := range s.objects("items") {
		item["_former"] = item.num("current_period_start")
		item["current_period_start"], item["current_period_end"] = from, end
	}
}

// paidFor changes the status of a subscription of which an invoice was paid.
func (b *book) paidFor(s, o object) {
	if s == nil || s.text("latest_invoice") != o.id() {
		return
	}
	switch s.text("status") {
	case "incomplete", "past_due", "unpaid":
		b.change("customer.subscription.updated", s, func() { s["status"] = "active" })
	}
}

// failedFor changes the status of a subscription of which an invoice could not be charged:
// past due, and after the last attempt what the settings say.
func (b *book) failedFor(s, o object) {
	if s == nil || !live(s) || s.text("status") == "incomplete" {
		return
	}
	if s.text("status") == "active" {
		b.change("customer.subscription.updated", s, func() { s["status"] = "past_due" })
	}
	if o["next_payment_attempt"] != nil || int(o.num("attempt_count")) <= len(b.settings.retryDays) {
		return
	}
	switch b.settings.afterRetries {
	case "canceled":
		b.cancelNow(s, "payment_failed")
	case "unpaid":
		b.change("customer.subscription.updated", s, func() { s["status"] = "unpaid" })
	}
}

// openInvoices returns the invoices of a subscription that are not paid.
func (b *book) openInvoices(s object) (all []object) {
	for _, o := range b.table("invoice") {
		if subscriptionOf(o) == s.id() && (o.text("status") == "open" || o.text("status") == "draft") {
			all = append(all, o)
		}
	}
	return all
}

// cancelNow ends a subscription. Its open invoices are not charged again.
func (b *book) cancelNow(s object, reason string) {
	s["status"], s["ended_at"] = "canceled", b.unix()
	if s["canceled_at"] == nil {
		s["canceled_at"] = b.unix()
	}
	s.at("cancellation_details")["reason"] = reason
	for _, o := range b.openInvoices(s) {
		delete(o, "_due")
		o["auto_advance"], o["next_payment_attempt"] = false, nil
	}
	b.emit("customer.subscription.deleted", s, nil)
}

func (b *book) cancelSubscription(c *call, s object) object {
	if !live(s) {
		return c.refuse(missing("subscription", s.id(), "id"))
	}
	b.cancelNow(s, "cancellation_requested")
	return s
}

// prorate stores an item for the rest of the period of a subscription item. A negative
// quantity is a credit. As at the gateway, the discounts of the subscription are taken
// into account in the amount.
func (b *book) prorate(s, item, price object, quantity int64, prefix string) {
	at, start, end := b.unix(), item.num("current_period_start"), item.num("current_period_end")
	if s.text("status") == "trialing" || end <= start || quantity == 0 {
		return
	}
	currency := s.text("currency")
	net := price.num("unit_amount") * quantity
	for _, id := range s.texts("discounts") {
		d := b.all[id]
		if rate, is := b.all[d.at("source").text("coupon")]["percent_off"].(float64); is && b.applicable(d) {
			net -= percent(net, rate, currency)
		}
	}
	amount := share(net, big.NewRat(max(end-at, 0), 1), big.NewRat(end-start, 1), currency)
	if amount == 0 {
		return
	}
	o := b.add(object{
		"id": b.id("ii"), "object": "invoiceitem", "amount": amount, "currency": currency, "customer": s.text("customer"), "customer_account": nil, "date": at,
		"description": prefix + b.nameOf(price) + " after " + day(at), "discountable": false, "discounts": []string{}, "invoice": nil, "livemode": false,
		"metadata": map[string]string{}, "parent": object{"subscription_details": object{"subscription": s.id(), "subscription_item": item.id()}, "type": "subscription_details"},
		"period": object{"end": end, "start": at}, "pricing": pricing(price), "proration": true, "quantity": max(quantity, -quantity),
		"quantity_decimal": strconv.FormatInt(max(quantity, -quantity), 10), "tax_rates": []object{}, "test_clock": nil,
	})
	b.emit("invoiceitem.created", o, nil)
}

func (b *book) updateSubscription(c *call, s object) object {
	f := c.form
	c.chargesAutomatically()
	prorates := c.oneOf(f, "proration_behavior", "proration_behavior", "create_prorations", "create_prorations", "none") != "none"
	metadata := c.metadata(f, meta(s))
	made, kept := b.grants(c, f, "discounts", s.text("currency"))
	changes := b.changedItems(c, s)
	pause := c.oneOf(f.at("pause_collection"), "behavior", "pause_collection[behavior]", "", "keep_as_draft", "mark_uncollectible", "void")
	if !live(s) {
		for name := range f.fields {
			if name != "metadata" && name != "expand" {
				c.refuse(invalid("resource_missing", "id", "A canceled subscription can only update its cancellation_details and metadata."))
			}
		}
	}
	if c.failed != nil {
		return nil
	}
	b.change("customer.subscription.updated", s, func() {
		s["metadata"] = metadata
		if f.has("pause_collection") {
			s["pause_collection"] = nil
			if pause != "" {
				s["pause_collection"] = object{"behavior": pause, "resumes_at": nil}
			}
		}
		if f.has("cancel_at_period_end") {
			b.cancelAtPeriodEnd(s, f.yes("cancel_at_period_end"))
		}
		if f.has("discounts") {
			b.replaceDiscounts(s, made, kept)
		}
		for _, change := range changes {
			b.changeItem(s, change, prorates)
		}
	})
	b.watch(s)
	return s
}

func (b *book) cancelAtPeriodEnd(s object, ends bool) {
	s["cancel_at_period_end"], s["cancel_at"], s["canceled_at"] = ends, nil, nil
	if ends {
		s["cancel_at"], s["canceled_at"] = s.objects("items")[0].num("current_period_end"), b.unix()
		s.at("cancellation_details")["reason"] = "cancellation_requested"
	}
}

// replaceDiscounts gives a subscription new discounts; those that are not kept end.
func (b *book) replaceDiscounts(s object, made []grant, kept []object) {
	stay := []string{}
	for _, d := range kept {
		stay = append(stay, d.id())
	}
	for _, id := range s.texts("discounts") {
		if !slices.Contains(stay, id) {
			b.endDiscount(b.all[id])
		}
	}
	for _, g := range made {
		d := b.redeem(g, b.all[s.text("customer")], s)
		b.watch(d)
		stay = append(stay, d.id())
		b.emit("customer.discount.created", d, nil)
	}
	s["discounts"] = stay
}

// itemChange is an item, and what it is to be.
type itemChange struct {
	item object
	line orderLine
}

// changedItems reads items[] of an update. Items are neither added nor removed, and their
// prices stay in the same interval: the rest is not modeled.
func (b *book) changedItems(c *call, s object) (changes []itemChange) {
	items := s.objects("items")
	for i, one := range c.form.list("items") {
		param := fmt.Sprintf("items[%d]", i)
		n := slices.IndexFunc(items, func(item object) bool { return item.id() == one.str("id") })
		if n < 0 {
			c.refuse(missing("subscription_item", one.str("id"), param+"[id]"))
			return nil
		}
		had := orderLine{items[n].at("price"), items[n].num("quantity")}
		line := had
		if one.has("price") {
			line.price = b.priceFor(c, one, param)
		}
		if one.has("quantity") {
			line.quantity = c.number(one, "quantity", param+"[quantity]")
		}
		b.checkItems(c, []orderLine{had, line}, "items")
		changes = append(changes, itemChange{items[n], line})
	}
	return changes
}

// changeItem changes an item of a subscription, with prorations or without.
func (b *book) changeItem(s object, change itemChange, prorates bool) {
	item, line := change.item, change.line
	old, quantity := item.at("price"), item.num("quantity")
	if prorates && (old.id() != line.price.id() || quantity != line.quantity) {
		b.prorate(s, item, old, -quantity, "Unused time on ")
		b.prorate(s, item, line.price, line.quantity, "Remaining time on ")
	}
	item["price"], item["quantity"] = line.price, line.quantity
}

func (b *book) listSubscriptions(c *call) object {
	status := c.form.str("status")
	return b.list(c, "subscription", []string{"customer"}, func(s object) bool {
		switch status {
		case "":
			return s.text("status") != "canceled"
		case "all":
			return true
		}
		return s.text("status") == status
	})
}

// preview answers the next invoice of a subscription, which stores nothing.
func (b *book) preview(c *call) object {
	s := b.referred(c, "subscription", c.form.str("subscription"), "subscription")
	if s == nil {
		return c.refuse(invalid("parameter_missing", "subscription", "The lab previews the invoice of a subscription: give one."))
	}
	if !live(s) || s.yes("cancel_at_period_end") {
		return c.refuse(&failure{status: http.StatusNotFound, kind: invalidRequest, code: "invoice_upcoming_none", message: "No upcoming invoices for customer: " + s.text("customer")})
	}
	d := b.draftOf(s, "upcoming")
	d.preview = true
	first := s.objects("items")[0]
	from := first.num("current_period_end")
	items, _ := clone(s.objects("items")).([]object)
	shadow := object{"id": s.id(), "metadata": meta(s), "billing_cycle_anchor": s["billing_cycle_anchor"], "items": items}
	b.advancePeriod(shadow, from)
	d.lines = b.periodLines(shadow, items, false)
	d.start, d.end = first.num("current_period_start"), from
	// Discounts that end before the invoice do not apply to it.
	now := b.now
	b.now = time.Unix(from, 0).UTC()
	o := b.invoice(d)
	b.now = now
	o["next_payment_attempt"] = from + int64(b.settings.draft.Seconds())
	return o
}
