package braintree

import (
	"slices"

	"kith/backend/gateway/xmltree"
	"kith/core"
)

// TransactionType is the direction of a transaction.
type TransactionType string

// Types of a transaction.
const (
	Sale   TransactionType = "sale"
	Credit TransactionType = "credit"
)

// TransactionStatus is the state of a transaction.
type TransactionStatus string

// States of a transaction. A sale goes from SubmittedForSettlement through Settling to
// Settled, normally within a day. For cards the gateway sends no notification of it.
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

// Paid reports whether the customer was charged: the money is in transfer or has
// arrived.
func (s TransactionStatus) Paid() bool {
	switch s {
	case Authorized, SubmittedForSettlement, SettlementPending, Settling, Settled:
		return true
	}
	return false
}

// Refundable reports whether money can be given back; before that a transaction
// can only be voided as a whole (gateway 2.5.1).
func (s TransactionStatus) Refundable() bool { return s == Settling || s == Settled }

// Transaction is one movement of money.
type Transaction struct {
	ID       string
	Type     TransactionType
	Status   TransactionStatus
	Amount   Amount
	Currency string
	// OrderID is the caller's own reference.
	OrderID        string
	SubscriptionID string
	CustomerID     string
	// PeriodStart is the first day of the billing cycle that it was made in, as
	// "2026-11-21"; empty without a subscription.
	PeriodStart string
	// Discounts are those that changed the amount of this bill.
	Discounts []Modification
	// RefundIDs are the refunds of this transaction.
	RefundIDs []string
	// Disputes are the states of the disputes about this transaction.
	Disputes []DisputeStatus
	Created  core.Time
}

// ChargedBack reports whether the money went back to the customer for good: the merchant
// lost a dispute, or accepted it.
func (t Transaction) ChargedBack() bool {
	return slices.ContainsFunc(t.Disputes, func(s DisputeStatus) bool { return s == Lost || s == Accepted || s == AutoAccepted })
}

// Disputed reports whether a dispute about the transaction has not ended.
func (t Transaction) Disputed() bool {
	return slices.ContainsFunc(t.Disputes, func(s DisputeStatus) bool { return !s.final() })
}

// DisputeStatus is the state of a dispute.
type DisputeStatus string

// Final states of a dispute. In all others the bank has not decided yet: open,
// under_review, disputed, and expired, which means that the merchant did not answer in
// time.
const (
	Won          DisputeStatus = "won"
	Lost         DisputeStatus = "lost"
	Accepted     DisputeStatus = "accepted"
	AutoAccepted DisputeStatus = "auto_accepted"
)

func (s DisputeStatus) final() bool {
	return s == Won || s == Lost || s == Accepted || s == AutoAccepted
}

func (r *reader) transaction(n *xmltree.Node) Transaction {
	return Transaction{
		ID: r.id(n, "id"), Type: TransactionType(n.Value("type")), Status: TransactionStatus(n.Value("status")),
		Amount: r.amount(n, "amount"), Currency: n.Value("currency_iso_code"), OrderID: n.Value("order_id"),
		SubscriptionID: n.Value("subscription_id"), CustomerID: n.Value("customer", "id"),
		PeriodStart: r.day(n.At("subscription"), "billing_period_start_date"), Discounts: each(n.Items("discounts"), r.modification),
		RefundIDs: each(n.Items("refund_ids"), func(item *xmltree.Node) string { return item.Text }),
		Disputes:  each(n.Items("disputes"), func(item *xmltree.Node) DisputeStatus { return DisputeStatus(item.Value("status")) }),
		Created:   r.time(n, "created_at"),
	}
}
