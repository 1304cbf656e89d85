package reward

import (
	"cmp"
	"slices"

	"kith/core"
)

// Draw is a request to redeem credit of one reward, of a user, or of all users of an
// account.
type Draw struct {
	// Reward is the id of the reward to redeem. If it is set, Account and User are
	// empty.
	Reward  string
	Account core.AccountID
	// User is the user whose credit is redeemed; empty means all users of the
	// account.
	User core.UserID
	// Unit selects the rewards with this unit.
	Unit string
	// Currency selects the rewards with this currency and those without one. It may be
	// empty unless the rewards have several.
	Currency string
	Amount   int64
	// Key is the idempotency key, which is refused again for 24 hours; empty for
	// none.
	Key core.IdempotencyKey
}

// Redemption is the result of a redemption (clients 1.3.11).
type Redemption struct {
	Redeemed int64
	// Available is the amount that can be redeemed after it: of the reward, the user
	// or the account of the draw.
	Available int64
	Unit      string
}

// Sooner compares rewards for the order of redemption: by the time at which they
// expire, then by the time at which they were given.
func Sooner(a, b Reward) int {
	return cmp.Or(cmp.Compare(lastDay(a), lastDay(b)), cmp.Compare(a.Given, b.Given), cmp.Compare(a.ID, b.ID))
}

func lastDay(r Reward) core.Time {
	if r.Expires == 0 {
		return 1<<63 - 1
	}
	return r.Expires
}

// Of redeems the draw from one reward, which must be a credit in the draw's unit.
// available is what its owner can redeem, which is less than is left of it if the owner
// has debts.
func (d Draw) Of(r Reward, available int64, now core.Time) (Reward, Entry, error) {
	switch {
	case r.Offer.Kind != Credit:
		return r, Entry{}, core.Invalid("id", "the reward is a "+string(r.Offer.Kind)+"; only CREDIT can be redeemed")
	case r.Offer.Unit != d.Unit:
		return r, Entry{}, core.Invalid("unit", "the reward is in "+r.Offer.Unit)
	case d.Currency != "" && r.Offer.Currency != "" && r.Offer.Currency != d.Currency:
		return r, Entry{}, core.Invalid("currency", "the reward is in "+r.Offer.Currency)
	}
	after, entry, err := r.Redeem(d.Amount, now)
	if err == nil && d.Amount > available {
		err = checkAmount(d.Amount, available, d.Unit)
	}
	if err != nil {
		return r, Entry{}, err
	}
	entry.Key = d.Key
	return after, entry, nil
}

// Drawable is the credit that a draw may use.
type Drawable struct {
	// Credits are the credits to use, in order (see Sooner): only as many as the draw
	// needs, or all if they do not suffice.
	Credits []Reward
	// Available is the sum of all credits that the draw may use, in their unit, less
	// the debts of their owners.
	Available int64
	// Currencies are the first and the last of the currencies of these credits, sorted;
	// empty if none has one.
	Currencies [2]string
}

// After returns what draws such as d may use after a draw has changed a credit of their account.
// It changes from. Currencies stay, though the last credit of one may be used up.
func (from Drawable) After(d Draw, before, after Reward) Drawable {
	if !d.uses(after) {
		return from
	}
	from.Available -= before.Left() - after.Left()
	switch i := slices.IndexFunc(from.Credits, func(c Reward) bool { return c.ID == after.ID }); {
	case i < 0: // none of those to use first
	case after.Left() > 0:
		from.Credits[i] = after
	case i == 0:
		from.Credits = from.Credits[1:]
	default:
		from.Credits = slices.Delete(from.Credits, i, i+1)
	}
	return from
}

// uses reports whether the draw may use a credit of its account.
func (d Draw) uses(credit Reward) bool {
	return d.Unit == credit.Offer.Unit && (d.User == "" || d.User == credit.User) &&
		(d.Currency == "" || credit.Offer.Currency == "" || credit.Offer.Currency == d.Currency)
}

