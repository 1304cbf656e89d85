package referral

import "testing"

// Each rule and each source has a text for people.
func TestExplain(t *testing.T) {
	for _, r := range []Rule{
		RuleFirstCode, RuleByHand, RuleSameCode, RuleAlreadyReferred, RuleClosed, RuleDeleted, RuleUnknownCode, RuleSelfAccount, RuleSelfEmail, RuleBlocked,
		RuleUnreferable, RuleKnownUser, RuleCookieForm, RuleCookieForged, RuleCookieExpired,
	} {
		if r.Explain() == string(r) {
			t.Error(r)
		}
	}
	for _, s := range []Source{
		SourceAccount, SourceByHand, SourceApplied, SourceCoupon, SourceCodes, SourceReferredBy, SourceInit, SourceEvent, SourceCookie, SourceBody, SourceThirdParty,
	} {
		if s.Explain() == string(s) || s.Rank() < 0 {
			t.Error(s)
		}
	}
	if Rule("new").Explain() != "new" || Source("new").Explain() != "new" {
		t.Error("an unknown name is shown as it is")
	}
}
