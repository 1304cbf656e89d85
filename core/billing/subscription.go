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

// States of a subscription. Canceled and Expired are final. Unread is a subscription
// that a notification named and that was not read yet.
const (
	Unread   Status = ""
	Pending  Status = "Pending"
	Active   Status = "Active"
	PastDue  Status = "Past Due"
	Canceled Status = "Canceled"
	Expired  Status = "Expired"
)

// CheckKind is the kind of the notification that a person sends from the gateway to
// test the webhook's URL. It is not about a subscription.
const CheckKind = "check"

// Subscription is a subscription as read from the gateway. Amounts are in minor units
// of its currency.
type Subscription struct {
	ID string
	// Customer is the customer who pays.
	Customer core.PaymentProviderID
	Status   Status
	// Trial is true if it began with a trial, even if that is over.
	Trial    bool
	Currency string
	// Price is the price of a cycle with add-ons and all discounts except the
	// tenant's.
	Price int64
	// Discount is the amount of the tenant's discount. HasDiscount is false if the
	// subscription has none.
	Discount    int64
	HasDiscount bool
	// Bills is how many further bills have the discount; 0 means all. Spent is how many
	// bills have had it since it was added.
	Bills, Spent int
	// Charges are the paid charges of more than 0, oldest first: the latest 20, which
	// the gateway returns, and the very first.
	Charges []Charge
	// Skipped is the first day of the current cycle, as "2026-11-21", if its bill was
	// 0 and so has no charge; else empty.
	Skipped string
	// Begins is the first day of the current cycle, and Next that of the next one, as
	// "2026-11-21". Begins is empty before the first cycle.
	Begins, Next string
	// Opened is when it was created at the gateway.
	Opened core.Time
	// FirstReturned is when the shop had given back all of the charge by which the account
	// converted; zero if it has not. A gateway that is Itemized says it of the payment.
	FirstReturned core.Time
	// Paused is true while the gateway charges nothing, although it has not ended.
	Paused bool

	// Itemized is true if the gateway says what each bill had: Payments has all bills
	// then, also those of 0, and the fields below are set.
	Itemized bool
	// Payer is the customer with what the gateway knows about the account.
	Payer Payer
	// Payments are the latest 100 paid bills, oldest first, and the very first.
	Payments []Payment
	// Percent is the percentage of the tenant's discount, and Credit its amount for the
	// next bill. Discount is not set.
	Percent reward.BasisPoints
	Credit  int64
	// Billed is the credit in bills that are not paid yet.
	Billed int64
	// Balance is the customer's balance that further bills use first.
	Balance int64
	// Step is the amount of which the gateway's amounts are multiples, if not 1.
	Step int64
}

// SkippedBill returns the current cycle's bill if it was skipped because it was 0. had is
// the discount that was set for it; a discount for one bill is no longer on the
// subscription. ok is false if the cycle was charged.
func (s Subscription) SkippedBill(had Discount) (c Charge, ok bool) {
	if s.Itemized {
		return c, false
	}
	discount := had.Amount
	if s.HasDiscount {
		discount = s.Discount
	}
	if s.Skipped == "" {
		return c, false
	}
	return s.billOfZero(discount, s.Skipped), true
}

// MissedBill returns the bill of an earlier cycle if it was skipped because it was 0, and
// the subscription was not read in that cycle. had is the discount that was set for the
// cycle that begins on the day next. While the subscription is past due, nothing is known
// yet: its charge may still be paid.
func (s Subscription) MissedBill(had Discount, next string) (c Charge, ok bool) {
	if s.Itemized || next == "" || had.Credit == 0 || s.Status != Active || s.Begins <= next ||
		slices.ContainsFunc(s.Charges, func(c Charge) bool { return c.Period == next }) {
		return c, false
	}
	return s.billOfZero(had.Amount, next), true
}

func (s Subscription) billOfZero(discount int64, period string) Charge {
	return Charge{Amount: max(0, s.Price-discount), Discount: min(discount, max(0, s.Price)), Period: period}
}

// Charge is a paid bill.
type Charge struct {
	Transaction string
	Amount      int64
	// At is when it was charged.
	At core.Time
	// Period is the first day of its cycle, as "2026-11-21".
	Period string
	// Discount is the amount by which the tenant's discount reduced it.
	Discount int64
	// ChargedBack is true if the customer's bank took it back, by a dispute that the
	// merchant lost or accepted.
	ChargedBack bool
}

