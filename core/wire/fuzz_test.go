//go:build !tinygo

package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/auth"
	"kith/core/billing"
	"kith/core/link"
	"kith/core/referral"
)

// callers checks that an error is an error for the caller.
func callers(t *testing.T, input []byte, err error) {
	t.Helper()
	var e *core.Error
	if !errors.As(err, &e) || e.Code == core.CodeInternal {
		t.Errorf("%q: %#v is not an error for the caller", input, err)
	}
	if _, body := Failure(err); !json.Valid(body) {
		t.Errorf("%q: the error is not JSON: %s", input, body)
	}
}

func FuzzParseAccount(f *testing.F) {
	for _, s := range []string{
		`{"id":"a@b.c","currency":"EUR","subscription":{"status":"PAID","billingIntervalValue":3,"billingIntervalType":"MONTH","value":9.90},"referral":{"code":"ANN"}}`,
		`{"id":"a","subscription":null}`, `{"id":"a","subscription":{"value":1e9}}`, `{"id":1}`, `[]`, "", "{\"id\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		u, err := ParseAccount("shop", body)
		if err != nil {
			callers(t, body, err)
			return
		}
		if !json.Valid(body) {
			t.Errorf("%q is not JSON and was accepted", body)
		}
		a := u.Apply(referral.NewAccount(u.ID, 1))
		if answer := Account(a); !json.Valid(answer) {
			t.Errorf("%q gives the response %s", body, answer)
		} else if again, err := ParseAccount("shop", answer); err != nil || again.Apply(a) != a {
			t.Errorf("%q gives the response %s, which reads as %+v, %v", body, answer, again, err)
		}
	})
}

// A body is accepted only with the checksum of its values, and only for the user in
// it.
func FuzzVerifyChecksum(f *testing.F) {
	for _, s := range []string{
		`{"user_id":"u","account_id":"a"}`, `{"user_id":"u","account_id":"a","checksum":"x"}`, `{"user_id":1}`, `{"a":[{}]}`, `[]`, "", "{\"id\":\"\xff\"}",
		string(withChecksum(`{"user_id":"u","account_id":"a","account_status":"PAID"}`, "aPAIDu")), string(withChecksum(`{"id":"u","accountId":"a","email":"b"}`, "abu")),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		found, err := VerifyChecksum([]string{apiKey}, "a", "u", body)
		if err != nil {
			callers(t, body, err)
		}
		if !found || err != nil {
			return
		}
		account, user, err := ParseUserIDs(body)
		if err != nil || account != "a" || user != "u" || gjson.GetBytes(body, "account_status").String() == "" {
			t.Errorf("%q is accepted", body)
		}
	})
}

// Connection writes what ParseConnection reads, except for private keys, which are
// only read, and the base URL, which is only written.
func FuzzParseConnection(f *testing.F) {
	for _, s := range []string{
		`{"merchantId":"m","publicKey":"p","privateKey":"s","furtherKeys":[{"publicKey":"q","privateKey":"t"}]}`,
		`{"merchantId":"m","publicKey":"p","furtherKeys":null}`, `{"publicKey":1}`, `{"furtherKeys":[{"privateKey":""},[]]}`, `{"baseUrl":"http://x"}`, `[]`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := ParseConnection(body)
		if err != nil {
			callers(t, body, err)
			return
		}
		if !json.Valid(body) || c.BaseURL != "" || len(c.Keys) == 0 || len(c.Keys) > billing.MaxKeys {
			t.Errorf("%q is read as %+v", body, c)
		}
		answer := Connection(c)
		if !json.Valid(answer) || gjson.GetBytes(answer, "merchantId").String() != c.MerchantID || gjson.GetBytes(answer, "publicKey").String() != c.Keys[0].Public ||
			len(gjson.GetBytes(answer, "furtherPublicKeys").Array()) != len(c.Keys)-1 {
			t.Errorf("%q gives the response %s", body, answer)
		}
		for i := range c.Keys {
			c.Keys[i].Private = ""
		}
		if bare := Connection(c); !bytes.Equal(bare, answer) {
			t.Errorf("%q gives the response %s, with a private key", body, answer)
		}
	})
}

