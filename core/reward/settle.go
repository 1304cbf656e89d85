package reward

import (
	"cmp"
	"slices"

	"kith/core"
)

// MaxSettled is the most debts, and the most credits, of one settlement.
const MaxSettled = 100

// Spendable returns the amount that can settle debts of the owner at now: that of a
// Credit which the ledger has as given.
func (r Reward) Spendable(now core.Time) int64 {
	if r.Offer.Kind != Credit || r.Pending || r.Status(now) != StatusAvailable {
		return 0
	}
	return r.Left()
}

// SettleDebts moves credit to debts. The rewards, in any order, must be of one owner
// and one currency. The oldest debt is settled first, with the credit that is redeemed
// first (see Sooner). SettleDebts returns the changed rewards, and for each movement an
// entry of the credit and one of the debt.
func SettleDebts(rewards []Reward, now core.Time) (changed []Reward, entries []Entry) {
	var debts, credits []Reward
	for _, r := range rewards {
		switch {
		case r.Debt() > 0:
			debts = append(debts, r)
		case r.Spendable(now) > 0:
			credits = append(credits, r)
		}
	}
	if len(debts) == 0 || len(credits) == 0 {
		return nil, nil
	}
	slices.SortFunc(debts, func(a, b Reward) int { return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(credits, Sooner)
	d, c := 0, 0
	lastDebt, lastCredit := 0, 0
	for d < len(debts) && c < len(credits) {
		lastDebt, lastCredit = d, c
		debt, credit := &debts[d], &credits[c]
		amount := min(debt.Debt(), credit.Left())
		credit.Sums.Settled += amount
		debt.Sums.Settled -= amount
		entries = append(entries, credit.moved(ActionSettle, amount, now), debt.moved(ActionSettle, -amount, now))
		if debt.Debt() == 0 {
			d++
		}
		if credit.Left() == 0 {
			c++
		}
	}
	return slices.Concat(credits[:lastCredit+1], debts[:lastDebt+1]), entries
}
