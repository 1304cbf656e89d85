package stripelab

import (
	"fmt"
	"math/big"
	"net/http"
	"time"
)

// expireAfter is how long the first invoice of a subscription may stay unpaid.
const expireAfter = 23 * time.Hour

// order is what a new subscription is made from.
type order struct {
	customer object
	lines    []orderLine
	// extra are one-time prices on the first invoice.
	extra    []orderLine
	grants   []grant
	kept     []object
	metadata map[string]string
	trialEnd int64
	method   object
	rates    []object
	// automatic is whether the rate of the settings is the tax.
	automatic         bool
	description       string
	cancelAt          int64
	cancelAtPeriodEnd bool
	// behavior is what a failed first payment does.
	behavior string
	// endTrial is what happens at the end of a trial without a payment method.
	endTrial string
}

// orderLine is a price and how often it is bought.
type orderLine struct {
	price    object
	quantity int64
	metadata map[string]string
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
	defer b.enter(customer)()
	o := order{
		customer: customer, metadata: c.metadata(c.form, nil), rates: b.rates(c, c.form, "default_tax_rates"), automatic: c.form.yes("automatic_tax", "enabled"),
		description: c.form.str("description"), cancelAt: c.number(c.form, "cancel_at", "cancel_at"), cancelAtPeriodEnd: c.form.yes("cancel_at_period_end"),
		behavior: c.oneOf(c.form, "payment_behavior", "payment_behavior", "allow_incomplete", "allow_incomplete", "default_incomplete", "error_if_incomplete"),
		endTrial: c.oneOf(c.form.at("trial_settings", "end_behavior"), "missing_payment_method", "trial_settings[end_behavior][missing_payment_method]", "create_invoice", "cancel", "create_invoice", "pause"),
	}
	for i, one := range c.form.list("items") {
		o.lines = append(o.lines, b.orderLine(c, one, fmt.Sprintf("items[%d]", i)))
	}
	for i, one := range c.form.list("add_invoice_items") {
		o.extra = append(o.extra, b.orderLine(c, one, fmt.Sprintf("add_invoice_items[%d]", i)))
	}
	o.trialEnd = b.trialEnd(c, c.form)
	o.method = b.methodFor(c, c.form.str("default_payment_method"), "default_payment_method")
	b.checkItems(c, o.lines, "items")
	if c.failed != nil {
		return nil
	}
	currency := o.lines[0].price.text("currency")
	b.refuseCurrency(c, customer, currency)
	o.grants, o.kept = b.grants(c, c.form, "discounts", customer, currency)
	if c.failed != nil {
		return nil
	}
	if o.method == nil && o.trialEnd == 0 && o.behavior != "default_incomplete" && b.defaultMethod(object{}, customer) == nil && o.lines[0].price.num("unit_amount") > 0 {
		return c.refuse(invalid("resource_missing", "", "This customer has no attached payment source or default payment method. Please consider adding a default payment method. For more information, visit https://stripe.com/docs/billing/subscriptions/payment-methods-setting."))
	}
	s, _, f := b.subscribe(o)
	if f != nil {
		return c.refuse(f)
	}
	return s
}

func (b *book) orderLine(c *call, f *form, param string) orderLine {
	l := orderLine{price: b.priceFor(c, f, param), quantity: 1, metadata: c.metadata(f, nil)}
	if f.has("quantity") {
		l.quantity = c.number(f, "quantity", param+"[quantity]")
	}
	if l.quantity < 0 || l.quantity > 10000 {
		c.refuse(invalid("", param+"[quantity]", "Invalid quantity: must be between 0 and 10000"))
	}
	return l
}

