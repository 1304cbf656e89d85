package braintreelab

import (
	"slices"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
	"kith/backend/labkit"
)

// subscription is the subscription of a customer to a plan. Money is in minor units of
// the plan's currency.
type subscription struct {
	id     string
	plan   *plan
	method *method
	price  int64
	status braintree.Status

	// first is the day of the first bill; it determines the days of all others.
	first time.Time
	// nextBilling is the day on which the next cycle begins.
	nextBilling time.Time
	// The days of the current cycle; zero before the first.
	periodStart, periodEnd, paidThrough time.Time
	// cycle counts billing cycles; 0 before the first. cycles is their total number; 0
	// means no end.
	cycle, cycles int

	trial         bool
	trialDuration int
	trialUnit     string

	// balance is the amount owed, or if negative a credit.
	balance int64
	// failures counts failed charges since the last successful one, pastDue is the time
	// of the first of them, and retryAt the time of the next automatic one.
	failures, retried int
	pastDue, retryAt  time.Time
	// charged is true after the first successful charge.
	charged bool

	addOns, discounts []modification
	// billed are the add-ons and discounts of the current cycle.
	billed       [2][]modification
	transactions []*transaction // newest first
	history      []statusEvent
	created      time.Time
	updated      time.Time
}

type statusEvent struct {
	at             time.Time
	status         braintree.Status
	price, balance int64
	source         string
}

// cycleAmount returns the price of a cycle, which is negative if the discounts exceed it.
func (s *subscription) cycleAmount() int64 { return s.price + total(s.addOns) - total(s.discounts) }

// inTrial reports whether the trial has not ended.
func (s *subscription) inTrial() bool { return s.trial && s.cycle == 0 }

// over reports whether the last cycle has ended.
func (s *subscription) over(now time.Time) bool {
	return s.cycles > 0 && s.cycle >= s.cycles && !now.Before(s.nextBilling)
}

// willBill reports whether a cycle begins at nextBilling. It is false for a past due
// subscription whose last cycle has ended, which waits for its payment.
func (s *subscription) willBill() bool {
	switch s.status {
	case braintree.Pending, braintree.Active:
		return true
	case braintree.PastDue:
		return s.cycles == 0 || s.cycle < s.cycles
	}
	return false
}

// cycleDay returns the first day of a cycle, counted from 1.
func (s *subscription) cycleDay(cycle int) time.Time {
	return labkit.AddMonths(s.first, (cycle-1)*s.plan.months)
}

// become sets the status of a subscription and adds it to the history.
func (b *book) become(s *subscription, status braintree.Status) {
	s.status = status
	s.updated = b.now
	s.history = append(s.history, statusEvent{b.now, status, s.price, s.balance, "api"})
}

func (b *book) findSubscription(_ command, s *subscription) reply {
	return ok(s.xml(b.now))
}

// createSubscription creates a subscription and, unless it begins later, charges its first
// cycle. If that charge fails, the subscription is not created.
func (b *book) createSubscription(c command) reply {
	in, bad := c.body.At("subscription"), problems{}
	s := b.newSubscription(in, &bad)
	if len(bad) == 0 {
		b.begin(s, in, &bad)
	}
	if len(bad) == 0 {
		s.addOns = b.modify(nil, change{addOnKind, s.plan.currency, in.At("add_ons"), []string{"subscription", "add_ons"}, &bad})
		s.discounts = b.modify(nil, change{discountKind, s.plan.currency, in.At("discounts"), []string{"subscription", "discounts"}, &bad})
	}
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	if day(b.now).Before(s.first) {
		return b.waitForFirstBill(s)
	}
	return b.firstBill(s)
}

func (b *book) newSubscription(in *xmltree.Node, bad *problems) *subscription {
	path := []string{"subscription"}
	s := &subscription{id: in.Value("id"), plan: b.plans.find(in.Value("plan_id")), method: b.methods.find(in.Value("payment_method_token")), created: b.now}
	switch {
	case s.id == "":
		s.id = b.id("sub")
	case !validID(s.id):
		bad.add(path, "id", "81906")
	case b.subscriptions.find(s.id) != nil:
		bad.add(path, "id", "81902")
	}
	if s.method == nil {
		bad.add(path, "payment_method_token", "91903")
	}
	if s.plan == nil {
		bad.add(path, "plan_id", "91904")
		return s
	}
	s.price, s.cycles = s.plan.price, s.plan.cycles
	b.setPrice(s, in, bad)
	s.setCycles(in, bad)
	return s
}

func (s *subscription) setCycles(in *xmltree.Node, bad *problems) {
	path := []string{"subscription"}
	if n := in.At("number_of_billing_cycles"); n != nil && !n.Nil {
		if s.cycles = number(in, "number_of_billing_cycles"); s.cycles < 1 {
			bad.add(path, "number_of_billing_cycles", "91907")
		}
		if in.True("never_expires") {
			bad.add(path, "number_of_billing_cycles", "91908")
		}
	}
	if in.True("never_expires") {
		s.cycles = 0
	}
}

