package billing

import (
	"kith/core"
)

// Payer is the customer of a subscription or a payment, with what a gateway knows about
// the account that the customer pays for. A gateway that knows none of it leaves it empty.
type Payer struct {
	// Customer is the customer at the gateway, or an id that stands for a customer whom
	// the gateway has not stored.
	Customer core.PaymentProviderID
	// Account and User are the ids that the shop has given the gateway, or empty.
	Account core.AccountID
	User    core.UserID
	// Email and Name are for a user who is created.
	Email, Name string
	// Codes are texts that may be referral codes, the most preferred first.
	Codes []core.ReferralCode
}

// Payment is a payment at a gateway that names them one by one: a paid bill of a
// subscription, also one of 0, or an order that was paid at once. Amounts are in minor
// units of Currency.
type Payment struct {
	ID string
	// Subscription is empty if it is not of a subscription.
	Subscription string
	// Payer is empty if the payment is of a subscription, which has it.
	Payer    Payer
	Currency string
	// Amount is what was paid, and Revenue the part of it that is revenue.
	Amount, Revenue int64
	// At is when it was paid; zero if it was not.
	At core.Time
	// Credit is the part of the tenant's discount that came from the account's credit.
	Credit int64
	// Refunded is how much of Amount was given back, by refunds that have succeeded and
	// by disputes that the merchant has lost.
	Refunded int64
	// Returned is how much of Amount Kith gave back: a friend's share of a first bill, which
	// is no refund of the order.
	Returned int64
	// RefundedAt is when the shop made its last refund; zero if it made none.
	RefundedAt core.Time
	// Open is true while a refund or a dispute has not ended: read the payment again.
	Open bool
	// Disputed is true if there is a dispute, open or ended.
	Disputed bool
}

// Revenue returns the part of a paid amount that is revenue: the same share of it as the
// total without what is excluded has of the total.
func Revenue(paid, total, excluded int64) int64 {
	if total <= 0 {
		return max(0, paid)
	}
	return Share(min(paid, total), max(0, total-max(0, excluded)), total)
}

// Share returns value * part / whole, rounded half up. It is at most value if part is at
// most whole. No argument may be negative, and whole must not be 0.
func Share(value, part, whole int64) int64 {
	// The long division keeps the product within 64 bits for all amounts of money.
	q, r := value/whole, value%whole
	return q*part + (r*part+whole/2)/whole
}

// Reversed returns how much of the revenue was given back, so that a payment of which
// nothing is left has no revenue left.
func (p Payment) Reversed() int64 {
	switch {
	case p.Amount <= 0 || p.Refunded <= 0:
		return 0
	case p.Refunded+p.Returned >= p.Amount:
		return p.Revenue
	}
	return min(p.Revenue, Share(min(p.Refunded, p.Amount), p.Revenue, p.Amount))
}

// MoneyBack reports whether the shop has given all of the payment back, at RefundedAt.
func (p Payment) MoneyBack() bool {
	return p.RefundedAt != 0 && p.Amount > 0 && p.Refunded+p.Returned >= p.Amount
}

// Purchased reports whether a payment counts as a purchase: it has revenue, and was made
// since the tenant was connected.
func (p Payment) Purchased(connected core.Time) bool {
	// A gateway's times may be whole seconds.
	return p.Revenue > 0 && p.At+core.Second > connected
}

// Recorded is what is stored of a payment: its amounts, and what of them was reported by events.
type Recorded struct {
	// Amount and Revenue are those of Payment.
	Amount, Revenue int64
	// Reported is true once the event of the purchase was logged. Refunded of Amount, and
	// Reversed of Revenue, were reported by events of refunds.
	Reported           bool
	Refunded, Reversed int64
}

// Report returns what to store of a payment that was read, and what must be logged with it: the
// event of the purchase if purchase is true, then that of a refund of revenue if refund is more
// than 0. Nothing is logged while it is unknown whose the payment is, and of a payment that is no
// purchase. An older answer of the gateway takes nothing back.
func (r Recorded) Report(p Payment, connected core.Time, known bool) (after Recorded, purchase bool, refund int64) {
	after = r
	after.Amount, after.Revenue = max(r.Amount, p.Amount), max(r.Revenue, p.Revenue)
	if !known || !p.Purchased(connected) {
		return after, false, 0
	}
	after.Reported = true
	if reversed := p.Reversed(); reversed > r.Reversed {
		after.Refunded, after.Reversed = max(r.Refunded, p.Refunded), reversed
	}
	return after, !r.Reported, after.Reversed - r.Reversed
}

// Grant returns the credit to give as a balance of the customer. available is what the
// ledger has left, room what the next bill can use, and given what was given and not used
// yet: all of it together is at most what the next bill can use. The result is a multiple
// of step, if that is more than 1.
func Grant(available, room, given, step int64) int64 {
	amount := max(0, min(available, room-max(0, given)))
	if step > 1 {
		amount -= amount % step
	}
	return amount
}