// trialEnd returns the end of the trial that a form gives, or 0.
func (b *book) trialEnd(c *call, f *form) int64 {
	days := c.number(f, "trial_period_days", "trial_period_days")
	switch end := f.str("trial_end"); {
	case days < 0 || days > 730:
		c.refuse(invalid("", "trial_period_days", "Invalid trial_period_days: must be between 1 and 730"))
	case days > 0:
		return b.now.AddDate(0, 0, int(days)).Unix()
	case end != "" && end != "now":
		at := c.whole(end, "trial_end")
		if at <= b.unix() {
			c.refuse(invalid("", "trial_end", "Invalid timestamp: must be an integer Unix timestamp in the future"))
		}
		return at
	}
	return 0
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
		case p.at("recurring").text("interval") != first.at("recurring").text("interval") || p.at("recurring").num("interval_count") != first.at("recurring").num("interval_count"):
			c.refuse(invalid("", param, "Currently, all prices on a subscription must have the same `recurring.interval` and `recurring.interval_count`."))
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
		"billing_cycle_anchor": start, "billing_cycle_anchor_config": nil, "billing_mode": object{"type": "classic", "flexible": nil}, "billing_schedules": []object{}, "billing_thresholds": nil, "cancel_at": whole(o.cancelAt),
		"cancel_at_period_end": o.cancelAtPeriodEnd, "canceled_at": nil, "cancellation_details": object{"comment": nil, "feedback": nil, "reason": nil},
		"collection_method": "charge_automatically", "created": start, "currency": price.text("currency"), "customer": o.customer.id(), "customer_account": nil, "days_until_due": nil,
		"default_payment_method": nil, "default_source": nil, "default_tax_rates": []object{}, "description": or(o.description), "discounts": []string{}, "ended_at": nil,
		"invoice_settings": object{"account_tax_ids": nil, "custom_fields": nil, "description": nil, "footer": nil, "issuer": object{"type": "self"}}, "latest_invoice": nil, "livemode": false, "metadata": o.metadata, "next_pending_invoice_item_invoice": nil,
		"on_behalf_of": nil, "pause_collection": nil, "payment_settings": object{"payment_method_options": nil, "payment_method_types": nil, "save_default_payment_method": "off"},
		"pending_invoice_item_interval": nil, "pending_setup_intent": nil, "pending_update": nil, "schedule": nil, "start_date": start, "status": "active",
		"test_clock": o.customer["test_clock"], "transfer_data": nil, "trial_end": nil, "trial_settings": object{"end_behavior": object{"missing_payment_method": o.endTrial}},
		"trial_start": nil,
	}
	if o.rates != nil {
		s["default_tax_rates"] = o.rates
	}
	if o.method != nil {
		if o.method.text("customer") == "" {
			b.attach(o.method, o.customer)
		}
		s["default_payment_method"] = o.method.id()
	}
	end := after(b.now, price.at("recurring").text("interval"), price.at("recurring").num("interval_count")).Unix()
	if o.trialEnd > 0 {
		end = o.trialEnd
		s["status"], s["trial_start"], s["trial_end"], s["billing_cycle_anchor"] = "trialing", start, end, end
	}
	items := []object{}
	for _, one := range o.lines {
		items = append(items, b.newItem(s, one, start, end))
	}
	s["items"] = listOf("/v1/subscription_items?subscription="+s.id(), items, false)
	if s.yes("cancel_at_period_end") {
		s["cancel_at"], s["canceled_at"] = end, start
	}
	b.add(s)
	ids := []string{}
	for _, d := range o.kept {
		ids = append(ids, d.id())
	}
	for _, g := range o.grants {
		d := b.redeem(g, o.customer, s)
		b.watch(d)
		ids = append(ids, d.id())
	}
	s["discounts"] = ids
	first = b.firstInvoice(s, o)
	if o.behavior == "default_incomplete" && first.num("amount_due") > 0 {
		b.finalize(first)
		s["status"] = "incomplete"
		b.emit("customer.subscription.created", s, nil)
	} else {
		b.finalize(first)
		if f = b.collect(first, nil); f != nil {
			s["status"] = "incomplete"
		}
		b.emit("customer.subscription.created", s, nil)
	}
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
	item := object{
		"id": b.id("si"), "object": "subscription_item", "billing_thresholds": nil, "created": b.unix(), "current_period_end": end, "current_period_start": start,
		"discounts": []string{}, "metadata": l.metadata, "price": l.price, "quantity": l.quantity, "subscription": s.id(), "tax_rates": []object{},
	}
	if l.metadata == nil {
		item["metadata"] = map[string]string{}
	}
	return item
}