func (b *book) setPrice(s *subscription, in *xmltree.Node, bad *problems) {
	if in.At("price") == nil || in.At("price").Nil {
		return
	}
	price, err := money(in.Value("price"), s.plan.currency)
	if err != nil || price < 0 {
		bad.add([]string{"subscription"}, "price", "81904")
		return
	}
	s.price = price
}

// begin sets the trial and the day of the first bill.
func (b *book) begin(s *subscription, in *xmltree.Node, bad *problems) {
	path := []string{"subscription"}
	s.trial, s.trialDuration, s.trialUnit = s.plan.trialDays > 0, s.plan.trialDays, unitOf(s.plan.trialDays)
	if in.At("trial_period") != nil {
		s.trial = in.True("trial_period")
	}
	if in.At("trial_duration") != nil {
		s.trialDuration, s.trialUnit = number(in, "trial_duration"), in.Value("trial_duration_unit")
	}
	s.first = day(b.now)
	switch {
	case in.Value("first_billing_date") != "" && in.True("trial_period"):
		bad.add(path, "first_billing_date", "91917")
	case in.Value("first_billing_date") != "":
		b.beginOn(s, in.Value("first_billing_date"), bad)
	case in.True("options", "start_immediately") || !s.trial:
		s.trial = false
	case s.trialDuration < 1:
		bad.add(path, "trial_duration", "81908")
	case s.trialUnit == "day":
		s.first = s.first.AddDate(0, 0, s.trialDuration)
	case s.trialUnit == "month":
		s.first = labkit.AddMonths(s.first, s.trialDuration)
	default:
		bad.add(path, "trial_duration_unit", "81909")
	}
	s.nextBilling = s.first
}

func (b *book) beginOn(s *subscription, text string, bad *problems) {
	first, err := time.Parse(time.DateOnly, text)
	switch {
	case err != nil:
		bad.add([]string{"subscription"}, "first_billing_date", "91915")
	case first.Before(day(b.now)):
		bad.add([]string{"subscription"}, "first_billing_date", "91916")
	}
	s.first, s.trial = first, false
}

// waitForFirstBill makes a subscription with a trial Active at once, and one with a later
// start Pending until then. It sends no notification.
func (b *book) waitForFirstBill(s *subscription) reply {
	b.subscriptions.put(s.id, s)
	if s.trial {
		b.become(s, braintree.Active)
	} else {
		b.become(s, braintree.Pending)
	}
	return created(s.xml(b.now))
}

func (b *book) firstBill(s *subscription) reply {
	b.openCycle(s)
	if s.balance <= 0 {
		b.subscriptions.put(s.id, s)
		b.regular(s)
		b.skipped(s)
		return created(s.xml(b.now))
	}
	if t := b.charge(s, s.balance); !t.status.Paid() {
		return refused(nil, t.xml())
	}
	b.subscriptions.put(s.id, s)
	b.paid(s)
	return created(s.xml(b.now))
}

// updateSubscription changes the fields that a request names, with proration if requested.
func (b *book) updateSubscription(c command, s *subscription) reply {
	in, bad := c.body.At("subscription"), problems{}
	if b.refuseEdit(s, in, &bad); len(bad) > 0 {
		return refused(bad, nil)
	}
	before := *s
	b.edit(s, in, &bad)
	if len(bad) > 0 {
		*s = before
		return refused(bad, nil)
	}
	s.updated = b.now
	prorate := b.settings.prorate
	if in.At("options", "prorate_charges") != nil {
		prorate = in.True("options", "prorate_charges")
	}
	if prorate {
		if t := b.prorate(s, before.cycleAmount()); t != nil && !t.status.Paid() && in.Value("options", "revert_subscription_on_proration_failure") != "false" {
			kept := s.transactions
			*s = before
			s.transactions = kept
			return refused(nil, t.xml())
		}
	}
	return ok(s.xml(b.now))
}

func (b *book) refuseEdit(s *subscription, in *xmltree.Node, bad *problems) {
	path := []string{"subscription"}
	switch s.status {
	case braintree.Canceled:
		bad.add(path, "base", "81901")
	case braintree.Expired:
		bad.add(path, "base", "81910")
	case braintree.PastDue:
		if in.At("price") != nil || in.At("plan_id") != nil {
			bad.add(path, "base", "91920")
		}
		for _, name := range []string{"add_ons", "discounts"} {
			if len(in.Items(name)) > 0 {
				bad.add([]string{"subscription", name}, "base", "92022")
			}
		}
	}
}

