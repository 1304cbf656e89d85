package text

import (
	"strconv"

	"kith/core"
	"kith/core/conversion"
	"kith/core/reward"
)

// Value is what one conversion gives. The zero value gives nothing.
type Value struct {
	// Discount is the discount of a PCT_DISCOUNT.
	Discount reward.BasisPoints
	// OfOrder is a share of what the friend pays for an order. Least and Most limit it,
	// in minor units of Currency; zero means no limit. Those of an Offer are for all of
	// its tiers.
	OfOrder     reward.BasisPoints
	Least, Most int64
	// Amount is a fixed amount in Unit: in minor units of Currency if that is set, and
	// in basis points if Unit is %.
	Amount         int64
	Unit, Currency string
}

// Tier is the value of the conversions of one referrer from the number From on, until
// the next tier begins.
type Tier struct {
	From int
	Value
}

// Offer describes what one side of a program earns, as far as people are informed
// about it.
type Offer struct {
	Kind reward.Kind
	// Name is the shop's own text for the reward, in place of its value; or empty.
	Name string
	Value
	// Tiers replace Value, if there are any. They are in ascending order of From.
	Tiers []Tier
	// EachOrder is true if each order of the friend gives a reward, not only the one
	// that converts. Orders limits their number, and Months the time since the
	// conversion; zero means no limit.
	EachOrder      bool
	Orders, Months int
	// LeastOrder is what an order must be worth to count, in minor units of OrderCurrency, or in
	// hundredths of any currency if that is empty; zero means no limit.
	LeastOrder    int64
	OrderCurrency string
	// MostRewards is how many rewards one referrer gets in all; zero means no limit.
	MostRewards int
	// Waiting is how long a reward is pending after it was earned, and ValidFor how
	// long it is valid after that; zero means none and without limit.
	Waiting, ValidFor core.Time
}

// OfReward describes an offer that gives one fixed reward.
func OfReward(o reward.Offer) Offer {
	return Offer{
		Kind: o.Kind, Name: o.Name, Waiting: o.GivenAfter, ValidFor: o.ValidFor,
		Value: Value{Discount: o.Percent, Amount: o.Amount, Unit: o.InUnit(), Currency: o.Currency},
	}
}

// OfEarning describes what one side of a program earns. byEvent is true if an event
// converts, so that several orders may earn.
func OfEarning(e conversion.Earning, byEvent bool) Offer {
	d := OfReward(e.Offer)
	d.OfOrder, d.Least, d.Most = e.Offer.OfRevenue, e.Min, e.Max
	d.EachOrder, d.Orders, d.Months = byEvent && e.MostOrders() != 1, int(e.Orders), int(e.Months)
	if len(e.Tiers) == 0 {
		return d
	}
	d.Tiers = []Tier{{From: 1, Value: d.Value}}
	for _, tier := range e.Tiers {
		at := OfReward(e.At(tier.From)).Value
		at.OfOrder = tier.OfRevenue
		d.Tiers = append(d.Tiers, Tier{From: int(tier.From), Value: at})
	}
	return d
}

// none reports whether the offer gives nothing.
func (o Offer) none() bool {
	return o.Kind == "" || len(o.Tiers) == 0 && o.Discount == 0 && o.OfOrder == 0 && o.Amount == 0
}

// Described is the text of an offer in one language.
type Described struct {
	// Reward is what is earned, as the object of a verb: "10% off". It is empty for an
	// offer that gives nothing.
	Reward string
	// Terms are sentences about limits and dates.
	Terms []string
}

// Describe returns the text of an offer.
func (c *Catalog) Describe(o Offer) (d Described) {
	if o.none() {
		return Described{}
	}
	d.Reward = c.worth(o)
	for i, t := range o.Tiers {
		d.Terms = append(d.Terms, c.tier(o, i, c.value(o.Kind, t.Value)))
	}
	if o.OfOrder != 0 {
		if o.Least > 0 {
			d.Terms = append(d.Terms, Fill(c.Least, "amount", c.Money(o.Least, o.Currency)))
		}
		if o.Most > 0 {
			d.Terms = append(d.Terms, Fill(c.Most, "amount", c.Money(o.Most, o.Currency)))
		}
	}
	if o.LeastOrder > 0 {
		d.Terms = append(d.Terms, Fill(c.MinOrder, "amount", c.Money(o.LeastOrder, o.OrderCurrency)))
	}
	for _, limit := range []struct {
		text Plural
		n    int64
	}{{c.Orders, int64(o.Orders)}, {c.ForMonths, int64(o.Months)}, {c.InTotal, int64(o.MostRewards)}, {c.Waiting, days(o.Waiting)}, {c.ValidFor, days(o.ValidFor)}} {
		if limit.n > 0 {
			d.Terms = append(d.Terms, c.Count(limit.text, limit.n))
		}
	}
	return d
}

