package wire

import (
	"strings"
	"testing"

	"kith/core"
	"kith/core/reward"
)

func TestParseReward(t *testing.T) {
	with := func(g reward.Grant) reward.Grant {
		g.Account, g.User = "a", "u"
		if g.Source == "" {
			g.Source = reward.Manual
		}
		return g
	}
	for body, want := range map[string]reward.Grant{
		`{"type":"PCT_DISCOUNT","discountPercent":15}`: {Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1500}},
		`{"type":"PCT_DISCOUNT","discountPercent":12.5,"unit":"%","name":"Welcome","dateExpires":9,"dateScheduledFor":5,"cancellable":false,"rewardSource":"RETENTION"}`: {
			Source: reward.Retention, Scheduled: 5, Expires: 9, Fixed: true,
			Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1250, Unit: "%", Name: "Welcome"},
		},
		`{"assignedCredit":15,"unit":"CASH/CAD","type":"CREDIT","currency":"CAD"}`: {Offer: reward.Offer{Kind: reward.Credit, Amount: 15, Unit: "CASH/CAD", Currency: "CAD"}},
		`{"type":"CREDIT","unit":"POINT","assignedCredit":"1000000000000","discountPercent":null,"name":null,"fuelTankCode":null}`: {
			Offer: reward.Offer{Kind: reward.Credit, Amount: 1_000_000_000_000, Unit: "POINT"},
		},
		`{"type":"FUELTANK","fuelTankCode":"ABCDEF","unit":"CASH/CAD","amount":"25","fuelTankType":"CREDIT"}`: {
			Offer: reward.Offer{Kind: reward.FuelTank, Amount: 25, Unit: "CASH/CAD"}, FuelTankCode: "ABCDEF", FuelTankType: reward.Credit,
		},
		`{"type":"FUELTANK","fuelTankCode":"A B","amount":25,"fuelTankType":"PCT_DISCOUNT"}`: {
			Offer: reward.Offer{Kind: reward.FuelTank, Amount: 2500, Unit: "%"}, FuelTankCode: "A B", FuelTankType: reward.PercentDiscount,
		},
		`{"type":"INTEGRATION","unit":"CASH/CAD","name":"Card","description":"A card","valueInCents":"25","integrationSettings":{ "templateId": "1" }}`: {
			Fixed: true, Offer: reward.Offer{Kind: reward.Integration, Amount: 25, Unit: "CASH/CAD", Name: "Card", Description: "A card", Settings: `{ "templateId": "1" }`},
		},
		`{"type":"INTEGRATION","unit":"C","valueInCents":25,"integration\u0053ettings":{},"cancellable":true}`: {
			Offer: reward.Offer{Kind: reward.Integration, Amount: 25, Unit: "C", Settings: `{}`},
		},
	} {
		if got, err := ParseReward("a", "u", []byte(body)); err != nil || got != with(want) {
			t.Errorf("%s: %+v, %v, want %+v", body, got, err, with(want))
		}
	}
}

