package rewards

import (
	"context"
	"errors"
	"math"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/rewarddb"
	"kith/backend/store/unit"
	"kith/core"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
)

// Redemptions redeems credit.
type Redemptions struct{ *base.Base }

// OfReward redeems part of the credit of one reward. An amount above what is available
// is an error about "amount", and a unit other than the reward's is an error about
// "unit".
func (rd *Redemptions) OfReward(ctx context.Context, tenant core.TenantAlias, id string, amount int64, unit string) (reward.Redemption, error) {
	return rd.Draw(ctx, tenant, reward.Draw{Reward: id, Unit: unit, Amount: amount})
}

// OfCredit redeems credit of a user, or of all users of the account if user is empty.
// The credit that expires first is used first. An amount above what is available is an
// error about "amount".
func (rd *Redemptions) OfCredit(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, unit string, amount int64) (reward.Redemption, error) {
	return rd.Draw(ctx, tenant, reward.Draw{Account: account, User: user, Unit: unit, Amount: amount})
}

// Draw redeems credit as d says, at most once for each key: a key that was used within
// the last 24 hours is a conflict, and nothing is redeemed.
func (rd *Redemptions) Draw(ctx context.Context, tenant core.TenantAlias, d reward.Draw) (done reward.Redemption, err error) {
	return store.WriteValue(ctx, rd.DB.Write, rd.Now(), func(tx *store.Tx) (done reward.Redemption, err error) {
		drawn, err := rd.DrawWithin(ctx, tx, tenant, []reward.Draw{d})
		if err != nil {
			return done, err
		}
		done = drawn[0].Redemption
		return done, drawn[0].Refused
	})
}

// DrawResult is the result of one draw.
type DrawResult struct {
	reward.Redemption
	// Refused is the error for the caller if nothing was redeemed, or nil.
	Refused error
}

// DrawWithin makes draws within the transaction tx, in order. A draw that is refused
// changes nothing and does not stop the others; err is only an internal error.
func (rd *Redemptions) DrawWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, draws []reward.Draw) (drawn []DrawResult, err error) {
	for len(drawn) < len(draws) {
		results, err := rd.DrawFirst(ctx, tx, tenant, draws[len(drawn):])
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, results...)
	}
	return drawn, nil
}

// DrawFirst is DrawWithin for as many draws at the beginning of the list as can share their
// statements. It returns the results of these draws, at least one.
func (rd *Redemptions) DrawFirst(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, draws []reward.Draw) ([]DrawResult, error) {
	u := rd.Unit(tx, tenant)
	u.Facts.Want()
	for _, d := range draws {
		if d.Key != "" {
			u.RedeemKeys.Want(d.Key)
		}
	}
	if err := u.Load(ctx); err != nil {
		return nil, err
	}
	return rd.redeemTogether(ctx, tx, u, draws[:together(draws, !u.Indebted())])
}

// together returns how many draws at the beginning of the list can share their statements:
// those with different keys and different accounts, and if shared is true, also those of an
// account that use the same credit. A debt that a draw settles would change that credit. A
// draw of one reward counts alone, since its account is not yet known.
func together(draws []reward.Draw, shared bool) int {
	accounts, keys := map[core.AccountID]reward.Draw{}, map[core.IdempotencyKey]bool{}
	for i, d := range draws {
		earlier, again := accounts[d.Account]
		switch {
		case d.Reward != "":
			return max(i, 1)
		case again && !(shared && d.SameCredit(earlier)) || d.Key != "" && keys[d.Key]:
			return i
		}
		accounts[d.Account], keys[d.Key] = d, true
	}
	return len(draws)
}

