package referral

import (
	"cmp"
	"strings"

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
	// Referred has no user until a user of the account is identified.
	Referred Identity
	// ReferrerProfile and ReferredProfile are further data of the two for responses.
	ReferrerProfile, ReferredProfile Profile
	ShareMedium                      string
	// ShareLink is the share link that was followed; empty if it is unknown.
	ShareLink  string
	Moderation ModerationState
	Started    core.Time
	// Attributed is when the account was referred by the clock of its events, once one
	// was applied that may place an order; else zero. An event with the same code moves
	// it back.
	Attributed core.Time
	// Converted and Ended are zero until they happen.
	Converted core.Time
	Ended     core.Time
	// Modified is when it was last stored.
	Modified core.Time
	// The rewards are nil until conversion (spec 2.6.1), and for a side that
	// gets none. If a side has one for each of several orders, it is the first.
	ReferrerReward, ReferredReward *reward.Reward
	// Groups are the sums of the rewards of both sides. Only the portal's lists have them.
	Groups []reward.Group
}

// Profile is the data of a user that others see. Fields are empty if not given.
type Profile struct{ FirstName, LastName, ImageURL string }

// Attach sets the referral's reward of one side, unless that side has an earlier one.
func (r *Referral) Attach(w reward.Reward) {
	side := &r.ReferredReward
	if w.Source == reward.FriendSignup {
		side = &r.ReferrerReward
	}
	if first := *side; first == nil || cmp.Or(cmp.Compare(w.Created, first.Created), cmp.Compare(w.ID, first.ID)) <= 0 {
		*side = &w
	}
}

// SeenBy returns the referral with only the data that one of its users may see. Of
// the other user it has the first name and an initial, as in a code lookup, and the
// reward without its redemptions, but no email address. It has no fraud signals.
func (r Referral) SeenBy(account core.AccountID, user core.UserID) Referral {
	r.Moderation.Signals = nil
	if r.Referrer.Account != account || r.Referrer.User != user {
		r.Referrer.Email, r.ReferrerProfile.LastName = "", initial(r.ReferrerProfile.LastName)
		r.ReferrerReward = hideFromOther(r.ReferrerReward)
	}
	if r.Referred.Account != account || r.Referred.User != user {
		r.Referred.Email, r.ReferredProfile.LastName = "", initial(r.ReferredProfile.LastName)
		r.ReferredReward = hideFromOther(r.ReferredReward)
	}
	return r
}

// WithoutAddresses returns the referral as SeenBy of the same user does, and without those ids of
// the other user that are e-mail addresses or telephone numbers. They are empty.
func (r Referral) WithoutAddresses(account core.AccountID, user core.UserID) Referral {
	r = r.SeenBy(account, user)
	for _, side := range []struct {
		who    *Identity
		reward *reward.Reward // a copy
	}{{&r.Referrer, r.ReferrerReward}, {&r.Referred, r.ReferredReward}} {
		if side.who.Account == account && side.who.User == user {
			continue
		}
		side.who.Account, side.who.User = noAddress(side.who.Account), noAddress(side.who.User)
		if side.reward != nil {
			side.reward.Account, side.reward.User = noAddress(side.reward.Account), noAddress(side.reward.User)
		}
	}
	return r
}

// noAddress returns an id, or "" for an e-mail address or a telephone number.
func noAddress[ID ~string](id ID) ID {
	if strings.Contains(string(id), "@") || strings.HasPrefix(string(id), "+") {
		return ""
	}
	return id
}

// hideFromOther returns a reward without the data that only its owner may see, such
// as the code of a fuel tank, which anyone could redeem.
func hideFromOther(w *reward.Reward) *reward.Reward {
	if w == nil {
		return nil
	}
	seen := *w
	seen.FuelTankCode, seen.Offer.Settings, seen.Redemptions, seen.Order = "", "", nil, ""
	seen.Sums.Redeemed, seen.Sums.Reversed, seen.Sums.Settled = 0, 0, 0
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

// Replaceable reports whether a member may replace the code of a referral: nothing depends
// on it yet. It has not converted or ended, no event has placed an order, and the account
// has not paid.
func (r Referral) Replaceable(s Standing) bool {
	return r.State == InProgress && r.Attributed == 0 && r.Ended == 0 && s.FirstPaid == 0 && r.ReferrerReward == nil && r.ReferredReward == nil
}

// Replaced reports whether the referral has another referrer, code or program than before.
func (r Referral) Replaced(before Referral) bool {
	return r.Code != before.Code || r.Program != before.Program || r.Referrer.Account != before.Referrer.Account || r.Referrer.User != before.Referrer.User
}

// Filter selects referrals. An empty field matches all.
type Filter struct {
	ID              string
	ReferredAccount core.AccountID
	ReferredUser    core.UserID
	ReferrerAccount core.AccountID
	ReferrerUser    core.UserID
	Program         core.ProgramKey
	Code            core.ReferralCode
	Situation       Situation
	// Moderation is that of both sides together; see Search.
	Moderation SideStatus
	// Started, Converted and Ended limit these dates of a referral.
	Started, Converted, Ended core.Span
	// The moderation status of a side.
	ReferrerModeration, ReferredModeration SideStatus
	Limit, Offset                          int
}

// Moved reports whether the stored row of a referral changes. It ignores the rewards
// and the users' profiles, which have rows of their own.
func (r Referral) Moved(before Referral) bool {
	return r.State != before.State || r.Referred.User != before.Referred.User || r.Converted != before.Converted || r.Ended != before.Ended || r.Attributed != before.Attributed ||
		r.Modified != before.Modified || r.Replaced(before) || !r.Moderation.same(before.Moderation)
}
