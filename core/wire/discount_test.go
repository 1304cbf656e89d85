package wire

import (
	"testing"

	"kith/core"
	"kith/core/reward"
)

func TestParseDiscountRegistration(t *testing.T) {
	want := DiscountRegistration{Account: "a", Provider: "bt-1", Code: "ANN"}
	if d, err := ParseDiscountRegistration("shop", []byte(`{"accountId":"a","paymentProviderId":"bt-1","couponCode":"ANN"}`)); err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	for _, c := range []struct {
		body  string
		code  core.Code
		field string
	}{
		{`{"paymentProviderId":"bt-1","couponCode":"ANN"}`, core.CodeInvalid, "accountId"},
		{`{"accountId":"a","couponCode":"ANN"}`, core.CodeInvalid, "paymentProviderId"},
		{`{"accountId":"a","paymentProviderId":null,"couponCode":"ANN"}`, core.CodeInvalid, "paymentProviderId"},
		{`{"accountId":"a","paymentProviderId":"bt-1"}`, core.CodeInvalid, "couponCode"},
		{`{"accountId":"a","paymentProviderId":"bt-1","couponCode":" "}`, core.CodeInvalid, "couponCode"},
		{`{"accountId":"a","paymentProviderId":"bt-1","couponCode":"ANN","code":"x"}`, core.CodeMalformed, "code"},
		{`{"accountId":5}`, core.CodeMalformed, "accountId"},
	} {
		_, err := ParseDiscountRegistration("shop", []byte(c.body))
		refused(t, c.body, err, c.code, c.field)
	}
}

func TestDiscountResponses(t *testing.T) {
	info := CodeInfo{Code: "ANN", FirstName: "Ann", LastName: "Émile", Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1250}, DiscountID: "d", Created: 5}
	credit := info
	credit.Offer = reward.Offer{Kind: reward.Credit, Amount: 5}
	for name, c := range map[string]struct{ got, want string }{
		"discount": {string(AccountDiscount(reward.Discount{Account: "a", Referred: 1000, Referrer: 250, DiscountID: "d"})),
			`{"accountId":"a","discountPercentage":12.5,"referredDiscountPercent":10,"referrerDiscountPercent":2.5,"discountId":"d"}`},
		"discount with a code": {string(AccountDiscount(reward.Discount{Account: "a", DiscountID: "d", FirstName: "Ann", LastName: "Émile"})),
			`{"accountId":"a","discountPercentage":0,"referredDiscountPercent":0,"referrerDiscountPercent":0,"discountId":"d","referrerName":"Ann É"}`},
		"code": {string(DiscountCode(info)), `{"couponCode":"ANN","referrerName":"Ann É","discountPercentage":12.5,"dateCreated":5,"discountId":"d"}`},
		"code without a discount": {string(DiscountCode(credit)),
			`{"couponCode":"ANN","referrerName":"Ann É","discountPercentage":0,"dateCreated":5,"discountId":"d"}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", name, c.got, c.want)
		}
	}
}
