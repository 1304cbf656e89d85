package referral

import (
	"slices"
	"strings"

	"kith/core"
)

// Source says how a code came to us.
type Source string

const (
	// SourceAccount is referral.code of an account sync.
	SourceAccount Source = "referral.code"
	// SourceCoupon is couponCode of a discount registration.
	SourceCoupon Source = "couponCode"
	// SourceApplied is a code that was applied to a known user.
	SourceApplied Source = "applied"
	// SourceCodes is referredByCodes of an identification.
	SourceCodes Source = "referredByCodes"
	// SourceReferredBy is referredBy.code of an identification.
	SourceReferredBy Source = "referredBy.code"
	// SourceInit is referral_code of the browser script's init call.
	SourceInit Source = "referral_code"
	// SourceCookie is Kith's own signed cookie.
	SourceCookie Source = "cookie"
	// SourceBody is the first-party _saasquatch cookie, sent as the body's
	// "cookies".
	SourceBody Source = "cookies"
	// SourceThirdParty is the _saasquatch cookie of the service's own host.
	SourceThirdParty Source = "_saasquatch"
)

// Rank orders the sources by preference: the lower, the more it counts. What
// somebody said goes before what a cookie says, a cookie that is signed before
// one that is not, and a first-party cookie before a third-party one (reference,
// 1.8).
func (s Source) Rank() int {
	return slices.Index([]Source{SourceAccount, SourceApplied, SourceCoupon, SourceCodes, SourceReferredBy, SourceInit, SourceCookie, SourceBody, SourceThirdParty}, s)
}

// Automatic reports whether nobody named the code: it came from a cookie, and
// counts only for a user that was not seen before (spec, Referral, third row).
func (s Source) Automatic() bool {
	return s == SourceCookie || s == SourceBody || s == SourceThirdParty
}

// Claim is one code that a call brings for an account.
type Claim struct {
	Code   core.ReferralCode
	Source Source
	// Fault says why the claim cannot count whatever the account's standing
	// is: an unreadable or expired cookie. Empty for a sound claim.
	Fault Rule
	// Expires is when a cookie says that the code ends; zero: never.
	Expires core.Time
	// Known is true when the tenant has this code; the owner is set then.
	Known bool
	Owner Identity
	// OwnerBlocked is true when the code's owner may refer nobody.
	OwnerBlocked bool
	// Referred is who the code is claimed for. The user is empty in an account
	// sync.
	Referred Identity
	// Unreferable is true when the user was marked referable=false.
	Unreferable bool
	// ShareMedium and ShareLink are the medium of the share link and the link
	// itself, when the cookie told of them.
	ShareMedium, ShareLink string
}

// Identity is a user as far as telling two apart goes.
type Identity struct {
	Account core.AccountID
	User    core.UserID
	Email   string
}

// Rule names what decided about a claim. Rules are stored with every decision
// and read by support staff, so their texts are stable.
type Rule string

const (
	// RuleFirstCode is the only one that accepts.
	RuleFirstCode Rule = "first-code"
	// RuleSameCode: the account was referred by this very code before.
	RuleSameCode Rule = "same-code-again"
	// RuleAlreadyReferred: the account was referred by another code before.
	RuleAlreadyReferred Rule = "already-referred"
	// RuleClosed: the account first became PAID while unreferred.
	RuleClosed Rule = "paid-while-unreferred"
	// RuleUnknownCode: the tenant has no such code.
	RuleUnknownCode Rule = "unknown-code"
	// RuleSelfAccount: the code belongs to the same account.
	RuleSelfAccount Rule = "self-referral-account"
	// RuleSelfEmail: the code belongs to a user with the same e-mail address.
	RuleSelfEmail Rule = "self-referral-email"
	// RuleBlocked: the code belongs to a user who was blocked.
	RuleBlocked Rule = "code-of-blocked-user"
	// RuleUnreferable: the user was marked as not referable.
	RuleUnreferable Rule = "not-referable"
	// RuleKnownUser: a cookie counts only for a user not seen before.
	RuleKnownUser Rule = "known-user"
	// RuleCookieForm, RuleCookieForged and RuleCookieExpired: the cookie
	// cannot be believed.
	RuleCookieForm    Rule = "cookie-malformed"
	RuleCookieForged  Rule = "cookie-forged"
	RuleCookieExpired Rule = "cookie-expired"
)

// Verdict is a claim and the rule that decided about it.
type Verdict struct {
	Claim Claim
	Rule  Rule
}

// Accepted reports whether the claim made a referral.
func (v Verdict) Accepted() bool { return v.Rule == RuleFirstCode }

// judge applies the rules in the order in which support staff would ask: is it
// a code at all, whose is it, may this account still be referred, does a cookie
// count here.
func judge(s Standing, c Command, claim *Claim) Rule {
	switch {
	case claim.Fault != "":
		return claim.Fault
	case claim.Expires != 0 && claim.Expires <= c.Now:
		return RuleCookieExpired
	case !claim.Known:
		return RuleUnknownCode
	case claim.Owner.Account == claim.Referred.Account:
		return RuleSelfAccount
	case sameEmail(claim.Owner.Email, claim.Referred.Email):
		return RuleSelfEmail
	case claim.OwnerBlocked:
		return RuleBlocked
	case !s.unreferred() && strings.EqualFold(string(s.Code), string(claim.Code)):
		return RuleSameCode
	case !s.unreferred():
		return RuleAlreadyReferred
	case s.Closed():
		return RuleClosed
	case claim.Unreferable:
		return RuleUnreferable
	case claim.Source.Automatic() && !c.NewUser:
		return RuleKnownUser
	}
	return RuleFirstCode
}

// unfit is the rule that refuses the user of a claim whose code was attributed
// before the user was known, or "".
func unfit(claim *Claim) Rule {
	switch {
	case sameEmail(claim.Owner.Email, claim.Referred.Email):
		return RuleSelfEmail
	case claim.Unreferable:
		return RuleUnreferable
	}
	return ""
}

// sameEmail compares two addresses in the form in which a mailbox is one:
// without regard to case and without a "+tag". Empty ones are no address.
func sameEmail(a, b string) bool {
	a, b = mailbox(a), mailbox(b)
	return a != "" && a == b
}

func mailbox(address string) string {
	local, domain, found := strings.Cut(strings.ToLower(strings.TrimSpace(address)), "@")
	if !found || domain == "" {
		return ""
	}
	if name, _, _ := strings.Cut(local, "+"); name != "" {
		local = name
	}
	return local + "@" + domain
}
