package billing

import (
	"kith/core"
	"kith/core/reward"
)

// Terms are the terms of a code that customers can enter at a gateway's checkout: a
// percentage for some months, or for all bills if that is 0; or an amount for one bill.
// The zero Terms give nothing.
type Terms struct {
	Percent  reward.BasisPoints
	Months   int
	Amount   int64
	Currency string
}

// month is the longest month, so that a discount does not last longer than the reward: Kith
// gives what is left of it.
const month = 31 * core.Day

// TermsOf returns the terms that a code promises the referred customer: the reward of the
// referred side, as far as a gateway can give it with the first bill.
func TermsOf(o reward.Offer) Terms {
	switch {
	case o.None():
		return Terms{}
	case o.Kind == reward.PercentDiscount && o.ValidFor == 0:
		return Terms{Percent: o.Percent}
	case o.Kind == reward.PercentDiscount:
		return Terms{Percent: o.Percent, Months: int(max(1, o.ValidFor/month))}
	case o.Kind == reward.Credit && o.InUnit() == reward.UnitCents && o.Currency != "" && o.OfRevenue == 0:
		return Terms{Amount: o.Amount, Currency: o.Currency}
	}
	return Terms{}
}