func FuzzParseProgram(f *testing.F) {
	for _, s := range []string{
		fullProgram, `{"id":"a","sharing":{"url":"https://a.example"}}`, `{"rewards":{"referrer":{"type":"CREDIT","credit":1e3}}}`,
		`{"limits":{"rewardsInPeriod":1,"period":"P1DT1H"},"fraud":{"signals":{}}}`, `[]`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := ParseProgram("", body)
		if err != nil {
			callers(t, body, err)
			return
		}
		answer := Program(p)
		again, err := ParseProgram(p.Key, answer)
		if !json.Valid(answer) || err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%q gives the response %s, which reads as %+v, %v", body, answer, again, err)
		}
	})
}

func FuzzParseReward(f *testing.F) {
	for _, s := range []string{
		`{"type":"PCT_DISCOUNT","discountPercent":12.5,"unit":"%"}`, `{"type":"CREDIT","unit":"POINT","assignedCredit":"15","dateExpires":9}`,
		`{"type":"FUELTANK","fuelTankCode":"A","amount":"25","fuelTankType":"CREDIT"}`,
		`{"type":"INTEGRATION","unit":"C","valueInCents":"25","integration\u0053ettings":{"a":{"b":[1,null]}}}`, `{"type":"CREDIT","integrationSettings":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := ParseReward("a", "u", body)
		if err != nil {
			callers(t, body, err)
			return
		}
		r, entries, err := g.Begin("r", 1)
		if err != nil || entries[0].Amount <= 0 {
			t.Errorf("%q is accepted but gives no reward: %+v, %v", body, entries, err)
		}
		if answer := Reward(r); !json.Valid(answer) {
			t.Errorf("%q gives the response %s", body, answer)
		}
	})
}

func FuzzParseRedemption(f *testing.F) {
	for _, s := range []string{`{"amount":5,"unit":"CENTS","idempotencyKey":"invoice-7"}`, `{"amount":5,"unit":"CENTS","accountId":"a","userId":"u"}`, `{"amount":1e3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, bulk := range []bool{false, true} {
			d, err := parseDraw(body, bulk)
			if err != nil {
				callers(t, body, err)
			} else if d.Amount <= 0 || d.Unit == "" || bulk == (d.Account == "") {
				t.Errorf("%q reads as %+v", body, d)
			}
		}
	})
}

