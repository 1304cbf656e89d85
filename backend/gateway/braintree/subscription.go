package braintree

import (
	"slices"

	"kith/backend/gateway/xmltree"
	"kith/core"
)

// Status is the state of a subscription at the gateway.
type Status string

// States of a subscription. Canceled and Expired are final.
const (
	Pending  Status = "Pending"
	Active   Status = "Active"
	PastDue  Status = "Past Due"
	Canceled Status = "Canceled"
	Expired  Status = "Expired"
)

// Subscription is the state of a subscription when it was read, or when a notification
// about it was made. It names neither its currency nor its customer. Its transactions
// name both; without transactions, its payment method names the customer and its plan
// the currency.
type Subscription struct {
	ID     string
	Status Status
	PlanID string
	// Price is the price of a cycle without add-ons and discounts.
	Price Amount
	// PaymentMethod is the token of the payment method.
	PaymentMethod string
	// Dates have the form "2026-11-21", in the time zone of the merchant, or are empty.
	NextBilling, PeriodStart, PeriodEnd, PaidThrough string
	// Cycle counts the billing cycles from 1; 0 before the first.
	Cycle int
	// Trial reports whether the subscription has or had a trial.
	Trial             bool
	Discounts, AddOns []Modification
	// Transactions are the 20 most recent, the newest first.
	Transactions []Transaction
	Created      core.Time
}

// Modification is a discount or an add-on of a subscription, or one of those
// that a merchant offers.
type Modification struct {
	ID       string
	Amount   Amount
	Quantity int
	// NeverExpires reports whether it applies for the life of the subscription;
	// otherwise it applies for Cycles billing cycles.
	NeverExpires bool
	Cycles       int
	// Spent is the number of billing cycles to which it has applied.
	Spent int
}

// Discount returns the discount with the given id, if the subscription has it.
// It can have it only once.
func (s Subscription) Discount(id string) (Modification, bool) {
	i := slices.IndexFunc(s.Discounts, func(m Modification) bool { return m.ID == id })
	if i < 0 {
		return Modification{}, false
	}
	return s.Discounts[i], true
}

// CustomerID returns the customer that paid, or "" without a transaction.
func (s Subscription) CustomerID() string {
	for _, t := range s.Transactions {
		if t.CustomerID != "" {
			return t.CustomerID
		}
	}
	return ""
}

// Currency returns the currency of the transactions, or "" without a transaction.
func (s Subscription) Currency() string {
	for _, t := range s.Transactions {
		if t.Currency != "" {
			return t.Currency
		}
	}
	return ""
}

func (r *reader) subscription(n *xmltree.Node) Subscription {
	return Subscription{
		ID: r.id(n, "id"), Status: Status(n.Value("status")), PlanID: n.Value("plan_id"),
		Price: r.amount(n, "price"), PaymentMethod: n.Value("payment_method_token"),
		NextBilling: r.day(n, "next_billing_date"), PaidThrough: r.day(n, "paid_through_date"),
		PeriodStart: r.day(n, "billing_period_start_date"), PeriodEnd: r.day(n, "billing_period_end_date"),
		Cycle: r.number(n, "current_billing_cycle"), Trial: n.True("trial_period"),
		Discounts: each(n.Items("discounts"), r.modification), AddOns: each(n.Items("add_ons"), r.modification),
		Transactions: each(n.Items("transactions"), r.transaction), Created: r.time(n, "created_at"),
	}
}

func (r *reader) modification(n *xmltree.Node) Modification {
	return Modification{
		ID: n.Value("id"), Amount: r.amount(n, "amount"), Quantity: r.number(n, "quantity"),
		NeverExpires: n.True("never_expires"), Cycles: r.number(n, "number_of_billing_cycles"), Spent: r.number(n, "current_billing_cycle"),
	}
}
