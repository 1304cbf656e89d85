package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"hash"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kith/core"
	"kith/core/auth"
	"kith/core/referral"
)

const (
	now    core.Time = 1_700_000_000_000
	apiKey           = "TEST_key"
	hs256            = `{"alg":"HS256","typ":"JWT"}`
	bob              = `{"exp":1800000000,"user":{"id":"bob","accountId":"a@b.c"}}`
)

func encoded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// token signs any header and claims with HMAC.
func token(h func() hash.Hash, key, header, claims string) string {
	signed := encoded(header) + "." + encoded(claims)
	mac := hmac.New(h, []byte(key))
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signed returns a token with these claims, and with an exp far in the future if they
// have none.
func signed(claims string) string {
	if rest, ok := strings.CutPrefix(claims, "{"); ok && !strings.Contains(claims, `"exp"`) {
		claims = strings.TrimSuffix(`{"exp":1800000000,`+rest, ",}")
		if rest == "}" {
			claims += "}"
		}
	}
	return token(sha256.New, apiKey, hs256, claims)
}

func TestVerifyToken(t *testing.T) {
	for name, c := range map[string]struct {
		claims string
		want   Subject
	}{
		"user":                      {bob, Subject{Account: "a@b.c", User: "bob", Signed: `{"id":"bob","accountId":"a@b.c"}`}},
		"whole user":                {`{"user":{"id":"bob","accountId":"a","email":"x"}}`, Subject{Account: "a", User: "bob", Signed: `{"id":"bob","accountId":"a","email":"x"}`}},
		"sub":                       {`{"sub":"a@b.c:bob@b.c@acme:users"}`, Subject{Account: "a@b.c", User: "bob@b.c"}},
		"user before sub":           {`{"sub":"x:y@acme:users","user":{"id":"bob","accountId":"a"}}`, Subject{Account: "a", User: "bob", Signed: `{"id":"bob","accountId":"a"}`}},
		"expires in 1 s":            {`{"exp":1700000001,"sub":"a:b@acme:users"}`, Subject{Account: "a", User: "b"}},
		"expires in 1 ms":           {`{"exp":1700000000.001,"sub":"a:b@acme:users"}`, Subject{Account: "a", User: "b"}},
		"expires far in the future": {`{"exp":1e11,"sub":"a:b@acme:users"}`, Subject{Account: "a", User: "b"}},
		"valid since now":           {`{"nbf":1700000000,"sub":"a:b@acme:users"}`, Subject{Account: "a", User: "b"}},
		"a minute of skew":          {`{"nbf":1700000060,"sub":"a:b@acme:users"}`, Subject{Account: "a", User: "b"}},
		"other claims":              {`{"iss":"x","iat":1,"sub":"a:b@acme:users"}`, Subject{Account: "a", User: "b"}},
		"escapes in the ids":        {`{"user":{"id":"\u0062ob","accountId":"a"}}`, Subject{Account: "a", User: "bob", Signed: `{"id":"\u0062ob","accountId":"a"}`}},
	} {
		if got, err := VerifyToken("acme", []string{apiKey}, signed(c.claims), now, false); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	for _, header := range []string{`{"alg":"HS256"}`, `{"typ":"JWT","alg":"HS256","kid":"SID"}`, ` { "alg" : "HS256" } `} {
		if _, err := VerifyToken("acme", []string{apiKey}, token(sha256.New, apiKey, header, bob), now, false); err != nil {
			t.Errorf("header %s: %v", header, err)
		}
	}
}

func TestVerifyToken_Refused(t *testing.T) {
	good := signed(bob)
	head, rest, _ := strings.Cut(good, ".")
	body, mac, _ := strings.Cut(rest, ".")
	if _, err := VerifyToken("acme", []string{apiKey}, good, now, false); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing":                    "",
		"dots":                       "..",
		"one part":                   head,
		"two parts":                  head + "." + body,
		"four parts":                 good + "." + mac,
		"five parts":                 head + "." + body + "..." + mac,
		"no signature":               head + "." + body + ".",
		"alg none, no signature":     encoded(`{"alg":"none"}`) + "." + body + ".",
		"alg none, signed":           token(sha256.New, apiKey, `{"alg":"none"}`, bob),
		"alg NONE":                   token(sha256.New, apiKey, `{"alg":"NONE"}`, bob),
		"alg HS512":                  token(sha512.New, apiKey, `{"alg":"HS512"}`, bob),
		"alg HS512 by HS256":         token(sha256.New, apiKey, `{"alg":"HS512"}`, bob),
		"alg HS256 by HS512":         token(sha512.New, apiKey, hs256, bob),
		"alg RS256":                  token(sha256.New, apiKey, `{"alg":"RS256"}`, bob),
		"alg hs256":                  token(sha256.New, apiKey, `{"alg":"hs256"}`, bob),
		"alg missing":                token(sha256.New, apiKey, `{"typ":"JWT"}`, bob),
		"alg in an array":            token(sha256.New, apiKey, `{"alg":["HS256"]}`, bob),
		"header is a list":           token(sha256.New, apiKey, `[{"alg":"HS256"}]`, bob),
		"header is not JSON":         token(sha256.New, apiKey, `alg`, bob),
		"another key":                token(sha256.New, "TEST_other", hs256, bob),
		"empty key":                  token(sha256.New, "", hs256, bob),
		"padding":                    good + "=",
		"padding in the payload":     head + "." + body + "=." + mac,
		"trailing line feed":         good + "\n",
		"blank in front":             " " + good,
		"standard base64":            signed(`{"sub":"a:b@acme:users","x":"`+"\u00ff\u00fe>>>???"+`"}`) + "+/",
		"payload is not JSON":        signed(`user`),
		"payload is cut":             signed(bob[:10]),
		"payload is too deep":        signed(`{"user":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "}"),
		"payload is a list":          signed(`[` + bob + `]`),
		"a claim twice":              signed(`{"user":{"id":"bob","accountId":"a"},"exp":9999999999,"exp":1}`),
		"an id twice":                signed(`{"user":{"id":"bob","accountId":"a","\u0069d":"eve"},"exp":9999999999}`),
		"no claims":                  signed(`{}`),
		"anonymous":                  signed(`{"allowAnonymous":true}`),
		"user is a text":             signed(`{"user":"bob"}`),
		"user without id":            signed(`{"user":{"accountId":"a"}}`),
		"user without account":       signed(`{"user":{"id":"bob"}}`),
		"user with null ids":         signed(`{"user":{"id":null,"accountId":null}}`),
		"user with the text null":    signed(`{"user":{"id":"null","accountId":"a"}}`),
		"sub of another tenant":      signed(`{"sub":"a:b@test_acme:users"}`),
		"sub with a tenant's suffix": signed(`{"sub":"a:b@xacme:users"}`),
		"sub without a user":         signed(`{"sub":"a@acme:users"}`),
		"sub with an empty user":     signed(`{"sub":"a:@acme:users"}`),
		"sub with no account":        signed(`{"sub":":b@acme:users"}`),
		"sub is a number":            signed(`{"sub":1}`),
		"two colons in sub":          signed(`{"sub":"a:b:c@acme:users"}`),
		"crit":                       token(sha256.New, apiKey, `{"alg":"HS256","crit":["exp"]}`, bob),
		"exp in milliseconds":        signed(`{"exp":1800000000000,"sub":"a:b@acme:users"}`),
		"exp never":                  signed(`{"exp":1e999,"sub":"a:b@acme:users"}`),
		"no exp":                     token(sha256.New, apiKey, hs256, `{"iat":1700000000,"sub":"a:b@acme:users"}`),
		"exp is null":                signed(`{"exp":null,"iat":1700000000,"sub":"a:b@acme:users"}`),
		"expired now":                signed(`{"exp":1700000000,"sub":"a:b@acme:users"}`),
		"expired 1 s ago":            signed(`{"exp":1699999999,"sub":"a:b@acme:users"}`),
		"expired 1 ms ago":           signed(`{"exp":1699999999.999,"sub":"a:b@acme:users"}`),
		"exp of 0":                   signed(`{"exp":0,"sub":"a:b@acme:users"}`),
		"exp below 0":                signed(`{"exp":-1,"sub":"a:b@acme:users"}`),
		"exp far below zero":         signed(`{"exp":-10000000000000000,"sub":"a:b@acme:users"}`),
		"exp below a float64":        signed(`{"exp":-1e999,"sub":"a:b@acme:users"}`),
		"exp is a text":              signed(`{"exp":"1800000000","sub":"a:b@acme:users"}`),
		"exp is true":                signed(`{"exp":true,"sub":"a:b@acme:users"}`),
		"exp is an object":           signed(`{"exp":{},"sub":"a:b@acme:users"}`),
		"nbf in 61 s":                signed(`{"nbf":1700000061,"sub":"a:b@acme:users"}`),
		"nbf far ahead":              signed(`{"nbf":10000000000000000,"sub":"a:b@acme:users"}`),
		"nbf larger than a float64":  signed(`{"nbf":1e999,"sub":"a:b@acme:users"}`),
		"nbf is a text":              signed(`{"nbf":"0","sub":"a:b@acme:users"}`),
		"too long":                   signed(`{"user":{"id":"bob","accountId":"a","x":"` + strings.Repeat("x", maxToken) + `"}}`),
	} {
		got, err := VerifyToken("acme", []string{apiKey}, text, now, false)
		var e *core.Error
		if !errors.As(err, &e) || e.Code != core.CodeUnauthenticated || e.RS != "RS032" || got != (Subject{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for i := range good {
		for bit := range 8 {
			bad := []byte(good)
			bad[i] ^= 1 << bit
			if got, err := VerifyToken("acme", []string{apiKey}, string(bad), now, false); err == nil {
				t.Fatalf("bit %d of byte %d flipped: %+v", bit, i, got)
			}
		}
	}
	// A tenant without a key accepts no tokens.
	if _, err := VerifyToken("acme", []string{""}, token(sha256.New, "", hs256, bob), now, false); err == nil {
		t.Error("the empty key verifies")
	}
}

func TestSignToken(t *testing.T) {
	for _, s := range []Subject{
		{Account: "a@b.c", User: "bob", Signed: `{"id":"bob","accountId":"a@b.c"}`},
		{Account: "a", User: `q"\`, Signed: `{"id":"q\"\\","accountId":"a","email":"x"}`},
	} {
		got, err := VerifyToken("acme", []string{apiKey}, SignToken(apiKey, s, now+core.Second), now, false)
		if err != nil || got != s {
			t.Errorf("%+v was verified as %+v, %v", s, got, err)
		}
		if _, err := VerifyToken("acme", []string{apiKey}, SignToken(apiKey, s, now), now, false); err == nil {
			t.Errorf("%+v does not expire", s)
		}
	}
	got, err := VerifyToken("acme", []string{apiKey}, SignToken(apiKey, Subject{Account: "a", User: `q"`}, now+1000), now, false)
	if err != nil || got.Account != "a" || got.User != `q"` {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestVouched(t *testing.T) {
	whole := `{"id":"bob","accountId":"a","firstName":"Böb","accountStatus":"TRIAL","n":1.5,"b":true,"z":null,
		"customFields":{"a":"x","b":[1,"y"]},"segments":["a","b"],"referralCode":"BOB"}`
	for _, c := range []struct{ name, body, field string }{
		{"the same", whole, ""},
		{"empty", `{}`, ""},
		{"only the ids", `{"id":"bob","accountId":"a"}`, ""},
		{"other blanks and escapes", ` { "firstName" : "B\u00f6b" , "customFields":{"a":"\u0078","b":[ 1 , "y" ]} } `, ""},
		{"escaped keys", `{"\u0066irstName":"Böb","customFields":{"\u0061":"x","b":[1,"y"]}}`, ""},
		{"not signed", `{"email":"x"}`, ""},
		{"cookies", `{"cookies":"eyJ9"}`, ""},
		{"null", `{"firstName":null,"accountStatus":null,"email":null,"referralCodes":null}`, ""},
		{"the other spelling, the same", `{"first_name":"Böb","account_status":"TRIAL","user_id":"bob","user_referral_code":"BOB"}`, ""},
		{"another user", `{"id":"eve"}`, "id"},
		{"another text", `{"firstName":"Bob"}`, "firstName"},
		{"an empty text", `{"firstName":""}`, "firstName"},
		{"another type", `{"firstName":["Böb"]}`, "firstName"},
		{"escaped key, another text", `{"\u0066irstName":"Bob"}`, "firstName"},
		{"the other spelling, another text", `{"first_name":"Bob"}`, "first_name"},
		{"the other spelling of the status", `{"account_status":"PAID"}`, "account_status"},
		{"another number", `{"n":1.6}`, "n"},
		{"a number as text", `{"n":"1.5"}`, "n"},
		{"another boolean", `{"b":false}`, "b"},
		{"signed as null", `{"z":1}`, "z"},
		{"nested, another text", `{"customFields":{"a":"X","b":[1,"y"]}}`, "customFields"},
		{"nested, a missing member", `{"customFields":{"a":"x"}}`, "customFields"},
		{"nested, an additional member", `{"customFields":{"a":"x","b":[1,"y"],"c":1}}`, "customFields"},
		{"a set in another order", `{"segments":["b","a"]}`, ""},
		{"a number in another notation", `{"n":15e-1}`, ""},
		{"nested, another order", `{"customFields":{"b":[1.0,"y"],"a":"x"}}`, ""},
		{"nested, an additional null", `{"customFields":{"a":"x","b":[1,"y"],"c":null}}`, ""},
		{"nested list, another order", `{"customFields":{"a":"x","b":["y",1]}}`, "customFields"},
		{"a set with one more", `{"segments":["b","a","c"]}`, "segments"},
		{"list, two joined", `{"segments":["a\",\"b"]}`, "segments"},
		{"list, made to look like two", `{"segments":["a,:\"b"]}`, "segments"},
		{"list, made to look like two with keys", `{"segments":["a,1:\"b"]}`, "segments"},
		{"own codes that are not signed", `{"referralCodes":{"p":"X"}}`, "referralCodes"},
		{"not converted, not signed", `{"referredBy":{"code":"X","isConverted":false}}`, ""},
	} {
		err := vouchedError(Subject{Account: "a", User: "bob", Signed: whole}, []byte(c.body), auth.PaymentAny)
		if c.field == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.field != "" {
			refused(t, c.name, err, core.CodeForbidden, c.field)
		}
	}
	sub := Subject{Account: "a", User: "bob"}
	if err := vouchedError(sub, []byte(`{"firstName":"x"}`), auth.PaymentSigned); err != nil {
		t.Errorf("a token that names its user by sub: %v", err)
	}
	for _, key := range []string{"referralCode", "user_referral_code", "referralCodes"} {
		refused(t, key, vouchedError(sub, []byte(`{"`+key+`":"X"}`), auth.PaymentAny), core.CodeForbidden, key)
	}
}

// The Java SDK decodes the claim and encodes it again, with numbers as doubles and
// without nulls (clients 7.2.2). The signed fields are stored, including their
// nulls, and a null that only the body has removes nothing.
func TestVouched_JavaSDK(t *testing.T) {
	s := Subject{Account: "a", User: "bob", Signed: `{"id":"bob","accountId":"a","dateUsTaxFormSubmitted":1700000000123,` +
		`"customFields":{"points":5,"since":1700000000123,"ratio":0.25,"nick":null},"segments":["~*","vip","eu"],"referredByCodes":["X","Y"]}`}
	for _, body := range []string{
		`{"id":"bob","accountId":"a","dateUsTaxFormSubmitted":1.700000000123E12,"customFields":{"points":5.0,"since":1.700000000123E12,"ratio":0.25},` +
			`"segments":["~*","vip","eu"],"referredByCodes":["X","Y"]}`,
		`{"referredByCodes":["Y","X"],"segments":["vip","eu","~*"],"customFields":{"ratio":25e-2,"other":null,"since":1700000000123.0,"nick":null,"points":5},` +
			`"dateUsTaxFormSubmitted":1700000000123,"accountId":"a","id":"bob"}`,
	} {
		u, err := ParseUser("acme", "a", "bob", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, left, err := Vouched(u, s, []byte(body), auth.PaymentSigned)
		want := []referral.CustomField{{Name: "points", Value: "5"}, {Name: "since", Value: "1700000000123"}, {Name: "ratio", Value: "0.25"}, {Name: "nick", Value: "null"}}
		if err != nil || len(left) > 0 || !slices.Equal(got.CustomFields, want) || !slices.Equal(got.Segments, []string{"~*", "vip", "eu"}) || *got.USTaxForm != 1700000000123 {
			t.Errorf("%s: %+v, %v, %v", body, got, left, err)
		}
	}
	for _, fields := range []string{`{"points":5.5,"since":1700000000123,"ratio":0.25}`, `{"points":5,"since":1700000000123}`, `{"points":"5","since":1700000000123,"ratio":0.25}`} {
		refused(t, fields, vouchedError(s, []byte(`{"customFields":`+fields+`}`), auth.PaymentAny), core.CodeForbidden, "customFields")
	}
}

// An unsigned status PAID counts by the tenant's setting, and never with a token that
// has more than the ids.
func TestVouched_Payment(t *testing.T) {
	const ids, more = `"id":"bob","accountId":"a"`, `,"email":"b@x.y"`
	paid := map[string]string{
		"accountStatus": `{"accountStatus":"PAID"}`, "account_status": `{"account_status":"PAID"}`,
		"referredBy": `{"referredBy":{"isConverted":true}}`,
	}
	for _, c := range []struct {
		name, signed string
		rule         auth.BrowserPayment
		taken        bool
	}{
		{"nothing signed, any", "", auth.PaymentAny, true},
		{"nothing signed, signed", "", auth.PaymentSigned, false},
		{"the ids, any", "{" + ids + "}", auth.PaymentAny, true},
		{"the ids in the other spelling, any", `{"user_id":"bob","account_id":"a"}`, auth.PaymentAny, true},
		{"the ids, signed", "{" + ids + "}", auth.PaymentSigned, false},
		{"more than the ids, any", "{" + ids + more + "}", auth.PaymentAny, false},
		{"more before the ids, any", `{"email":"b@x.y",` + ids + "}", auth.PaymentAny, false},
		{"more than the ids, signed", "{" + ids + more + "}", auth.PaymentSigned, false},
		{"the payment, signed", "{" + ids + `,"accountStatus":"PAID","referredBy":{"isConverted":true}}`, auth.PaymentSigned, true},
	} {
		for key, body := range paid {
			u, err := ParseUser("acme", "a", "bob", []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			u, left, err := Vouched(u, Subject{Signed: c.signed}, []byte(body), c.rule)
			if err != nil || (u.Status != nil) != c.taken || (u.Reported != nil) == c.taken || slices.Equal(left, []string{key}) == c.taken {
				t.Errorf("%s: %s: %+v, %v, %v", c.name, key, u, left, err)
			}
		}
	}
}

// Keys that affect rewards are removed if they are not signed.
func TestVouched_Grants(t *testing.T) {
	for key, value := range map[string]string{
		"payment_provider_id": `"cus_1"`, "paymentProviderId": `"cus_1"`, "segments": `["vip"]`, "referable": `true`,
		"customFields": `{"plan":"pro"}`, "dateUsTaxFormSubmitted": `1`, "account_status": `"CANCELLED"`,
	} {
		body := []byte(`{"first_name":"Bob","` + key + `":` + value + `}`)
		u, err := ParseUser("acme", "a", "bob", body)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range []auth.BrowserPayment{auth.PaymentSigned, auth.PaymentAny} {
			got, left, err := Vouched(u, Subject{}, body, rule)
			want := referral.UserUpdate{Account: "a", ID: "bob", FirstName: u.FirstName, Reported: u.Status}
			if rule == auth.PaymentAny && u.Status != nil {
				continue
			}
			if err != nil || !reflect.DeepEqual(got, want) || !slices.Equal(left, []string{key}) {
				t.Errorf("%s: %+v, %v, %v", key, got, left, err)
			}
		}
		if got, left, err := Vouched(u, Subject{Signed: string(body)}, body, auth.PaymentSigned); err != nil || len(left) > 0 || !reflect.DeepEqual(got, u) {
			t.Errorf("%s, signed: %+v, %v, %v", key, got, left, err)
		}
	}
}

// vouchedError returns the error of Vouched for an empty update.
func vouchedError(s Subject, body []byte, payment auth.BrowserPayment) error {
	_, _, err := Vouched(referral.UserUpdate{}, s, body, payment)
	return err
}

// If a tenant accepts tokens without exp, they are valid for a day after their iat.
func TestVerifyToken_Undated(t *testing.T) {
	for claims, good := range map[string]bool{
		`"iat":1700000000`:           true,
		`"iat":1700000060`:           true, // a minute of skew
		`"iat":1700000061`:           false,
		`"iat":1699913601`:           true,
		`"iat":1699913600`:           false, // a day ago
		`"iat":"1700000000"`:         false,
		`"iat":null`:                 true, // neither iat nor exp: for ever
		`"x":1`:                      true,
		`"nbf":1700000061`:           false,
		`"iat":1,"exp":1700000001`:   true,
		`"iat":1700000000,"exp":1`:   false,
		`"iat":1e999`:                false,
		`"iat":1700000000,"nbf":1e9`: true,
	} {
		text := token(sha256.New, apiKey, hs256, `{`+claims+`,"sub":"a:b@acme:users"}`)
		if _, err := VerifyToken("acme", []string{apiKey}, text, now, true); (err == nil) != good {
			t.Errorf("%s: %v", claims, err)
		}
		_, err := VerifyToken("acme", []string{apiKey}, text, now, false)
		if dated := strings.Contains(claims, "exp"); err != nil && IsUndated(err) == dated {
			t.Errorf("%s: %v", claims, err)
		}
	}
}

func TestAllowsAnonymous(t *testing.T) {
	for claims, want := range map[string]bool{
		`{"allowAnonymous":true}`:   true,
		`{"allowAnonymous":"true"}`: false,
		`{"allowAnonymous":false}`:  false,
		bob:                         false,
		`{}`:                        false,
	} {
		if got, err := AllowsAnonymous([]string{apiKey}, signed(claims), now, false); err != nil || got != want {
			t.Errorf("%s: %v, %v", claims, got, err)
		}
	}
	for name, text := range map[string]string{
		"expired":     signed(`{"allowAnonymous":true,"exp":1}`),
		"another key": strings.Replace(signed(`{"allowAnonymous":true}`), ".", "A.", 1),
		"empty":       "",
	} {
		if got, err := AllowsAnonymous([]string{apiKey}, text, now, false); err == nil || got {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := VerifyToken("acme", []string{apiKey}, signed(`{"allowAnonymous":true}`), now, false); err == nil {
		t.Error("a token for anonymous users has a user")
	}
}
