package braintreelab

import (
	"slices"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// transaction is a movement of money, or an attempt at one.
type transaction struct {
	id     string
	kind   braintree.TransactionType
	status braintree.TransactionStatus
	// amount is in minor units of currency.
	amount            int64
	currency          string
	orderID           string
	subscription      *subscription
	planID            string
	periodStart       time.Time
	periodEnd         time.Time
	customer          *customer
	method            *method
	addOns, discounts []modification
	refunds           []*transaction
	refunded          *transaction
	disputes          []*dispute
	recurring         bool
	// nextAt is the time of the next settlement step; zero means none.
	nextAt           time.Time
	created, updated time.Time
	history          []statusStep
}

type statusStep struct {
	at     time.Time
	status braintree.TransactionStatus
}

// settlePause is the time of each settlement step. The lab settles a charge after a day,
// as the gateway normally does for cards; for the second half of it the charge is
// settling.
const settlePause = 12 * time.Hour

func (b *book) move(t *transaction, status braintree.TransactionStatus) {
	t.status, t.updated, t.nextAt = status, b.now, time.Time{}
	if status == braintree.SubmittedForSettlement || status == braintree.Settling {
		t.nextAt = b.now.Add(settlePause)
	}
	t.history = append(t.history, statusStep{b.now, status})
}

// settleStep runs the next settlement step of a transaction.
func (b *book) settleStep(t *transaction) {
	if t.status == braintree.SubmittedForSettlement {
		b.move(t, braintree.Settling)
	} else {
		b.move(t, braintree.Settled)
	}
}

// sale charges a card and submits the charge for settlement. As in the gateway's sandbox,
// a card may decline, and amounts of 2000.00 to 2999.99 are declined.
func (b *book) sale(m *method, amount int64, currency string) *transaction {
	t := &transaction{id: b.id("tx"), kind: braintree.Sale, amount: amount, currency: currency, customer: m.customer, method: m, created: b.now}
	low, _ := braintree.Amount("2000").Minor(currency)
	high, _ := braintree.Amount("3000").Minor(currency)
	if m.declines || amount >= low && amount < high {
		b.move(t, braintree.ProcessorDeclined)
	} else {
		b.move(t, braintree.Authorized)
		b.move(t, braintree.SubmittedForSettlement)
	}
	b.transactions.put(t.id, t)
	return t
}

// charge makes a sale for a subscription, and reduces its balance.
func (b *book) charge(s *subscription, amount int64) *transaction {
	t := b.sale(s.method, amount, s.plan.currency)
	if t.status.Paid() {
		s.balance -= amount
	}
	t.subscription, t.planID, t.recurring = s, s.plan.id, true
	t.periodStart, t.periodEnd = s.periodStart, s.periodEnd
	t.addOns, t.discounts = s.billed[0], s.billed[1]
	s.transactions = append([]*transaction{t}, s.transactions...)
	return t
}

func (b *book) findTransaction(_ command, t *transaction) reply {
	return ok(t.xml())
}

// createTransaction makes a sale, or charges a past due subscription again.
func (b *book) createTransaction(c command) reply {
	in, bad := c.body.At("transaction"), problems{}
	if id := in.Value("subscription_id"); id != "" {
		return b.retryCharge(in, id)
	}
	m := b.methods.find(in.Value("payment_method_token"))
	if owner := b.customers.find(in.Value("customer_id")); m == nil && owner != nil && len(owner.methods) > 0 {
		m = owner.methods[0]
	}
	if m == nil {
		bad.add([]string{"transaction"}, "payment_method_token", "91518")
	}
	const currency = "USD"
	amount := readAmount(in, currency, &bad)
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	t := b.sale(m, amount, currency)
	return b.finishSale(t, in)
}

// finishSale leaves a successful sale authorized unless the request submits it.
func (b *book) finishSale(t *transaction, in *xmltree.Node) reply {
	t.orderID = in.Value("order_id")
	if !t.status.Paid() {
		return refused(nil, t.xml())
	}
	if !in.True("options", "submit_for_settlement") {
		t.history = t.history[:1]
		t.status, t.nextAt = braintree.Authorized, time.Time{}
	}
	return created(t.xml())
}

func (b *book) retryCharge(in *xmltree.Node, id string) reply {
	s, bad := b.subscriptions.find(id), problems{}
	switch {
	case s == nil:
		return refusedFor("transaction", "subscription_id", "91528")
	case s.status != braintree.PastDue:
		return refusedFor("transaction", "subscription_id", "91531")
	}
	amount := s.balance
	if in.At("amount") != nil && !in.At("amount").Nil {
		amount = readAmount(in, s.plan.currency, &bad)
	}
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	t := b.charge(s, amount)
	answer := b.finishSale(t, in)
	switch {
	// No notification is sent for a failed manual try.
	case !t.status.Paid():
		s.failures++
	case s.balance <= 0:
		b.paid(s)
	}
	return answer
}

func readAmount(in *xmltree.Node, currency string, bad *problems) int64 {
	path := []string{"transaction"}
	amount, err := money(in.Value("amount"), currency)
	switch {
	case in.Value("amount") == "":
		bad.add(path, "amount", "81502")
	case err != nil:
		bad.add(path, "amount", "81503")
	case amount < 0:
		bad.add(path, "amount", "81501")
	case amount == 0:
		bad.add(path, "amount", "81531")
	}
	return amount
}

// left returns the amount that can still be refunded.
func (t *transaction) left() int64 {
	left := t.amount
	for _, r := range t.refunds {
		if r.status.Paid() {
			left -= r.amount
		}
	}
	return left
}

func (b *book) refund(c command, t *transaction) reply {
	path, bad, in := []string{"transaction"}, problems{}, c.body.At("transaction")
	amount := t.left()
	if in.At("amount") != nil && !in.At("amount").Nil {
		amount = readAmount(in, t.currency, &bad)
	}
	switch {
	case t.kind == braintree.Credit:
		bad.add(path, "base", "91505")
	case !t.status.Refundable():
		bad.add(path, "base", "91506")
	case t.left() == 0:
		bad.add(path, "base", "91512")
	case amount > t.left():
		bad.add(path, "amount", "91521")
	}
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	r := &transaction{id: b.id("tx"), kind: braintree.Credit, amount: amount, currency: t.currency, customer: t.customer, method: t.method,
		orderID: in.Value("order_id"), refunded: t, subscription: t.subscription, planID: t.planID, created: b.now}
	b.move(r, braintree.SubmittedForSettlement)
	t.refunds = append(t.refunds, r)
	b.transactions.put(r.id, r)
	return created(r.xml())
}

// The calls that change the status of a transaction. A void cancels a whole transaction, and does
// not change its subscription, which counts as paid. As in the sandbox, a test can decide the
// result of the settlement.
var (
	void                = move(braintree.Voided, "91504", braintree.Authorized, braintree.SubmittedForSettlement, braintree.SettlementPending)
	submitForSettlement = move(braintree.SubmittedForSettlement, "91507", braintree.Authorized)
	settle              = move(braintree.Settled, "91575", braintree.SubmittedForSettlement, braintree.SettlementPending, braintree.Settling)
	settlementPending   = move(braintree.SettlementPending, "91575", braintree.SubmittedForSettlement)
	settlementDecline   = move(braintree.SettlementDeclined, "91575", braintree.SubmittedForSettlement, braintree.SettlementPending, braintree.Settling)
)

// move changes the status of a transaction that has one of some others, and is refused with a
// code otherwise.
func move(to braintree.TransactionStatus, code string, from ...braintree.TransactionStatus) func(*book, command) reply {
	return on(transactions, func(b *book, _ command, t *transaction) reply {
		if slices.Contains(from, t.status) {
			b.move(t, to)
			return ok(t.xml())
		}
		return refusedFor("transaction", "base", code)
	})
}

func (t *transaction) xml() *xmltree.Node {
	code, text := "1000", "Approved"
	if t.status == braintree.ProcessorDeclined {
		code, text = "2000", "Do Not Honor"
	}
	n := xmltree.Object("transaction",
		xmltree.Text("id", t.id), xmltree.Text("type", string(t.kind)), xmltree.Text("status", string(t.status)),
		xmltree.Text("amount", string(braintree.NewAmount(t.amount, t.currency))), xmltree.Text("currency_iso_code", t.currency),
		xmltree.Text("merchant_account_id", "lab_"+strings.ToLower(t.currency)), xmltree.TextOrNull("order_id", t.orderID),
		xmltree.DateTime("created_at", t.created), xmltree.DateTime("updated_at", t.updated),
		xmltree.Text("processor_response_code", code), xmltree.Text("processor_response_text", text), xmltree.Text("payment_instrument_type", "credit_card"),
		xmltree.Bool("recurring", t.recurring), xmltree.TextOrNull("plan_id", t.planID), t.subscriptionID(),
		xmltree.Object("subscription", xmltree.Date("billing_period_start_date", t.periodStart), xmltree.Date("billing_period_end_date", t.periodEnd)),
		xmltree.Object("customer", xmltree.Text("id", t.customer.id), xmltree.TextOrNull("first_name", t.customer.firstName),
			xmltree.TextOrNull("last_name", t.customer.lastName), xmltree.TextOrNull("email", t.customer.email)),
		t.method.cardXML(), modificationsXML("add_ons", t.addOns, t.currency), modificationsXML("discounts", t.discounts, t.currency),
	)
	n.Children = append(n.Children, t.refundXML()...)
	history, disputes := xmltree.Array("status_history"), xmltree.Array("disputes")
	for _, step := range t.history {
		history.Children = append(history.Children, xmltree.Object("status_event", xmltree.DateTime("timestamp", step.at),
			xmltree.Text("status", string(step.status)), xmltree.Text("amount", string(braintree.NewAmount(t.amount, t.currency)))))
	}
	for _, d := range t.disputes {
		disputes.Children = append(disputes.Children, d.xml())
	}
	n.Children = append(n.Children, history, disputes)
	return n
}

func (t *transaction) subscriptionID() *xmltree.Node {
	if t.subscription == nil {
		return xmltree.Null("subscription_id")
	}
	return xmltree.Text("subscription_id", t.subscription.id)
}

// refundXML returns the ids of the refunds of this transaction, and the id of the
// transaction that this one refunds.
func (t *transaction) refundXML() []*xmltree.Node {
	ids, last, of := xmltree.Array("refund_ids"), xmltree.Null("refund_id"), xmltree.Null("refunded_transaction_id")
	for _, r := range t.refunds {
		ids.Children = append(ids.Children, xmltree.Text("item", r.id))
		last = xmltree.Text("refund_id", r.id)
	}
	if t.refunded != nil {
		of = xmltree.Text("refunded_transaction_id", t.refunded.id)
	}
	return []*xmltree.Node{last, ids, of}
}
