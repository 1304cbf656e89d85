package reward

import (
	"cmp"

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
	Unit   string
	Amount int64
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
func (d Draw) Of(r Reward, now core.Time) (Reward, Entry, error) {
	switch {
	case r.Offer.Kind != Credit:
		return r, Entry{}, core.Invalid("id", "the reward is a "+string(r.Offer.Kind)+"; only CREDIT can be redeemed")
	case r.Offer.Unit != d.Unit:
		return r, Entry{}, core.Invalid("unit", "the reward is in "+r.Offer.Unit)
	}
	r, entry, err := r.Redeem(d.Amount, now)
	entry.Key = d.Key
	return r, entry, err
}

// KeyUsed returns the error for a draw whose key was used within KeyLife.
func KeyUsed() *core.Error {
	return &core.Error{
		Code: core.CodeConflict, Field: "idempotencyKey",
		Message: "credit was redeemed with this key before, within the last 24 hours; nothing was redeemed again",
	}
}

// KeyLife is how long the key of a draw is remembered (spec 8.4).
const KeyLife = core.Day

// Spread redeems the draw from credits, which must be available, of the draw's unit,
// sorted by Sooner, and enough for the draw. available is the total of all such
// credits. The error is about "amount" if the draw is more than available or not
// positive. Spread returns the changed credits and their entries.
func (d Draw) Spread(credits []Reward, available int64, now core.Time) (changed []Reward, entries []Entry, err error) {
	if err := checkAmount(d.Amount, available, d.Unit); err != nil {
		return nil, nil, err
	}
	rest := d.Amount
	for _, credit := range credits {
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

// Change is a changed balance of an owner.
type Change struct {
	Owner
	Available int64
	// Version increases with every change.
	Version int64
}