// firstInvoice makes the first invoice of a subscription: of its first period, or of
// nothing during a trial.
func (b *book) firstInvoice(s object, o order) object {
	d := b.draftOf(s, "subscription_create")
	d.start, d.end = b.unix(), b.unix()
	d.lines = b.periodLines(s, s.objects("items"), s.text("status") == "trialing")
	for _, one := range o.extra {
		d.lines = append(d.lines, &priced{
			price: one.price, quantity: one.quantity, amount: one.price.num("unit_amount") * one.quantity, description: b.nameOf(one.price), start: b.unix(), end: b.unix(),
			subscription: s.id(), pending: b.id("ii"),
		})
	}
	d.pending = true
	return b.invoice(d)
}

// draftOf returns the draft of an invoice of a subscription, without lines.
func (b *book) draftOf(s object, reason string) draft {
	d := draft{
		customer: b.all[s.text("customer")], subscription: s, currency: s.text("currency"), reason: reason, rates: s.objects("default_tax_rates"),
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
			end: item.num("current_period_end"), subscription: s.id(), item: item.id(), metadata: slicesOf(meta(s)),
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
	case s.text("status") == "trialing" && b.defaultMethod(s, b.all[s.text("customer")]) == nil && s.at("trial_settings").at("end_behavior").text("missing_payment_method") != "create_invoice":
		b.endTrial(s)
	default:
		b.nextPeriod(s)
	}
}

