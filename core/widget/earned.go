package widget

import (
	"kith/core"
	"kith/core/reward"
)

// MaxEarned is the most coupon codes, and the most pending rewards, that a widget
// lists.
const MaxEarned = 20

// Reason is why a reward is pending.
type Reason string

const (
	// Scheduled is a reward that is given after a waiting period.
	Scheduled Reason = "SCHEDULED"
	// InReview is a reward whose referral waits for moderation.
	InReview Reason = "MODERATION"
	// NoCode is a coupon code that is given when the shop has loaded more codes.
	NoCode Reason = "FUEL_TANK"
)

// Code is a coupon code that a user has earned.
type Code struct {
	Code string
	// Offer is what the code is for.
	Offer reward.Offer
	// Expires is zero for a code that does not expire.
	Expires core.Time
}

// Pending is a reward that a user has earned and cannot use yet.
type Pending struct {
	// Offer has the value that refunds have left.
	Offer  reward.Offer
	Reason Reason
	// Date is when a Scheduled reward is given, and zero for any other.
	Date core.Time
}

// Earned are the coupon codes that a user can use, and the rewards that are pending.
type Earned struct {
	Codes   []Code
	Pending []Pending
}

// Shows reports whether the widget of a program shows the rewards of a program: its own
// ones, and those that belong to no program.
func Shows(widget, of core.ProgramKey) bool { return of == "" || of == widget }

// EarnedOf returns what the widget of a program lists of the rewards of a user, in their
// order.
func EarnedOf(rewards []reward.Reward, program core.ProgramKey, now core.Time) (e Earned) {
	for _, r := range rewards {
		if !Shows(program, r.Program) {
			continue
		}
		switch status := r.Status(now); {
		case status == reward.StatusAvailable && r.FuelTankCode != "" && len(e.Codes) < MaxEarned:
			e.Codes = append(e.Codes, Code{Code: r.FuelTankCode, Offer: r.Offer, Expires: r.Expires})
		case status != reward.StatusPending || r.Left() <= 0 || len(e.Pending) == MaxEarned:
		case r.OnHold():
			e.Pending = append(e.Pending, Pending{Offer: r.Offer.With(r.Left()), Reason: InReview})
		default:
			e.Pending = append(e.Pending, Pending{Offer: r.Offer.With(r.Left()), Reason: Scheduled, Date: r.Given})
		}
	}
	return e
}

// AddDue adds the n rewards of an offer that wait for coupon codes.
func (e *Earned) AddDue(o reward.Offer, n int) {
	for range min(n, MaxEarned-len(e.Pending)) {
		e.Pending = append(e.Pending, Pending{Offer: o, Reason: NoCode})
	}
}
