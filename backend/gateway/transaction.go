package gateway

import (
	"kith/backend/gateway/xmltree"
	"kith/core"
)

// TransactionType tells money in from money out.
type TransactionType string

// Types of a transaction.
const (
	Sale   TransactionType = "sale"
	Credit TransactionType = "credit"
)

// TransactionStatus is the state of a transaction.
type TransactionStatus string

// States of a transaction. A sale goes from SubmittedForSettlement by way of
// Settling to Settled, normally within a day; no notification tells it for
// cards.
const (
	Authorized             TransactionStatus = "authorized"
	SubmittedForSettlement TransactionStatus = "submitted_for_settlement"
	SettlementPending      TransactionStatus = "settlement_pending"
	Settling               TransactionStatus = "settling"
	Settled                TransactionStatus = "settled"
	SettlementDeclined     TransactionStatus = "settlement_declined"
	ProcessorDeclined      TransactionStatus = "processor_declined"
	GatewayRejected        TransactionStatus = "gateway_rejected"
	Failed                 TransactionStatus = "failed"
	Voided                 TransactionStatus = "voided"
)

// Paid reports whether the customer was charged: the money is on its way, or
// arrived.
func (s TransactionStatus) Paid() bool {
	switch s {
	case Authorized, SubmittedForSettlement, SettlementPending, Settling, Settled:
		return true
	}
	return false
}

// Refundable reports whether money can be given back; before that a transaction
// can only be voided as a whole (reference, 2).
func (s TransactionStatus) Refundable() bool { return s == Settling || s == Settled }

// Transaction is one movement of money.
type Transaction struct {
	ID       string
	Type     TransactionType
	Status   TransactionStatus
	Amount   Amount
	Currency string
	// OrderID is the caller's own reference.
	OrderID                   string
	PlanID, SubscriptionID    string
	CustomerID, PaymentMethod string
	// CardID is the same for every use of one card number, whoever uses it.
	CardID string
	// Discounts and AddOns are what changed the amount of this bill.
	Discounts, AddOns []Modification
	// RefundIDs are the transactions that gave money back, and RefundedID is
	// the one that a refund gives money of.
	RefundIDs  []string
	RefundedID string
	Created    core.Time
}

func (r *reader) transaction(n *xmltree.Node) Transaction {
	t := Transaction{
		ID: r.id(n, "id"), Type: TransactionType(n.Value("type")), Status: TransactionStatus(n.Value("status")),
		Amount: r.amount(n, "amount"), Currency: n.Value("currency_iso_code"), OrderID: n.Value("order_id"),
		PlanID: n.Value("plan_id"), SubscriptionID: n.Value("subscription_id"),
		CustomerID: n.Value("customer", "id"), PaymentMethod: n.Value("credit_card", "token"),
		CardID:    n.Value("credit_card", "unique_number_identifier"),
		Discounts: each(n.Items("discounts"), r.modification), AddOns: each(n.Items("add_ons"), r.modification),
		RefundedID: n.Value("refunded_transaction_id"), Created: r.time(n, "created_at"),
	}
	for _, item := range n.Items("refund_ids") {
		t.RefundIDs = append(t.RefundIDs, item.Text)
	}
	return t
}
