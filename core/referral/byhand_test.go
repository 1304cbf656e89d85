package referral

import (
	"testing"

	"kith/core/reward"
)

// A code that a member sets replaces the user's code only if nothing depends on the referral.
// The rules against self-referral and blocked users apply to it, too.
func TestDecide_ByHand(t *testing.T) {
	referred := Standing{Referral: InProgress, Code: "OLD", Identified: true}
	byHand := func(change ...func(*Claim)) Claim {
		c := claim("NEW", SourceByHand)
		c.Replaces = true
		for _, f := range change {
			f(&c)
		}
		return c
	}
	for name, c := range map[string]struct {
		standing Standing
		claim    Claim
		want     Rule
	}{
		"the first code":         {Standing{}, byHand(), RuleFirstCode},
		"replaces":               {referred, byHand(), RuleByHand},
		"something depends":      {referred, byHand(func(c *Claim) { c.Replaces = false }), RuleAlreadyReferred},
		"the same code":          {referred, byHand(func(c *Claim) { c.Code = "old" }), RuleSameCode},
		"unknown":                {referred, byHand(func(c *Claim) { c.Known = false }), RuleUnknownCode},
		"own account":            {referred, byHand(func(c *Claim) { c.Owner.Account = c.Referred.Account }), RuleSelfAccount},
		"own mailbox":            {referred, byHand(func(c *Claim) { c.Owner.Email = "BOB+x@example.com" }), RuleSelfEmail},
		"blocked owner":          {referred, byHand(func(c *Claim) { c.OwnerBlocked = true }), RuleBlocked},
		"not referable":          {referred, byHand(func(c *Claim) { c.Unreferable = true }), RuleUnreferable},
		"paid before, no friend": {Standing{FirstPaid: 1}, byHand(), RuleClosed},
		"not by a member":        {referred, claim("NEW", SourceApplied), RuleAlreadyReferred},
	} {
		after, out := Decide(c.standing, Command{Now: now, Claims: []Claim{c.claim}})
		if got := out.Verdicts[0]; got.Rule != c.want || got.Accepted() != (c.want == RuleFirstCode || c.want == RuleByHand) {
			t.Errorf("%s: %s, want %s", name, got.Rule, c.want)
		}
		if accepted := out.Attributed != nil; accepted != out.Verdicts[0].Accepted() || accepted && (after.Code != "NEW" || after.Referral != InProgress) {
			t.Errorf("%s: %+v", name, after)
		}
		if out.Converted {
			t.Errorf("%s: converted", name)
		}
	}
}

func TestReferral_Replaceable(t *testing.T) {
	for name, c := range map[string]struct {
		referral Referral
		standing Standing
		want     bool
	}{
		"in progress":       {Referral{State: InProgress}, Standing{}, true},
		"converted":         {Referral{State: Converted}, Standing{}, false},
		"an order":          {Referral{State: InProgress, Attributed: 1}, Standing{}, false},
		"ended":             {Referral{State: InProgress, Ended: 1}, Standing{}, false},
		"paid":              {Referral{State: InProgress}, Standing{FirstPaid: 1}, false},
		"a referrer reward": {Referral{State: InProgress, ReferrerReward: &reward.Reward{}}, Standing{}, false},
		"a referred reward": {Referral{State: InProgress, ReferredReward: &reward.Reward{}}, Standing{}, false},
		"there is no such":  {Referral{}, Standing{}, false},
	} {
		if got := c.referral.Replaceable(c.standing); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