// redeemTogether makes draws for which together is true.
func (rd *Redemptions) redeemTogether(ctx context.Context, tx *store.Tx, u *unit.Unit, draws []reward.Draw) ([]DrawResult, error) {
	sums, place := sumsOf(draws)
	from, err := rd.drawable(ctx, tx, u.Tenant, sums)
	if err != nil {
		return nil, err
	}
	if err := loadBalances(ctx, u, from); err != nil {
		return nil, err
	}
	drawn := make([]DrawResult, len(draws))
	for i, d := range draws {
		if keyUsed(u, d) {
			differs, err := rewarddb.DrawnOtherwise(ctx, tx.Reads, u.Tenant, d, tx.Now-reward.KeyLife)
			if err != nil {
				return nil, err
			}
			drawn[i].Refused = reward.KeyUsed(differs)
			continue
		}
		credit := &from[place[i]]
		left := *credit
		err := u.Decide(ctx, func(s *state.State) (err error) {
			left, err = rd.redeem(s, d, *credit)
			return err
		})
		if refused(err) {
			drawn[i].Refused = err
			continue
		}
		if err != nil {
			return nil, err
		}
		*credit = left
		drawn[i].Redemption = reward.Redemption{Redeemed: d.Amount, Available: left.Available, Unit: d.Unit}
	}
	return drawn, u.Save(ctx)
}

// sumsOf returns a draw for each credit that draws use, of their sum, and for each of the draws
// the place of its sum.
func sumsOf(draws []reward.Draw) (sums []reward.Draw, place []int) {
	of := map[core.AccountID]int{}
	for _, d := range draws {
		n, again := of[d.Account]
		if !again || d.Reward != "" {
			n = len(sums)
			of[d.Account], sums = n, append(sums, d)
		} else if sum := max(sums[n].Amount, 0) + max(d.Amount, 0); sum >= 0 {
			sums[n].Amount = sum
		} else {
			sums[n].Amount = math.MaxInt64
		}
		place = append(place, n)
	}
	return sums, place
}

// keyUsed reports whether the key of a draw, if it has one, was used.
func keyUsed(u *unit.Unit, d reward.Draw) bool {
	if d.Key == "" {
		return false
	}
	used, _ := u.RedeemKeys.Get(d.Key)
	return used
}

// loadBalances loads the balances that the draws change, if a webhook reports them.
func loadBalances(ctx context.Context, u *unit.Unit, from []reward.Drawable) error {
	if !u.Listens() {
		return nil
	}
	for _, d := range from {
		for _, credit := range d.Credits {
			u.Balances.Want(credit.Owner())
		}
	}
	return u.Load(ctx)
}

// redeem decides one draw, and returns the credit that is left for further ones.
func (rd *Redemptions) redeem(s *state.State, d reward.Draw, from reward.Drawable) (left reward.Drawable, err error) {
	if d.Key != "" {
		s.RedeemKeys.Put(d.Key, true)
	}
	steps, left, err := drawOne(d, from, s.Now)
	if err == nil {
		rd.Rules().Record(s, steps)
	}
	return left, err
}

// drawable returns the credit that each draw may use. For a draw of one reward it
// returns that reward, of any kind; drawOne checks it.
func (rd *Redemptions) drawable(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, draws []reward.Draw) ([]reward.Drawable, error) {
	if draws[0].Reward == "" {
		return rewarddb.DrawableBy(ctx, tx, tenant, draws)
	}
	one, err := rewarddb.OneDrawable(ctx, tx.Reads, tenant, draws[0].Reward, tx.Now)
	if base.IsNotFound(err) {
		return make([]reward.Drawable, 1), nil
	}
	return []reward.Drawable{one}, err
}

// drawOne returns the changes that one draw makes to the rewards that it uses, and what is left.
func drawOne(d reward.Draw, from reward.Drawable, now core.Time) (steps []rules.Step, left reward.Drawable, err error) {
	if d.Reward == "" {
		after, entries, err := d.Spread(from, now)
		for i := range after {
			steps = append(steps, rules.Step{Before: from.Credits[i], After: after[i], Entries: entries[i : i+1]})
		}
		return steps, from.After(after), err
	}
	if len(from.Credits) == 0 {
		return nil, from, rewarddb.UnknownReward()
	}
	after, entry, err := d.Of(from.Credits[0], from.Available, now)
	from.Available -= d.Amount
	return []rules.Step{{Before: from.Credits[0], After: after, Entries: []reward.Entry{entry}}}, from, err
}

// refused reports whether an error is a decision about the call, and not a failure that
// ends the whole transaction.
func refused(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Code != core.CodeInternal && e.Code != core.CodeUnavailable
}