func FuzzParseUser(f *testing.F) {
	for _, s := range []string{
		`{"id":"bob","accountId":"a@b.c","firstName":"B","customFields":{"a":1,"b":null},"segments":["~*","x"],"referralCodes":{"p":"BOB"}}`,
		`{"user_id":"bob","account_status":"PAID","referral_code":"ANN"}`, `{"referredBy":{"code":"ANN","isConverted":true},"referredByCodes":["A"]}`,
		`{"cookies":"` + cookieText(`{"d":{"acme_CODE":{"codes":{"p":"ANN"}}}}`) + `"}`, `{"custom\u0046ields":{"\u0061":"\ud800"}}`, `{}`, `{"shareLinks":{"a":[[[]]]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		u, err := user(string(body))
		if err != nil {
			callers(t, body, err)
			return
		}
		if !json.Valid(body) {
			t.Errorf("%q is not JSON and was accepted", body)
		}
		stored := u.Apply(referral.NewUser(u.Account, u.ID, 1))
		if stored.CustomFields, err = MergeCustomFields(stored.CustomFields, u.CustomFields); err != nil {
			t.Fatal(err)
		}
		stored.Codes = u.Codes
		if answer := User(UserInfo{User: stored, Account: referral.NewAccount(u.Account, 1), Share: link.Share{Origin: string(body), Tenant: "t"}}); !json.Valid(answer) {
			t.Errorf("%q gives the response %s", body, answer)
		}
		// The body agrees with a token that signs it.
		if same, left, err := Vouched(u, Subject{Signed: string(body)}, body, auth.PaymentSigned); err != nil || len(left) > 0 || !reflect.DeepEqual(same, u) {
			t.Errorf("%q does not agree with itself: %v, %v", body, left, err)
		}
		for i := 1; i < len(u.Claims); i++ {
			if u.Claims[i-1].Source.Rank() > u.Claims[i].Source.Rank() {
				t.Errorf("%q: claims out of order: %+v", body, u.Claims)
			}
		}
	})
}

func FuzzParseEvents(f *testing.F) {
	for _, s := range []string{
		`{"userId":"bob","accountId":"a@b.c","idempotencyKey":"12345678","events":[{"key":"purchase","fields":{"revenue":10.5,"l":[1,{"a":[]}]},"dateTriggered":7}]}`,
		`{"events":[{"key":"a","fields":null},{"\u006bey":"b","\u0066ields":{"x":"\ud800"}}]}`, `{"events":[]}`, `{"events":[{"key":"a","fields":{"f":[[]]}}]}`,
		`{"\u0065vents":[{"key":"a","fields":{}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := ParseEvents("a@b.c", "bob", body)
		if err != nil {
			callers(t, body, err)
			if len(b.Events) != 0 {
				t.Errorf("%q: an error and events", body)
			}
			return
		}
		b.Stamp(9, [6]byte{})
		if answer, intake := Events(b), IntakeEvents(b); !json.Valid(answer) || !json.Valid(intake) {
			t.Errorf("%q: %s, %s", body, answer, intake)
		}
		// The kept fields are those that encoding/json reads.
		var read struct {
			Events []struct {
				Fields map[string]any `json:"fields"`
			} `json:"events"`
		}
		if err := json.Unmarshal(body, &read); err != nil {
			return // a number out of the range of float64
		}
		for i := range b.Events {
			var kept map[string]any
			if b.Events[i].Fields != "" {
				if err := json.Unmarshal([]byte(b.Events[i].Fields), &kept); err != nil {
					t.Fatalf("%q: %v", body, err)
				}
			}
			if len(kept)+len(read.Events[i].Fields) > 0 && !reflect.DeepEqual(kept, read.Events[i].Fields) {
				t.Errorf("%q: kept %v of %v", body, kept, read.Events[i].Fields)
			}
		}
	})
}

func FuzzVerifyToken(f *testing.F) {
	f.Add(signed(bob), hs256, bob)
	f.Add("..", `{"alg":"none"}`, `{"sub":"a:b@acme:users","exp":1700000001}`)
	f.Add("", ` {"alg":"HS256"} `, `{"exp":-1e16,"user":{"id":1,"accountId":[]}}`)
	f.Add("a.b.c", hs256, `{"user":{"id":"bob","accountId":"a"},"exp":1e999,"nbf":null}`)
	f.Fuzz(func(t *testing.T, text, header, claims string) {
		for _, candidate := range []string{text, token(sha256.New, apiKey, header, claims)} {
			s, err := VerifyToken("acme", []string{apiKey}, candidate, now, true)
			if err != nil {
				callers(t, []byte(candidate), err)
				if s != (Subject{}) {
					t.Errorf("%q: %+v with %v", candidate, s, err)
				}
				continue
			}
			if _, err := core.ParseAccountID("", string(s.Account)); err != nil {
				t.Errorf("%q: account %q", claims, s.Account)
			}
			if again, err := VerifyToken("acme", []string{apiKey}, SignToken(apiKey, s, now+1000), now, false); err != nil || again.Account != s.Account || again.User != s.User {
				t.Errorf("%q: %+v signed again is %+v, %v", claims, s, again, err)
			}
			if _, err := VerifyToken("acme", []string{"TEST_other"}, candidate, now, true); err == nil {
				t.Errorf("%q verifies with another key", candidate)
			}
		}
	})
}

func FuzzCookieClaims(f *testing.F) {
	for _, s := range []string{
		`{"d":{"acme_CODE":{"codes":{"p":"ANN"}}}}`, `{"d":{"acme_CODE":{"codes":[1,null,"A"]}}}`, `{}`, `[]`, `{"d":1}`, `{"acme_CODE":{"codes":{"p":"A"}}}`,
	} {
		f.Add(cookieText(s), s)
	}
	f.Fuzz(func(t *testing.T, text, document string) {
		for _, c := range append(CookieClaims("acme", referral.SourceBody, text), CookieClaims("acme", referral.SourceBody, cookieText(document))...) {
			_, err := core.ParseReferralCode("", string(c.Code))
			if c.Source != referral.SourceBody || (c.Fault == "") != (err == nil) || c.Fault != "" && c.Code != "" {
				t.Errorf("%q, %q: %+v", text, document, c)
			}
		}
	})
}

func FuzzMergeCustomFields(f *testing.F) {
	f.Add("a", "1", "b", "null", "a", `"x"`)
	f.Add("", "\"\\", "\xff", "\x00", "a", "1e9")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2, n3, v3 string) {
		stored := "{}"
		for _, change := range [][]referral.CustomField{{{Name: n1, Value: v1}, {Name: n2, Value: v2}}, {{Name: n3, Value: v3}}} {
			for i := range change {
				if !json.Valid([]byte(change[i].Value)) {
					quoted, err := json.Marshal(change[i].Value)
					if err != nil {
						t.Fatal(err)
					}
					change[i].Value = string(quoted)
				}
			}
			merged, err := MergeCustomFields(stored, change)
			if err != nil {
				t.Fatal(err)
			}
			stored = merged
			if !json.Valid([]byte(stored)) {
				t.Fatalf("%+v gives %s", change, stored)
			}
		}
		if again, err := MergeCustomFields(stored, []referral.CustomField{{Name: "other", Value: "null"}}); err != nil || !json.Valid([]byte(again)) {
			t.Fatalf("%s became %s", stored, again)
		}
	})
}

