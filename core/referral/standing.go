// Package referral decides who referred whom and when a referral converts. Its
// functions are pure and implement the table of spec 3.1 row by row.
//
// An account is referred at most once, whichever of its users had the code.
package referral

import "kith/core"

// State is the state of an account's referral (spec 3.1).
type State string

const (
	// None means that the account was not referred. Attribution changes it to
	// InProgress.
	None State = "none"
	// InProgress means attributed, but not converted. The first PAID changes it to
	// Converted, as soon as a user of the account was identified.
	InProgress State = "in-progress"
	// Converted means that rewards are unlocked. It is final.
	Converted State = "converted"
)

// Standing is the state of an account on which attribution and conversion depend. The
// zero value is that of a new account: an empty Referral means None.
type Standing struct {
	Referral State
	// Code is the attributed code, if Referral is not None.
	Code core.ReferralCode
	// FirstPaid is when the account first became PAID; zero if it did not.
	FirstPaid core.Time
	// Identified is true once any user of the account has been identified.
	Identified bool
}

// Closed reports whether the account can no longer be referred, because it became
// PAID while unreferred (spec 3.1.5).
func (s Standing) Closed() bool { return s.FirstPaid != 0 && s.unreferred() }

// Open reports whether the account can still be referred.
func (s Standing) Open() bool { return s.FirstPaid == 0 && s.unreferred() }

func (s Standing) unreferred() bool { return s.Referral == None || s.Referral == "" }

// Command is a call about an account: an account sync or an identification.
type Command struct {
	Now core.Time
	// Identify is true if the call identifies a user.
	Identify bool
	// NewUser is true if that user is new.
	NewUser bool
	// Claims are the codes of the call, most preferred first.
	Claims []Claim
	// Paid is true if the call reports that the account is PAID.
	Paid bool
	// Deleted is true if an account with the same id was deleted after it had converted or
	// paid: it is no new customer. Only a member can refer it, by hand.
	Deleted bool
	// ByEvent is true if the program of the account's referral converts by an event. A
	// payment then converts nothing.
	ByEvent bool
	// Late is set if the call identifies the first user of an account that was
	// referred before it had users: it is the claim that was accepted then.
	Late *Claim
}

// Outcome is the result of a command, in addition to the new standing.
type Outcome struct {
	// Verdicts has the verdict on each claim, up to the first accepted one.
	Verdicts []Verdict
	// Attributed is the claim that was accepted by this command, or nil.
	Attributed *Claim
	// Converted is true if the referral converted by this command.
	Converted bool
	// Refused is true if the code may not refer the user of Command.Late. The
	// referral remains, because the first code is final, but gives no rewards.
	Refused bool
}

// Decide applies a command. Attribution comes before payment, so that one call can do
// both (spec 1.2). Conversion comes last, because it needs a
// payment and an identified user.
func Decide(s Standing, c Command) (Standing, Outcome) {
	var out Outcome
	if s.Referral == "" {
		s.Referral = None
	}
	for i := range c.Claims {
		claim := &c.Claims[i]
		rule := judge(s, c, claim)
		verdict := Verdict{Claim: *claim, Rule: rule}
		out.Verdicts = append(out.Verdicts, verdict)
		if verdict.Accepted() {
			s.Referral, s.Code = InProgress, claim.Code
			c.ByEvent = claim.ByEvent
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
	if s.Referral == InProgress && s.FirstPaid != 0 && s.Identified && !c.ByEvent {
		s.Referral = Converted
		out.Converted = true
	}
	return s, out
}