func TestParseReward_Refused(t *testing.T) {
	invalid, malformed := core.CodeInvalid, core.CodeMalformed
	for _, c := range []struct {
		body  string
		code  core.Code
		field string
	}{
		{`{}`, invalid, "type"},
		{`{"type":null}`, invalid, "type"},
		{`{"type":"TIME_CREDIT"}`, invalid, "type"},
		{`{"type":"PCT_DISCOUNT"}`, invalid, "discountPercent"},
		{`{"type":"PCT_DISCOUNT","discountPercent":null}`, invalid, "discountPercent"},
		{`{"type":"PCT_DISCOUNT","discountPercent":0}`, invalid, "discountPercent"},
		{`{"type":"PCT_DISCOUNT","discountPercent":100.01}`, invalid, "discountPercent"},
		{`{"type":"PCT_DISCOUNT","discountPercent":-1}`, invalid, "discountPercent"},
		{`{"type":"PCT_DISCOUNT","discountPercent":1.001}`, invalid, "discountPercent"},
		{`{"type":"PCT_DISCOUNT","discountPercent":"10"}`, malformed, "discountPercent"},
		{`{"type":"PCT_DISCOUNT","discountPercent":10,"unit":"CENTS"}`, invalid, "unit"},
		{`{"type":"PCT_DISCOUNT","discountPercent":10,"assignedCredit":5}`, invalid, "assignedCredit"},
		{`{"type":"CREDIT","unit":"POINT"}`, invalid, "assignedCredit"},
		{`{"type":"CREDIT","assignedCredit":5}`, invalid, "unit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":0}`, invalid, "assignedCredit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":-1}`, invalid, "assignedCredit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":1.5}`, malformed, "assignedCredit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":1000000000001}`, invalid, "assignedCredit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":99999999999999999999}`, malformed, "assignedCredit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":"-5"}`, invalid, "assignedCredit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":"5 "}`, invalid, "assignedCredit"},
		{`{"type":"CREDIT","unit":"%","assignedCredit":5}`, invalid, "unit"},
		{`{"type":"CREDIT","unit":" ","assignedCredit":5}`, invalid, "unit"},
		{`{"type":"CREDIT","unit":"` + strings.Repeat("x", 65) + `","assignedCredit":5}`, invalid, "unit"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":5,"currency":"usd"}`, invalid, "currency"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":5,"description":"x"}`, invalid, "description"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":5,"rewardSource":"PROGRAM"}`, invalid, "rewardSource"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":5,"dateExpires":0}`, invalid, "dateExpires"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":5,"dateExpires":"1.2.2026"}`, invalid, "dateExpires"},
		{`{"type":"CREDIT","unit":"POINT","assignedCredit":5,"redeemedCredit":5}`, malformed, "redeemedCredit"},
		{`{"type":"FUELTANK","amount":"25","fuelTankType":"CREDIT"}`, invalid, "fuelTankCode"},
		{`{"type":"FUELTANK","fuelTankCode":"A","fuelTankType":"CREDIT"}`, invalid, "amount"},
		{`{"type":"FUELTANK","fuelTankCode":"A","amount":"25"}`, invalid, "fuelTankType"},
		{`{"type":"FUELTANK","fuelTankCode":"A","amount":"25","fuelTankType":"FUELTANK"}`, invalid, "fuelTankType"},
		{`{"type":"FUELTANK","fuelTankCode":"A","amount":"2.5","fuelTankType":"CREDIT"}`, invalid, "amount"},
		{`{"type":"FUELTANK","fuelTankCode":"A","amount":101,"fuelTankType":"PCT_DISCOUNT"}`, invalid, "amount"},
		{`{"type":"FUELTANK","fuelTankCode":"A","amount":0,"fuelTankType":"PCT_DISCOUNT"}`, invalid, "amount"},
		{`{"type":"FUELTANK","fuelTankCode":"","amount":"25","fuelTankType":"CREDIT"}`, invalid, "fuelTankCode"},
		{`{"type":"INTEGRATION","unit":"C","valueInCents":"25"}`, invalid, "integrationSettings"},
		{`{"type":"INTEGRATION","unit":"C","integrationSettings":{}}`, invalid, "valueInCents"},
		{`{"type":"INTEGRATION","valueInCents":"25","integrationSettings":{}}`, invalid, "unit"},
		{`{"type":"INTEGRATION","unit":"C","valueInCents":"25","integrationSettings":[]}`, malformed, "integrationSettings"},
		{`{"type":"INTEGRATION","unit":"C","valueInCents":"25","integrationSettings":{"a":"` + strings.Repeat("x", 4096) + `"}}`, invalid, "integrationSettings"},
		{`[]`, malformed, ""},
	} {
		_, err := ParseReward("a", "u", []byte(c.body))
		refused(t, c.body, err, c.code, c.field)
	}
}

