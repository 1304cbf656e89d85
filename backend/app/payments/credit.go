package payments

import (
	"context"
	"math"

	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/billing"
	"kith/core/referral"
	"kith/core/reward"
)

// want sets the discount that the subscription must have; see billing.CreditFor. all are the
// account's subscriptions.
func (b *billed) want(ctx context.Context, account referral.Account, all []billing.Standing, percent reward.BasisPoints) error {
	b.after.Want, b.after.Room = billing.Discount{}, b.read.Room(percent)
	if !b.after.Ended() {
		credit, err := b.share(ctx, account.ID, all)
		if err != nil {
			return err
		}
		b.after.Want = b.read.Want(percent, credit)
		if b.read.Itemized && b.connection.Credit == billing.CreditBalance {
			b.after.Want.Amount, b.after.Want.Credit = b.after.Want.Amount-b.after.Want.Credit, 0
			// Credit in a bill that is not paid yet is from the time before the tenant chose
			// the balance.
			if err := b.give(ctx, credit-b.read.Billed, b.after.Room); err != nil {
				return err
			}
		}
	}
	had := int64(0)
	b.after.Held, had = b.read.Held(b.before.Held, b.after.Want)
	b.effects.Lowered = had > b.after.Want.Credit && b.read.Change(b.after.Want) != billing.NoChange
	return nil
}

// use redeems the credit that the bill of a billing cycle has used, and returns it. What is not
// available any more, because another call redeemed it meanwhile, is owed. Later charges of the
// same cycle use none.
func (b *billed) use(ctx context.Context, account core.AccountID, c billing.Charge, percent reward.BasisPoints, folded int64) (int64, error) {
	if c.Period != "" && c.Period <= b.after.Period {
		return 0, nil
	}
	b.after.Period = c.Period
	used := c.CreditUsed(percent, folded)
	drawn, err := b.drawUpTo(ctx, account, used)
	b.after.Owed += used - drawn
	return used, err
}

// settleOwed redeems what earlier bills owe, up to what is available.
func (b *billed) settleOwed(ctx context.Context, account core.AccountID) error {
	drawn, err := b.drawUpTo(ctx, account, b.after.Owed)
	b.after.Owed -= drawn
	return err
}

// drawUpTo redeems an amount of an account's credit, up to what is available, and returns what it
// redeemed.
func (b *billed) drawUpTo(ctx context.Context, account core.AccountID, amount int64) (drawn int64, err error) {
	if amount <= 0 {
		return 0, nil
	}
	available, err := b.credit(ctx, account)
	if drawn = min(amount, available); err != nil || drawn == 0 {
		return 0, err
	}
	return drawn, b.draw(ctx, account, drawn)
}

// credit returns the account's credit in the subscription's currency or without a
// currency, or 0 if more is owed for refunded orders.
func (b *billed) credit(ctx context.Context, account core.AccountID) (int64, error) {
	found, err := b.credits(ctx, account, 1)
	return max(0, found.Available), err
}

// credits returns what credit has, with the credits of which the given amount is drawn.
func (b *billed) credits(ctx context.Context, account core.AccountID, amount int64) (reward.Drawable, error) {
	d := reward.Draw{Account: account, Unit: reward.UnitCents, Currency: b.read.Currency, Amount: amount}
	found, err := rewarddb.DrawableBy(ctx, b.tx, b.tenant, []reward.Draw{d})
	if err != nil || d.CheckCurrency(found[0].Currencies) != nil {
		return reward.Drawable{}, err
	}
	return found[0], nil
}

// share returns the credit for the next bill; see billing.CreditFor.
func (b *billed) share(ctx context.Context, account core.AccountID, all []billing.Standing) (int64, error) {
	for i, s := range all {
		if s.ID == b.read.ID {
			all[i] = b.after.Standing
		}
	}
	if len(all) < 2 {
		available, err := b.credit(ctx, account)
		return billing.CreditFor(all, b.read.ID, available, 0), err
	}
	found, err := b.credits(ctx, account, math.MaxInt64)
	loose := int64(0)
	for _, r := range found.Credits {
		if r.Offer.Currency == "" {
			loose += r.Left()
		}
	}
	return billing.CreditFor(all, b.read.ID, max(0, found.Available), loose), err
}
