package conversion

import (
	"errors"
	"strconv"
	"time"

	"kith/core"
	"kith/core/reward"
)

// Limits of what an order earns.
const (
	MaxTiers     = 10
	maxTierFrom  = 1000
	maxOrders    = 1_000_000
	maxMonths    = 120
	MaxInPeriod  = 1000
	centsDefault = "USD"
)

// onlyOnce is why terms about several orders are refused without an event that converts.
const onlyOnce = "needs conversion.event: an account becomes PAID for the first time only once; set the event or leave it out"

// Earning is what one side of a program earns for an order.
type Earning struct {
	// Offer is the reward. If Offer.OfRevenue is not 0, its amount is that percentage
	// of the order's revenue, in the order's currency.
	Offer reward.Offer
	Terms
}

// Terms are the conditions of an Earning. The zero Terms give each order the reward.
type Terms struct {
	// Min and Max limit an amount that is a percentage, in minor units of the offer's
	// currency; zero means no limit. If one is set, orders in other currencies earn
	// nothing.
	Min, Max int64
	// Tiers replace the value of the offer from a number of conversions on, in
	// ascending order.
	Tiers []Tier
	// Orders is the most orders of a referral that earn; zero means all, of a discount one: it
	// is set, not added. An order that
	// earns nothing, for whatever reason, is not one of them, nor is one that was returned.
	Orders int64
	// Months is how long orders earn after the first one; zero means without limit.
	Months int64
}

// None reports whether the terms are the zero Terms.
func (t Terms) None() bool {
	return t.Min == 0 && t.Max == 0 && len(t.Tiers) == 0 && t.Orders == 0 && t.Months == 0
}

// Tier is the value of a reward from the From-th conversion of the referrer on: a
// percentage of the revenue, or an amount or discount like that of the offer.
type Tier struct {
	From      int64
	OfRevenue reward.BasisPoints
	Value     int64
}

// Check returns an error about the first invalid term; at is the name of the offer in
// the API, and byEvent is true if an event converts.
func (e Earning) Check(at string, byEvent bool) error {
	o, t := e.Offer, e.Terms
	switch {
	case o.None() && !t.None():
		return core.Invalid(at+".type", "is required with terms of a reward")
	case o.OfRevenue != 0 && !o.Kind.Traits().Divisible:
		return core.Invalid(at+".percentOfRevenue", "must be left out for rewards of type "+string(o.Kind)+"; only CREDIT and INTEGRATION have an amount")
	case o.OfRevenue != 0 && !byEvent:
		return core.Invalid(at+".percentOfRevenue", "needs conversion.event: an account that becomes PAID has no revenue; give a fixed value or set the event").
			InForm("needs an order: choose “When the friend orders” under “When a referral counts”, or give a fixed amount")
	case o.OfRevenue != 0 && o.InUnit() != reward.UnitCents:
		return core.Invalid(at+".unit", "must be CENTS with percentOfRevenue, or be left out: a share of the revenue is money").InForm("must be empty: a share of the order is money")
	case o.OfRevenue == 0 && t.Min != 0:
		return core.Invalid(at+".minimum", "must be left out without percentOfRevenue: a fixed value has no minimum")
	case o.OfRevenue == 0 && t.Max != 0:
		return core.Invalid(at+".maximum", "must be left out without percentOfRevenue: a fixed value has no maximum")
	case t.Min < 0 || t.Min > reward.MaxValue:
		return core.Invalid(at+".minimum", "must be 1 to 1000000000000, or be left out").InForm("must be more than 0, or be empty")
	case t.Max < 0 || t.Max > reward.MaxValue || t.Max != 0 && t.Max < t.Min:
		return core.Invalid(at+".maximum", "must not be less than the minimum, and at most 1000000000000, or be left out").InForm("must not be less than the minimum, or be empty")
	case t.Orders != 0 && !byEvent:
		return core.Invalid(at+".orders", onlyOnce)
	case t.Months != 0 && !byEvent:
		return core.Invalid(at+".months", onlyOnce)
	case t.Orders < 0 || t.Orders > maxOrders:
		return WrongOrders(at + ".orders")
	case t.Months < 0 || t.Months > maxMonths:
		return core.OrUnset(at+".months", "must be 1 to 120")
	case len(t.Tiers) > MaxTiers:
		return core.Invalid(at+".tiers", "must not have more than 10 elements")
	case len(t.Tiers) > 0 && o.Kind == reward.FuelTank:
		return core.Invalid(at+".tiers", "must be left out for FUELTANK: the value of its codes is fixed").InForm("must be empty: the worth of coupon codes is fixed")
	}
	return e.checkTiers(at)
}

