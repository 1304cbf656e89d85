package reward

import "kith/core"

// Status is the status of a reward (clients 5.3).
type Status string

const (
	// StatusPending is a reward that is not given yet, because its date is in the
	// future or its referral waits for moderation. Its date or a release makes it
	// available.
	StatusPending Status = "PENDING"
	// StatusAvailable is a reward that was given and of which some amount can be
	// redeemed. A hold makes it pending again.
	StatusAvailable Status = "AVAILABLE"
	// StatusRedeemed is a reward that was fully redeemed. It is final.
	StatusRedeemed Status = "REDEEMED"
	// StatusExpired is a reward that expired before it was fully redeemed. It is
	// final.
	StatusExpired Status = "EXPIRED"
	// StatusCancelled is a reward whose remaining amount was cancelled. It is final,
	// unless it was cancelled by a denial that a later moderation reverses.
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
	case r.Sums.Redeemed > 0 && r.Sums.Redeemed == r.Offer.Value():
		return StatusRedeemed
	case r.Cancelled != 0:
		return StatusCancelled
	case r.Expires != 0 && r.Expires <= now:
		return StatusExpired
	case r.Held || r.Given > now:
		return StatusPending
	}
	return StatusAvailable
}

// Left returns the amount that was not redeemed, expired or cancelled, whether it is
// pending or not: the balance of the reward's ledger.
func (r Reward) Left() int64 {
	return r.Offer.Value() - r.Sums.Redeemed - r.Sums.Expired - r.Sums.Cancelled
}

// Available returns the amount that can be redeemed at now.
func (r Reward) Available(now core.Time) int64 {
	if r.Status(now) != StatusAvailable {
		return 0
	}
	return r.Left()
}

// Recorded returns the amount that can be redeemed according to the ledger. It
// differs from Available while a passed date is not in the ledger yet.
func (r Reward) Recorded() int64 {
	if r.Pending {
		return 0
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
