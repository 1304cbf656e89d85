package referral

import (
	"kith/core"
	"kith/core/link"
	"kith/core/reward"
)

// Program is a referral program of a tenant.
type Program struct {
	link.Program
	Name string
	// Referred is what the referred side earns; a percentage is also what a
	// code look-up promises (spec, Coupon lookup result).
	Referred reward.Offer
	// Referrer is what the owner of the code earns.
	Referrer reward.Offer
}

// DefaultProgram is a tenant's only program unless told otherwise: 10 % off for
// the friend, one credit of 10.00 USD for the referrer.
func DefaultProgram(landingURL string) Program {
	return Program{
		Program:  link.Program{Key: core.ClassicProgram, LandingURL: landingURL, CookieLife: link.DefaultCookieLife},
		Name:     "Refer a friend",
		Referred: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000},
		Referrer: reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: DefaultCurrency},
	}
}

// Referral is a stored referral.
type Referral struct {
	ID       string
	Program  core.ProgramKey
	State    State
	Code     core.ReferralCode
	Referrer Identity
	// Referred has no user until one of the account is identified.
	Referred    Identity
	ShareMedium string
	Started     core.Time
	// Converted and Ended are zero until they happen.
	Converted core.Time
	Ended     core.Time
	// The rewards are nil until conversion (spec, Referral).
	ReferrerReward, ReferredReward *reward.Reward
}

// Attach puts one of the referral's rewards on its side.
func (r *Referral) Attach(w reward.Reward) {
	if w.Source == reward.FriendSignup {
		r.ReferrerReward = &w
	} else {
		r.ReferredReward = &w
	}
}

// Filter narrows a list of referrals; what is empty does not.
type Filter struct {
	ID              string
	ReferredAccount core.AccountID
	ReferredUser    core.UserID
	ReferrerAccount core.AccountID
	ReferrerUser    core.UserID
	Limit, Offset   int
}

// Unlocks returns the rewards that a conversion unlocks, the referrer's first.
// Their ids and times are for the caller to set.
func (p Program) Unlocks(r Referral) []reward.Reward {
	var out []reward.Reward
	give := func(to Identity, source reward.Source, offer reward.Offer) {
		if !offer.None() && to.User != "" {
			out = append(out, reward.Reward{
				Account: to.Account, User: to.User, Program: p.Key, Referral: r.ID,
				Source: source, Offer: offer,
			})
		}
	}
	give(r.Referrer, reward.FriendSignup, p.Referrer)
	give(r.Referred, reward.Referred, p.Referred)
	return out
}
