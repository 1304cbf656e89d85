package reward

import (
	"cmp"

	"kith/core"
)

// Draw asks for credit to be redeemed: of one reward, of a user, or of all users
// of an account.
type Draw struct {
	// Reward is the one reward to take from; Account and User are empty then.
	Reward  string
	Account core.AccountID
	// User is empty for all users of the account.
	User core.UserID
	// Unit is the unit of the rewards that count; any other is left alone.
	Unit   string
	Amount int64
	// Key makes the draw at-most-once for 24 hours, or is empty.
	Key core.IdempotencyKey
}

// Redemption is what a redemption did (reference, 1.3).
type Redemption struct {
	Redeemed int64
	// Available is what can be redeemed after it: of the reward, of the user or
	// of the account, whichever was asked for.
	Available int64
	Unit      string
}

// Sooner orders rewards for redeeming: what expires first goes first, and of
// what expires together, what was given first.
func Sooner(a, b Reward) int {
	return cmp.Or(cmp.Compare(lastDay(a), lastDay(b)), cmp.Compare(a.Given, b.Given), cmp.Compare(a.ID, b.ID))
}

func lastDay(r Reward) core.Time {
	if r.Expires == 0 {
		return 1<<63 - 1
	}
	return r.Expires
}

// Of takes the draw out of one reward, which must be a credit in the draw's
// unit.
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

// KeyUsed is the answer to a draw whose key was used within KeyLife.
func KeyUsed() *core.Error {
	return &core.Error{
		Code: core.CodeConflict, Field: "idempotencyKey",
		Message: "credit was redeemed with this key before, within the last 24 hours; nothing was redeemed again",
	}
}

// KeyLife is how long the key of a draw is remembered (spec, Limits).
const KeyLife = core.Day

// Spread takes the draw out of credits, which are available, of the draw's unit
// and sorted by Sooner; enough of them for the draw will do. available is what
// all such credits together have; a draw of more, or of nothing, is an error
// about "amount". It returns the credits that changed, and their entries.
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
		return nil, nil, &core.Error{Message: "reward: the credits have less than they are said to have"}
	}
	return changed, entries, nil
}

// Owner is whose credit something is about, and in which unit.
type Owner struct {
	Account core.AccountID
	User    core.UserID
	Unit    string
}

// Change tells what an owner can redeem after something has changed it.
type Change struct {
	Owner
	Available int64
	// Version grows with every change: of two changes, the one with the larger
	// version is the later.
	Version int64
}
