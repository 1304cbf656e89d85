package reward

import "kith/core"

// Group is a number of rewards that have much in common, summed up.
type Group struct {
	Kind    Kind
	Unit    string
	Source  Source
	Program core.ProgramKey
	Status  Status
	// Currency is the one that all its rewards have, or empty.
	Currency string
	Count    int64
	// Value and Sums are those of all its rewards together.
	Value int64
	Sums  Sums
}

// Balance sums up rewards of one kind and unit (reference, 1.3).
type Balance struct {
	Kind Kind
	Unit string
	// Currency is the one that all its rewards have, or empty.
	Currency string
	// Count is how many rewards there are, whatever their status.
	Count int64
	// Assigned is what was given and neither expired nor was cancelled, so that
	// Assigned less Redeemed is what is available. Together with Pending,
	// Expired and Cancelled it is all that was ever granted.
	Assigned, Redeemed int64
	Pending            int64
	// Expired counts from the date, Cancelled from the day it was done.
	Expired, Cancelled int64
	// Referred and Referrer are the available discounts of a PercentDiscount by
	// side: what the account has for being referred, and all other.
	Referred, Referrer BasisPoints
	// Codes are the codes of a FuelTank that are available or used.
	Codes int64
}

// Available is what can be used.
func (b Balance) Available() int64 { return b.Assigned - b.Redeemed }

// Balances sums groups up by kind and unit, in the order in which those first
// occur.
func Balances(groups []Group) []Balance {
	var balances []Balance
	at := map[[2]string]int{}
	for _, g := range groups {
		key := [2]string{string(g.Kind), g.Unit}
		i, known := at[key]
		if !known {
			i = len(balances)
			at[key] = i
			balances = append(balances, Balance{Kind: g.Kind, Unit: g.Unit, Currency: g.Currency})
		} else if balances[i].Currency != g.Currency {
			balances[i].Currency = ""
		}
		balances[i].add(g)
	}
	return balances
}

func (b *Balance) add(g Group) {
	left := g.Value - g.Sums.Redeemed - g.Sums.Expired - g.Sums.Cancelled
	b.Count += g.Count
	b.Assigned += g.Value - g.Sums.Expired - g.Sums.Cancelled
	b.Redeemed += g.Sums.Redeemed
	b.Expired += g.Sums.Expired
	b.Cancelled += g.Sums.Cancelled
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

// addOfKind adds what only balances of one kind have.
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

// Discount is what an account pays less (reference, 1.3: AccountDiscount).
type Discount struct {
	Account core.AccountID
	// Referred is for being referred, Referrer for referring others and
	// everything else.
	Referred, Referrer BasisPoints
	// DiscountID is the tenant's discount at the payment gateway.
	DiscountID string
	// FirstName and LastName are those of the owner of the code that was asked
	// about; empty when none was.
	FirstName, LastName string
}

// Promise is what who is referred will have by converting, as if they had it
// now; nothing when that is no discount.
func (o Offer) Promise(program core.ProgramKey) []Group {
	if o.Kind != PercentDiscount {
		return nil
	}
	return []Group{{
		Kind: o.Kind, Unit: UnitPercent, Source: Referred, Program: program, Status: StatusAvailable,
		Count: 1, Value: o.Value(),
	}}
}

// Discounts adds the available discounts of an account up: those of a program up
// to its limit, where that is not zero, and all together up to all of the price.
func Discounts(groups []Group, limits map[core.ProgramKey]BasisPoints) Discount {
	of := map[core.ProgramKey]Discount{}
	for _, g := range groups {
		if g.Kind != PercentDiscount || g.Status != StatusAvailable {
			continue
		}
		d := of[g.Program]
		if g.Source == Referred {
			d.Referred += BasisPoints(g.Value)
		} else {
			d.Referrer += BasisPoints(g.Value)
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

// Total is both sides together.
func (d Discount) Total() BasisPoints { return d.Referred + d.Referrer }

// Capped returns the discount with a total of at most most. What is too much is
// taken from the referrer's side first.
func (d Discount) Capped(most BasisPoints) Discount {
	d.Referred = min(d.Referred, most)
	d.Referrer = min(d.Referrer, most-d.Referred)
	return d
}