// WrongOrders returns the error about a number of orders that is out of bounds.
func WrongOrders(field string) *core.Error {
	return core.Invalid(field, "must be 1 to "+strconv.Itoa(maxOrders)+", or null for all orders").
		InForm("must be 1 to " + reward.Pretty(maxOrders, "", "", reward.NumberFormatted))
}

func (e Earning) checkTiers(at string) error {
	last, field := int64(1), e.ValueField()
	for i, tier := range e.Tiers {
		at := at + ".tiers[" + strconv.Itoa(i) + "]"
		switch {
		case tier.From <= last || tier.From > maxTierFrom:
			return core.Invalid(at+".from", "must be 2 to 1000 and more than in the tier before").InForm("must be 2 to 1000 and more than in the step before")
		case e.Offer.OfRevenue != 0 && (tier.OfRevenue <= 0 || tier.OfRevenue > reward.MaxPercent):
			return core.Invalid(at+"."+field, "must be more than 0 and at most 100")
		case e.Offer.OfRevenue == 0 && tier.OfRevenue != 0:
			return core.Invalid(at+".percentOfRevenue", "must be left out: the reward has "+field)
		}
		var refused *core.Error
		if err := e.Offer.With(tier.Value).Check(); e.Offer.OfRevenue == 0 && errors.As(err, &refused) {
			return core.Invalid(at+"."+field, refused.Message)
		}
		last = tier.From
	}
	return nil
}

// MostOrders returns the most orders of a referral that earn; zero means all.
func (e Earning) MostOrders() int64 {
	if e.Orders == 0 && e.Offer.Kind == reward.PercentDiscount {
		return 1
	}
	return e.Orders
}

// Bounded reports whether a share of an order has a minimum or a maximum. Then an order in
// another currency than theirs earns nothing.
func (e Earning) Bounded() bool { return e.Min != 0 || e.Max != 0 }

// ValueField returns the name in the API of the value that tiers replace.
func (e Earning) ValueField() string {
	if e.Offer.OfRevenue != 0 {
		return "percentOfRevenue"
	}
	return e.Offer.Kind.Traits().Value
}

// At returns the offer at the referrer's n-th conversion, which counts from 1.
func (e Earning) At(n int64) reward.Offer {
	o := e.Offer
	for _, tier := range e.Tiers {
		if n >= tier.From {
			o = o.With(tier.Value)
			o.OfRevenue = tier.OfRevenue
		}
	}
	return o
}

// value returns the reward for an order at the referrer's n-th conversion, or the
// reason why there is none.
func (e Earning) value(order Order, n int64) (reward.Offer, Reason) {
	o := e.At(n)
	if o.OfRevenue == 0 {
		return o, ""
	}
	switch {
	case order.Fault != "":
		return o, order.Fault
	case order.Revenue == 0:
		return o, ReasonNoRevenue
	case e.Bounded() && order.Currency != o.Currency:
		return o, ReasonCurrency
	}
	amount := portion(order.Revenue, int64(o.OfRevenue), int64(reward.MaxPercent))
	if amount = max(amount, e.Min); e.Max != 0 {
		amount = min(amount, e.Max)
	}
	if amount == 0 {
		return o, ReasonTooSmall
	}
	o = o.With(amount)
	o.OfRevenue, o.Currency = 0, order.Currency
	return o, ""
}

// monthsAfter returns the time n calendar months after t, in UTC. The last day of a
// month stands for days that the month does not have.
func monthsAfter(t core.Time, n int64) core.Time {
	at := time.UnixMilli(int64(t)).UTC()
	later := at.AddDate(0, int(n), 0)
	if later.Day() != at.Day() {
		later = later.AddDate(0, 0, -later.Day())
	}
	return core.Time(later.UnixMilli())
}
