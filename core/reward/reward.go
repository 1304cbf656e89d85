// Package reward decides what a program gives, to whom, and when it unlocks.
// Amounts are integers: minor units of a currency, or basis points of a
// percentage. Nothing here is a floating-point number.
package reward

import (
	"strconv"

	"kith/core"
)

// Kind is the type of a reward on the wire (reference, 1.3).
type Kind string

const (
	// PercentDiscount takes a percentage off a subscription.
	PercentDiscount Kind = "PCT_DISCOUNT"
	// Credit is an amount that can be redeemed in parts.
	Credit Kind = "CREDIT"
)

// Units of the two kinds on the wire.
const (
	UnitPercent = "%"
	UnitCents   = "CENTS"
)

// BasisPoints is a percentage in hundredths of a percent: 1000 is 10 %.
type BasisPoints int64

// String returns the percentage as a JSON number: 1000 is "10", 1250 "12.5".
func (b BasisPoints) String() string {
	sign := ""
	if b < 0 {
		sign, b = "-", -b
	}
	s := sign + strconv.FormatInt(int64(b/100), 10)
	switch rest := b % 100; {
	case rest == 0:
		return s
	case rest%10 == 0:
		return s + "." + strconv.FormatInt(int64(rest/10), 10)
	case rest < 10:
		return s + ".0" + strconv.FormatInt(int64(rest), 10)
	default:
		return s + "." + strconv.FormatInt(int64(rest), 10)
	}
}

// Source says how a reward was earned (reference, 1.3).
type Source string

const (
	// FriendSignup is earned by the referrer.
	FriendSignup Source = "FRIEND_SIGNUP"
	// Referred is earned by who was referred.
	Referred Source = "REFERRED"
)

// Offer is what one side of a program earns. The zero value is nothing.
type Offer struct {
	Kind Kind
	// Percent is the discount of a PercentDiscount.
	Percent BasisPoints
	// Amount is the credit of a Credit, in minor units of Currency.
	Amount   int64
	Currency string
}

// None reports whether the offer gives nothing.
func (o Offer) None() bool { return o.Kind == "" }

// Unit is the offer's unit on the wire.
func (o Offer) Unit() string {
	if o.Kind == PercentDiscount {
		return UnitPercent
	}
	return UnitCents
}

// Reward is a stored reward.
type Reward struct {
	ID       string
	Account  core.AccountID
	User     core.UserID
	Program  core.ProgramKey
	Referral string
	Source   Source
	Offer    Offer
	// Redeemed is how much of a Credit was used.
	Redeemed int64
	Created  core.Time
	// Cancelled is zero unless the reward was taken back.
	Cancelled core.Time
}