// Standing is the part of a subscription that is stored for its account.
type Standing struct {
	ID     string
	Status Status
	// Trial is true if it began with a trial, even if that is over.
	Trial bool
	// Paid is true once it had a successful charge of more than 0.
	Paid bool
	// Currency is that of its bills, and Next the first day of the billing cycle whose bill
	// has its discount, as "2026-11-21". Either is empty while it is unknown.
	Currency, Next string
	// Room is the most credit that its next bill can use; see Subscription.Room.
	Room int64
	// Held is the credit that its bills may have by what the gateway knows: that of the
	// next bill, and of bills that are not paid yet. It is not given to another one.
	Held int64
	// Owed is the credit that its paid bills had, and that was not available any more when
	// they were read. It is redeemed before another bill gets credit.
	Owed int64
}

// Ended reports whether the subscription has ended: it has no further bills.
func (s Standing) Ended() bool { return s.Status == Canceled || s.Status == Expired }

// Standing returns the part of a subscription to store. Paid stays true once it was,
// because the gateway returns only the latest charges.
func (s Subscription) Standing(before Standing) Standing {
	after := before
	after.ID, after.Status, after.Trial, after.Paid, after.Currency = s.ID, s.Status, s.Trial, before.Paid || len(s.Charges) > 0, s.Currency
	if s.Status != PastDue {
		// Past due, the bill that had the discount may not be paid yet.
		after.Next = s.Next
	}
	return after
}

// Command is a change of an account that its subscriptions cause.
type Command struct {
	// Status is the account's new status.
	Status referral.Status
	// Paid is true if a charge of more than 0 has succeeded. The first one converts
	// the account's referral.
	Paid bool
}

// Decide returns what an account's subscriptions mean for it (gateway 3.1).
// A failed charge or the state Past Due does not change an account that has paid: the
// gateway retries, and in the end cancels. before is the account's status, which is
// kept while no subscription was read; otherwise the result does not depend on it, so
// that it is the same whenever it is computed.
func Decide(all []Standing, before referral.Status) Command {
	return Command{
		Status: cmp.Or(statusOf(all), before),
		Paid:   slices.ContainsFunc(all, func(s Standing) bool { return s.Paid }),
	}
}

// statusOf returns the account status by the best subscription; empty if none was
// read. A subscription that has not paid counts as a trial while a payment is
// expected, and as free if its bills are 0.
func statusOf(all []Standing) referral.Status {
	rank := []referral.Status{"", referral.Cancelled, referral.Free, referral.Trial, referral.Paid}
	best := 0
	for _, s := range all {
		best = max(best, slices.Index(rank, s.accountStatus()))
	}
	return rank[best]
}

// accountStatus returns the account status by one subscription; empty if it was not
// read.
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

// Discount is the discount that a subscription should have, in minor units.
type Discount struct {
	// Amount is the whole discount. Credit is the part of it that comes from the
	// account's credit, which the next bill redeems.
	Amount, Credit int64
	// Percent is the percentage of the price that Amount has without Credit.
	Percent reward.BasisPoints
}

// Holding returns the discount that the gateway may have if d was wanted last, and the next bill
// may have the credit held: d may not have reached the gateway.
func (d Discount) Holding(held int64) Discount {
	d.Amount += max(0, held-d.Credit)
	d.Credit = held
	return d
}

// Once reports whether only the next bill may have the discount. Credit is spent by one
// bill: if the service does not run, later bills must not have it too.
func (d Discount) Once() bool { return d.Credit > 0 }

// Want returns the discount for an account's percentage and credit together, since a
// subscription can have only one. It is at most the price: the gateway would carry
// the excess over to the next cycles and skip their bills.
func (s Subscription) Want(percent reward.BasisPoints, credit int64) Discount {
	if s.Price <= 0 {
		return Discount{}
	}
	share := min(PercentOf(percent, s.Price), s.Price)
	d := Discount{Percent: percent, Credit: max(0, min(credit-s.Billed, s.Price-share))}
	if s.Step > 1 {
		d.Credit -= d.Credit % s.Step
	}
	d.Amount = share + d.Credit
	return d
}

