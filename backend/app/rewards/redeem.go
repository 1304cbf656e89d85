package rewards

import (
	"context"
	"math"
	"slices"

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

// Draw redeems credit as d says, at most once for each key: a key that was used within
// the last 24 hours is a conflict, and nothing is redeemed. The credit that expires first is
// used first. An amount above what is available is an error about "amount", and a unit other
// than that of the named reward is an error about "unit".
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
// those with different keys and different accounts, and if shared is true, also those of one
// account. A debt that a draw settles would change credit that others use. A draw of one
// reward counts alone, since its account is not yet known.
func together(draws []reward.Draw, shared bool) int {
	accounts, keys := map[core.AccountID]bool{}, map[core.IdempotencyKey]bool{}
	for i, d := range draws {
		switch {
		case d.Reward != "":
			return max(i, 1)
		case accounts[d.Account] && !shared || d.Key != "" && keys[d.Key]:
			return i
		}
		accounts[d.Account], keys[d.Key] = true, true
	}
	return len(draws)
}

// redeemTogether makes draws that together permits. It returns the results of the first ones, up
// to a draw whose credit it must read again.
func (rd *Redemptions) redeemTogether(ctx context.Context, tx *store.Tx, u *unit.Unit, draws []reward.Draw) ([]DrawResult, error) {
	used := creditsOf(draws)
	from, err := rd.drawable(ctx, tx, u.Tenant, used.asked)
	if err != nil {
		return nil, err
	}
	if err := loadBalances(ctx, u, from); err != nil {
		return nil, err
	}
	drawn, changed := make([]DrawResult, len(draws)), map[core.AccountID]bool{}
	for i, d := range draws {
		if keyUsed(u, d) {
			differs, err := rewarddb.DrawnOtherwise(ctx, tx.Reads, u.Tenant, d, tx.Now-reward.KeyLife)
			if err != nil {
				return nil, err
			}
			drawn[i].Refused = reward.KeyUsed(differs)
			continue
		}
		credit := from[used.place[i]]
		if changed[d.Account] && d.CheckCurrency(credit.Currencies) != nil {
			return drawn[:i], u.Save(ctx) // the credit of one currency may be used up
		}
		var steps []rules.Step
		err := u.Decide(ctx, func(s *state.State) (err error) {
			steps, err = rd.redeem(s, d, credit)
			return err
		})
		if base.Refused(err) {
			drawn[i].Refused = err
			continue
		}
		if err != nil {
			return nil, err
		}
		drawn[i].Redemption = reward.Redemption{Redeemed: d.Amount, Available: credit.Available - d.Amount, Unit: d.Unit}
		changed[d.Account] = true
		for _, place := range used.of[d.Account] {
			for _, step := range steps {
				from[place] = from[place].After(used.asked[place], step.Before, step.After)
			}
		}
	}
	return drawn, u.Save(ctx)
}

// credits are the credits that draws use.
type credits struct {
	// asked has a draw for each credit. Its amount is that of all draws of the account: each of
	// them may use what another one would have used.
	asked []reward.Draw
	// place has the place in asked of each draw, and of has the places of an account.
	place []int
	of    map[core.AccountID][]int
}

func creditsOf(draws []reward.Draw) credits {
	c, sums := credits{of: map[core.AccountID][]int{}}, map[core.AccountID]int64{}
	for _, d := range draws {
		if sum := sums[d.Account] + max(d.Amount, 0); sum >= 0 {
			sums[d.Account] = sum
		} else {
			sums[d.Account] = math.MaxInt64
		}
		of := c.of[d.Account]
		n := slices.IndexFunc(of, func(n int) bool {
			asked := c.asked[n]
			return asked.User == d.User && asked.Unit == d.Unit && asked.Currency == d.Currency
		})
		if n < 0 {
			n, c.of[d.Account], c.asked = len(of), append(of, len(c.asked)), append(c.asked, d)
		}
		c.place = append(c.place, c.of[d.Account][n])
	}
	for i := range c.asked {
		c.asked[i].Amount = sums[c.asked[i].Account]
	}
	return c
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

// redeem decides one draw, and returns the changes that it makes.
func (rd *Redemptions) redeem(s *state.State, d reward.Draw, from reward.Drawable) ([]rules.Step, error) {
	if d.Key != "" {
		s.RedeemKeys.Put(d.Key, true)
	}
	steps, err := drawOne(d, from, s.Now)
	if err == nil {
		rd.Rules().Record(s, steps)
	}
	return steps, err
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

// drawOne returns the changes that one draw makes to the rewards that it uses.
func drawOne(d reward.Draw, from reward.Drawable, now core.Time) ([]rules.Step, error) {
	if d.Reward == "" {
		after, entries, err := d.Spread(from, now)
		var steps []rules.Step
		for i := range after {
			steps = append(steps, rules.Step{Before: from.Credits[i], After: after[i], Entries: entries[i : i+1]})
		}
		return steps, err
	}
	if len(from.Credits) == 0 {
		return nil, rewarddb.UnknownReward()
	}
	after, entry, err := d.Of(from.Credits[0], from.Available, now)
	return []rules.Step{{Before: from.Credits[0], After: after, Entries: []reward.Entry{entry}}}, err
}
