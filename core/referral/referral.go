package referral

import (
	"kith/core"
	"kith/core/reward"
)

// Referral is a stored referral.
type Referral struct {
	ID       string
	Program  core.ProgramKey
	State    State
	Code     core.ReferralCode
	Referrer Identity
	// Referred has no user until one of the account is identified.
	Referred Identity
	// ReferrerProfile and ReferredProfile are what else a list shows of the two.
	ReferrerProfile, ReferredProfile Profile
	ShareMedium                      string
	// ShareLink is the share link that was followed; empty when none is known.
	ShareLink  string
	Moderation ModerationState
	Started    core.Time
	// Converted and Ended are zero until they happen.
	Converted core.Time
	Ended     core.Time
	// Modified is when it was stored last.
	Modified core.Time
	// The rewards are nil until conversion (spec, Referral), and for a side that
	// gets none.
	ReferrerReward, ReferredReward *reward.Reward
}

// Profile is how a user is shown to others. Texts are empty when never given.
type Profile struct{ FirstName, LastName, ImageURL string }

// Attach puts one of the referral's rewards on its side.
func (r *Referral) Attach(w reward.Reward) {
	if w.Source == reward.FriendSignup {
		r.ReferrerReward = &w
	} else {
		r.ReferredReward = &w
	}
}

// SeenBy returns the referral as one of its users may see it: of the other one
// the first name and an initial, as in a code look-up, but no address, and what
// they earned but not how they used it; and nothing of how fraud is found.
func (r Referral) SeenBy(account core.AccountID, user core.UserID) Referral {
	r.Moderation.Signals = nil
	if r.Referrer.Account != account || r.Referrer.User != user {
		r.Referrer.Email, r.ReferrerProfile.LastName = "", initial(r.ReferrerProfile.LastName)
		r.ReferrerReward = seenByOther(r.ReferrerReward)
	}
	if r.Referred.Account != account || r.Referred.User != user {
		r.Referred.Email, r.ReferredProfile.LastName = "", initial(r.ReferredProfile.LastName)
		r.ReferredReward = seenByOther(r.ReferredReward)
	}
	return r
}

// seenByOther leaves out of a reward what only its owner may know: whoever has
// the code of a fuel tank can use it.
func seenByOther(w *reward.Reward) *reward.Reward {
	if w == nil {
		return nil
	}
	seen := *w
	seen.FuelTankCode, seen.Offer.Settings, seen.Redemptions = "", "", nil
	seen.Sums.Redeemed = 0
	return &seen
}

func initial(name string) string {
	for i := range name {
		if i > 0 {
			return name[:i]
		}
	}
	return name
}

// Filter narrows a list of referrals; what is empty does not.
type Filter struct {
	ID              string
	ReferredAccount core.AccountID
	ReferredUser    core.UserID
	ReferrerAccount core.AccountID
	ReferrerUser    core.UserID
	Program         core.ProgramKey
	// Started, Converted and Ended are when it happened.
	Started, Converted, Ended core.Span
	// The moderation of a side.
	ReferrerModeration, ReferredModeration SideStatus
	Limit, Offset                          int
}

// Moved reports whether a referral is stored as something else than before: its
// rewards and the profiles of its users have rows of their own.
func (r Referral) Moved(before Referral) bool {
	return r.State != before.State || r.Referred.User != before.Referred.User || r.Converted != before.Converted || r.Ended != before.Ended ||
		r.Modified != before.Modified || !r.Moderation.same(before.Moderation)
}
