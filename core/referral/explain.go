package referral

// Explain returns what a rule decided about a claim, as a sentence for people.
func (r Rule) Explain() string {
	switch r {
	case RuleFirstCode:
		return "It was the first valid code of the account, and the first code is final."
	case RuleByHand:
		return "A member replaced the code that referred the account, before anything depended on it."
	case RuleSameCode:
		return "The account was already referred by this code."
	case RuleAlreadyReferred:
		return "The account had already been referred by another code, and the first code is final."
	case RuleClosed:
		return "The account paid for the first time before it was referred, so it cannot be referred any more."
	case RuleDeleted:
		return "The account was deleted after it had converted or paid. Made again, it is no new customer; a member can still refer it by hand."
	case RuleUnknownCode:
		return "No user has this code."
	case RuleSelfAccount:
		return "The code belongs to a user of the same account, and no user can refer themselves."
	case RuleSelfEmail:
		return "The code belongs to a user with the same mail address, and no user can refer themselves."
	case RuleBlocked:
		return "The owner of the code is blocked."
	case RuleUnreferable:
		return "The user is marked as not referable."
	case RuleKnownUser:
		return "The code came from a cookie, which counts only when a user is new."
	case RuleCookieForm:
		return "The cookie or token could not be read."
	case RuleCookieForged:
		return "The signature of the cookie or token was wrong."
	case RuleCookieExpired:
		return "The cookie or token had expired."
	}
	return string(r)
}

// Explain returns where the code of a claim is from, as words that may follow "from".
func (s Source) Explain() string {
	switch s {
	case SourceAccount:
		return "an account update"
	case SourceByHand:
		return "a member, by hand"
	case SourceApplied:
		return "a call that applied it"
	case SourceCoupon:
		return "a discount at checkout"
	case SourceCodes, SourceReferredBy:
		return "an identification"
	case SourceInit:
		return "the browser script"
	case SourceEvent:
		return "an event"
	case SourceAgent:
		return "an event of an agent's checkout"
	case SourceCookie:
		return "the cookie of a share link"
	case SourceBody:
		return "a cookie that the page sent"
	case SourceThirdParty:
		return "the cookie of the service's host"
	}
	return string(s)
}
