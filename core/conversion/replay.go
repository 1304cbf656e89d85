package conversion

import (
	"slices"

	"kith/core"
	"kith/core/reward"
)

// Side is a side of a referral.
type Side int

// The two sides.
const (
	Referrer Side = iota
	Referred
)

// Plan is what a program says about conversion from a time on.
type Plan struct {
	// Since is the time from which the plan applies to events.
	Since core.Time
	Rule  Rule
	// Earnings are by Side.
	Earnings [2]Earning
	// Total, InPeriod and Period limit the rewards of one referrer; zero means no
	// limit.
	Total, InPeriod int64
	Period          core.Time
}

// currency returns the currency of orders that name none.
func (p Plan) currency() string {
	for _, e := range p.Earnings {
		if e.Offer.Currency != "" {
			return e.Offer.Currency
		}
	}
	return centsDefault
}

// Plans are the plans of a program in ascending order of Since. A change of a program
// does not change what earlier orders earn.
type Plans []Plan

// At returns the plan that applies to an event of a time. The first one also applies to
// earlier events.
func (ps Plans) At(t core.Time) Plan {
	at := Plan{}
	for i, p := range ps {
		if i == 0 || p.Since <= t {
			at = p
		}
	}
	return at
}

// Limits returns the largest limits of the plans: how many rewards of a referrer a
// replay has to know.
func (ps Plans) Limits() (total, inPeriod int64) {
	for _, p := range ps {
		total, inPeriod = max(total, p.Total), max(inPeriod, p.InPeriod)
	}
	return total, inPeriod
}

// PaidUntil returns the end of the time in which plans convert by PAID: 0 if none does. A
// replay has to know the conversions of referrals that began before.
func (ps Plans) PaidUntil() (end core.Time) {
	for i, p := range ps {
		switch {
		case p.Rule.ByEvent():
		case i+1 < len(ps):
			end = ps[i+1].Since
		default:
			end = 1<<63 - 1
		}
	}
	return end
}

// MaxOrders returns the most orders of a referral that earn under one of the plans; zero if
// none limits them.
func (ps Plans) MaxOrders() (most int64) {
	for _, p := range ps {
		for _, e := range p.Earnings {
			most = max(most, e.MostOrders())
		}
	}
	return most
}

// Reason says why an order earns nothing. Reasons are stored and read by support staff,
// so their texts do not change.
type Reason string

const (
	// ReasonOtherTrigger: the program converted by PAID or by another event at that time.
	ReasonOtherTrigger Reason = "other-trigger"
	// ReasonCondition: a condition of the program does not hold.
	ReasonCondition Reason = "condition-failed"
	// ReasonNegative and ReasonTooLarge: the revenue is below 0 or above the largest
	// amount of a reward.
	ReasonNegative Reason = "revenue-negative"
	ReasonTooLarge Reason = "revenue-too-large"
	// ReasonBefore: the order was placed before the account was referred, and it is not the
	// first one, or it was placed too long before.
	ReasonBefore Reason = "before-attribution"
	// ReasonTooLate: the first order was placed too long after the attribution.
	ReasonTooLate Reason = "too-long-after-attribution"
	// ReasonNotFirst: the account had such an event before.
	ReasonNotFirst Reason = "not-first-event"

	// ReasonNoOffer: the program gives this side nothing.
	ReasonNoOffer Reason = "no-reward-for-this-side"
	// ReasonOrders and ReasonMonths: the referral has had all its orders that earn, or
	// all its months.
	ReasonOrders Reason = "all-orders-rewarded"
	ReasonMonths Reason = "months-over"
	// ReasonNoRevenue: the reward is a percentage, and the order has no revenue, or 0.
	ReasonNoRevenue Reason = "no-revenue"
	// ReasonBadRevenue and ReasonBadCurrency: the reward is a percentage, and that field of
	// the order cannot be read.
	ReasonBadRevenue  Reason = "revenue-unreadable"
	ReasonBadCurrency Reason = "currency-unreadable"
	// ReasonDenied: the moderation of the referral denies this side its rewards.
	ReasonDenied Reason = "referral-denied"
	// ReasonCurrency: the reward is limited in another currency.
	ReasonCurrency Reason = "other-currency"
	// ReasonTooSmall: the percentage is less than half a minor unit.
	ReasonTooSmall Reason = "less-than-one-minor-unit"
	// ReasonTotal and ReasonPeriod: the referrer has reached a limit of the program.
	ReasonTotal  Reason = "limit-of-rewards"
	ReasonPeriod Reason = "limit-of-rewards-in-period"

	// These are not stored: they say what Explained found when an order was read.

	// ReasonUndecided: the order is decided a moment later. ReasonUnplaced: only refunds of it
	// have arrived.
	ReasonUndecided Reason = "not-decided-yet"
	ReasonUnplaced  Reason = "not-placed"
	// ReasonNoUser: no user of the side was identified, or the user was deleted.
	ReasonNoUser Reason = "no-user"
	// ReasonNoCode: the fuel tank of the program has no code left; the reward is given when it
	// has one.
	ReasonNoCode Reason = "no-code-left"
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{
		ReasonOtherTrigger, ReasonCondition, ReasonNegative, ReasonTooLarge, ReasonBefore, ReasonTooLate, ReasonNotFirst, ReasonNoOffer,
		ReasonOrders, ReasonMonths, ReasonNoRevenue, ReasonBadRevenue, ReasonBadCurrency, ReasonDenied, ReasonCurrency, ReasonTooSmall, ReasonTotal, ReasonPeriod,
		ReasonUndecided, ReasonUnplaced, ReasonNoUser, ReasonNoCode,
	}
}

