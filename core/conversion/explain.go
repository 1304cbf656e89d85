package conversion

import (
	"strconv"
	"time"

	"kith/core"
	"kith/core/reward"
)

// Step is one step of an explanation, as a sentence for people.
type Step struct {
	// Passed is false if the step is why the event earns nothing, or less.
	Passed bool
	Text   string
}

// Trial is an event as if it came now, for an explanation.
type Trial struct {
	Event Event
	// Since is when the account was referred.
	Since core.Time
	// Orders, Conversions and Rewards are the numbers before the event: of orders of the
	// referral that counted, of conversions of the referrer, and of the referrer's
	// rewards. The first order was at Converted.
	Orders, Conversions, Rewards int64
	Converted                    core.Time
	// Earned is how many of the orders earn a reward, by Side.
	Earned [2]int64
	// Earlier is true if the account had an event with this key before it was referred.
	Earlier bool
}

// Try returns what an event would cause under a plan, and why.
func (p Plan) Try(t Trial) (Decision, []Step) {
	e := Entry{Order: Order{Referral: "r", Key: "o"}.Place(t.Event, p), Since: t.Since, Number: t.Orders, Converted: t.Converted, First: t.Event.ID, Earned: t.Earned}
	if t.Earlier || t.Orders > 0 {
		e.First = "earlier"
	}
	if t.Orders > 0 && t.Converted == 0 {
		e.Converted = t.Since
	}
	d := Plans{p}.Replay(Chunk{Conversions: t.Conversions, Rewards: t.Rewards, Orders: []Entry{e}})[0]
	steps := p.explainRule(t, e, d)
	if !d.Counts() {
		return d, steps
	}
	for side, name := range []string{"The referrer", "The friend"} {
		steps = append(steps, p.explainSide(e, d, Side(side), name)...)
	}
	return d, steps
}

func (p Plan) explainRule(t Trial, e Entry, d Decision) (steps []Step) {
	step := func(passed bool, text string) { steps = append(steps, Step{passed, text}) }
	switch r := p.Rule; {
	case !r.ByEvent():
		step(false, "The program converts when an account becomes PAID. No event converts.")
		return steps
	case r.Event != t.Event.Key:
		step(false, "The program converts by the event "+r.Event+". The event "+t.Event.Key+" does not convert.")
		return steps
	default:
		step(true, "The event "+r.Event+" converts referrals of this program.")
	}
	for _, c := range p.Rule.Conditions {
		values := t.Event.Fields[c.Field]
		holds := c.Holds(values)
		verb := " fails: "
		if holds {
			verb = " holds: "
		}
		step(holds, "The condition "+c.String()+verb+c.Because(values)+".")
	}
	switch d.Reason {
	case ReasonCondition, "":
	default:
		step(false, d.Reason.Sentence())
	}
	if d.Counts() {
		text := "It is the referral's " + ordinal(d.Number) + " order that counts"
		if d.Number == 1 {
			text += ", so it converts the referral: the referrer's " + ordinal(d.Conversion) + " conversion"
		}
		step(true, text+".")
	}
	return steps
}

func (p Plan) explainSide(e Entry, d Decision, side Side, name string) (steps []Step) {
	earned := d.Earned[side]
	if !earned.Gives() {
		text := name + " earns nothing. " + earned.Reason.Sentence()
		if earned.Reason == e.Fault {
			text += " The " + e.Detail + "."
		}
		return []Step{{false, text}}
	}
	o, offered := earned.Offer, p.Earnings[side].At(d.Conversion)
	text := name + " earns " + pretty(o.Value(), o)
	if offered.OfRevenue != 0 {
		text += ": " + offered.OfRevenue.String() + "% of " + reward.Pretty(e.Revenue, reward.UnitCents, e.Currency, reward.UnitFormatted)
		if exact := portion(e.Revenue, int64(offered.OfRevenue), int64(reward.MaxPercent)); exact < o.Amount {
			text += ", raised to the minimum"
		} else if exact > o.Amount {
			text += ", reduced to the maximum"
		}
	}
	if tier := p.Earnings[side].tier(d.Conversion); tier > 0 {
		text += ", by the tier from " + strconv.FormatInt(tier, 10) + " conversions on"
	}
	steps = []Step{{true, text + "."}}
	if o.GivenAfter > 0 {
		at := time.UnixMilli(int64(e.At + o.GivenAfter)).UTC().Format("2006-01-02 15:04 MST")
		steps = append(steps, Step{true, "It is pending for " + duration(o.GivenAfter) + " and can be redeemed from " + at + " on."})
	}
	return steps
}

// duration returns a duration for people: in days if it is a whole number of days.
func duration(d core.Time) string {
	switch {
	case d == core.Day:
		return "1 day"
	case d%core.Day == 0:
		return strconv.FormatInt(int64(d/core.Day), 10) + " days"
	}
	return core.FormatDuration(d)
}

// tier returns the first conversion of the tier that applies to the n-th, or 0.
func (e Earning) tier(n int64) (from int64) {
	for _, t := range e.Tiers {
		if n >= t.From {
			from = t.From
		}
	}
	return from
}

func pretty(value int64, o reward.Offer) string {
	return reward.Pretty(value, o.InUnit(), o.Currency, reward.UnitFormatted)
}

// Sentence returns the reason as a sentence for people.
func (r Reason) Sentence() string {
	switch r {
	case "":
		return ""
	case ReasonOtherTrigger:
		return "At the time of the event, the program converted by PAID or by another event."
	case ReasonCondition:
		return "A condition of the program does not hold."
	case ReasonNegative:
		return "The field revenue is below 0; send a refund as an event of its own."
	case ReasonTooLarge:
		return "The field revenue is above the largest amount of a reward."
	case ReasonBefore:
		return "The order was placed before the account was referred."
	case ReasonTooLate:
		return "The order was placed later after the attribution than the program allows."
	case ReasonNotFirst:
		return "The account had such an event before, and only the first one converts."
	case ReasonNoOffer:
		return "The program has no reward for this side."
	case ReasonOrders:
		return "The orders of this referral that earn have been rewarded."
	case ReasonMonths:
		return "The months in which orders of this referral earn are over."
	case ReasonNoRevenue:
		return "The reward is a percentage of the field revenue, which the event does not have, or which is 0."
	case ReasonBadRevenue:
		return "The reward is a percentage of the field revenue, which is no number."
	case ReasonBadCurrency:
		return "The reward is a percentage of the field revenue, whose field currency is no code of ISO 4217."
	case ReasonDenied:
		return "The referral is denied, by fraud handling, by a moderator or because a user is blocked."
	case ReasonCurrency:
		return "The reward has a minimum or maximum in another currency than the order."
	case ReasonTooSmall:
		return "The percentage of the order is less than half a minor unit of its currency."
	case ReasonTotal:
		return "The referrer has as many rewards as the program allows."
	case ReasonPeriod:
		return "The referrer has as many rewards as the program allows within its period."
	case ReasonUndecided:
		return "The order is being decided; ask again in a moment."
	case ReasonUnplaced:
		return "Only refunds of the order have arrived, and not the event that placed it."
	case ReasonNoUser:
		return "No user of this side was identified, or the user was deleted."
	case ReasonNoCode:
		return "The fuel tank of the program has no code left; the reward is given when codes are uploaded."
	}
	return string(r)
}