func (b *book) edit(s *subscription, in *xmltree.Node, bad *problems) {
	path := []string{"subscription"}
	if id := in.Value("plan_id"); id != "" {
		p := b.plans.find(id)
		switch {
		case p == nil:
			bad.add(path, "plan_id", "91904")
			return
		case p.months != s.plan.months:
			bad.add(path, "plan_id", "91922")
		case p.currency != s.plan.currency:
			bad.add(path, "plan_id", "91923")
		}
		// Changing the plan does not change the price.
		s.plan = p
	}
	b.setPrice(s, in, bad)
	if token := in.Value("payment_method_token"); token != "" {
		m := b.methods.find(token)
		if m == nil || m.customer != s.method.customer {
			bad.add(path, "payment_method_token", "91903")
			return
		}
		s.method = m
	}
	if in.True("options", "replace_all_add_ons_and_discounts") {
		s.addOns, s.discounts = nil, nil
	}
	s.addOns = b.modify(s.addOns, change{addOnKind, s.plan.currency, in.At("add_ons"), []string{"subscription", "add_ons"}, bad})
	s.discounts = b.modify(s.discounts, change{discountKind, s.plan.currency, in.At("discounts"), []string{"subscription", "discounts"}, bad})
}

func (b *book) cancelSubscription(_ command, s *subscription) reply {
	switch s.status {
	case braintree.Canceled:
		return refusedFor("subscription", "status", "81905")
	case braintree.Expired:
		return refusedFor("subscription", "status", "81910")
	}
	b.cancel(s)
	return ok(s.xml(b.now))
}

// cancel ends a subscription at once; a negative balance is lost.
func (b *book) cancel(s *subscription) {
	b.become(s, braintree.Canceled)
	b.notify(braintree.SubscriptionCanceled, s)
}

// maxTransactions is the number of transactions that a subscription shows.
const maxTransactions = 20

func (s *subscription) xml(now time.Time) *xmltree.Node {
	currency := s.plan.currency
	amount := func(name string, minor int64) *xmltree.Node {
		return xmltree.Text(name, string(braintree.NewAmount(minor, currency)))
	}
	n := xmltree.Object("subscription",
		xmltree.Text("id", s.id), xmltree.Text("status", string(s.status)), xmltree.Text("plan_id", s.plan.id), amount("price", s.price),
		amount("balance", s.balance), xmltree.Text("payment_method_token", s.method.token), xmltree.Text("merchant_account_id", s.plan.merchantAccount()),
		xmltree.Date("next_billing_date", s.nextBilling), amount("next_billing_period_amount", s.cycleAmount()), amount("next_bill_amount", s.cycleAmount()),
		xmltree.Date("billing_period_start_date", s.periodStart), xmltree.Date("billing_period_end_date", s.periodEnd),
		xmltree.Date("paid_through_date", s.paidThrough), xmltree.Date("first_billing_date", s.first), xmltree.Int("current_billing_cycle", s.cycle),
		xmltree.Int("failure_count", s.failures), s.daysPastDue(now), xmltree.Int("billing_day_of_month", s.first.Day()),
		xmltree.Bool("trial_period", s.trial), intOrNull("trial_duration", s.trialDuration), xmltree.TextOrNull("trial_duration_unit", s.trialUnit),
		xmltree.Bool("never_expires", s.cycles == 0), intOrNull("number_of_billing_cycles", s.cycles),
		xmltree.DateTime("created_at", s.created), xmltree.DateTime("updated_at", s.updated),
		modificationsXML("add_ons", s.addOns, currency), modificationsXML("discounts", s.discounts, currency),
	)
	transactions := xmltree.Array("transactions")
	for _, t := range s.transactions[:min(len(s.transactions), maxTransactions)] {
		transactions.Children = append(transactions.Children, t.xml())
	}
	n.Children = append(n.Children, transactions, s.historyXML())
	return n
}

func (s *subscription) daysPastDue(now time.Time) *xmltree.Node {
	if s.status != braintree.PastDue {
		return xmltree.Null("days_past_due")
	}
	return xmltree.Int("days_past_due", days(s.pastDue, now))
}

func (s *subscription) historyXML() *xmltree.Node {
	list := xmltree.Array("status_history")
	for _, e := range slices.Backward(s.history) {
		list.Children = append(list.Children, xmltree.Object("status_event",
			xmltree.DateTime("timestamp", e.at), xmltree.Text("status", string(e.status)),
			xmltree.Text("price", string(braintree.NewAmount(e.price, s.plan.currency))), xmltree.Text("balance", string(braintree.NewAmount(e.balance, s.plan.currency))),
			xmltree.Text("currency_iso_code", s.plan.currency), xmltree.Text("plan_id", s.plan.id), xmltree.Text("user", "lab"), xmltree.Text("subscription_source", e.source)))
	}
	return list
}
