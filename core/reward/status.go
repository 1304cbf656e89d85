package reward

import "kith/core"

// Status is the status of a reward (clients 5.3).
type Status string

const (
	// StatusPending is a reward that is not given yet, because its date is in the
	// future, its referral waits for moderation or its owner is blocked. Its date, a
	// release or the end of the block makes it available.
	StatusPending Status = "PENDING"
	// StatusAvailable is a reward that was given and of which some amount can be
	// redeemed. A hold makes it pending again.
	StatusAvailable Status = "AVAILABLE"
	// StatusRedeemed is a reward of which nothing is left, because it was redeemed or
	// has settled debts. A refund may have taken back a part. It is final unless a
	// refund is corrected.
	StatusRedeemed Status = "REDEEMED"
	// StatusExpired is a reward that expired before it was fully redeemed. It is
	// final.
	StatusExpired Status = "EXPIRED"
	// StatusCancelled is a reward whose remaining amount was cancelled, or that refunds
	// took back before it was used, or whose order earns nothing. It is final, unless
	// a later moderation reverses the denial that cancelled it, or the refund or the
	// order is corrected.
	StatusCancelled Status = "CANCELLED"
)

// ParseStatus returns s as a status or an error about field.
func ParseStatus(field, s string) (Status, error) {
	switch status := Status(s); status {
	case StatusPending, StatusAvailable, StatusRedeemed, StatusExpired, StatusCancelled:
		return status, nil
	}
	return "", core.Invalid(field, "must be one of PENDING, AVAILABLE, REDEEMED, EXPIRED, CANCELLED")
}

// Status returns the status at now. It considers dates that have passed but are not
// in the ledger yet.
func (r Reward) Status(now core.Time) Status {
	switch {
	case r.gone() && r.used():
		return StatusRedeemed
	case r.Cancelled != 0 || r.taken():
		return StatusCancelled
	case r.expired(now):
		return StatusExpired
	case r.OnHold() || r.Given > now:
		return StatusPending
	}
	return StatusAvailable
}

// expired reports whether the reward has expired, also if the ledger does not have it yet. While a
// hold began before it was given, its validity has not begun.
func (r Reward) expired(now core.Time) bool {
	return r.Sums.Expired > 0 || r.Expires != 0 && r.Expires <= now && !(r.Held && r.Given == 0)
}

// gone reports whether nothing is left, but not because the reward expired or was
// cancelled.
func (r Reward) gone() bool {
	return r.Left() <= 0 && r.Sums.Expired == 0 && r.Cancelled == 0 && r.Offer.Value() > 0
}

// used reports whether some of it was redeemed or has settled a debt.
func (r Reward) used() bool { return r.Sums.Redeemed > 0 || r.Sums.Settled > 0 }

// taken reports whether refunds took back a reward that was not used, or its order
// earns nothing. It is not cancelled, because a correction may give it again.
func (r Reward) taken() bool {
	return r.Cancelled == 0 && (r.Offer.Value() == 0 || r.gone() && !r.used() && r.Sums.Reversed > 0)
}

// Left returns the balance of the reward's ledger: its value without the amounts that
// were taken from it, whether it is pending or not. It is negative if refunds took
// back more than was left.
func (r Reward) Left() int64 { return r.Offer.Value() - r.Sums.Total() }

// Net returns what refunds have left of the reward's value, used or not.
func (r Reward) Net() int64 { return max(0, r.Offer.Value()-r.Sums.Reversed) }

// Debt returns the amount that the owner owes, because refunds took back an amount
// that was redeemed; 0 for none.
func (r Reward) Debt() int64 { return max(0, -r.Left()) }

// Available returns the amount that the reward adds to what its owner can redeem at
// now. It is negative for a debt, whatever its status.
func (r Reward) Available(now core.Time) int64 {
	if r.Status(now) != StatusAvailable {
		return -r.Debt()
	}
	return r.Left()
}

// Recorded is Available according to the ledger. It differs while a passed date is not
// in the ledger yet.
func (r Reward) Recorded() int64 {
	if r.Pending {
		return -r.Debt()
	}
	return r.Left()
}

// HasBalance reports whether the reward counts towards the balance in webhooks:
// credits and discounts do, fuel tank codes and integrations do not.
func (r Reward) HasBalance() bool {
	return r.Offer.Kind == Credit || r.Offer.Kind == PercentDiscount
}

// AsOf returns the reward with the changes of passed dates that are not in the ledger
// yet. Use the result for responses, not for storing it.
func (r Reward) AsOf(now core.Time) Reward {
	r, _ = r.Give(now)
	if r.Status(now) == StatusExpired {
		r, _, _ = r.Expire(now)
	}
	return r
}

// Settle records the first passed date of the reward that is not in the ledger yet:
// that it was given, or that it expired.
func (r Reward) Settle(now core.Time) (Reward, Entry) {
	if after, entry := r.Give(now); !entry.None() {
		return after, entry
	}
	if r.Status(now) != StatusExpired {
		return r, Entry{}
	}
	after, entry, _ := r.Expire(now)
	return after, entry
}