// Chunk is a part of the sequence of a referrer's orders in a program, and what the
// orders before it come to.
type Chunk struct {
	// Conversions and Rewards are the numbers of conversions and of rewards of the
	// referrer before the chunk, without those of denied referrals and rewards for orders
	// that were returned. Rewards may stop at the
	// largest limit.
	Conversions, Rewards int64
	// LastConversion is when the last of these conversions was by an order. Conversions by
	// PAID before it are among them.
	LastConversion core.Time
	// Recent has the times of the last of these rewards in ascending order, at least
	// as many as the largest limit for a period.
	Recent []core.Time
	// Paid are the conversions of the referrer by PAID, in ascending order.
	Paid []PaidConversion
	// Orders are in the order of their positions.
	Orders []Entry
}

// MaxPaid is the most conversions by PAID that a replay knows, those of the referrals that
// began last: a limit of more rewards is not exact in a program that converts by PAID at one
// time and by an event at another.
const MaxPaid = 10_000

// PaidConversion is a conversion by PAID of a referral, in a program that converts by an
// event at other times.
type PaidConversion struct {
	At core.Time
	// Gives is true if it gave the referrer a reward.
	Gives bool
}

// Entry is an order in a Chunk, with the data of its referral.
type Entry struct {
	Order
	// Since is when the account was referred.
	Since core.Time
	// First is the event that placed the first order of the account, whether it
	// counts or not.
	First string
	// Number and Converted are the number of orders of the referral that count before
	// the chunk, and the time of the first one. A conversion by PAID is the first order.
	Number    int64
	Converted core.Time
	// Earned is how many of these earn a reward, by Side, without those that were returned.
	Earned [2]int64
	// Denied is true for a Side that the moderation denies its rewards.
	Denied [2]bool
}

// Decision is what the rules decide about an order.
type Decision struct {
	// Reason is why the order does not count; empty if it does.
	Reason Reason
	// Number is the number of the order among those of its referral that count, from 1;
	// zero if it does not count. Order 1 converts the referral.
	Number int64
	// Conversion is the number of conversions of the referrer up to the order.
	Conversion int64
	// Earned is by Side.
	Earned [2]Earned
}

// Counts reports whether the order counts: whether it converts its referral or comes
// after the one that did.
func (d Decision) Counts() bool { return d.Number > 0 }

// Earned is what one side earns for an order.
type Earned struct {
	// Reason is why it earns nothing; empty if it earns Offer.
	Reason Reason
	// Offer has the value for this order.
	Offer reward.Offer
	// Share is how much of the value the refunds of the order take back.
	Share int64
}

// Gives reports whether the side earns a reward, even if refunds take all of it back.
func (e Earned) Gives() bool { return e.Offer.Kind != "" && e.Reason == "" }

// Outcome is a stored Decision about an order.
type Outcome struct {
	// Reason, Number and Conversion are those of the Decision.
	Reason             Reason
	Number, Conversion int64
	// Sides are by Side.
	Sides [2]SideOutcome
}

// SideOutcome is what was decided about one side of an order.
type SideOutcome struct {
	// Reason is why the side earns nothing; empty if it earns a reward.
	Reason Reason
	// Reward is the id of its reward; empty if none was ever given. A reward that an
	// order no longer earns has the value 0, or moderation has cancelled it.
	Reward string
}

// Explained returns the outcome of an order with a reason for each side that has no reward.
// users says, by Side, whether the user is known, and due whether the reward waits for a code.
func (o Outcome) Explained(placed bool, users, due [2]bool) Outcome {
	if o.Number == 0 && o.Reason == "" {
		o.Reason = ReasonUndecided
		if !placed {
			o.Reason = ReasonUnplaced
		}
	}
	for side := range o.Sides {
		paid := &o.Sides[side]
		switch {
		case paid.Reason != "" || o.Number > 0 && paid.Reward != "":
		case o.Number == 0:
			paid.Reason = o.Reason
		case !users[side]:
			paid.Reason = ReasonNoUser
		case due[side]:
			paid.Reason = ReasonNoCode
		default:
			paid.Reason = ReasonUndecided
		}
	}
	return o
}

