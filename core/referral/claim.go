package referral

import (
	"cmp"
	"slices"
	"strings"

	"kith/core"
)

// Source is where the code of a claim is from.
type Source string

const (
	// SourceAccount is referral.code of an account sync.
	SourceAccount Source = "referral.code"
	// SourceCoupon is couponCode of a discount registration.
	SourceCoupon Source = "couponCode"
	// SourceApplied is a code that was applied to an existing user.
	SourceApplied Source = "applied"
	// SourceByHand is a code that a member of the tenant chose.
	SourceByHand Source = "by-hand"
	// SourceCodes is referredByCodes of an identification.
	SourceCodes Source = "referredByCodes"
	// SourceReferredBy is referredBy.code of an identification.
	SourceReferredBy Source = "referredBy.code"
	// SourceInit is referral_code of the browser script's init call.
	SourceInit Source = "referral_code"
	// SourceEvent is the field referral_code of an event that places an order.
	SourceEvent Source = "fields.referral_code"
	// SourceAgent is the field attribution or affiliate_attribution of such an event, which a
	// checkout by an agent has.
	SourceAgent Source = "fields.attribution"
	// SourceCookie is Kith's own signed cookie.
	SourceCookie Source = "cookie"
	// SourceBody is the first-party _saasquatch cookie, sent as the body's
	// "cookies".
	SourceBody Source = "cookies"
	// SourceThirdParty is the _saasquatch cookie of the service's own host.
	SourceThirdParty Source = "_saasquatch"
)

// Rank orders the sources by preference, lowest first: explicit codes before cookies,
// signed cookies before unsigned ones, and first-party cookies before third-party
// ones (clients 1.8.5).
func (s Source) Rank() int {
	return slices.Index([]Source{SourceAccount, SourceByHand, SourceApplied, SourceCoupon, SourceCodes, SourceReferredBy, SourceInit, SourceEvent, SourceAgent, SourceCookie, SourceBody, SourceThirdParty}, s)
}

// Automatic reports whether the code is from a cookie. Such a claim counts only for a
// new user (spec 3.1.3).
func (s Source) Automatic() bool {
	return s == SourceCookie || s == SourceBody || s == SourceThirdParty
}

// Claim is a referral code in a call, by which an account may be referred.
type Claim struct {
	Code   core.ReferralCode
	Source Source
	// Fault is the rule that refuses the claim before any other, such as an expired
	// cookie; empty for a valid claim.
	Fault Rule
	// Expires is when the code expires according to the cookie; zero means never.
	Expires core.Time
	// Known is true if the tenant has this code; Owner is set then.
	Known bool
	Owner Identity
	// OwnerBlocked is true if the code's owner is blocked from referring.
	OwnerBlocked bool
	// Referred is the user who would be referred. The user id is empty in an account
	// sync.
	Referred Identity
	// Unreferable is true if the user has referable=false.
	Unreferable bool
	// ByEvent is true if the code's program converts by an event, and not by PAID.
	ByEvent bool
	// ShareMedium and ShareLink are the medium of the share link and the link itself,
	// if the cookie has them.
	ShareMedium, ShareLink string
	// Reason is why the member chose the code, for SourceByHand. Replaces is true if the
	// code may replace the one that referred the account; see Referral.Replaceable.
	Reason   string
	Replaces bool
}

// Identity has the fields by which users are distinguished.
type Identity struct {
	Account core.AccountID
	User    core.UserID
	Email   string
}

// Name returns what to call the user: the name, the mail address, or else the id, which is ""
// if no user is known. Nothing of these is left of a deleted user or account.
func (i Identity) Name(p Profile) string {
	if core.IsErased(i.User) || i.User == "" && core.IsErased(i.Account) {
		return "Deleted person"
	}
	full := strings.TrimSpace(strings.TrimSpace(p.FirstName) + " " + strings.TrimSpace(p.LastName))
	return cmp.Or(full, i.Email, string(i.User))
}

// Rule is the rule that decided about a claim. Rules are stored with every decision
// and read by support staff, so their texts do not change.
type Rule string

const (
	// RuleFirstCode accepts the first code of an account.
	RuleFirstCode Rule = "first-code"
	// RuleByHand accepts a code with which a member replaces another one.
	RuleByHand Rule = "replaced-by-hand"
	// RuleSameCode: the account was already referred by this code.
	RuleSameCode Rule = "same-code-again"
	// RuleAlreadyReferred: the account was already referred by another code.
	RuleAlreadyReferred Rule = "already-referred"
	// RuleClosed: the account first became PAID while unreferred.
	RuleClosed Rule = "paid-while-unreferred"
	// RuleDeleted: the account was deleted after it had converted or paid, and made again.
	RuleDeleted Rule = "deleted-before"
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
	// RuleKnownUser: the code is from a cookie, and the user is not new.
	RuleKnownUser Rule = "known-user"
	// RuleCookieForm, RuleCookieForged and RuleCookieExpired: the cookie is invalid.
	RuleCookieForm    Rule = "cookie-malformed"
	RuleCookieForged  Rule = "cookie-forged"
	RuleCookieExpired Rule = "cookie-expired"
)

// Verdict is a claim and the rule that decided about it.
type Verdict struct {
	Claim Claim
	Rule  Rule
}

// Accepted reports whether the claim created or replaced a referral.
func (v Verdict) Accepted() bool { return v.Rule == RuleFirstCode || v.Rule == RuleByHand }

// judge returns the rule that decides about a claim. It checks in this order: whether
// the code exists, who owns it, whether the account can still be referred, and
// whether a cookie counts.
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
	case !s.unreferred() && s.Code.Folded() == claim.Code.Folded():
		return RuleSameCode
	case !s.unreferred() && !claim.Replaces:
		return RuleAlreadyReferred
	case s.Closed():
		return RuleClosed
	case c.Deleted && claim.Source != SourceByHand:
		return RuleDeleted
	case claim.Unreferable:
		return RuleUnreferable
	case claim.Source.Automatic() && !c.NewUser:
		return RuleKnownUser
	case !s.unreferred():
		return RuleByHand
	}
	return RuleFirstCode
}

// unfit returns the rule that refuses the user of a claim that was accepted before
// the account had a user, or "".
func unfit(claim *Claim) Rule {
	switch {
	case sameEmail(claim.Owner.Email, claim.Referred.Email):
		return RuleSelfEmail
	case claim.Unreferable:
		return RuleUnreferable
	}
	return ""
}

// sameEmail reports whether two addresses are the same mailbox: it ignores case, a "+tag", and
// spellings that mail programs accept. Empty addresses are never the same.
func sameEmail(a, b string) bool {
	a, b = mailbox(a), mailbox(b)
	return a != "" && a == b
}

// mailbox returns an address without what does not change where mail goes: quotes, angle brackets,
// comments, wide letters, and the point at the end of the domain.
func mailbox(address string) string {
	narrow := strings.Map(func(r rune) rune {
		switch {
		case '\uff01' <= r && r <= '\uff5e':
			return r - '\uff01' + '!'
		case r == '"', r == '<', r == '>':
			return -1
		}
		return r
	}, address)
	before, rest, _ := strings.Cut(narrow, "(")
	if _, after, closed := strings.Cut(rest, ")"); closed {
		narrow = before + after
	}
	local, domain, found := strings.Cut(strings.ToLower(strings.TrimSpace(narrow)), "@")
	domain = strings.TrimSuffix(domain, ".")
	if !found || domain == "" {
		return ""
	}
	if name, _, _ := strings.Cut(local, "+"); name != "" {
		local = name
	}
	return local + "@" + domain
}