// days returns a duration in days, rounded up.
func days(d core.Time) int64 { return int64((d + core.Day - 1) / core.Day) }

// worth returns what an offer gives: its name, or its value. Of several tiers it is
// the largest value if they are of one form, and else the first value.
func (c *Catalog) worth(o Offer) string {
	if o.Name != "" {
		return o.Name
	}
	if len(o.Tiers) == 0 {
		return c.forOrders(o, o.Value)
	}
	first, most := o.Tiers[0].Value, o.Tiers[0].Value
	for _, t := range o.Tiers[1:] {
		if t.form() != first.form() {
			return c.forOrders(o, first)
		}
		if t.size() > most.size() {
			most = t.Value
		}
	}
	if most.size() == first.size() && len(o.Tiers) == 1 {
		return c.forOrders(o, most)
	}
	return Fill(c.UpTo, "reward", c.forOrders(o, most))
}

// form is equal for values that can be compared.
func (v Value) form() [3]string {
	switch {
	case v.Discount != 0:
		return [3]string{"discount"}
	case v.OfOrder != 0:
		return [3]string{"order"}
	}
	return [3]string{"amount", v.Unit, v.Currency}
}

func (v Value) size() int64 { return int64(v.Discount) + int64(v.OfOrder) + v.Amount }

// forOrders returns the text of a value, with "for each order" if that is so.
func (c *Catalog) forOrders(o Offer, v Value) string {
	switch {
	case v.OfOrder != 0 && o.EachOrder:
		return Fill(c.OfEachOrder, "percent", c.Percent(v.OfOrder))
	case o.EachOrder:
		return Fill(c.EachOrder, "reward", c.value(o.Kind, v))
	}
	return c.value(o.Kind, v)
}

// value returns the text of a value.
func (c *Catalog) value(kind reward.Kind, v Value) string {
	switch {
	case v.Discount != 0:
		return Fill(c.Off, "percent", c.Percent(v.Discount))
	case v.OfOrder != 0:
		return Fill(c.OfOrder, "percent", c.Percent(v.OfOrder))
	case v.Unit == reward.UnitCents && v.Currency == "":
		return c.SomeReward
	}
	amount := c.Amount(v.Amount, v.Unit, v.Currency)
	switch {
	case kind == reward.FuelTank && v.Unit == reward.UnitPercent:
		return Fill(c.CodeOff, "percent", amount)
	case kind == reward.FuelTank && v.Currency != "":
		return Fill(c.CodeWorth, "amount", amount)
	case kind == reward.FuelTank:
		return Fill(c.CodeFor, "amount", amount)
	case kind == reward.Integration:
		return Fill(c.Gift, "amount", amount)
	case v.Unit == reward.UnitPercent:
		return Fill(c.Off, "percent", amount)
	}
	return amount
}

// tier returns the sentence about the i-th tier of an offer.
func (c *Catalog) tier(o Offer, i int, worth string) string {
	from := o.Tiers[i].From
	if i == len(o.Tiers)-1 || o.EachOrder {
		// Of several orders of a friend, each earns by the number of friends at its time.
		return Fill(c.TierFrom, "from", strconv.Itoa(from), "reward", worth)
	}
	to := o.Tiers[i+1].From - 1
	if from >= to {
		return Fill(c.TierOne, "from", strconv.Itoa(from), "reward", worth)
	}
	return Fill(c.TierRange, "from", strconv.Itoa(from), "to", strconv.Itoa(to), "reward", worth)
}

// Balance returns the text of what can be redeemed of a balance, and of what it is
// below zero; either may be empty. most is the largest discount, or zero for 100 %. A
// balance in several currencies has no text, and neither have coupon codes, which are
// listed.
func (c *Catalog) Balance(b reward.Balance, most reward.BasisPoints) (have, debt string) {
	if b.Kind == reward.PercentDiscount {
		if most == 0 {
			most = reward.MaxPercent
		}
		if off := min(b.Referred+b.Referrer, most); off > 0 {
			have = Fill(c.Off, "percent", c.Percent(off))
		}
		return have, ""
	}
	available := b.Available()
	if available == 0 || b.Kind == reward.FuelTank || b.Unit == reward.UnitCents && b.Currency == "" {
		return "", ""
	}
	if available < 0 {
		return "", Fill(c.Debt, "amount", c.Amount(available, b.Unit, b.Currency))
	}
	return c.value(b.Kind, Value{Amount: available, Unit: b.Unit, Currency: b.Currency}), ""
}

// Earned returns the text of a reward that was earned, alone in a line: its name or its
// value. Of a coupon code it is what the code is for.
func (c *Catalog) Earned(o reward.Offer) string {
	if o.Kind == reward.FuelTank {
		o.Kind = reward.Credit
	}
	return c.Describe(OfReward(o)).Reward
}
