package braintreelab

import (
	"maps"
	"slices"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/labkit"
)

// State is the whole state of a lab, for its page, for tests and for scenarios. Lists are
// in the order of creation. Amounts are in the gateway's format. GET /lab/state returns
// the state as JSON.
type State struct {
	Now           time.Time
	Webhook       string
	Mode          labkit.Mode
	Prorate       bool
	Keys          []string
	Faults        int
	Customers     []CustomerState
	Plans         []PlanState
	Subscriptions []SubscriptionState
	Transactions  []TransactionState
	Notifications []NotificationState
	Calls         []labkit.Call
}

// CustomerState is a customer.
type CustomerState struct {
	ID, Email string
	Fields    map[string]string
	Cards     []string
	Declines  bool
}

// PlanState is a plan.
type PlanState struct {
	ID       string
	Price    braintree.Amount
	Currency string
	Months   int
}

// SubscriptionState is a subscription. Discounts and AddOns are amounts by id.
type SubscriptionState struct {
	ID, Customer, Plan     string
	Status                 braintree.Status
	Price, Balance, Next   braintree.Amount
	Currency               string
	NextBilling, PaidUntil string
	Cycle, Failures        int
	Trial                  bool
	Discounts, AddOns      map[string]braintree.Amount
	// Statuses are all statuses that it has had, in order.
	Statuses []braintree.Status
}

// TransactionState is a charge or a refund.
type TransactionState struct {
	ID, Subscription, Customer string
	Kind                       braintree.TransactionType
	Status                     braintree.TransactionStatus
	Amount                     braintree.Amount
	Currency                   string
	OrderID                    string
	// RefundOf is the refunded charge.
	RefundOf  string
	Created   time.Time
	Discounts map[string]braintree.Amount
	Dispute   string
}

// NotificationState is a notification with its tries.
type NotificationState struct {
	Kind    braintree.Kind
	Subject string
	Made    time.Time
	Tries   []TryState
}

// TryState is one attempt to send a notification. Done is zero until it was sent, and
// Status is 0 if there was no answer.
type TryState struct {
	Due, Done time.Time
	Status    int
	Problem   string
	Held      bool
}

// State returns the current state.
func (l *Lab) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	b := l.book
	s := State{Now: b.now, Webhook: l.url, Mode: l.Sender.Mode(), Prorate: b.settings.prorate, Faults: l.faults.Len(), Calls: slices.Clone(l.calls)}
	for _, k := range l.keys {
		s.Keys = append(s.Keys, k.Public)
	}
	for _, c := range b.customers.order {
		s.Customers = append(s.Customers, c.state())
	}
	for _, p := range b.plans.order {
		s.Plans = append(s.Plans, PlanState{p.id, braintree.NewAmount(p.price, p.currency), p.currency, p.months})
	}
	for _, one := range b.subscriptions.order {
		s.Subscriptions = append(s.Subscriptions, one.state())
	}
	for _, t := range b.transactions.order {
		s.Transactions = append(s.Transactions, t.state())
	}
	tries := map[*note][]TryState{}
	for _, t := range l.Sender.Tries() {
		tries[t.Message] = append(tries[t.Message], TryState{t.Due, t.Done, t.Status, t.Problem, t.Held})
	}
	for _, n := range b.notes {
		s.Notifications = append(s.Notifications, NotificationState{n.kind, n.subject, n.at, tries[n]})
	}
	return s
}

func (c *customer) state() CustomerState {
	s := CustomerState{ID: c.id, Email: c.email, Fields: maps.Clone(c.customFields)}
	for _, m := range c.methods {
		s.Cards = append(s.Cards, m.token)
		s.Declines = s.Declines || m.declines
	}
	return s
}

func (s *subscription) state() SubscriptionState {
	amount := func(minor int64) braintree.Amount { return braintree.NewAmount(minor, s.plan.currency) }
	state := SubscriptionState{
		ID: s.id, Customer: s.method.customer.id, Plan: s.plan.id, Status: s.status, Price: amount(s.price), Balance: amount(s.balance),
		Next: amount(s.cycleAmount()), Currency: s.plan.currency, NextBilling: dateOf(s.nextBilling), PaidUntil: dateOf(s.paidThrough),
		Cycle: s.cycle, Failures: s.failures, Trial: s.inTrial(),
		Discounts: amounts(s.discounts, s.plan.currency), AddOns: amounts(s.addOns, s.plan.currency),
	}
	for _, e := range s.history {
		state.Statuses = append(state.Statuses, e.status)
	}
	return state
}

func dateOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.DateOnly)
}

func amounts(all []modification, currency string) map[string]braintree.Amount {
	by := map[string]braintree.Amount{}
	for _, m := range all {
		by[m.id] = braintree.NewAmount(m.amount*int64(m.quantity), currency)
	}
	return by
}

func (t *transaction) state() TransactionState {
	s := TransactionState{
		ID: t.id, Customer: t.customer.id, Kind: t.kind, Status: t.status, Amount: braintree.NewAmount(t.amount, t.currency), Currency: t.currency,
		OrderID: t.orderID, Created: t.created, Discounts: amounts(t.discounts, t.currency),
	}
	if t.subscription != nil {
		s.Subscription = t.subscription.id
	}
	if t.refunded != nil {
		s.RefundOf = t.refunded.id
	}
	if n := len(t.disputes); n > 0 {
		s.Dispute = t.disputes[n-1].status
	}
	return s
}