func FuzzWidgetScript(f *testing.F) {
	f.Add("</script>", "{}")
	f.Add(awkwardText, `{"a":"</script>"}`)
	f.Add("\xff\u2028", `[1]`)
	f.Fuzz(func(t *testing.T, text, values string) {
		if !json.Valid([]byte(values)) || strings.Contains(text+values, ";window.kith=") {
			return
		}
		x := awkwardWidget()
		x.User.FirstName, x.Base, x.Values = text, text, values
		_, data := scriptData(t, WidgetScript(x))
		if got := data.Get("user.firstName").String(); utf8.ValidString(text) && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func FuzzParseGraphQL(f *testing.F) {
	for _, s := range []string{
		`{"query":"{a}","operationName":"b","variables":{"c":[1.50,{"d":null}]},"extensions":{}}`, `{"query":"","variables":null}`, `[{"query":"{a}"}]`,
		`{"query":"mutation($a:UserEventInput!){logUserEvent(userEventInput:$a){events{id}}}","variables":{"a":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
		`{"\u0071uery":"{a}","variables":{"a":1,"\u0061":2}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := ParseGraphQL(body)
		_, plain := ParseGraphQLEvents(body)
		if err != nil {
			callers(t, body, err)
			if plain {
				t.Errorf("%q is plain but not a valid call", body)
			}
			return
		}
		var read struct {
			Query         string
			OperationName *string
			Variables     any
		}
		if err := json.Unmarshal(body, &read); err != nil {
			return // a number out of the range of float64
		}
		name := ""
		if read.OperationName != nil {
			name = *read.OperationName
		}
		var variables any
		if q.Variables != "" {
			if err := json.Unmarshal([]byte(q.Variables), &variables); err != nil {
				t.Fatalf("%q: %v", body, err)
			}
		}
		if q.Query != read.Query || q.Operation != name || !reflect.DeepEqual(variables, read.Variables) {
			t.Errorf("%q: %+v, want %+v", body, q, read)
		}
	})
}

func FuzzParseModerations(f *testing.F) {
	for _, s := range []string{
		`{"actions":[{"referralId":"a","action":"APPROVED"},{"action":"REFERRED_DENIED","referralId":"b"}]}`, `{"actions":[]}`,
		`{"actions":[{"referralId":"\u0000","action":"DENIED"}]}`, `[]`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		actions, err := ParseModerations(body)
		if err != nil {
			callers(t, body, err)
			return
		}
		if len(actions) == 0 || len(actions) > referral.MaxModerations {
			t.Errorf("%q has %d actions", body, len(actions))
		}
		for _, a := range actions {
			if _, err := referral.ParseAction("a", string(a.Action)); a.Referral == "" || err != nil {
				t.Errorf("%q is read as %+v", body, actions)
			}
		}
	})
}