// Room returns the most credit that the next bill can use beside a percentage: 0 if it is
// free, if there is none, while the subscription is paused, and while the gateway would
// refuse to change its discount.
func (s Subscription) Room(percent reward.BasisPoints) int64 {
	if s.Paused || s.Status != Active && s.Status != Pending {
		return 0
	}
	return max(0, s.Price-PercentOf(percent, s.Price))
}

// Held returns Standing.Held of a subscription that is to have a discount. before is the
// value of the last read. had is the credit that its next bill still has at the gateway.
func (s Subscription) Held(before int64, want Discount) (held, had int64) {
	switch {
	case s.Status == Canceled || s.Status == Expired:
		return 0, 0
	case s.Itemized:
		had = s.Credit
	case s.Status == PastDue, s.HasDiscount && s.Bills > 0 && s.Change(want) != NoChange:
		had = before
	}
	return max(had, want.Credit) + s.Billed, had
}

// CreditFor returns how much of an account's credit the next bill of a subscription may
// have. Credit goes to the next bill that can use it, whichever subscription that is: an
// earlier day is first, and on one day the older subscription. What the gateway still has
// for another subscription is not given twice. all has the account's subscriptions, the
// oldest first. available is the credit in the subscription's currency and without one,
// and loose the part without one.
func CreditFor(all []Standing, id string, available, loose int64) int64 {
	at := slices.IndexFunc(all, func(s Standing) bool { return s.ID == id })
	if at < 0 || all[at].Room == 0 {
		return 0
	}
	reserved, elsewhere := int64(0), int64(0)
	for i, other := range all {
		switch {
		case i == at:
		case other.Currency != all[at].Currency:
			elsewhere += other.Held + other.Owed
		case other.Room > 0 && other.before(all[at], i < at):
			reserved += max(other.Room, other.Held) + other.Owed
		default:
			reserved += other.Held + other.Owed
		}
	}
	return max(0, available-reserved-min(elsewhere, loose))
}

// before reports whether the next bill is before that of another subscription. An unknown
// day is the last one.
func (s Standing) before(o Standing, older bool) bool {
	switch {
	case s.Next == o.Next:
		return older
	case s.Next == "" || o.Next == "":
		return o.Next == ""
	}
	return s.Next < o.Next
}

// PercentOf returns a percentage of an amount, rounded half up.
func PercentOf(percent reward.BasisPoints, amount int64) int64 {
	// Two parts, so that the multiplication cannot overflow.
	const all = int64(reward.MaxPercent)
	p := int64(percent)
	return amount/all*p + (amount%all*p+all/2)/all
}

// CreditUsed returns how much of an account's credit a bill redeemed: the discount
// beyond the percentage, at most folded, the credit that was part of the discount.
// Call it only for the first bill of a cycle: a later charge in a cycle is for a
// change of the subscription, and has the discount without redeeming it.
func (c Charge) CreditUsed(percent reward.BasisPoints, folded int64) int64 {
	return max(0, min(folded, c.Discount-PercentOf(percent, c.Amount+c.Discount)))
}

// Refund returns the refund for an account's first charge, in minor units, if it was
// made without the discount. It is 0 if the charge had a discount or was charged
// back.
func (c Charge) Refund(percent reward.BasisPoints) int64 {
	if c.Discount > 0 || c.ChargedBack {
		return 0
	}
	return min(PercentOf(percent, c.Amount), c.Amount)
}

// Change is an update of a subscription's discount at the gateway.
type Change string

// Changes. NoChange also applies to a subscription that is Past Due, whose update the
// gateway would refuse, or has ended.
const (
	NoChange       Change = ""
	AddDiscount    Change = "add"
	UpdateDiscount Change = "update"
	RemoveDiscount Change = "remove"
)

// Change returns the update after which the subscription has a discount.
func (s Subscription) Change(want Discount) Change {
	amount, bills := want.Amount, 0
	if want.Once() {
		bills = 1
	}
	switch {
	case s.Status != Active && s.Status != Pending:
		return NoChange
	case s.Itemized && s.Percent == want.Percent && s.Credit == want.Credit:
		return NoChange
	case s.Itemized:
		return UpdateDiscount
	case amount == 0 && s.HasDiscount:
		return RemoveDiscount
	case amount > 0 && !s.HasDiscount:
		return AddDiscount
	case amount > 0 && (amount != s.Discount || bills != s.Bills):
		return UpdateDiscount
	}
	return NoChange
}
