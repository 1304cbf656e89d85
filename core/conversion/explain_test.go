package conversion

import (
	"slices"
	"testing"

	"kith/core"
	"kith/core/reward"
)

func TestPlan_Try(t *testing.T) {
	atLeast50, err := ParseCondition("", "revenue >= 50")
	if err != nil {
		t.Fatal(err)
	}
	tenPercent := revenue(1000)
	tenPercent.GivenAfter = 30 * day
	shop := Plan{
		Rule: Rule{Event: "purchase", Reversal: "refund", Conditions: []Condition{atLeast50}, Within: 30 * day},
		Earnings: [2]Earning{
			{Offer: tenPercent, Terms: Terms{Max: 1000, Tiers: []Tier{{From: 5, OfRevenue: 1500}}}},
			{Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}},
		},
		Total: 10,
	}
	purchase := func(amount string) Event {
		return Event{ID: "e", Key: "purchase", At: 1_700_000_000_000, Revenue: amount, Currency: "USD", Fields: map[string][]string{"revenue": {amount}}}
	}
	const since core.Time = 1_700_000_000_000 - day
	for _, c := range []struct {
		name  string
		plan  Plan
		trial Trial
		want  []string
	}{
		{"an order that earns", shop, Trial{Event: purchase("80"), Since: since}, []string{
			"+The event purchase converts referrals of this program.",
			"+The condition revenue >= 50 holds: revenue is 80.",
			"+It is the referral's 1st order that counts, so it converts the referral: the referrer's 1st conversion.",
			"+The referrer earns $8.00: 10% of $80.00.",
			"+It is pending for 30 days and can be redeemed from 2023-12-14 22:13 UTC on.",
			"+The friend earns 10%.",
		}},
		{"a tier and the maximum", shop, Trial{Event: purchase("80"), Since: since, Conversions: 4, Rewards: 4}, []string{
			"+The event purchase converts referrals of this program.",
			"+The condition revenue >= 50 holds: revenue is 80.",
			"+It is the referral's 1st order that counts, so it converts the referral: the referrer's 5th conversion.",
			"+The referrer earns $10.00: 15% of $80.00, reduced to the maximum, by the tier from 5 conversions on.",
			"+It is pending for 30 days and can be redeemed from 2023-12-14 22:13 UTC on.",
			"+The friend earns 10%.",
		}},
		{"a failed condition", shop, Trial{Event: purchase("49.99"), Since: since}, []string{
			"+The event purchase converts referrals of this program.",
			"-The condition revenue >= 50 fails: revenue is 49.99.",
		}},
		{"too late", shop, Trial{Event: purchase("80"), Since: since - 30*day}, []string{
			"+The event purchase converts referrals of this program.",
			"+The condition revenue >= 50 holds: revenue is 80.",
			"-The order was placed later after the attribution than the program allows.",
		}},
		{"the limit of rewards", shop, Trial{Event: purchase("80"), Since: since, Rewards: 10}, []string{
			"+The event purchase converts referrals of this program.",
			"+The condition revenue >= 50 holds: revenue is 80.",
			"+It is the referral's 1st order that counts, so it converts the referral: the referrer's 1st conversion.",
			"-The referrer earns nothing. The referrer has as many rewards as the program allows.",
			"+The friend earns 10%.",
		}},
		{"another event", shop, Trial{Event: Event{Key: "login"}}, []string{
			"-The program converts by the event purchase. The event login does not convert.",
		}},
		{"a program that converts by PAID", Plan{}, Trial{Event: purchase("80")}, []string{
			"-The program converts when an account becomes PAID. No event converts.",
		}},
	} {
		_, steps := c.plan.Try(c.trial)
		var got []string
		for _, s := range steps {
			mark := "-"
			if s.Passed {
				mark = "+"
			}
			got = append(got, mark+s.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// Each reason has a sentence, because support staff read it.
func TestReason_Sentence(t *testing.T) {
	for _, r := range Reasons() {
		if s := r.Sentence(); s == string(r) || s == "" {
			t.Errorf("%s has no sentence", r)
		}
	}
}

// A number that cannot be read is the reason why a comparison fails.
func TestCondition_Because(t *testing.T) {
	for _, c := range []struct {
		operator Operator
		value    string
		want     string
	}{
		{MoreOrEqual, "$80", "revenue is $80, which is no number such as 20.00"},
		{MoreOrEqual, "12", "revenue is 12"},
		{Equal, "$80", "revenue is $80"},
	} {
		if got := (Condition{Field: "revenue", Operator: c.operator}).Because([]string{c.value}); got != c.want {
			t.Errorf("%s %s: %s", c.operator, c.value, got)
		}
	}
}

// A side without a reward has a reason, also where none is stored.
func TestOutcome_Explained(t *testing.T) {
	t.Parallel()
	given := SideOutcome{Reward: "r"}
	for name, c := range map[string]struct {
		stored     Outcome
		placed     bool
		users, due [2]bool
		want       [2]Reason
	}{
		"both have a reward":         {Outcome{Number: 1, Sides: [2]SideOutcome{given, given}}, true, [2]bool{}, [2]bool{}, [2]Reason{}},
		"no user, and an empty tank": {Outcome{Number: 1}, true, [2]bool{true, false}, [2]bool{true, false}, [2]Reason{ReasonNoCode, ReasonNoUser}},
		"a reward is being given":    {Outcome{Number: 1}, true, [2]bool{true, true}, [2]bool{}, [2]Reason{ReasonUndecided, ReasonUndecided}},
		"a stored reason stays":      {Outcome{Number: 1, Sides: [2]SideOutcome{{Reason: ReasonMonths}, given}}, true, [2]bool{}, [2]bool{}, [2]Reason{ReasonMonths, ""}},
		"the order is being decided": {Outcome{}, true, [2]bool{true, true}, [2]bool{}, [2]Reason{ReasonUndecided, ReasonUndecided}},
		"only refunds":               {Outcome{}, false, [2]bool{true, true}, [2]bool{}, [2]Reason{ReasonUnplaced, ReasonUnplaced}},
		"it no longer counts":        {Outcome{Reason: ReasonCondition, Sides: [2]SideOutcome{given, {}}}, true, [2]bool{}, [2]bool{}, [2]Reason{ReasonCondition, ReasonCondition}},
	} {
		got := c.stored.Explained(c.placed, c.users, c.due)
		reasons := [2]Reason{got.Sides[Referrer].Reason, got.Sides[Referred].Reason}
		if reasons != c.want || !got.Complete() || (got.Number == 0) != (got.Reason != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
