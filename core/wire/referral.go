package wire

import (
	"kith/core"
	"kith/core/referral"
)

// Referrals writes GET /referrals: {count, totalCount, referrals} (reference,
// 1.4).
func Referrals(page []referral.Referral, total int) []byte {
	w := writer{}
	w.open()
	w.number("count", int64(len(page)))
	w.number("totalCount", int64(total))
	w.key("referrals")
	w.b = list(w.b, len(page), func(b []byte, i int) []byte { return appendReferral(b, page[i]) })
	w.close()
	return w.b
}

// Referral writes GET /referrals/{id}.
func Referral(r referral.Referral) []byte { return appendReferral(nil, r) }

func appendReferral(b []byte, r referral.Referral) []byte {
	w := writer{b: b}
	w.open()
	w.text("id", r.ID)
	w.text("programId", string(r.Program))
	w.text("state", string(r.State))
	w.text("referralCodeUsed", string(r.Code))
	w.textOrNull("shareLinkUsed", "")
	w.textOrNull("shareMedium", r.ShareMedium)
	w.identity("referrerUser", r.Referrer)
	w.identity("referredUser", r.Referred)
	w.reward("referrerReward", r.ReferrerReward)
	w.reward("referredReward", r.ReferredReward)
	w.date("dateReferralStarted", r.Started)
	w.date("dateReferralPaid", r.Converted)
	w.date("dateConverted", r.Converted)
	w.date("dateReferralEnded", r.Ended)
	w.close()
	return w.b
}

func (w *writer) identity(name string, who referral.Identity) {
	w.object(name, func() {
		w.textOrNull("id", string(who.User))
		w.text("accountId", string(who.Account))
		w.textOrNull("email", who.Email)
	})
}

// Decision is a stored verdict about a claim: the answer to "why was this user
// (not) attributed?".
type Decision struct {
	ID      string
	Account core.AccountID
	User    core.UserID
	Code    core.ReferralCode
	Source  referral.Source
	Rule    referral.Rule
	// Accepted is true when the claim made a referral.
	Accepted bool
	// Inputs is a JSON object: all that the rule looked at.
	Inputs string
	// Times is how often the same claim met the same rule, First and Last when.
	Times       int64
	First, Last core.Time
}

// Decisions writes GET /attributions: {count, totalCount, attributions}.
func Decisions(page []Decision, total int) []byte {
	w := writer{}
	w.open()
	w.number("count", int64(len(page)))
	w.number("totalCount", int64(total))
	w.key("attributions")
	w.b = list(w.b, len(page), func(b []byte, i int) []byte { return appendDecision(b, page[i]) })
	w.close()
	return w.b
}

func appendDecision(b []byte, d Decision) []byte {
	w := writer{b: b}
	w.open()
	w.text("id", d.ID)
	w.text("accountId", string(d.Account))
	w.textOrNull("userId", string(d.User))
	w.textOrNull("code", string(d.Code))
	w.text("source", string(d.Source))
	w.text("rule", string(d.Rule))
	w.boolean("attributed", d.Accepted)
	w.raw("inputs", d.Inputs)
	w.number("times", d.Times)
	w.date("dateFirst", d.First)
	w.date("dateLast", d.Last)
	w.close()
	return w.b
}

// DecisionInputs writes all that a rule looked at, for the record.
func DecisionInputs(before referral.Standing, c referral.Command, v referral.Verdict) string {
	w := writer{}
	w.open()
	w.text("referral", string(before.Referral))
	w.textOrNull("referralCode", string(before.Code))
	w.date("firstPaid", before.FirstPaid)
	w.boolean("identified", before.Identified)
	w.boolean("identifies", c.Identify)
	w.boolean("newUser", c.NewUser)
	w.boolean("paid", c.Paid)
	w.boolean("referable", !v.Claim.Unreferable)
	w.boolean("codeKnown", v.Claim.Known)
	w.textOrNull("codeOwnerAccount", string(v.Claim.Owner.Account))
	w.textOrNull("codeOwnerUser", string(v.Claim.Owner.User))
	w.textOrNull("shareMedium", v.Claim.ShareMedium)
	w.close()
	return string(w.b)
}
