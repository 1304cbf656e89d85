package wire

import (
	"strings"
	"testing"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
)

const fullProgram = `{"id":"spring","name":"Spring","sharing":{"url":"https://s.example/","allowedHosts":["p.example"],"cookieExpiryDuration":"P14D"},` +
	`"rewards":{"referrer":{"type":"CREDIT","unit":"CENTS","credit":1500,"currency":"EUR","name":null,"description":null,"expiryDuration":"P90D","scheduleDuration":null},"referred":{"type":"PCT_DISCOUNT","unit":"%","discountPercent":12.5,"name":"Welcome","description":"Off","expiryDuration":null,"scheduleDuration":"PT1H"},"moneyBackDuration":"P20D"},` +
	`"limits":{"rewards":20,"rewardsInPeriod":5,"period":"P30D","discountPercent":50},` +
	`"fraud":{"handling":"PENDING","signals":{"name":"NONE","ip":"DENY"},"dailyRewardLimit":3},"invitations":{"de":{"subject":"{reward}","message":"Schau mal: {shop}"},"pt-BR":{"subject":"s","message":"m"}},"dateCreated":1,"dateModified":2}`

func TestParseProgram(t *testing.T) {
	got, err := ParseProgram("", []byte(fullProgram))
	if err != nil {
		t.Fatal(err)
	}
	want := referral.Program{
		Program:  link.Program{Key: "spring", LandingURL: "https://s.example/", AllowedHosts: []string{"p.example"}, CookieLife: 14 * core.Day},
		Name:     "Spring",
		Referrer: reward.Offer{Kind: reward.Credit, Amount: 1500, Currency: "EUR", ValidFor: 90 * core.Day},
		Referred: reward.Offer{Kind: reward.PercentDiscount, Percent: 1250, Name: "Welcome", Description: "Off", GivenAfter: core.Hour},
		Limits:   referral.Limits{Total: 20, InPeriod: 5, Period: 30 * core.Day, Discount: 5000},
		Fraud: referral.FraudPolicy{Handling: referral.HandlePending, DailyRewards: 3, BySignal: map[referral.Signal]referral.Handling{
			referral.SignalName: referral.HandleNone, referral.SignalIP: referral.HandleDeny,
		}},
	}
	want.Invitations = map[text.Tag]text.Invitation{"de": {Subject: "{reward}", Message: "Schau mal: {shop}"}, "pt-BR": {Subject: "s", Message: "m"}}
	want.Created, want.Modified, want.MoneyBack = 1, 2, 20*core.Day
	got.Created, got.Modified = 1, 2 // the body's are ignored
	if text := string(Program(got)); text != fullProgram || string(Program(want)) != fullProgram {
		t.Errorf("%+v\nis written as %s", got, text)
	}
	if got.Referrer != want.Referrer || got.Referred != want.Referred || got.Limits != want.Limits || got.CookieLife != want.CookieLife {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Offers of every kind are written as they were read.
func TestParseProgram_Offers(t *testing.T) {
	for text, want := range map[string]reward.Offer{
		`{"type":"CREDIT","unit":"POINT","credit":5,"currency":null,"name":null,"description":null,"expiryDuration":null,"scheduleDuration":null}`: {
			Kind: reward.Credit, Unit: "POINT", Amount: 5},
		`{"type":"FUELTANK","unit":"%","fuelTankType":"PCT_DISCOUNT","amount":10,"currency":null,"name":null,"description":null,"expiryDuration":"P1D","scheduleDuration":null}`: {
			Kind: reward.FuelTank, Unit: "%", Amount: 1000, ValidFor: core.Day},
		`{"type":"FUELTANK","unit":"CENTS","fuelTankType":"CREDIT","amount":1000,"currency":"USD","name":null,"description":null,"expiryDuration":null,"scheduleDuration":null}`: {
			Kind: reward.FuelTank, Amount: 1000, Currency: "USD"},
		`{"type":"INTEGRATION","unit":"VISA/USD","valueInCents":2500,"integrationSettings":{"card": 1e5, "\u0061":[null]},"currency":null,"name":"Card","description":null,"expiryDuration":null,"scheduleDuration":null}`: {
			Kind: reward.Integration, Unit: "VISA/USD", Amount: 2500, Settings: `{"card": 1e5, "\u0061":[null]}`, Name: "Card"},
	} {
		for _, side := range []string{"referrer", "referred"} {
			p, err := ParseProgram("gift", []byte(`{"sharing":{"url":"https://s.example/"},"rewards":{"`+side+`":`+text+`}}`))
			got := p.Referrer
			if side == "referred" {
				got = p.Referred
			}
			if err != nil || got != want {
				t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
			}
			if written := string(Program(p)); !strings.Contains(written, `"`+side+`":`+text) {
				t.Errorf("%s is written as %s", text, written)
			}
		}
	}
}

// Null and missing keys have their defaults.
func TestParseProgram_Defaults(t *testing.T) {
	for _, body := range []string{
		`{"sharing":{"url":"https://s.example/"}}`,
		`{"id":null,"name":null,"sharing":{"url":"https://s.example/","allowedHosts":null,"cookieExpiryDuration":null},"rewards":null,"limits":null,"fraud":null}`,
		`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":null,"referred":null},"limits":{"rewards":null,"period":null,"discountPercent":null},
			"fraud":{"handling":null,"signals":null,"dailyRewardLimit":null}}`,
		`{"sharing":{"url":"https://s.example/"},"fraud":{"signals":{"ip":null}}}`,
	} {
		p, err := ParseProgram("gift", []byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		want := referral.NewProgram("gift")
		want.LandingURL = "https://s.example/"
		if string(Program(p)) != string(Program(want)) {
			t.Errorf("%s is read as %s", body, Program(p))
		}
	}
}

func TestParseProgram_Refused(t *testing.T) {
	for _, c := range []struct{ body, field string }{
		{`{"id":"other","sharing":{"url":"https://s.example/"}}`, "id"},
		{`{"sharing":{"url":5}}`, "sharing.url"},
		{`{"sharing":{"url":"https://s.example/","port":1}}`, "sharing.port"},
		{`{"sharing":{"url":"https://s.example/","allowedHosts":["a b"]}}`, "sharing.allowedHosts[0]"},
		{`{"sharing":{"url":"https://s.example/","allowedHosts":[1]}}`, "sharing.allowedHosts[0]"},
		{`{"rewards":{"friend":{}}}`, "rewards.friend"},
		{`{"rewards":{"referrer":{}}}`, "rewards.referrer.type"},
		{`{"rewards":{"referrer":{"type":"CREDIT","credit":1.5}}}`, "rewards.referrer.credit"},
		{`{"rewards":{"referrer":{"type":"CREDIT","credit":5,"currency":"eur"}}}`, "rewards.referrer.currency"},
		{`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":{"type":"CREDIT","unit":"%","credit":5}}}`, "rewards.referrer.unit"},
		{`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":{"type":"PCT_DISCOUNT","unit":"CENTS","discountPercent":5}}}`, "rewards.referrer.unit"},
		{`{"rewards":{"referrer":{"type":"PCT_DISCOUNT","credit":5}}}`, "rewards.referrer.credit"},
		{`{"rewards":{"referrer":{"type":"CREDIT","discountPercent":5}}}`, "rewards.referrer.discountPercent"},
		{`{"rewards":{"referrer":{"type":"CREDIT","integrationSettings":{}}}}`, "rewards.referrer.integrationSettings"},
		{`{"rewards":{"referrer":{"type":"INTEGRATION","valueInCents":5,"integrationSettings":[]}}}`, "rewards.referrer.integrationSettings"},
		{`{"rewards":{"referrer":{"type":"INTEGRATION","valueInCents":5,"integrationSettings":{"a":"` + strings.Repeat("x", 4096) + `"}}}}`, "rewards.referrer.integrationSettings"},
		{`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":{"type":"FUELTANK","amount":0}}}`, "rewards.referrer.amount"},
		{`{"rewards":{"referrer":{"type":"FUELTANK","fuelTankType":"PCT_DISCOUNT","amount":101}}}`, "rewards.referrer.amount"},
		{`{"rewards":{"referrer":{"type":"FUELTANK","fuelTankType":"PCT_DISCOUNT","unit":"CENTS","amount":10}}}`, "rewards.referrer.unit"},
		{`{"rewards":{"referrer":{"type":"FUELTANK","fuelTankType":"CREDIT","unit":"%","amount":10}}}`, "rewards.referrer.unit"},
		{`{"rewards":{"referrer":{"type":"FUELTANK","fuelTankType":"GOLD","amount":10}}}`, "rewards.referrer.fuelTankType"},
		{`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":5,"expiryDuration":"P3651D"}}}`, "rewards.referrer.expiryDuration"},
		{`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":5,"scheduleDuration":"P3651D"}}}`, "rewards.referrer.scheduleDuration"},
		{`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":1e99}}}`, "rewards.referrer.credit"},
		{`{"sharing":{"url":"https://s.example/"},"rewards":{"referrer":{"type":"CREDIT","credit":1000000000001}}}`, "rewards.referrer.credit"},
		{`{"rewards":{"referred":{"type":"PCT_DISCOUNT","discountPercent":"10"}}}`, "rewards.referred.discountPercent"},
		{`{"rewards":{"referred":{"type":"PCT_DISCOUNT","discountPercent":10.001}}}`, "rewards.referred.discountPercent"},
		{`{"limits":{"rewards":-1}}`, "limits.rewards"},
		{`{"limits":{"period":"P1Y"}}`, "limits.period"},
		{`{"fraud":{"handling":"deny"}}`, "fraud.handling"},
		{`{"fraud":{"signals":{"blockedUser":"NONE"}}}`, "fraud.signals.blockedUser"},
		{`{"fraud":{"dailyRewardLimit":"3"}}`, "fraud.dailyRewardLimit"},
		{`{"sharing":{"url":"nowhere"}}`, "sharing.url"},
	} {
		_, err := ParseProgram("gift", []byte(c.body))
		e, ok := err.(*core.Error)
		if !ok || e.Field != c.field {
			t.Errorf("%s: %v, want an error about %s", c.body, err, c.field)
		}
	}
	_, err := ParseProgram("", []byte(`{"sharing":{"url":"https://s.example/"}}`))
	refused(t, "no id", err, core.CodeInvalid, "id")
}

func TestParseTankCodes(t *testing.T) {
	got, err := ParseTankCodes([]byte(`{"codes":["A-1","\u0042"]}`))
	if err != nil || strings.Join(got, ",") != "A-1,B" {
		t.Errorf("%q, %v", got, err)
	}
	for body, field := range map[string]string{
		`{}`: "codes", `{"codes":[]}`: "codes", `{"codes":"A"}`: "codes", `{"codes":[""]}`: "codes[0]", `{"codes":["A","a b"]}`: "codes[1]",
		`{"codes":[1]}`: "codes[0]", `{"codes":["A"],"x":1}`: "x", `{"codes":["A"` + strings.Repeat(`,"A"`, 1000) + `]}`: "codes",
	} {
		_, err := ParseTankCodes([]byte(body))
		if e, ok := err.(*core.Error); !ok || e.Field != field {
			t.Errorf("%.40s: %v, want an error about %s", body, err, field)
		}
	}
}
