// Package referral decides who referred whom and when a referral converts: the
// spec's "States and transitions", row by row, as pure functions.
//
// Its subject is the account: an account is referred at most once, whichever of
// its users brought the code.
package referral

import "kith/core"

// State is the state of an account's referral (spec, Referral).
type State string

const (
	// None: nobody referred the account. Attribution moves it on.
	None State = "none"
	// InProgress: attributed, not yet converted. The first PAID moves it on,
	// as soon as a user of the account has been identified.
	InProgress State = "in-progress"
	// Converted: rewards are unlocked. Nothing moves it on.
	Converted State = "converted"
)

// Standing is all that attribution and conversion depend on. Its zero value,
// with an empty Referral read as None, is a new account.
type Standing struct {
	Referral State
	// Code is the code that was attributed, when Referral is not None.
	Code core.ReferralCode
	// FirstPaid is when the account first became PAID, zero before.
	FirstPaid core.Time
	// Identified is true once any user of the account has been identified.
	Identified bool
}

// Closed reports whether the account can no longer be referred: it became PAID
// while nobody had referred it (spec, Referral, last row).
func (s Standing) Closed() bool { return s.FirstPaid != 0 && s.unreferred() }

func (s Standing) unreferred() bool { return s.Referral == None || s.Referral == "" }

// Command is one call that names an account: an account sync or an
// identification.
type Command struct {
	Now core.Time
	// Identify is true when the call identifies a user.
	Identify bool
	// NewUser is true when that user was not seen before.
	NewUser bool
	// Claims are the codes that the call brings, most preferred first.
	Claims []Claim
	// Paid is true when the call says that the account is PAID.
	Paid bool
	// Late is the claim that began the referral, when the call identifies the
	// first user of an account that was referred before it had one; else nil.
	Late *Claim
}

// Outcome is what a command did, besides the new standing.
type Outcome struct {
	// Verdicts has one entry for each claim that was looked at: all up to and
	// including the first that was accepted.
	Verdicts []Verdict
	// Attributed is the claim that was accepted now, or nil.
	Attributed *Claim
	// Converted is true when the referral converted now.
	Converted bool
	// Refused is true when the user whom the referral waited for is none whom the
	// code may refer. It stays, since the first code is final, and rewards nobody.
	Refused bool
}

// Decide applies a command. Attribution comes before payment, so that one call
// may record both (spec, What the service does, 2); conversion comes last,
// since it waits for payment and for a user, whichever is later.
func Decide(s Standing, c Command) (Standing, Outcome) {
	var out Outcome
	if s.Referral == "" {
		s.Referral = None
	}
	for i := range c.Claims {
		claim := &c.Claims[i]
		rule := judge(s, c, claim)
		out.Verdicts = append(out.Verdicts, Verdict{Claim: *claim, Rule: rule})
		if rule == RuleFirstCode {
			s.Referral, s.Code = InProgress, claim.Code
			out.Attributed = claim
			break
		}
	}
	if c.Late != nil && s.Referral == InProgress {
		if rule := unfit(c.Late); rule != "" {
			out.Verdicts = append(out.Verdicts, Verdict{Claim: *c.Late, Rule: rule})
			out.Refused = true
		}
	}
	s.Identified = s.Identified || c.Identify
	if c.Paid && s.FirstPaid == 0 {
		s.FirstPaid = c.Now
	}
	if s.Referral == InProgress && s.FirstPaid != 0 && s.Identified {
		s.Referral = Converted
		out.Converted = true
	}
	return s, out
}