func TestParseRedemption(t *testing.T) {
	if d, err := ParseRedemption("r", []byte(`{"amount":5,"unit":"CENTS"}`)); err != nil || d != (reward.Draw{Reward: "r", Amount: 5, Unit: "CENTS"}) {
		t.Errorf("%+v, %v", d, err)
	}
	want := reward.Draw{Account: "a@b.c", User: "u", Amount: 5, Unit: "POINT", Key: "invoice-7"}
	if d, err := ParseBulkRedemption([]byte(`{"accountId":"a@b.c","userId":"u","amount":5,"unit":"POINT","idempotencyKey":"invoice-7"}`)); err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	want.User, want.Key = "", ""
	if d, err := ParseBulkRedemption([]byte(`{"accountId":"a@b.c","userId":null,"amount":5,"unit":"POINT","idempotencyKey":null}`)); err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	invalid, malformed := core.CodeInvalid, core.CodeMalformed
	for _, c := range []struct {
		body  string
		bulk  bool
		code  core.Code
		field string
	}{
		{`{"unit":"CENTS"}`, false, invalid, "amount"},
		{`{"unit":"CENTS","amount":null}`, false, invalid, "amount"},
		{`{"unit":"CENTS","amount":0}`, false, invalid, "amount"},
		{`{"unit":"CENTS","amount":-5}`, false, invalid, "amount"},
		{`{"unit":"CENTS","amount":1.5}`, false, malformed, "amount"},
		{`{"unit":"CENTS","amount":"5"}`, false, malformed, "amount"},
		{`{"amount":5}`, false, invalid, "unit"},
		{`{"amount":5,"unit":""}`, false, invalid, "unit"},
		{`{"amount":5,"unit":"CENTS","accountId":"a"}`, false, malformed, "accountId"},
		{`{"amount":5,"unit":"CENTS","idempotencyKey":"short"}`, false, invalid, "idempotencyKey"},
		{`{"amount":5,"unit":"CENTS"}`, true, invalid, "accountId"},
		{`{"amount":5,"unit":"CENTS","accountId":""}`, true, invalid, "accountId"},
		{`{"amount":5,"unit":"CENTS","accountId":"a","userId":""}`, true, invalid, "userId"},
		{`{"amount":5,"unit":"CENTS","accountId":"a","id":"r"}`, true, malformed, "id"},
	} {
		_, err := parseDraw([]byte(c.body), c.bulk)
		refused(t, c.body, err, c.code, c.field)
	}
}

func TestRewardResponses(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"redemption":  {string(Redemption(reward.Redemption{Redeemed: 200, Available: 1800, Unit: "cents"})), `{"creditRedeemed":200,"creditAvailable":1800,"unit":"cents"}`},
		"no balances": {string(RewardBalances(nil)), `[]`},
		"balances": {string(RewardBalances([]reward.Balance{
			{Kind: reward.Credit, Unit: "CENTS", Currency: "EUR", Count: 4, Assigned: 10, Redeemed: 3, Pending: 2, Expired: 1, Cancelled: 5},
			{Kind: reward.PercentDiscount, Unit: "%", Count: 2, Assigned: 3000, Referred: 1000, Referrer: 1250},
			{Kind: reward.FuelTank, Unit: "CENTS", Count: 2, Codes: 1}, {Kind: reward.Integration, Unit: "C", Count: 1, Assigned: 25},
		})), `[{"type":"CREDIT","unit":"CENTS","currency":"EUR","count":4,"totalPendingCredit":2,"totalAssignedCredit":10,"totalRedeemedCredit":3,"totalExpiredCredit":1,"totalCancelledCredit":5},` +
			`{"type":"PCT_DISCOUNT","unit":"%","currency":null,"count":2,"totalDiscountPercent":22.5,"referredDiscountPercent":10,"referrerDiscountPercent":12.5},` +
			`{"type":"FUELTANK","unit":"CENTS","currency":null,"count":2,"totalFuelTankCodes":1},{"type":"INTEGRATION","unit":"C","currency":null,"count":1,"totalValueInCents":25}]`},
		"changed balance": {string(RewardBalanceChanged(reward.Change{Owner: reward.Owner{Account: "a", User: "u", Unit: "CENTS"}, Currency: "EUR", Available: 4500, Version: 7})),
			`{"userId":"u","accountId":"a","unit":"CENTS","currency":"EUR","availableValue":4500,"resourceVersion":7}`},
		"changed discount": {string(RewardBalanceChanged(reward.Change{Owner: reward.Owner{Account: "a", User: "u", Unit: "%"}, Available: 1250, Version: 7})),
			`{"userId":"u","accountId":"a","unit":"%","currency":null,"availableValue":12.5,"resourceVersion":7}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", name, c.got, c.want)
		}
	}
}

func TestParseCancellation(t *testing.T) {
	for body, want := range map[string]string{"": "", "{}": "", `{"reason":null}`: "", `{"reason":" Given twice "}`: "Given twice"} {
		if got, err := ParseCancellation([]byte(body)); got != want || err != nil {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	for body, want := range map[string]string{
		`{"reason":" "}`: "reason: is required; write in a few words why you do this",
		`{"reason":"` + strings.Repeat("x", 501) + `"}`: "reason: must not be longer than 500 bytes; shorten it",
		`[]`: "the body must be a JSON object",
	} {
		if _, err := ParseCancellation([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}
