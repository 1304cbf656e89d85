package billing

import (
	"cmp"
	"slices"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// Status is the state of a subscription at the gateway.
type Status string

// States of a subscription; Canceled and Expired are final. Unread is one that
// was only heard of.
const (
	Unread   Status = ""
	Pending  Status = "Pending"
	Active   Status = "Active"
	PastDue  Status = "Past Due"
	Canceled Status = "Canceled"
	Expired  Status = "Expired"
)

// CheckKind is the kind of a notification that a person has sent to try the
// address. It is about nothing.
const CheckKind = "check"

// Subscription is a subscription as it was read at the gateway. Amounts are in
// minor units of its currency.
type Subscription struct {
	ID string
	// Customer is the customer who pays.
	Customer core.PaymentProviderID
	Status   Status
	// Trial is true when it began with a trial, over or not.
	Trial    bool
	Currency string
	// Price is that of a cycle with add-ons and with all discounts but the
	// tenant's.
	Price int64
	// Discount is the tenant's discount on it; Has is false when it has none.
	Discount int64
	Has      bool
	// Charges are those that the customer paid, of more than 0, the oldest
	// first; the gateway tells the latest 20, and the first is added.
	Charges []Charge
	// Skipped is the first day of the present cycle when its bill came to
	// nothing, so that there is no charge; else empty.
	Skipped string
	// Opened is when it was made at the gateway.
	Opened core.Time
}

// SkippedBill is the bill of a cycle that came to nothing; ok is false when the
// present cycle was charged.
func (s Subscription) SkippedBill() (c Charge, ok bool) {
	if s.Skipped == "" || !s.Has {
		return c, false
	}
	return Charge{Amount: max(0, s.Price-s.Discount), Discount: s.Discount, Period: s.Skipped}, true
}

// Charge is a bill that was paid.
type Charge struct {
	Transaction string
	Amount      int64
	// At is when it was made.
	At core.Time
	// Period is the first day of its cycle, as "2026-11-21".
	Period string
	// Discount is what the tenant's discount took off it.
	Discount int64
	// ChargedBack is true when the customer's bank took it back for good, by a
	// dispute that the merchant lost or gave up.
	ChargedBack bool
}

// Standing is what is known of one of an account's subscriptions.
type Standing struct {
	ID     string
	Status Status
	// Trial is true when it began with a trial, over or not.
	Trial bool
	// Paid is true once it had a successful charge of more than 0.
	Paid bool
}

// Ended reports whether a subscription will have no further bill.
func (s Standing) Ended() bool { return s.Status == Canceled || s.Status == Expired }

// Standing is what is kept of a subscription. One that had paid stays so: the
// gateway forgets old charges.
func (s Subscription) Standing(before Standing) Standing {
	return Standing{ID: s.ID, Status: s.Status, Trial: s.Trial, Paid: before.Paid || len(s.Charges) > 0}
}

// Command is what the subscriptions of an account say of it.
type Command struct {
	// Status is what the account's becomes.
	Status referral.Status
	// Paid is true when a charge of more than 0 has succeeded: the first time,
	// that converts.
	Paid bool
}

// Decide says what an account's subscriptions mean for it (reference, gateway,
// 3), whose status is before. A charge that fails, and being past due, change
// nothing for who has paid: the gateway tries again, and cancels in the end. The
// status before counts only while no subscription was read: what is decided must
// not depend on when it was.
func Decide(all []Standing, before referral.Status) Command {
	return Command{
		Status: cmp.Or(statusOf(all), before),
		Paid:   slices.ContainsFunc(all, func(s Standing) bool { return s.Paid }),
	}
}

// statusOf is that of the best subscription; empty while none was read. One that
// has not paid is on trial while it is expected to, and free when its bills come
// to nothing.
func statusOf(all []Standing) referral.Status {
	rank := []referral.Status{"", referral.Cancelled, referral.Free, referral.Trial, referral.Paid}
	best := 0
	for _, s := range all {
		best = max(best, slices.Index(rank, s.accountStatus()))
	}
	return rank[best]
}

// accountStatus is what one subscription makes of its account.
func (s Standing) accountStatus() referral.Status {
	switch {
	case s.Status == Unread:
		return ""
	case s.Ended():
		return referral.Cancelled
	case s.Paid:
		return referral.Paid
	case s.Trial, s.Status == Pending, s.Status == PastDue:
		return referral.Trial
	}
	return referral.Free
}

// Discount is what a subscription's discount is to be.
type Discount struct {
	// Amount is all of it, and Credit the part of it that the next bill uses up.
	Amount, Credit int64
}

// Want folds an account's percentage and its credit into the one discount that a
// subscription can have. It is never more than the price: the gateway would
// carry what is beyond it forward, and skip bills.
func (s Subscription) Want(percent reward.BasisPoints, credit int64) Discount {
	if s.Price <= 0 {
		return Discount{}
	}
	share := min(PercentOf(percent, s.Price), s.Price)
	d := Discount{Credit: max(0, min(credit, s.Price-share))}
	d.Amount = share + d.Credit
	return d
}

// PercentOf is a percentage of an amount, half up.
func PercentOf(percent reward.BasisPoints, amount int64) int64 {
	// In two parts, so that no amount is too large to be multiplied.
	const all = int64(reward.MaxPercent)
	p := int64(percent)
	return amount/all*p + (amount%all*p+all/2)/all
}

// CreditUsed is how much of an account's credit a bill has used: what its
// discount was above the percentage, as far as credit was folded in. It is asked
// of the first bill of a cycle: what is charged within one is for a change, and
// shows the discount though it was not given for that.
func (c Charge) CreditUsed(percent reward.BasisPoints, folded int64) int64 {
	return max(0, min(folded, c.Discount-PercentOf(percent, c.Amount+c.Discount)))
}

// Refund is what is given back of an account's first charge when its shop had
// not looked the discount up; 0 when the charge had the discount, or was taken
// back as a whole.
func (c Charge) Refund(percent reward.BasisPoints) int64 {
	if c.Discount > 0 || c.ChargedBack {
		return 0
	}
	return min(PercentOf(percent, c.Amount), c.Amount)
}

// Change is what to do at the gateway about a discount.
type Change string

// Changes. NoChange is also what is done while a subscription is Past Due, which
// the gateway would refuse, and when it has ended.
const (
	NoChange       Change = ""
	AddDiscount    Change = "add"
	UpdateDiscount Change = "update"
	RemoveDiscount Change = "remove"
)

// Change is how a subscription comes to have a discount of an amount.
func (s Subscription) Change(amount int64) Change {
	switch {
	case s.Status != Active && s.Status != Pending:
		return NoChange
	case amount == 0 && s.Has:
		return RemoveDiscount
	case amount > 0 && !s.Has:
		return AddDiscount
	case amount > 0 && amount != s.Discount:
		return UpdateDiscount
	}
	return NoChange
}
