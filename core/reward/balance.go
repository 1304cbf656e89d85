package reward

import "kith/core"

// Group is the sum of rewards with the same kind, unit, source, program, status and
// currency.
type Group struct {
	Kind    Kind
	Unit    string
	Source  Source
	Program core.ProgramKey
	Status  Status
	// Currency may be empty.
	Currency string
	// OnHold and ByHand are whether its rewards are on hold, and whether they were cancelled
	// rather than taken back by refunds. Only the groups of a referral differ by them.
	OnHold, ByHand bool
	Count          int64
	// Value and Sums are the totals of its rewards.
	Value int64
	Sums  Sums
	// Debt is the total of their debts.
	Debt int64
}

// Got returns what the owner got or will get: the value without what refunds took back, expired
// or was cancelled.
func (g Group) Got() int64 {
	got := g.Value - g.Sums.Reversed - g.Sums.Expired - g.Sums.Cancelled
	if g.Status == StatusExpired {
		got -= g.left()
	}
	return max(0, got)
}

// left returns the total that is left of the rewards without a debt.
func (g Group) left() int64 { return g.Value - g.Sums.Total() + g.Debt }

// Balance is the sum of rewards of one kind, unit and currency (clients 1.3.20).
type Balance struct {
	Kind Kind
	Unit string
	// Currency is the currency of all its rewards; empty if some have none.
	Currency string
	// Count is the number of rewards of any status.
	Count int64
	// Assigned is the total that was given and has neither expired nor been cancelled
	// nor taken back by refunds, so that Assigned minus Redeemed and Settled is
	// available. The sum of Assigned, Pending, Expired, Cancelled and Reversed is the
	// total that was granted.
	Assigned, Redeemed int64
	Pending            int64
	// Expired and Cancelled are the totals of expired and cancelled rewards, Reversed
	// that which refunds took back. Settled is the total that settled debts of other
	// rewards, less what settled debts of these.
	Expired, Cancelled, Reversed, Settled int64
	// Debt is the total of the debts that were not settled.
	Debt int64
	// Referred and Referrer are the available discounts of a PercentDiscount:
	// Referred for being referred, Referrer for all other reasons.
	Referred, Referrer BasisPoints
	// Codes is the number of available and redeemed codes of a FuelTank.
	Codes int64
}

// Available returns the amount that can be redeemed. It is negative if debts are
// larger than the credit.
func (b Balance) Available() int64 { return b.Assigned - b.Redeemed - b.Settled }

// Balances returns the sums of groups by kind, unit and currency, in the order of their
// first occurrence. Rewards without a currency are a balance of their own only if those
// of their kind and unit have several currencies.
func Balances(groups []Group) []Balance {
	type key struct {
		kind           Kind
		unit, currency string
	}
	currencies := map[key][]string{}
	for _, g := range groups {
		k := key{kind: g.Kind, unit: g.Unit}
		currencies[k] = append(currencies[k], g.Currency)
	}
	var balances []Balance
	at := map[key]int{}
	for _, g := range groups {
		k := key{kind: g.Kind, unit: g.Unit}
		if several(currencies[k]) {
			k.currency = g.Currency
		}
		i, known := at[k]
		if !known {
			i = len(balances)
			at[k] = i
			balances = append(balances, Balance{Kind: g.Kind, Unit: g.Unit, Currency: g.Currency})
		} else if balances[i].Currency != g.Currency {
			balances[i].Currency = ""
		}
		balances[i].add(g)
	}
	return balances
}

func (b *Balance) add(g Group) {
	left := g.left()
	b.Count += g.Count
	b.Assigned += g.Value - g.Sums.Expired - g.Sums.Cancelled - g.Sums.Reversed
	b.Redeemed += g.Sums.Redeemed
	b.Expired += g.Sums.Expired
	b.Cancelled += g.Sums.Cancelled
	b.Reversed += g.Sums.Reversed
	b.Settled += g.Sums.Settled
	b.Debt += g.Debt
	switch g.Status {
	case StatusPending:
		b.Assigned -= left
		b.Pending += left
	case StatusExpired:
		b.Assigned -= left
		b.Expired += left
	case StatusAvailable, StatusRedeemed:
		b.addOfKind(g, left)
	}
}

// addOfKind adds to the fields that only balances of one kind have.
func (b *Balance) addOfKind(g Group, left int64) {
	switch {
	case b.Kind == FuelTank:
		b.Codes += g.Count
	case b.Kind != PercentDiscount:
	case g.Source == Referred:
		b.Referred += BasisPoints(left)
	default:
		b.Referrer += BasisPoints(left)
	}
}

// Discount is the discount of an account (clients 1.3.15: AccountDiscount).
type Discount struct {
	Account core.AccountID
	// Referred is the discount for being referred, Referrer that for all other
	// reasons.
	Referred, Referrer BasisPoints
	// DiscountID is the id of the tenant's discount at the payment gateway.
	DiscountID string
	// FirstName and LastName are those of the owner of the requested code; empty if
	// no code was requested.
	FirstName, LastName string
}

// Promise returns the offer as an available discount, to show what a referred account
// will get when it converts. It returns nil if the offer is not a discount.
func (o Offer) Promise(program core.ProgramKey) []Group {
	if o.Kind != PercentDiscount {
		return nil
	}
	return []Group{{
		Kind: o.Kind, Unit: UnitPercent, Source: Referred, Program: program, Status: StatusAvailable,
		Count: 1, Value: o.Value(),
	}}
}

// Discounts returns the sum of an account's available discounts: those of each
// program up to its limit, where zero means none, and all together up to MaxPercent.
func Discounts(groups []Group, limits map[core.ProgramKey]BasisPoints) Discount {
	of := map[core.ProgramKey]Discount{}
	for _, g := range groups {
		if g.Kind != PercentDiscount || g.Status != StatusAvailable {
			continue
		}
		d := of[g.Program]
		if g.Source == Referred {
			d.Referred += BasisPoints(g.left())
		} else {
			d.Referrer += BasisPoints(g.left())
		}
		of[g.Program] = d
	}
	var all Discount
	for program, d := range of {
		if limit := limits[program]; limit != 0 {
			d = d.Capped(limit)
		}
		all.Referred += d.Referred
		all.Referrer += d.Referrer
	}
	return all.Capped(MaxPercent)
}

// Total returns the sum of both sides.
func (d Discount) Total() BasisPoints { return d.Referred + d.Referrer }

// Capped returns the discount with a total of at most most. It reduces Referrer
// first.
func (d Discount) Capped(most BasisPoints) Discount {
	d.Referred = min(d.Referred, most)
	d.Referrer = min(d.Referrer, most-d.Referred)
	return d
}
