package referral

import (
	"slices"
	"strings"
	"testing"

	"kith/core"
	"kith/core/conversion"
	"kith/core/reward"
	"kith/core/text"
)

func TestProgram_Describe(t *testing.T) {
	condition := func(s string) conversion.Condition {
		c, err := conversion.ParseCondition("", s)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, c := range []struct {
		name    string
		change  func(*Program)
		summary string
		want    []string
	}{
		{"a new program", func(*Program) {}, "The referrer gets $10.00 credit and the friend gets 10% off when the friend's account becomes PAID.", []string{
			"conversion: A referral counts when the friend's account becomes PAID for the first time.",
			"rewards.referrer: The referrer gets $10.00 credit.",
			"rewards.referred: The friend gets 10% off.",
			"sharing: Share links lead to https://shop.example/. A visit counts as a referral for 30 days.",
			"fraud.handling: A sign of fraud is only recorded: it neither holds nor cancels rewards.",
			"fraud.signals.mutualReferral: A friend who has referred the referrer makes the rewards wait until a person approves them.",
		}},
		{"a share of the order", func(p *Program) {
			p.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund", Conditions: []conversion.Condition{condition("revenue >= 50.00"), condition("plan in (pro, team)")}, Within: 30 * core.Day, FirstEvent: true}
			p.Referrer = reward.Offer{Kind: reward.Credit, OfRevenue: 1500, Currency: "USD", GivenAfter: 14 * core.Day, ValidFor: core.Day + 2*core.Hour, Name: "Thank you"}
			p.ReferrerTerms = conversion.Terms{Max: 4000, Min: 100, Orders: 1, Tiers: []conversion.Tier{{From: 3, OfRevenue: 2000}, {From: 10, OfRevenue: 2550}}}
			p.Referred = reward.Offer{}
		}, "The referrer gets 15% of the order as credit for the event “purchase” of the friend.", []string{
			"conversion: A referral counts when the event “purchase” arrives for the friend's account, if revenue is at least 50.00 and plan is pro or team, at most 30 days after the referral.",
			"conversion.firstEvent: It must be the first event “purchase” that the account ever had, also before the referral.",
			"rewards.referrer: The referrer gets 15% of the order as credit, at least $1.00, at most $40.00, after 14 days.",
			"rewards.referrer.currency: An order in another currency than USD earns nothing.",
			"rewards.referrer.name: People see it as “Thank you”.",
			"rewards.referrer.tiers: At the referrer's conversions 3 to 9, it is 20% of the order as credit.",
			"rewards.referrer.tiers: From the referrer's conversion 10 on, it is 25.5% of the order as credit.",
			"rewards.referrer.orders: Only the first order of a friend earns it.",
			"rewards.referrer.expiryDuration: The reward expires 1 day and 2 hours after it was given.",
			"rewards.referred: The friend gets no reward.",
			"conversion.reversalEvent: The event “refund” takes back the rewards of its order: in full, or by the share of the order that its revenue is.",
			"sharing: Share links lead to https://shop.example/. A visit counts as a referral for 30 days.",
			"fraud.handling: A sign of fraud is only recorded: it neither holds nor cancels rewards.",
			"fraud.signals.mutualReferral: A friend who has referred the referrer makes the rewards wait until a person approves them.",
		}},
		{"each order, codes, limits, fraud and invitations", func(p *Program) {
			p.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund"}
			p.Referrer = reward.Offer{Kind: reward.FuelTank, Amount: 1000, Unit: "%"}
			p.ReferrerTerms = conversion.Terms{Orders: 3}
			p.Referred = reward.Offer{Kind: reward.Integration, OfRevenue: 500, Currency: "EUR"}
			p.ReferredTerms = conversion.Terms{Months: 1}
			p.AllowedHosts = []string{"a.example", "b.example"}
			p.Limits = Limits{Total: 1, InPeriod: 2, Period: core.Day, Discount: 5000}
			p.Fraud = FraudPolicy{Handling: HandlePending, BySignal: map[Signal]Handling{SignalIP: HandleDeny, SignalName: HandlePending}, DailyRewards: 5}
			p.Invitations = map[text.Tag]text.Invitation{"de": {}, "fr": {}}
		}, "The referrer gets a coupon code for 10% off for each order and the friend gets a gift worth 5% of each order for the event “purchase” of the friend.", []string{
			"conversion: A referral counts when the event “purchase” arrives for the friend's account.",
			"rewards.referrer: The referrer gets a coupon code for 10% off for each order.",
			"rewards.referrer.orders: The first 3 orders of a friend earn it.",
			"rewards.referred: The friend gets a gift worth 5% of each order.",
			"rewards.referred.orders: Each order of a friend earns it.",
			"rewards.referred.months: Orders later than 1 month after the friend's first one earn nothing.",
			"conversion.reversalEvent: The event “refund” takes back the rewards of its order: in full, or by the share of the order that its revenue is.",
			"limits.rewards: A referrer gets at most 1 reward in this program.",
			"limits.rewardsInPeriod: A referrer gets at most 2 rewards within any 1 day.",
			"limits.discountPercent: The discounts of a user are at most 50% together.",
			"sharing: Share links lead to https://shop.example/, or to a page of a.example or b.example that the link names. A visit counts as a referral for 30 days.",
			"fraud.handling: A sign of fraud makes the rewards wait until a person approves them.",
			"fraud.signals.ip: The same IP address of referrer and friend cancels the rewards.",
			"fraud.dailyRewardLimit: More than 5 rewards of a referrer in 24 hours are a sign of fraud.",
			"invitations: Users send your own text to friends in de and fr, and the default text in other languages.",
		}},
		{"no rewards", func(p *Program) { p.Referrer, p.Referred = reward.Offer{}, reward.Offer{} }, "No reward is given when the friend's account becomes PAID.", nil},
		{"points and a gift", func(p *Program) {
			p.Referrer = reward.Offer{Kind: reward.Credit, Amount: 5, Unit: "POINT"}
			p.Referred = reward.Offer{Kind: reward.FuelTank, Amount: 500, Currency: "EUR"}
		}, "The referrer gets 5 POINT credit and the friend gets a coupon code worth €5.00 when the friend's account becomes PAID.", nil},
	} {
		p := DefaultProgram("https://shop.example/")
		c.change(&p)
		if got := p.Summary(); got != c.summary {
			t.Errorf("%s: %q, want %q", c.name, got, c.summary)
		}
		var got []string
		for _, s := range p.Describe() {
			got = append(got, s.About+": "+s.Text)
		}
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Each signal has words of its own.
func TestSignal_Words(t *testing.T) {
	for _, s := range append(Signals(), SignalBlocked) {
		if s.Words() == string(s) {
			t.Errorf("%s has no words", s)
		}
	}
}

// The widget says what an order must be worth at least, in a currency only if the conditions
// name it, and how many rewards a referrer gets.
func TestProgram_DescribedLeastOrder(t *testing.T) {
	for conditions, want := range map[string]string{
		"revenue >= 50": "For orders of 50 or more. At most 3 rewards in total.",
		"revenue >= 50|revenue >= 49.90|revenue <= 90": "For orders of 50 or more.",
		"revenue >= 12.50|currency = eur":              "For orders of €12.50 or more.",
		"revenue >= 12.505":                            "",
		"plan = pro":                                   "",
	} {
		p := NewProgram("classic")
		p.Referrer = reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"}
		p.Conversion.Event = "purchase"
		if want != "" {
			p.Limits.Total = 3
		}
		for s := range strings.SplitSeq(conditions, "|") {
			c, err := conversion.ParseCondition("", s)
			if err != nil {
				t.Fatal(err)
			}
			p.Conversion.Conditions = append(p.Conversion.Conditions, c)
		}
		catalog, _, _ := text.For([]text.Tag{"en"})
		terms := strings.Join(catalog.Describe(p.Described(ReferrerSide)).Terms, " ")
		if !strings.Contains(terms, want) || want == "" && terms != "" {
			t.Errorf("%s: %q", conditions, terms)
		}
	}
}
