package billing

import "kith/core"

// Received is a notification of a gateway in the log of a tenant.
type Received struct {
	Seq int64
	// Kind is the gateway's name of the kind, or empty until it was read. Problem says why
	// it could not be read, or is empty.
	Kind, Problem string
	// At is when it arrived, and Read when it was processed; zero: it waits.
	At, Read core.Time
	// Kept is true if the payload is stored, so that the notification can be processed
	// again.
	Kept bool
}

// OperationKind is what an operation does.
type OperationKind string

// The kinds of operations.
const (
	// ReadSubscription reads a subscription and sets its discount.
	ReadSubscription OperationKind = "subscription"
	// WriteCoupon writes a referral code into the custom field of a customer.
	WriteCoupon OperationKind = "coupon"
	// MakeRefund refunds a charge. It cannot be retried: a person must make it at the
	// gateway, who sees why it was refused.
	MakeRefund OperationKind = "refund"
	// ReadPayment reads a payment and reports it.
	ReadPayment OperationKind = "payment"
	// MakePromotion makes a referral code a code that customers can enter.
	MakePromotion OperationKind = "promotion"
	// GiveCredit gives credit as a balance of a customer. It cannot be retried: the
	// credit was redeemed, and a person must give it at the gateway, or to the account
	// again.
	GiveCredit OperationKind = "credit"
)

// Retried returns the kinds of operations that can be retried.
func Retried() []OperationKind {
	return []OperationKind{ReadSubscription, WriteCoupon, ReadPayment, MakePromotion}
}

// ParseRetried returns s as the kind of an operation that can be retried, or an error
// about field.
func ParseRetried(field, s string) (OperationKind, error) {
	switch k := OperationKind(s); k {
	case ReadSubscription, WriteCoupon, ReadPayment, MakePromotion:
		return k, nil
	}
	return "", core.Invalid(field, "must be subscription, coupon, payment or promotion; make a refund that failed at the gateway yourself")
}

// Operation is work at a gateway that has failed.
type Operation struct {
	Kind OperationKind
	// ID is the id of the subscription, the customer, the charge or the payment at the
	// gateway, the referral code, or the id of the credit.
	ID string
	// Account is empty if it is unknown.
	Account core.AccountID
	Problem string
	// Tries is the number of failures in a row. Due is when it is tried again; zero: never,
	// unless it is retried.
	Tries int
	Due   core.Time
}
