package reward

import "kith/core"

// Status is where a reward stands (reference, 5).
type Status string

const (
	// StatusPending: not yet given, because its date is still to come or its
	// referral waits for moderation. The date or a release moves it on.
	StatusPending Status = "PENDING"
	// StatusAvailable: given, and at least a part of it can be used. A hold
	// moves it back.
	StatusAvailable Status = "AVAILABLE"
	// StatusRedeemed: all of it was redeemed. Nothing moves it on.
	StatusRedeemed Status = "REDEEMED"
	// StatusExpired: its date passed before all of it was redeemed. Nothing
	// moves it on.
	StatusExpired Status = "EXPIRED"
	// StatusCancelled: what was left of it was taken back. Only a moderation
	// that approves what another denied moves it on.
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

// Status is where the reward stands at a time. It does not wait for the ledger
// to say that a date has passed.
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

// Left is what neither was redeemed nor has expired nor was cancelled, pending
// or not: the balance of the reward's ledger.
func (r Reward) Left() int64 {
	return r.Offer.Value() - r.Sums.Redeemed - r.Sums.Expired - r.Sums.Cancelled
}

// Available is what can be redeemed at a time.
func (r Reward) Available(now core.Time) int64 {
	if r.Status(now) != StatusAvailable {
		return 0
	}
	return r.Left()
}

// Recorded is what the ledger says can be redeemed: what is left, unless it is
// pending. It lags behind Available when a date has passed.
func (r Reward) Recorded() int64 {
	if r.Pending {
		return 0
	}
	return r.Left()
}

// HasBalance reports whether the reward counts towards a balance that its owner
// is told of: credits and discounts do, and what is used by a code or by another
// service does not.
func (r Reward) HasBalance() bool {
	return r.Offer.Kind == Credit || r.Offer.Kind == PercentDiscount
}

// AsOf returns the reward as it will be once the ledger has caught up with the
// dates that have passed: for showing it, not for storing it.
func (r Reward) AsOf(now core.Time) Reward {
	r, _ = r.Give(now)
	if r.Status(now) == StatusExpired {
		r, _, _ = r.Expire(now)
	}
	return r
}

// Settle records the first of the reward's dates that has passed and that the
// ledger does not know of: the day it is given, or the day it expires.
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
