// Package reward decides what a program gives, to whom, when it unlocks, and
// what becomes of it. Amounts are integers: minor units of a currency, or basis
// points of a percentage. Nothing here is a floating-point number.
//
// What happens to a reward is written in a ledger that is only ever added to.
// The sums of a reward's entries and the time decide its status; nothing else
// does.
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
	// FuelTank is a code of the tenant's own shop that stands for an amount.
	FuelTank Kind = "FUELTANK"
	// Integration is a gift, such as a gift card, that another service hands
	// out.
	Integration Kind = "INTEGRATION"
)

// ParseKind returns s as a kind or an error about field.
func ParseKind(field, s string) (Kind, error) {
	switch kind := Kind(s); kind {
	case PercentDiscount, Credit, FuelTank, Integration:
		return kind, nil
	}
	return "", core.Invalid(field, "must be one of PCT_DISCOUNT, CREDIT, FUELTANK, INTEGRATION")
}

// Units that have a meaning here; any other text is the tenant's own.
const (
	// UnitPercent is the unit of percentages and of nothing else. An amount in
	// it is in basis points.
	UnitPercent = "%"
	// UnitCents is what an amount counts when nobody says otherwise: minor
	// units of a currency.
	UnitCents = "CENTS"
)

// MaxValue is the largest amount of one reward, in its unit. Millions of such
// rewards can be summed up.
const MaxValue = 1_000_000_000_000

// MaxPercent is the largest discount: all of the price.
const MaxPercent BasisPoints = 10000

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
	// Manual is given by hand or by a call of the API.
	Manual Source = "MANUAL"
	// Automated is given by a program for something else than a referral; the
	// four that follow say what for.
	Automated    Source = "AUTOMATED"
	Activation   Source = "ACTIVATION"
	Acquisition  Source = "ACQUISITION"
	Retention    Source = "RETENTION"
	Reactivation Source = "REACTIVATION"
)

// ParseSource returns s as a source or an error about field.
func ParseSource(field, s string) (Source, error) {
	switch source := Source(s); source {
	case FriendSignup, Referred, Manual, Automated, Activation, Acquisition, Retention, Reactivation:
		return source, nil
	}
	return "", core.Invalid(field, "must be one of FRIEND_SIGNUP, REFERRED, MANUAL, AUTOMATED, ACTIVATION, ACQUISITION, RETENTION, REACTIVATION")
}

// Offer is what one side of a program earns, or what a reward consists of. The
// zero value is nothing.
type Offer struct {
	Kind Kind
	// Percent is the discount of a PercentDiscount.
	Percent BasisPoints
	// Amount is what any other kind is worth, in Unit.
	Amount int64
	// Unit is what Amount counts. Empty in an offer means the usual one of its
	// kind, see InUnit; a reward always has one.
	Unit string
	// Currency is the currency of UnitCents, or empty.
	Currency string
	// Name and Description are for people to read; either may be empty.
	Name, Description string
	// Settings are for the service that hands out an Integration: a JSON
	// object, or empty.
	Settings string
	// ValidFor is how long a reward can be used once it is given; zero is for
	// ever.
	ValidFor core.Time
	// GivenAfter is how long a reward waits before it is given; zero is not at
	// all.
	GivenAfter core.Time
}

// None reports whether the offer gives nothing.
func (o Offer) None() bool { return o.Kind == "" || o.Value() == 0 }

// InUnit is what the offer's value counts: its unit, or the usual one of its
// kind.
func (o Offer) InUnit() string {
	switch {
	case o.Kind == PercentDiscount:
		return UnitPercent
	case o.Unit != "":
		return o.Unit
	}
	return UnitCents
}

// Value is what the offer is worth in its unit, basis points for a percentage.
func (o Offer) Value() int64 {
	if o.Kind == PercentDiscount {
		return int64(o.Percent)
	}
	return o.Amount
}

// Grant is a reward that is to be given.
type Grant struct {
	Account core.AccountID
	User    core.UserID
	// Program is the program that gives it, or empty.
	Program core.ProgramKey
	// ProgramRewardKey and GlobalRewardKey name the reward among those that a
	// program or a tenant defines; either may be empty.
	ProgramRewardKey, GlobalRewardKey string
	// Referral is the referral that earned it, or empty. A referral gives one
	// reward for each source.
	Referral string
	Source   Source
	Offer    Offer
	// FuelTankCode and FuelTankType are set for a FuelTank only: the code, and
	// whether its amount is a PercentDiscount or a Credit.
	FuelTankCode string
	FuelTankType Kind
	// Scheduled is when the reward is to be given; zero is at once.
	Scheduled core.Time
	// Given is when it was given, for a reward that comes from elsewhere; zero
	// leaves it to the schedule.
	Given core.Time
	// Expires is when what is left of it can no longer be used; zero is never.
	Expires core.Time
	// Held keeps the reward pending until it is released, whatever its
	// schedule: its referral waits for moderation.
	Held bool
	// Fixed makes a reward that nobody may cancel but the moderation.
	Fixed bool
}

// GrantOf returns an offer as a grant to be given from now on: its delay and
// its life become dates.
func GrantOf(o Offer, now core.Time) Grant {
	g := Grant{Offer: o, Fixed: o.Kind == Integration}
	given := now + o.GivenAfter
	if o.GivenAfter > 0 {
		g.Scheduled = given
	}
	if o.ValidFor > 0 {
		g.Expires = given + o.ValidFor
	}
	return g
}

// Reward is a stored reward.
type Reward struct {
	ID               string
	Account          core.AccountID
	User             core.UserID
	Program          core.ProgramKey
	ProgramRewardKey string
	GlobalRewardKey  string
	Referral         string
	Source           Source
	// Offer is what it gives; its unit is set, its delay and life are dates of
	// the reward.
	Offer        Offer
	FuelTankCode string
	FuelTankType Kind
	// Cancellable is false when only the moderation may take it back.
	Cancellable bool
	Created     core.Time
	// Scheduled is when it was to be given, zero for at once.
	Scheduled core.Time
	// Given is when it was first given, or will be; zero when it was not and a
	// hold keeps it from having a date.
	Given core.Time
	// Held keeps it pending, whatever its date.
	Held bool
	// Expires is zero for never.
	Expires core.Time
	// Cancelled is zero unless the reward was taken back.
	Cancelled core.Time
	// Denied is true when it was a moderation that took it back.
	Denied bool
	// Pending is true from a hold in the ledger to the release. It may lag
	// behind Given; Status does not.
	Pending bool
	// Sums are those of its ledger.
	Sums Sums
	// Redemptions are the parts that were redeemed, the last first, at most
	// MaxRedemptions of them.
	Redemptions []Redeemed
}

// MaxRedemptions bounds what a reward shows of how it was redeemed.
const MaxRedemptions = 100

// Sums are what became of a reward's value, in its unit; none is negative.
type Sums struct{ Redeemed, Expired, Cancelled int64 }

// Redeemed is one part of a reward that was redeemed.
type Redeemed struct {
	// ID is that of the ledger's entry.
	ID     string
	Amount int64
	At     core.Time
}