// endTrial ends a trial without a payment method as the subscription says.
func (b *book) endTrial(s object) {
	if s.at("trial_settings").at("end_behavior").text("missing_payment_method") == "cancel" {
		b.cancelNow(s, "cancellation_requested")
		return
	}
	b.change("customer.subscription.paused", s, func() { s["status"] = "paused" })
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
		d.lines, d.pending = b.periodLines(s, s.objects("items"), false), true
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
	recurring := s.objects("items")[0].at("price").at("recurring")
	anchor := time.Unix(s.num("billing_cycle_anchor"), 0).UTC()
	end := from
	for k := int64(0); end <= from; k++ {
		end = after(anchor, recurring.text("interval"), k*recurring.num("interval_count")).Unix()
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

func (b *book) cancelSubscription(c *call) object {
	s := b.named(c, "subscription")
	if s == nil {
		return nil
	}
	if !live(s) {
		return c.refuse(missing("subscription", s.id(), "id"))
	}
	customer := b.all[s.text("customer")]
	defer b.enter(customer)()
	if c.form.yes("prorate") {
		b.credit(s, s.objects("items"), b.unix())
	}
	b.cancelNow(s, "cancellation_requested")
	if c.form.yes("invoice_now") && len(b.pendingItems(customer, s, s.text("currency"))) > 0 {
		b.invoiceNow(s)
	}
	return s
}

// credit stores an item for the unused time of some items of a subscription.
func (b *book) credit(s object, items []object, at int64) {
	for _, item := range items {
		b.prorate(s, item, item.at("price"), -item.num("quantity"), at, "Unused time on ")
	}
}

// prorate stores an item for the rest of the period of a subscription item. A negative
// quantity is a credit. As at the gateway, the discounts of the subscription are taken
// into account in the amount.
func (b *book) prorate(s, item, price object, quantity, at int64, prefix string) {
	start, end := item.num("current_period_start"), item.num("current_period_end")
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
	count := quantity
	if count < 0 {
		count = -count
	}
	b.invoiceItem(b.all[s.text("customer")], &priced{
		price: price, quantity: count, amount: amount, description: prefix + b.nameOf(price) + " after " + day(at), start: at, end: end, proration: true, noDiscount: true,
		subscription: s.id(), item: item.id(),
	}, currency)
}

// invoiceNow makes an invoice of the pending items of a subscription and charges it.
func (b *book) invoiceNow(s object) object {
	d := b.draftOf(s, "subscription_update")
	d.start, d.end, d.pending = b.unix(), b.unix(), true
	o := b.invoice(d)
	b.finalize(o)
	b.attempt(o, s)
	return o
}

func (b *book) updateSubscription(c *call) object {
	s := b.named(c, "subscription")
	if s == nil {
		return nil
	}
	customer := b.all[s.text("customer")]
	defer b.enter(customer)()
	f := c.form
	c.chargesAutomatically()
	proration := c.oneOf(f, "proration_behavior", "proration_behavior", "create_prorations", "create_prorations", "always_invoice", "none")
	metadata := c.metadata(f, meta(s))
	method := b.methodFor(c, f.str("default_payment_method"), "default_payment_method")
	cancelAt := c.number(f, "cancel_at", "cancel_at")
	made, kept := b.grants(c, f, "discounts", customer, s.text("currency"))
	at := b.unix()
	if f.has("proration_date") {
		at = c.number(f, "proration_date", "proration_date")
	}
	if f.has("trial_end") && f.str("trial_end") != "now" {
		b.trialEnd(c, f)
	}
	items := b.changedItems(c, s, f)
	if !live(s) {
		for name := range f.fields {
			if name != "metadata" && name != "expand" && name != "cancellation_details" {
				c.refuse(invalid("resource_missing", "id", "A canceled subscription can only update its cancellation_details and metadata."))
			}
		}
	}
	if c.failed != nil {
		return nil
	}
	var invoice bool
	b.change("customer.subscription.updated", s, func() {
		s["metadata"] = metadata
		b.setSimple(c, s, method, cancelAt)
		if f.has("discounts") {
			b.replaceDiscounts(s, customer, made, kept)
		}
		invoice = b.replaceItems(s, items, proration, at)
		if f.has("trial_end") {
			invoice = b.moveTrial(c, s, f.str("trial_end")) || invoice
		}
		if f.str("billing_cycle_anchor") == "now" {
			b.restart(s)
			invoice = true
		}
	})
	b.watch(s)
	if invoice {
		b.periodNow(s, items != nil && !s.yes("_restarted"))
	}
	delete(s, "_restarted")
	return s
}

// setSimple sets the fields of an update that have no further effect.
func (b *book) setSimple(c *call, s, method object, cancelAt int64) {
	f := c.form
	if method != nil {
		if method.text("customer") == "" {
			b.attach(method, b.all[s.text("customer")])
		}
		s["default_payment_method"] = method.id()
	}
	if f.has("description") {
		s["description"] = or(f.str("description"))
	}
	if f.has("cancellation_details") {
		for _, name := range []string{"comment", "feedback"} {
			if f.at("cancellation_details").has(name) {
				s.at("cancellation_details")[name] = or(f.str("cancellation_details", name))
			}
		}
	}
	if f.has("pause_collection") {
		s["pause_collection"] = nil
		if behavior := c.oneOf(f.at("pause_collection"), "behavior", "pause_collection[behavior]", "", "keep_as_draft", "mark_uncollectible", "void"); behavior != "" {
			s["pause_collection"] = object{"behavior": behavior, "resumes_at": nil}
		}
	}
	if f.has("cancel_at_period_end") {
		s["cancel_at_period_end"], s["cancel_at"], s["canceled_at"] = f.yes("cancel_at_period_end"), nil, nil
		if f.yes("cancel_at_period_end") {
			s["cancel_at"], s["canceled_at"] = s.objects("items")[0].num("current_period_end"), b.unix()
			s.at("cancellation_details")["reason"] = "cancellation_requested"
		}
	}
	if f.has("cancel_at") {
		s["cancel_at"], s["canceled_at"] = whole(cancelAt), nil
		if cancelAt > 0 {
			s["canceled_at"] = b.unix()
		}
	}
}

// replaceDiscounts gives a subscription new discounts; those that are not kept end.
func (b *book) replaceDiscounts(s, customer object, made []grant, kept []object) {
	stay := []string{}
	for _, d := range kept {
		stay = append(stay, d.id())
	}
	for _, id := range s.texts("discounts") {
		if !contains(stay, id) {
			b.endDiscount(b.all[id])
		}
	}
	for _, g := range made {
		d := b.redeem(g, customer, s)
		b.watch(d)
		stay = append(stay, d.id())
		b.emit("customer.discount.created", d, nil)
	}
	s["discounts"] = stay
}

// itemChange is a change of an item; before is nil for a new one, and line.price for one
// that is removed.
type itemChange struct {
	before object
	line   orderLine
}

// changedItems reads items[] of an update: nil if it changes none.
func (b *book) changedItems(c *call, s object, f *form) (changes []itemChange) {
	for i, one := range f.list("items") {
		param := fmt.Sprintf("items[%d]", i)
		var change itemChange
		if id := one.str("id"); id != "" {
			for _, item := range s.objects("items") {
				if item.id() == id {
					change.before = item
				}
			}
			if change.before == nil {
				c.refuse(missing("subscription_item", id, param+"[id]"))
				return nil
			}
			change.line = orderLine{change.before.at("price"), change.before.num("quantity"), meta(change.before)}
			if one.yes("deleted") {
				change.line.price = nil
				changes = append(changes, change)
				continue
			}
		}
		if one.has("price") || one.has("price_data") || change.before == nil {
			change.line.price = b.priceFor(c, one, param)
			if change.before == nil {
				change.line.quantity = 1
			}
		}
		if one.has("quantity") {
			change.line.quantity = c.number(one, "quantity", param+"[quantity]")
		}
		change.line.metadata = c.metadata(one, change.line.metadata)
		changes = append(changes, change)
	}
	if c.failed != nil || changes == nil {
		return nil
	}
	var lines []orderLine
	for _, line := range b.linesAfter(s, changes) {
		lines = append(lines, line.line)
	}
	b.checkItems(c, lines, "items")
	if c.failed == nil && lines[0].price.text("currency") != s.text("currency") {
		c.refuse(invalid("", "items", "The currency of a subscription cannot be changed."))
	}
	return changes
}

// linesAfter returns all items of a subscription after some changes.
func (b *book) linesAfter(s object, changes []itemChange) (all []itemChange) {
	for _, item := range s.objects("items") {
		kept := itemChange{item, orderLine{item.at("price"), item.num("quantity"), meta(item)}}
		for _, change := range changes {
			if change.before != nil && change.before.id() == item.id() {
				kept = change
			}
		}
		if kept.line.price != nil {
			all = append(all, kept)
		}
	}
	for _, change := range changes {
		if change.before == nil {
			all = append(all, change)
		}
	}
	return all
}

// replaceItems changes the items of a subscription, with prorations, and reports whether
// an invoice is to be made now. A change of the interval begins a new period now.
func (b *book) replaceItems(s object, changes []itemChange, proration string, at int64) bool {
	if changes == nil {
		return false
	}
	first := s.objects("items")[0]
	old := first.at("price").at("recurring")
	all := b.linesAfter(s, changes)
	fresh := all[0].line.price.at("recurring")
	restart := old.text("interval") != fresh.text("interval") || old.num("interval_count") != fresh.num("interval_count")
	if proration != "none" {
		for _, change := range changes {
			same := change.before != nil && change.line.price != nil && change.before.at("price").id() == change.line.price.id() && change.before.num("quantity") == change.line.quantity
			if same {
				continue
			}
			if change.before != nil {
				b.prorate(s, change.before, change.before.at("price"), -change.before.num("quantity"), at, "Unused time on ")
			}
			if change.line.price != nil && !restart {
				in := change.before
				if in == nil {
					in = first
				}
				b.prorate(s, in, change.line.price, change.line.quantity, at, "Remaining time on ")
			}
		}
	}
	items := []object{}
	for _, one := range all {
		item := one.before
		if item == nil {
			item = b.newItem(s, one.line, first.num("current_period_start"), first.num("current_period_end"))
		}
		item["price"], item["quantity"], item["metadata"] = one.line.price, one.line.quantity, one.line.metadata
		if one.line.metadata == nil {
			item["metadata"] = map[string]string{}
		}
		items = append(items, item)
	}
	s["items"] = listOf(s.at("items").text("url"), items, false)
	if restart && s.text("status") != "trialing" {
		b.restart(s)
		return true
	}
	return proration == "always_invoice"
}

// restart begins a new period of a subscription now.
func (b *book) restart(s object) {
	s["billing_cycle_anchor"], s["_restarted"] = b.unix(), true
	b.advancePeriod(s, b.unix())
}

// moveTrial changes the end of a trial, and reports whether it ended now.
func (b *book) moveTrial(c *call, s object, end string) bool {
	if end == "now" {
		if s.text("status") != "trialing" {
			return false
		}
		s["status"], s["trial_end"] = "active", b.unix()
		b.restart(s)
		return true
	}
	at := c.whole(end, "trial_end")
	if s["trial_start"] == nil {
		s["trial_start"] = b.unix()
	}
	s["status"], s["trial_end"], s["billing_cycle_anchor"] = "trialing", at, at
	delete(s, "_warned")
	for _, item := range s.objects("items") {
		item["current_period_end"] = at
	}
	return false
}

// periodNow makes and charges an invoice now: of a period that has just begun, or of the
// pending items only.
func (b *book) periodNow(s object, itemsOnly bool) {
	if itemsOnly {
		if len(b.pendingItems(b.all[s.text("customer")], s, s.text("currency"))) > 0 {
			b.invoiceNow(s)
		}
		return
	}
	d := b.draftOf(s, "subscription_update")
	d.start, d.end, d.pending = b.unix(), b.unix(), true
	d.lines = b.periodLines(s, s.objects("items"), false)
	o := b.invoice(d)
	b.finalize(o)
	b.attempt(o, s)
}

func (b *book) listSubscriptions(c *call) object {
	status, price := c.form.str("status"), c.form.str("price")
	return b.list(c, "subscription", []string{"customer", "collection_method", "test_clock"}, func(s object) bool {
		switch status {
		case "":
			if s.text("status") == "canceled" {
				return false
			}
		case "all":
		case "ended":
			if live(s) {
				return false
			}
		default:
			if s.text("status") != status {
				return false
			}
		}
		if price == "" {
			return true
		}
		for _, item := range s.objects("items") {
			if item.at("price").id() == price {
				return true
			}
		}
		return false
	})
}

func (b *book) listItems(c *call) object {
	c.need("subscription")
	s := b.referred(c, "subscription", c.form.str("subscription"), "subscription")
	if s == nil {
		return nil
	}
	return c.page(s.objects("items"))
}

// deleteDiscount removes the discounts of a subscription.
func (b *book) deleteDiscount(c *call) object {
	s := b.named(c, "subscription")
	if s == nil {
		return nil
	}
	ids := s.texts("discounts")
	if len(ids) == 0 {
		return c.refuse(&failure{status: http.StatusNotFound, kind: invalidRequest, code: "resource_missing", message: "No active discount for subscription: " + s.id()})
	}
	d := b.all[ids[len(ids)-1]]
	b.change("customer.subscription.updated", s, func() { b.endDiscount(d) })
	gone, _ := clone(d).(object)
	gone["deleted"] = true
	delete(gone, "end")
	return gone
}

// preview answers the next invoice of a subscription, which stores nothing.
func (b *book) preview(c *call) object {
	s := b.referred(c, "subscription", c.form.str("subscription"), "subscription")
	if s == nil {
		return c.refuse(invalid("parameter_missing", "subscription", "The lab previews the invoice of a subscription: give one."))
	}
	customer := b.all[s.text("customer")]
	defer b.enter(customer)()
	if !live(s) || s.yes("cancel_at_period_end") {
		return c.refuse(&failure{status: http.StatusNotFound, kind: invalidRequest, code: "invoice_upcoming_none", message: "No upcoming invoices for customer: " + customer.id()})
	}
	d := b.draftOf(s, "upcoming")
	d.preview, d.pending = true, c.form.str("preview_mode") != "recurring"
	changes := b.changedItems(c, s, c.form.at("subscription_details"))
	made, kept := b.grants(c, c.form, "discounts", customer, d.currency)
	if c.failed != nil {
		return nil
	}
	if c.form.has("discounts") {
		d.discounts = kept
		for _, g := range made {
			d.discounts = append(d.discounts, object{"id": "di_preview", "object": "discount", "source": object{"coupon": g.coupon.id()}})
		}
	}
	first := s.objects("items")[0]
	from := first.num("current_period_end")
	var items []object
	for _, one := range b.linesAfter(s, changes) {
		item := b.newItem(s, one.line, from, from)
		if one.before != nil {
			item["id"] = one.before.id()
		}
		items = append(items, item)
	}
	shadow := object{"id": s.id(), "metadata": meta(s), "billing_cycle_anchor": s["billing_cycle_anchor"], "items": listOf("", items, false)}
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
