// Package reward decides the states and balances of rewards. Amounts are integers:
// minor units of a currency, or basis points of a percentage. There are no
// floating-point numbers.
//
// Every change of a reward is an entry in a ledger, which is append-only. The status
// of a reward depends only on the sums of its entries, its dates and the time.
package reward

import (
	"strconv"

	"kith/core"
)

// Units with a meaning for the service. Tenants may use any other text.
const (
	// UnitPercent is the unit of percentages. An amount in it is in basis points.
	UnitPercent = "%"
	// UnitCents is the default unit of other amounts: minor units of a currency.
	UnitCents = "CENTS"
)

// MaxValue is the largest amount of one reward, in its unit. The sum of millions of
// such rewards fits an int64.
const MaxValue = 1_000_000_000_000

// MaxPercent is the largest discount: 100 %.
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

// Source says how a reward was earned (clients 1.3.17).
type Source string

const (
	// FriendSignup is earned by the referrer.
	FriendSignup Source = "FRIEND_SIGNUP"
	// Referred is earned by the referred user.
	Referred Source = "REFERRED"
	// Manual is given by hand or by a call of the API.
	Manual Source = "MANUAL"
	// Automated is given by a program for another reason than a referral; the four
	// that follow name the reason.
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

// Offer is the reward that one side of a program earns, or the contents of a reward.
// The zero value gives nothing.
type Offer struct {
	Kind Kind
	// Percent is the discount, for a PercentDiscount.
	Percent BasisPoints
	// Amount is the amount in Unit, for any other kind.
	Amount int64
	// Unit is the unit of Amount. In an offer, empty means the default of its kind,
	// see InUnit; in a reward it is always set.
	Unit string
	// Currency is the currency if the unit is UnitCents, or empty.
	Currency string
	// Name and Description are shown to people; either may be empty.
	Name, Description string
	// Settings are for the service that delivers an Integration: a JSON object, or
	// empty.
	Settings string
	// ValidFor is how long a reward is valid after it was given; zero means without
	// limit.
	ValidFor core.Time
	// GivenAfter is the delay before a reward is given; zero means none.
	GivenAfter core.Time
	// OfRevenue is the percentage of an order's revenue that is the amount, in an offer
	// of a Credit or an Integration whose value depends on the order; else zero. The
	// offer then has no value of its own.
	OfRevenue BasisPoints
}

// None reports whether the offer gives nothing.
func (o Offer) None() bool { return o.Kind == "" || o.Value() == 0 && o.OfRevenue == 0 }

// With returns the offer with another value, in its unit.
func (o Offer) With(value int64) Offer {
	if o.Kind == PercentDiscount {
		o.Percent = BasisPoints(value)
	} else {
		o.Amount = value
	}
	return o
}

// InUnit returns the unit of the offer's value: Unit, or the default of its kind.
func (o Offer) InUnit() string {
	switch {
	case o.Kind == PercentDiscount:
		return UnitPercent
	case o.Unit != "":
		return o.Unit
	}
	return UnitCents
}

// Value returns the offer's value in its unit; basis points for a percentage.
func (o Offer) Value() int64 {
	if o.Kind == PercentDiscount {
		return int64(o.Percent)
	}
	return o.Amount
}

// Divisible reports whether a part of the reward can be used or taken back.
func (o Offer) Divisible() bool { return o.Kind == Credit }

// Grant is a request to give a reward.
type Grant struct {
	// ID is the id of the reward. A caller that retries gives the same id again, and the
	// reward is given once; see rules.Rules.CreateReward. If empty, the reward gets a new id.
	ID      string
	Account core.AccountID
	User    core.UserID
	// Program is the program that gives it, or empty.
	Program core.ProgramKey
	// ProgramRewardKey and GlobalRewardKey identify the reward within its program or
	// tenant; either may be empty.
	ProgramRewardKey, GlobalRewardKey string
	// Referral is the id of the referral that earned it, or empty. A referral gives
	// one reward for each source and order.
	Referral string
	// Order is the key of the order that earned it, or empty.
	Order  string
	Source Source
	Offer  Offer
	// FuelTankCode and FuelTankType are set only for a FuelTank: the code, and
	// whether its amount is a PercentDiscount or a Credit.
	FuelTankCode string
	FuelTankType Kind
	// Scheduled is when the reward is to be given; zero means now.
	Scheduled core.Time
	// Given is when it was given, for a reward from another system; zero means by
	// Scheduled.
	Given core.Time
	// Expires is when it expires; zero means never.
	Expires core.Time
	// Held makes the reward pending until it is released, whatever its schedule,
	// because its referral waits for moderation.
	Held bool
	// Fixed makes a reward that only a denial can cancel.
	Fixed bool
	// Block is what becomes of it because its owner is blocked; empty: nothing.
	Block Block
}

// GrantOf returns a grant of an offer at now: GivenAfter and ValidFor become the
// dates Scheduled and Expires.
func GrantOf(o Offer, now core.Time) Grant {
	g := Grant{Offer: o, Fixed: o.Kind.Traits().Fixed}
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
	// Order is the key of the order that earned it, or empty.
	Order  string
	Source Source
	// Offer has the contents. Its Unit is set; GivenAfter and ValidFor are zero,
	// since Scheduled and Expires replace them.
	Offer        Offer
	FuelTankCode string
	FuelTankType Kind
	// Cancellable is false if only a denial can cancel it.
	Cancellable bool
	Created     core.Time
	// Scheduled is when it was to be given; zero means when it was created.
	Scheduled core.Time
	// Given is when it was first given, or will be; zero if a hold began before it
	// was given.
	Given core.Time
	// Held is true while it is held: it is pending, whatever its date.
	Held bool
	// Blocked is since when it is held, or was cancelled, because its owner is blocked;
	// zero otherwise. It is later than Given only if it was given before.
	Blocked core.Time
	// Expires is when it expires; zero means never.
	Expires core.Time
	// Cancelled is when it was cancelled; zero if it was not.
	Cancelled core.Time
	// Denied is true if a moderation cancelled it.
	Denied bool
	// Pending is true between a hold and a release in the ledger. It may be out of
	// date after Given; Status is not.
	Pending bool
	// Refunded is the amount that refunds of its order take back, as requested: 0 to
	// its value. Sums.Reversed is what they took.
	Refunded int64
	// Unsettled is true if a settlement of its owner's debts is to be continued,
	// because it stopped at MaxSettled.
	Unsettled bool
	// Exchanged is true if a change replaced the offer; see Exchange. It is not stored.
	Exchanged bool
	// Sums are the sums of its ledger entries.
	Sums Sums
	// Redemptions are its redemptions, latest first, at most MaxRedemptions.
	Redemptions []Redeemed
}

// MaxRedemptions is the most redemptions that a reward lists.
const MaxRedemptions = 100

// Sums are the amounts that were taken from a reward, in its unit. Only Settled may be
// negative.
type Sums struct {
	Redeemed, Expired, Cancelled int64
	// Reversed is the amount that refunds took back. If it was redeemed before, the
	// reward is a debt.
	Reversed int64
	// Settled is the amount that settled debts of the owner; negative in a debt that
	// was settled.
	Settled int64
}

// Total returns the sum of all amounts.
func (s Sums) Total() int64 {
	return s.Redeemed + s.Expired + s.Cancelled + s.Reversed + s.Settled
}

// Redeemed is one redemption of a reward.
type Redeemed struct {
	// ID is the id of the ledger entry.
	ID     string
	Amount int64
	At     core.Time
}
