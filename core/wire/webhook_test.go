package wire

import (
	"strings"
	"testing"

	"kith/core"
	"kith/core/referral"
	"kith/core/webhook"
)

func TestWriteWebhook(t *testing.T) {
	place := webhook.DeliveryKey{Tenant: "demo", Endpoint: "https://shop.example/", Event: "e1"}
	for name, c := range map[string]struct{ got, want string }{
		"an event": {string(Webhook(WebhookEvent{Tenant: "demo", Live: true, ID: "e1", Type: webhook.Test, Created: 5, Sequence: 7, Data: `{"a":[1.10,"\u00fc"]}`})),
			`{"id":"e1","type":"test","tenantAlias":"demo","live":true,"created":5,"subject":"test","sequence":7,"data":{"a":[1.10,"\u00fc"]}}`},
		"a test": {string(WebhookTest(webhook.Subscription{Endpoint: "https://x/?a=\"", Name: "ü"})), `{"endpointUrl":"https://x/?a=\"","name":"ü"}`},
		"a code": {string(CouponCreated(referral.UserCode{Program: "classic", Code: "ANN"}, 5)), `{"code":"ANN","dateCreated":5,"programId":"classic"}`},
		"a new subscription": {string(WebhookSubscription(webhook.Subscription{Endpoint: "https://x/", Secret: "whsec_AA==", Created: 5})),
			`{"endpointUrl":"https://x/","name":"","eventTypes":[],"secret":"whsec_AA==","dateCreated":5,"dateFailingSince":null,"dateDisabled":null}`},
		"no subscriptions": {string(WebhookSubscriptions(nil)), `[]`},
		"a subscription that is disabled": {string(WebhookSubscriptions([]webhook.Subscription{{Endpoint: "https://x/", Name: "X", Created: 5, FailingSince: 6, Disabled: 7}})),
			`[{"endpointUrl":"https://x/","name":"X","eventTypes":[],"dateCreated":5,"dateFailingSince":6,"dateDisabled":7}]`},
		"no deliveries": {string(Deliveries(nil, 4)), `{"count":0,"totalCount":4,"deliveries":[]}`},
		"a delivery that waits": {string(Deliveries([]webhook.Delivery{{
			DeliveryKey: place, Type: webhook.UserCreated, State: webhook.Waiting, Due: 9, Created: 5,
			Attempts: []webhook.Attempt{{Number: 1, Started: 6, Duration: 7, Error: "no answer"}, {Number: 2, Started: 8, Status: 500, Answer: "\"\x01"}},
		}}, 1)),
			`{"count":1,"totalCount":1,"deliveries":[{"id":"e1","type":"user.created","state":"waiting","dateCreated":5,"dateNextAttempt":9,"dateEnded":null,"attempts":[` +
				`{"number":1,"dateStarted":6,"durationMs":7,"statusCode":null,"error":"no answer","answer":""},` +
				`{"number":2,"dateStarted":8,"durationMs":0,"statusCode":500,"error":null,"answer":"\"\u0001"}]}]}`},
		"a lease is not a next attempt": {string(Deliveries([]webhook.Delivery{{DeliveryKey: place, Type: webhook.Test, State: webhook.Sending, Due: 9, Created: 5}}, 1)),
			`{"count":1,"totalCount":1,"deliveries":[{"id":"e1","type":"test","state":"sending","dateCreated":5,"dateNextAttempt":null,"dateEnded":null,"attempts":[]}]}`},
		"replayed":         {string(Replayed(3)), `{"replayed":3}`},
		"a signature head": {string(SignatureHead("k")), `{"alg":"RS256","kid":"k","typ":"JWT"}`},
		"keys": {string(KeySet([]webhook.PublicKey{{ID: "k", Modulus: "AQAB"}})),
			`{"keys":[{"kty":"RSA","use":"sig","alg":"RS256","kid":"k","n":"AQAB","e":"AQAB"}]}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", name, c.got, c.want)
		}
	}
}

// user.created has the fields of a response about the user, and the initial.
func TestUserCreated(t *testing.T) {
	for last, initial := range map[string]string{"": "", "Ahrens": "A", "Öz": "Ö", "🧑‍🚀": "🧑"} {
		u := UserInfo{User: referral.NewUser("a", "u", 5)}
		u.User.LastName = last
		want := strings.TrimSuffix(string(User(u)), "}") + `,"lastInitial":"` + initial + `"}`
		if got := string(UserCreated(u)); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestParseReplay(t *testing.T) {
	for body, want := range map[string]Replay{
		`{"id":"e1"}`: {Event: "e1"}, `{"since":0}`: {}, `{"since":7,"id":null}`: {Since: core.Time(7)},
	} {
		if got, err := ParseReplay([]byte(body)); got != want || err != nil {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{``, `{}`, `{"id":""}`, `{"id":"e1","since":1}`, `{"since":-1}`, `{"since":1.5}`, `{"id":7}`, `{"what":1}`} {
		if got, err := ParseReplay([]byte(body)); err == nil || got != (Replay{}) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func TestWebhookEvent_Subject(t *testing.T) {
	for _, c := range []struct {
		kind       webhook.Type
		data, want string
	}{
		{webhook.UserCreated, `{"id":"u 1","accountId":"a/b"}`, "user/a%2Fb/u%201"},
		{webhook.RewardBalanceChanged, `{"userId":"u","accountId":"a","unit":"CENTS"}`, "user/a/u"},
		{webhook.CouponCreated, `{"code":"ANN"}`, "coupon/ANN"},
		{webhook.RewardCreated, `{"id":"r"}`, "reward/r"},
		{webhook.RewardReversed, `{"id":"r"}`, "reward/r"},
		{webhook.ReferralStarted, `{"id":"f"}`, "referral/f"},
		{webhook.ReferralConverted, `{"id":"f"}`, "referral/f"},
		{webhook.ReferralEnded, `{"id":"f"}`, "referral/f"},
		{webhook.ReferralAutomoderated, `{"id":"f"}`, "referral/f"},
		{webhook.ExportCreated, `{"id":"j"}`, "job/j"},
		{webhook.ExportCompleted, `{"id":"j"}`, "job/j"},
		{webhook.JobCompleted, `{"id":"j"}`, "job/j"},
		{webhook.Test, `{"id":"x"}`, "test"},
	} {
		if got := (WebhookEvent{Type: c.kind, Data: c.data}).Subject(); got != c.want {
			t.Errorf("%s: %q", c.kind, got)
		}
	}
}