// CheckCurrency returns an error if the draw must choose between currencies.
func (d Draw) CheckCurrency(currencies [2]string) error {
	if d.Currency != "" || currencies[0] == currencies[1] {
		return nil
	}
	who := "user"
	if d.User == "" {
		who = "account"
	}
	return core.Invalid("currency", "must be given: this "+who+" has credit in "+currencies[0]+" and "+currencies[1])
}

// KeyUsed returns the error for a draw whose key was used within KeyLife. differs is true if it
// was used for another draw.
func KeyUsed(differs bool) *core.Error {
	if differs {
		return &core.Error{
			Code: core.CodeConflict, Field: "idempotencyKey", Differs: true,
			Message: "the key was used for another redemption within the last 24 hours; nothing was redeemed: send this one with a new key",
		}
	}
	return &core.Error{
		Code: core.CodeConflict, Field: "idempotencyKey",
		Message: "credit was redeemed with this key before, within the last 24 hours; nothing was redeemed again",
	}
}

// KeyLife is how long the key of a draw is remembered (spec 8.4).
const KeyLife = core.Day

// Spread redeems the draw from credits, which must be available, of the draw's unit and
// currency, sorted by Sooner, and enough for the draw. The error is about "amount" if
// the draw is more than available or not positive, and about "currency" if it must be
// given. Spread returns the changed credits and their entries.
func (d Draw) Spread(from Drawable, now core.Time) (changed []Reward, entries []Entry, err error) {
	if err := d.CheckCurrency(from.Currencies); err != nil {
		return nil, nil, err
	}
	if err := checkAmount(d.Amount, from.Available, d.Unit); err != nil {
		return nil, nil, err
	}
	rest := d.Amount
	for _, credit := range from.Credits {
		if rest == 0 {
			break
		}
		after, entry, err := credit.Redeem(min(rest, credit.Left()), now)
		if err != nil {
			return nil, nil, err
		}
		entry.Key = d.Key
		rest += entry.Amount
		changed, entries = append(changed, after), append(entries, entry)
	}
	if rest != 0 {
		return nil, nil, &core.Error{Message: "reward: the credits have less than the available amount"}
	}
	return changed, entries, nil
}

// Owner identifies the credit of a user in one unit.
type Owner struct {
	Account core.AccountID
	User    core.UserID
	Unit    string
}

// Owner returns the owner of the reward.
func (r Reward) Owner() Owner { return Owner{Account: r.Account, User: r.User, Unit: r.Offer.Unit} }

// Purse has what an owner can redeem of each currency; a currency may be empty.
type Purse []Money

// Money is an amount of a currency.
type Money struct {
	Currency  string
	Available int64
}

// Add returns a purse with the amount of a currency changed.
func (p Purse) Add(currency string, change int64) Purse {
	p = slices.Clone(p)
	i := slices.IndexFunc(p, func(m Money) bool { return m.Currency == currency })
	if i < 0 {
		return append(p, Money{currency, change})
	}
	p[i].Available += change
	return p
}

// Of returns the amount of a currency. If the owner has only one currency, an amount
// without a currency counts as one in it.
func (p Purse) Of(currency string) Money {
	var all Money
	var currencies []string
	for _, m := range p {
		all.Available += m.Available
		all.Currency = cmp.Or(all.Currency, m.Currency)
		currencies = append(currencies, m.Currency)
	}
	if !several(currencies) {
		return all
	}
	i := slices.Index(currencies, currency)
	if i < 0 {
		return Money{Currency: currency}
	}
	return p[i]
}

// several reports whether a list has more than one currency.
func several(currencies []string) bool {
	first := ""
	for _, c := range currencies {
		if c != "" && first != "" && c != first {
			return true
		}
		first = cmp.Or(first, c)
	}
	return false
}

// Change is a changed balance of an owner.
type Change struct {
	Owner
	// Currency may be empty.
	Currency  string
	Available int64
	// Version increases with every change.
	Version int64
}
