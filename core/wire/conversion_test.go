package wire

import (
	"strings"
	"testing"

	"kith/core"
)

// shopProgram is a program that converts by an event, as it is written.
const shopProgram = `"rewards":{"referrer":{"type":"CREDIT","unit":"CENTS","percentOfRevenue":10,"minimum":100,"maximum":null,"currency":"USD","name":null,` +
	`"description":null,"expiryDuration":null,"scheduleDuration":"P30D","tiers":[{"from":5,"percentOfRevenue":12.5}],"orders":null,"months":12},` +
	`"referred":{"type":"PCT_DISCOUNT","unit":"%","discountPercent":10,"name":null,"description":null,"expiryDuration":null,"scheduleDuration":null,` +
	`"tiers":[{"from":2,"discountPercent":15}],"orders":1,"months":null}},` +
	`"conversion":{"event":"purchase","reversalEvent":"refund","conditions":["revenue >= 50","plan in (pro, \"a, b\")"],"withinDuration":"P90D","beforeDuration":"PT1H","firstEvent":true}`

// A program that a caller read can be sent back.
func TestParseProgram_Conversion(t *testing.T) {
	p, err := ParseProgram("shop", []byte(`{"sharing":{"url":"https://s.example/"},`+shopProgram+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ReplaceAll(string(Program(p)), `\u003e`, ">"); !strings.Contains(text, shopProgram) {
		t.Errorf("written as %s", text)
	}
	// Orders has its default, and so has the event that reverses.
	p, err = ParseProgram("shop", []byte(`{"sharing":{"url":"https://s.example/"},"conversion":{"event":"order"},"rewards":{"referrer":{"type":"CREDIT","credit":5}}}`))
	if err != nil || p.Conversion.Reversal != "refund" || p.ReferrerTerms.Orders != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestParseProgram_ConversionRefused(t *testing.T) {
	const byEvent, credit = `"conversion":{"event":"purchase"},"rewards":{"referrer":`, `{"type":"CREDIT","credit":10,`
	for _, c := range []struct{ body, want string }{
		{`"conversion":{"conditions":["a = 1"]}`, "conversion.event: is required with any other setting of conversion; without it, the first PAID converts"},
		{`"conversion":{"event":" purchase"}`, "conversion.event: must be 1 to 128 bytes without blanks around it, such as purchase"},
		{`"conversion":{"event":"refund"}`, "conversion.reversalEvent: must differ from conversion.event; name another event, the default is refund"},
		{`"conversion":{"event":"p","conditions":["revenue"]}`, `conversion.conditions[0]: must be a condition such as "revenue >= 50", "currency = USD" or "plan in (pro, team)"`},
		{`"conversion":{"event":"p","conditions":["a = 1","plan == pro"]}`, `conversion.conditions[1]: must be a condition such as "revenue >= 50", "currency = USD" or "plan in (pro, team)"`},
		{`"conversion":{"event":"p","conditions":["revenue => 50"]}`, `conversion.conditions[0]: must be a condition such as "revenue >= 50", "currency = USD" or "plan in (pro, team)"`},
		{`"conversion":{"event":"p","conditions":["revenue >= fifty"]}`, `conversion.conditions[0]: must compare with a number: >= is for numbers, as in revenue >= 50`},
		{`"conversion":{"event":"p","withinDuration":"P4000D"}`, "conversion.withinDuration: must be PT1S to P3650D, or be left out"},
		{`"conversion":{"event":"p","once":true}`, "conversion.once: is not a key of this request"},
		{`"conversion":{"event":"p"},"limits":{"rewardsInPeriod":2000,"period":"P1D"}`, "limits.rewardsInPeriod: must be 0 to 1000 with conversion.event; 0 means no limit"},

		{byEvent + credit + `"orders":0}}`, "rewards.referrer.orders: must be 1 to 1000000, or null for all orders"},
		{byEvent + credit + `"orders":1000001}}`, "rewards.referrer.orders: must be 1 to 1000000, or null for all orders"},
		{byEvent + credit + `"months":121}}`, "rewards.referrer.months: must be 1 to 120, or be left out"},
		{byEvent + credit + `"minimum":5}}`, "rewards.referrer.minimum: must be left out without percentOfRevenue: a fixed value has no minimum"},
		{byEvent + credit + `"maximum":5}}`, "rewards.referrer.maximum: must be left out without percentOfRevenue: a fixed value has no maximum"},
		{byEvent + credit + `"percentOfRevenue":10}}`, "rewards.referrer.credit: must be left out with percentOfRevenue"},
		{byEvent + `{"type":"CREDIT","percentOfRevenue":0}}`, "rewards.referrer.percentOfRevenue: must be more than 0 and at most 100; leave it out for a fixed value"},
		{byEvent + `{"type":"CREDIT","percentOfRevenue":101}}`, "rewards.referrer.percentOfRevenue: must be a percentage from 0 to 100 with at most two decimals"},
		{byEvent + `{"type":"CREDIT","percentOfRevenue":10,"unit":"POINT"}}`, "rewards.referrer.unit: must be CENTS with percentOfRevenue, or be left out: a share of the revenue is money"},
		{byEvent + `{"type":"CREDIT","percentOfRevenue":10,"minimum":500,"maximum":100}}`, "rewards.referrer.maximum: must not be less than the minimum, and at most 1000000000000, or be left out"},
		{byEvent + `{"type":"PCT_DISCOUNT","percentOfRevenue":10}}`, "rewards.referrer.percentOfRevenue: must be left out for rewards of type PCT_DISCOUNT"},
		{byEvent + `{"type":"FUELTANK","fuelTankType":"CREDIT","amount":10,"tiers":[{"from":5,"credit":20}]}}`, "rewards.referrer.tiers: must be left out for FUELTANK: the value of its codes is fixed"},

		{byEvent + credit + `"tiers":[{"from":5,"credit":20},{"from":3,"credit":30}]}}`, "rewards.referrer.tiers[1].from: must be 2 to 1000 and more than in the tier before"},
		{byEvent + credit + `"tiers":[{"credit":20}]}}`, "rewards.referrer.tiers[0].from: must be 2 to 1000 and more than in the tier before"},
		{byEvent + credit + `"tiers":[{"from":5}]}}`, "rewards.referrer.tiers[0]: must have from and the value from there on: credit, valueInCents, discountPercent or percentOfRevenue"},
		{byEvent + credit + `"tiers":[{"from":5,"credit":0}]}}`, "rewards.referrer.tiers[0].credit: must be 1 to 1000000000000"},
		{byEvent + credit + `"tiers":[{"from":5,"discountPercent":10}]}}`, "rewards.referrer.tiers[0].discountPercent: must be left out: tiers of this reward have credit"},
		{byEvent + credit + `"tiers":[{"from":5,"percentOfRevenue":10}]}}`, "rewards.referrer.tiers[0].percentOfRevenue: must be left out: tiers of this reward have credit"},
		{byEvent + `{"type":"CREDIT","percentOfRevenue":10,"tiers":[{"from":5,"credit":10}]}}`, "rewards.referrer.tiers[0].credit: must be left out: tiers of this reward have percentOfRevenue"},
		{byEvent + `{"type":"CREDIT","percentOfRevenue":10,"tiers":[{"from":5,"percentOfRevenue":0}]}}`, "rewards.referrer.tiers[0].percentOfRevenue: must be more than 0 and at most 100"},
		{byEvent + `{"type":"PCT_DISCOUNT","discountPercent":10,"tiers":[{"from":5,"credit":500}]}}`, "rewards.referrer.tiers[0].credit: must be left out: tiers of this reward have discountPercent"},
		{byEvent + `{"type":"INTEGRATION","valueInCents":10,"tiers":[{"from":5,"credit":500}]}}`, "rewards.referrer.tiers[0].credit: must be left out: tiers of this reward have valueInCents"},

		{`"rewards":{"referrer":{"type":"CREDIT","percentOfRevenue":10}}`, "rewards.referrer.percentOfRevenue: needs conversion.event: an account that becomes PAID has no revenue; give a fixed value or set the event"},
		{`"rewards":{"referrer":` + credit + `"orders":3}}`, "rewards.referrer.orders: needs conversion.event: an account becomes PAID for the first time only once; set the event or leave it out"},
		{`"rewards":{"referrer":` + credit + `"months":3}}`, "rewards.referrer.months: needs conversion.event: an account becomes PAID for the first time only once; set the event or leave it out"},
	} {
		_, err := ParseProgram("shop", []byte(`{"sharing":{"url":"https://s.example/"},`+c.body+`}`))
		if e, ok := err.(*core.Error); !ok || e.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.body, err, c.want)
		}
	}
}