// Complete reports whether each side has a reward, or a reason why there is none.
func (o Outcome) Complete() bool {
	without := func(s SideOutcome) bool { return s.Reason == "" && s.Reward == "" }
	return (o.Number > 0 || o.Reason != "") && !slices.ContainsFunc(o.Sides[:], without)
}

// Gives reports whether the order earns the referrer a reward, even if refunds take it back.
func (o Outcome) Gives() bool { return o.Number > 0 && o.Sides[Referrer].Reason == "" }

// progress is how far a referral has come.
type progress struct {
	number    int64
	converted core.Time
	earned    [2]int64
}

// Replay decides the orders of a chunk.
func (ps Plans) Replay(c Chunk) []Decision {
	of := map[string]progress{}
	recent, paid := slices.Clone(c.Recent), c.Paid
	decisions := make([]Decision, len(c.Orders))
	for i, e := range c.Orders {
		known := len(recent)
		for ; len(paid) > 0 && paid[0].At < e.At; paid = paid[1:] {
			if paid[0].At >= c.LastConversion {
				c.Conversions++
			}
			if paid[0].Gives {
				c.Rewards++
				recent = append(recent, paid[0].At)
			}
		}
		if len(recent) > known {
			slices.Sort(recent)
		}
		plan := ps.At(e.At)
		at, seen := of[e.Referral]
		if !seen {
			at = progress{e.Number, e.Converted, e.Earned}
		}
		d := &decisions[i]
		if d.Reason = e.refused(plan, at); d.Reason == "" {
			if at.number++; at.number == 1 {
				at.converted = e.At
				if !e.Denied[Referrer] {
					c.Conversions++
				}
			}
			d.Number, d.Conversion = at.number, c.Conversions
			d.Earned = plan.earned(e, *d, at, c.Rewards, recent)
			if !e.Returned() {
				if d.Earned[Referrer].Gives() {
					c.Rewards++
					recent = append(recent, e.At)
				}
				for side := range d.Earned {
					if d.Earned[side].Gives() {
						at.earned[side]++
					}
				}
			}
		}
		of[e.Referral] = at
	}
	return decisions
}

// earlier reports whether an order was placed before the attribution, which is known to the
// millisecond. A time in whole seconds, as gateways have, stands for all of its second.
func earlier(at, since core.Time) bool {
	if at%core.Second == 0 {
		since -= since % core.Second
	}
	return at < since
}

// refused returns why an order does not count, after what its referral had before.
func (e Entry) refused(p Plan, before progress) Reason {
	switch {
	case e.Refused != "":
		return e.Refused
	case earlier(e.At, e.Since) && (e.Event != e.First || before.number > 0 || earlier(e.At, e.Since-p.Rule.Before)):
		return ReasonBefore
	case before.number > 0:
		return ""
	case p.Rule.Within > 0 && e.At > e.Since+p.Rule.Within:
		return ReasonTooLate
	case p.Rule.FirstEvent && e.Event != e.First:
		return ReasonNotFirst
	}
	return ""
}

// earned returns what both sides earn for an order that counts.
func (p Plan) earned(e Entry, d Decision, at progress, rewards int64, recent []core.Time) (all [2]Earned) {
	for side, earning := range p.Earnings {
		offer, reason := earning.earns(e.Order, d.Conversion, at.earned[side], at.converted)
		if reason == "" && e.Denied[side] {
			reason = ReasonDenied
		}
		if reason == "" && Side(side) == Referrer {
			reason = p.limited(e.At, rewards, recent)
		}
		all[side] = Earned{Reason: reason, Offer: offer}
		if reason == "" {
			all[side].Share = e.Share(offer)
		}
	}
	return all
}

// earns returns the reward of a side for an order that counts, before the limits of the
// referrer. n is the number of the referrer's conversion, and earned the number of earlier
// orders of the referral for which the side earns.
func (e Earning) earns(o Order, n, earned int64, converted core.Time) (reward.Offer, Reason) {
	switch {
	case e.Offer.None():
		return reward.Offer{}, ReasonNoOffer
	case e.MostOrders() > 0 && earned >= e.MostOrders():
		return e.Offer, ReasonOrders
	case e.Months > 0 && o.At >= monthsAfter(converted, e.Months):
		return e.Offer, ReasonMonths
	}
	return e.value(o, n)
}

// limited returns why the limits of the program refuse a reward of the referrer.
func (p Plan) limited(at core.Time, rewards int64, recent []core.Time) Reason {
	if p.Total > 0 && rewards >= p.Total {
		return ReasonTotal
	}
	if n := int64(len(recent)); p.InPeriod > 0 && n >= p.InPeriod && recent[n-p.InPeriod] > at-p.Period {
		return ReasonPeriod
	}
	return ""
}
