package wire

import (
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kith/core"
	"kith/core/event"
	"kith/core/link"
	"kith/core/referral"
)

func TestParseAccount(t *testing.T) {
	u, err := ParseAccount("shop", []byte(` {"id":"a@b.c","currency":"EUR","subscription":{"status":"PAID","billingIntervalValue":3,
		"billingIntervalType":"MONTH","value":9.90},"referral":{"code":"ANN"}} `))
	if err != nil {
		t.Fatal(err)
	}
	if u.ID != "a@b.c" || *u.Currency != "EUR" || *u.Status != referral.Paid || *u.IntervalValue != 3 ||
		*u.Interval != "MONTH" || *u.Value != "9.90" || *u.Code != "ANN" {
		t.Errorf("%+v", u)
	}
}

// Null and absent keys do not change the account.
func TestParseAccount_NothingGiven(t *testing.T) {
	for _, body := range []string{
		`{"id":"a"}`, `{"id":"a","currency":null,"subscription":null,"referral":null}`, `{"id":"a","subscription":{},"referral":{}}`,
		`{"id":"a","subscription":{"status":null,"billingIntervalValue":null,"billingIntervalType":null,"value":null},"referral":{"code":null}}`,
	} {
		u, err := ParseAccount("shop", []byte(body))
		if err != nil || u != (referral.AccountUpdate{ID: "a"}) {
			t.Errorf("%s: %+v, %v", body, u, err)
		}
	}
}

// The response to an account sync is a valid request that changes nothing.
func TestAccount_RoundTrip(t *testing.T) {
	for _, a := range []referral.Account{
		referral.NewAccount("a", 1),
		{ID: "a", Currency: "EUR", Status: referral.Paid, Interval: "YEAR", IntervalValue: 2, Value: "9.90", Standing: referral.Standing{Referral: referral.InProgress, Code: "ANN"}},
	} {
		u, err := ParseAccount("shop", Account(a))
		if err != nil {
			t.Errorf("%s: %v", Account(a), err)
			continue
		}
		if got := u.Apply(a); got != a {
			t.Errorf("%+v became %+v", a, got)
		}
	}
}

func TestParseUser_REST(t *testing.T) {
	u, err := user(`{"id":"bob","accountId":"a@b.c","firstName":"Bob","lastName":"T","email":"bob@b.c","imageUrl":"https://i.example/i","locale":"en_US",
		"countryCode":"DE","referable":false,"paymentProviderId":"cus_1","accountStatus":"PAID","segments":["vip","~old"],
		"referralCodes":{"p-1":"BOB1"},"referralCode":"BOB","customFields":{"a":1.50,"b":null,"c":"\u00e4","d":true},
		"shareLinks":{"classic":"https://go.example/s/acme/Ann"},"dateCreated":1,"dateUsTaxFormSubmitted":null}`)
	if err != nil {
		t.Fatal(err)
	}
	if *u.FirstName != "Bob" || *u.LastName != "T" || *u.Email != "bob@b.c" || *u.ImageURL != "https://i.example/i" || *u.Locale != "en_US" ||
		*u.CountryCode != "DE" || *u.Referable || *u.PaymentProviderID != "cus_1" || *u.Status != referral.Paid ||
		strings.Join(u.Segments, ",") != "vip,~old" || u.Account != "a@b.c" || u.ID != "bob" || len(u.Claims) != 0 {
		t.Errorf("%+v", u)
	}
	if len(u.Codes) != 2 || u.Codes[0] != (referral.UserCode{Program: "p-1", Code: "BOB1"}) || u.Codes[1] != (referral.UserCode{Program: "classic", Code: "BOB"}) {
		t.Errorf("codes %+v", u.Codes)
	}
	want := []referral.CustomField{{Name: "a", Value: "1.50"}, {Name: "b", Value: "null"}, {Name: "c", Value: `"\u00e4"`}, {Name: "d", Value: "true"}}
	if len(u.CustomFields) != len(want) {
		t.Fatalf("custom fields %+v", u.CustomFields)
	}
	for i := range want {
		if u.CustomFields[i] != want[i] {
			t.Errorf("custom field %+v, want %+v", u.CustomFields[i], want[i])
		}
	}
}

// The keys of the init call (spec 2.7).
// What people type has blanks and cases of its own; it is stored in one form.
func TestParseUser_AsTyped(t *testing.T) {
	u, err := ParseUser("shop", "a", "u", []byte(`{"firstName":" Anna\u00a0","lastName":"\tvan  Dyk ","email":" T@Example.com\n","countryCode":" us ",
		"locale":" de-at ","referralCode":" ANNA10 ","referralCodes":{"p":"\u200bP10"},"referral_code":" anna 10",
		"referredByCodes":["https://go.example/s/shop/BOB?x=1","not a code!"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join([]string{*u.FirstName, *u.LastName, *u.Email, *u.CountryCode, *u.Locale}, "|"); got != "Anna|van  Dyk|T@Example.com|us|de_AT" {
		t.Error(got)
	}
	if want := []referral.UserCode{{Program: "classic", Code: "ANNA10"}, {Program: "p", Code: "P10"}}; !slices.Equal(u.Codes, want) {
		t.Errorf("%+v", u.Codes)
	}
	var claims []string
	for _, c := range u.Claims {
		claims = append(claims, string(c.Source)+" "+string(c.Code))
	}
	if want := []string{"referredByCodes BOB", "referredByCodes not a code!", "referral_code anna 10"}; !slices.Equal(claims, want) {
		t.Errorf("%q", claims)
	}
}

func TestParseLocale(t *testing.T) {
	for sent, want := range map[string]string{
		"": "", " ": "", "de": "de", "DE": "de", "de-DE": "de_DE", "de_de": "de_DE", "zh-hant-tw": "zh_Hant_TW", "es-419": "es_419", " fr ": "fr",
	} {
		if got, err := ParseLocale("locale", sent); err != nil || got != want {
			t.Errorf("%q: %q, %v", sent, got, err)
		}
	}
	for _, sent := range []string{"xx_", "de-", "en__US", "_de", "d", "de_AT.UTF-8"} {
		var e *core.Error
		if got, err := ParseLocale("locale", sent); !errors.As(err, &e) || e.RS != "RS039" {
			t.Errorf("%q: %q, %v", sent, got, err)
		}
	}
}

func TestParseUser_Init(t *testing.T) {
	u, err := user(`{"tenant_alias":"acme","account_id":"a@b.c","payment_provider_id":null,"user_id":"bob","email":"bob@b.c",
		"first_name":"Bob","last_name":"T","user_image":"https://i.example/i","user_referral_code":"BOB","referral_code":"ANN","account_status":"PAID",
		"jwt":"x","checksum":"y","mode":"POPUP","fb_share_image":"z","locale":"en"}`)
	if err != nil {
		t.Fatal(err)
	}
	if *u.FirstName != "Bob" || *u.LastName != "T" || *u.Email != "bob@b.c" || *u.ImageURL != "https://i.example/i" || u.PaymentProviderID != nil ||
		*u.Status != referral.Paid || len(u.Codes) != 1 || u.Codes[0].Code != "BOB" {
		t.Errorf("%+v", u)
	}
	checkClaims(t, "init", u.Claims, referral.Claim{Code: "ANN", Source: referral.SourceInit})
}

// A browser script sends null for an empty input.
func TestParseUser_Null(t *testing.T) {
	u, err := user(`{"id":null,"accountId":null,"firstName":null,"lastName":null,"email":null,"imageUrl":null,"locale":null,"countryCode":null,
		"referable":null,"paymentProviderId":null,"accountStatus":null,"segments":null,"referralCodes":null,"referralCode":null,
		"customFields":null,"referredByCodes":null,"referredBy":null,"referral_code":null,"cookies":null,"shareLinks":null,"tenant_alias":null,"jwt":null}`)
	if err != nil || u.FirstName != nil || u.LastName != nil || u.Email != nil || u.ImageURL != nil || u.Locale != nil || u.CountryCode != nil ||
		u.Referable != nil || u.PaymentProviderID != nil || u.Status != nil || len(u.Segments)+len(u.Codes)+len(u.CustomFields)+len(u.Claims) != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	u, err = user(`{"firstName":"","referral_code":"","cookies":"","referralCode":"","referredBy":{"code":""}}`)
	if err != nil || u.FirstName == nil || *u.FirstName != "" || len(u.Claims)+len(u.Codes) != 0 {
		t.Errorf("empty texts: %+v, %v", u, err)
	}
}

func TestParseUser_EscapedKeys(t *testing.T) {
	u, err := user(`{"custom\u0046ields":{"\u0061":"\u0062"},"\u0065mail":"x@y"}`)
	if err != nil || len(u.CustomFields) != 1 || u.CustomFields[0] != (referral.CustomField{Name: "a", Value: `"\u0062"`}) || *u.Email != "x@y" {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestParseUser_IsConverted(t *testing.T) {
	for body, want := range map[string]referral.Status{
		`{"referredBy":{"code":"ANN","isConverted":true}}`:                            referral.Paid,
		`{"referredBy":{"code":"ANN","isConverted":false}}`:                           "",
		`{"referredBy":{"code":"ANN","isConverted":null}}`:                            "",
		`{"referredBy":{"isConverted":true},"accountStatus":"TRIAL"}`:                 referral.Trial,
		`{"accountStatus":"TRIAL","referredBy":{"isConverted":true}}`:                 referral.Trial,
		`{"referredBy":{"code":"ANN","newlyReferred":true,"referredReward":{"a":1}}}`: "",
	} {
		u, err := user(body)
		got := referral.Status("")
		if u.Status != nil {
			got = *u.Status
		}
		if err != nil || got != want {
			t.Errorf("%s: status %q, %v; want %q", body, got, err, want)
		}
	}
}

func checkClaims(t *testing.T, name string, got []referral.Claim, want ...referral.Claim) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: claims %+v, want %+v", name, got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: claim %d is %+v, want %+v", name, i, got[i], want[i])
		}
	}
}

// Explicit codes come before cookies, in whichever order the body has them.
func TestParseUser_Preference(t *testing.T) {
	cookie := cookieText(`{"app.example":{"acme_CODE":{"codes":{"classic":"COOKIE"}}}}`)
	parts := []string{
		`"referredByCodes":["CODES","MORE"]`, `"referredBy":{"code":"BY"}`, `"referral_code":"INIT"`, `"cookies":"` + cookie + `"`,
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		var body []string
		for _, i := range order {
			body = append(body, parts[i])
		}
		u, err := user("{" + strings.Join(body, ",") + "}")
		if err != nil {
			t.Fatal(err)
		}
		checkClaims(t, strings.Join(body, ","), u.Claims,
			referral.Claim{Code: "CODES", Source: referral.SourceCodes}, referral.Claim{Code: "MORE", Source: referral.SourceCodes},
			referral.Claim{Code: "BY", Source: referral.SourceReferredBy}, referral.Claim{Code: "INIT", Source: referral.SourceInit},
			referral.Claim{Code: "COOKIE", Source: referral.SourceBody})
	}
}

func cookieText(document string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(document))
}

func TestCookieClaims(t *testing.T) {
	good := func(code core.ReferralCode) referral.Claim {
		return referral.Claim{Code: code, Source: referral.SourceBody}
	}
	until := func(code core.ReferralCode, expires core.Time) referral.Claim {
		return referral.Claim{Code: code, Source: referral.SourceBody, Expires: expires}
	}
	broken := referral.Claim{Source: referral.SourceBody, Fault: referral.RuleCookieForm}
	full := `{"app.example":{"acme_CODE":{"codes":{"classic":"ANN"},"codesExp":{"ANN":1234567}}}}`
	for _, c := range []struct {
		name, text string
		want       []referral.Claim
	}{
		{"one code", cookieText(full), []referral.Claim{good("ANN")}},
		{"with padding", base64.URLEncoding.EncodeToString([]byte(full)), []referral.Claim{good("ANN")}},
		{"two programs", cookieText(`{"app.example":{"acme_CODE":{"codes":{"a":"ANN","b":"EVE"}}}}`), []referral.Claim{good("ANN"), good("EVE")}},
		{"two domains", cookieText(`{"app.example":{"acme_CODE":{"codes":{"a":"ANN"}}},"ref.example":{"acme_CODE":{"codes":{"a":"EVE"}}}}`), []referral.Claim{good("ANN"), good("EVE")}},
		{"other tenants", cookieText(`{"app.example":{"test_acme_CODE":{"codes":{"a":"T"}},"acme_CODE":{"codes":{"a":"ANN"}},"acm_CODE":{"codes":{"a":"X"}}}}`), []referral.Claim{good("ANN")}},
		{"only other tenants", cookieText(`{"app.example":{"test_acme_CODE":{"codes":{"a":"T"}}}}`), nil},
		{"empty object", cookieText(`{}`), nil},
		{"invalid domain entries", cookieText(`{"app.example":"x","b":null,"c":[1]}`), nil},
		{"expiries", cookieText(`{"d":{"acme_CODE":{"codes":{"a":"ANN","b":"EVE","c":"BOB","d":"TIM"},"codesExp":{"ANN":1700000000000,"EVE":1700000000,"BOB":"1700000000000","X":1}}}}`),
			[]referral.Claim{until("ANN", 1_700_000_000_000), until("EVE", 1_700_000_000_000), good("BOB"), good("TIM")}},
		{"invalid expiries", cookieText(`{"d":{"acme_CODE":{"codes":{"a":"ANN","b":"EVE"},"codesExp":{"ANN":-1,"EVE":1e300}}}}`), []referral.Claim{good("ANN"), good("EVE")}},
		{"no codes", cookieText(`{"app.example":{"acme_CODE":{}}}`), nil},
		{"codes empty", cookieText(`{"app.example":{"acme_CODE":{"codes":{}}}}`), nil},
		{"invalid codes", cookieText(`{"app.example":{"acme_CODE":{"codes":{"a":"<script>","b":"ANN","c":null,"d":{}}}}}`), []referral.Claim{broken, good("ANN"), broken, broken}},
		{"not base64", "???", []referral.Claim{broken}},
		{"standard base64", "+/+/", []referral.Claim{broken}},
		{"not JSON", cookieText(`{"app`), []referral.Claim{broken}},
		{"not an object", cookieText(`["a"]`), []referral.Claim{broken}},
		{"a text", cookieText(`"a"`), []referral.Claim{broken}},
		{"too deep", cookieText(strings.Repeat("[", 25) + strings.Repeat("]", 25)), []referral.Claim{broken}},
	} {
		checkClaims(t, c.name, CookieClaims("acme", referral.SourceBody, c.text), c.want...)
	}
	many := cookieText(`{"d":{"acme_CODE":{"codes":{` + strings.TrimSuffix(strings.Repeat(`"p":"ANN",`, 200), ",") + `}}}}`)
	if n := len(CookieClaims("acme", referral.SourceBody, many)); n != maxCodes {
		t.Errorf("%d claims of one cookie", n)
	}
}

// Each of the three kinds of readers finds the code.
func TestReferralCookie(t *testing.T) {
	for _, c := range []struct {
		codes []CookieCode
		want  string
	}{
		{nil, `{"code":"","codes":{"0":""}}`},
		{[]CookieCode{{Program: "classic", Code: "ANN"}}, `{"code":"ANN","codes":{"0":"ANN","classic":"ANN"}}`},
		{[]CookieCode{{Program: "b", Code: "EVE"}, {Program: "a", Code: "ANN"}}, `{"code":"EVE","codes":{"0":"EVE","b":"EVE","a":"ANN"}}`},
		{[]CookieCode{{Program: "a", Code: "EVE"}, {Program: "0", Code: "ANN"}}, `{"code":"EVE","codes":{"0":"EVE","a":"EVE"}}`},
	} {
		if got := string(ReferralCookie(c.codes)); got != c.want {
			t.Errorf("%+v: %s", c.codes, got)
		}
	}
}

// An invalid cookie does not fail the call.
func TestParseUser_BrokenCookie(t *testing.T) {
	u, err := user(`{"cookies":"???","email":"x@y"}`)
	if err != nil {
		t.Fatal(err)
	}
	checkClaims(t, "broken", u.Claims, referral.Claim{Source: referral.SourceBody, Fault: referral.RuleCookieForm})
}

// An address has one @ between two parts.
func TestParseUser_Email(t *testing.T) {
	for email, ok := range map[string]bool{"a@b": true, "a": false, "@b": false, "a@": false, "a@@b": false, "a@b@c": false} {
		if _, err := user(`{"email":"` + email + `"}`); (err == nil) != ok {
			t.Errorf("%s: %v", email, err)
		}
	}
}

func TestMergeCustomFields(t *testing.T) {
	field := func(name, value string) referral.CustomField { return referral.CustomField{Name: name, Value: value} }
	for _, c := range []struct {
		stored  string
		changes []referral.CustomField
		want    string
	}{
		{`{}`, nil, `{}`},
		{`{"a": 1}`, nil, `{"a": 1}`},
		{`{}`, []referral.CustomField{field("a", "1.50")}, `{"a":1.50}`},
		{`{"a":1,"b":2}`, []referral.CustomField{field("a", "null")}, `{"b":2}`},
		{`{"a":1,"b":2}`, []referral.CustomField{field("a", `"x"`)}, `{"b":2,"a":"x"}`},
		{`{"a":1}`, []referral.CustomField{field("b", "null")}, `{"a":1}`},
		{`{"a":1}`, []referral.CustomField{field("a", "null"), field("a", "2")}, `{"a":2}`},
		{`{"\u0061":1}`, []referral.CustomField{field("a", "2")}, `{"a":2}`},
		{`{}`, []referral.CustomField{field("q\"\\\n", "1")}, `{"q\"\\\n":1}`},
	} {
		if got, err := MergeCustomFields(c.stored, c.changes); err != nil || got != c.want {
			t.Errorf("%s with %+v: %s, %v, want %s", c.stored, c.changes, got, err, c.want)
		}
	}
}

func TestMergeCustomFields_Bound(t *testing.T) {
	stored := "{}"
	for i := range maxCustomFields {
		var err error
		if stored, err = MergeCustomFields(stored, []referral.CustomField{{Name: strconv.Itoa(i), Value: "1"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := MergeCustomFields(stored, []referral.CustomField{{Name: "0", Value: "2"}}); err != nil {
		t.Errorf("an existing key at the limit: %v", err)
	}
	if _, err := MergeCustomFields(stored, []referral.CustomField{{Name: "more", Value: "1"}}); err == nil {
		t.Error("one key above the limit is accepted")
	}
}

// A time is in epoch milliseconds or a text.
func TestParseEvents_Times(t *testing.T) {
	for sent, want := range map[string]core.Time{`7`: 7, `1772355600000`: 1772355600000, `"2026-03-01T10:00:00+01:00"`: 1772355600000, `"2026-03-01"`: 1772323200000, `null`: 0} {
		b, err := ParseEvents("a", "u", []byte(`{"events":[{"key":"k","dateTriggered":`+sent+`}]}`))
		if err != nil || b.Events[0].Triggered != want {
			t.Errorf("%s: %+v, %v", sent, b.Events, err)
		}
	}
}

func TestParseEvents(t *testing.T) {
	fields := `{ "revenue" : 10.50 , "n":123456789012345678901234567890, "e":1e400, "order_id":null, "t":"\u00e4\/", "l":[1,{"a":[]}] }`
	b, err := ParseEvents("a@b.c", "bob", []byte(`{"userId":"bob","accountId":"a@b.c","idempotencyKey":"12345678","events":[
		{"key":"purchase","fields":`+fields+`,"dateTriggered":7,"id":"ignored"},{"key":"b","fields":null,"id":5},{"key":"c"},
		{"\u006bey":"d","\u0066ields":{"x":1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []event.Event{{Key: "purchase", Fields: fields, Triggered: 7}, {Key: "b"}, {Key: "c"}, {Key: "d", Fields: `{"x":1}`}}
	if b.Account != "a@b.c" || b.User != "bob" || b.Key != "12345678" || b.Received != 0 || len(b.Events) != len(want) {
		t.Fatalf("%+v", b)
	}
	for i := range want {
		if b.Events[i] != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, b.Events[i], want[i])
		}
	}
	b.Stamp(9, [6]byte{})
	id, next := core.NewID(9, [6]byte{}), core.NewID(9, [6]byte{5: 1})
	if got, want := string(Events(b)), `{"userId":"bob","accountId":"a@b.c","events":[{"id":"`+id+`","key":"purchase","fields":`+fields+
		`,"dateTriggered":7,"dateReceived":9,"dateProcessed":null},{"id":"`+next+`","key":"b","fields":{},"dateTriggered":9,"dateReceived":9,"dateProcessed":null}`; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := string(IntakeEvents(b)), `[{"id":"`+id+`","key":"purchase","fields":`+fields+`,"dateTriggered":7},`; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The codes of all cookies, without those that are not valid or expired, the most
// preferred first.
func TestVisitorCodes(t *testing.T) {
	first := cookieText(`{"d":{"acme_CODE":{"codes":{"a":"FIRST","b":"BOTH"}}}}`)
	third := cookieText(`{"d":{"acme_CODE":{"codes":{"b":"THIRD","c":"LATE","e":"ENDED","not a key":"X","f":"not a code"},"codesExp":{"LATE":1700000000001,"ENDED":1700000000000}}}}`)
	const now core.Time = 1_700_000_000_000
	late := CookieCode{Program: "c", Code: "LATE", Expires: now + 1}
	for _, c := range []struct {
		name         string
		own          *link.Attribution
		first, third string
		want         []CookieCode
	}{
		{"none", nil, "", "", nil},
		{"unreadable", nil, "???", "???", nil},
		{"attribution cookie", &link.Attribution{Program: "a", Code: "OWN"}, "", "", []CookieCode{{Program: "a", Code: "OWN"}}},
		{"all", &link.Attribution{Program: "a", Code: "OWN"}, first, third,
			[]CookieCode{{Program: "a", Code: "OWN"}, {Program: "a", Code: "FIRST"}, {Program: "b", Code: "BOTH"}, {Program: "b", Code: "THIRD"}, late}},
		{"first-party and third-party", nil, first, third,
			[]CookieCode{{Program: "a", Code: "FIRST"}, {Program: "b", Code: "BOTH"}, {Program: "b", Code: "THIRD"}, late}},
		{"third-party", nil, "", third, []CookieCode{{Program: "b", Code: "THIRD"}, late}},
	} {
		if got := VisitorCodes("acme", c.own, c.first, c.third, now); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Each program gets its most preferred code that exists, as it is stored.
func TestFirstCodes(t *testing.T) {
	all := []CookieCode{{Program: "a", Code: "NONE"}, {Program: "a", Code: "first"}, {Program: "b", Code: "BOTH"}, {Program: "a", Code: "THIRD"}, {Program: "c", Code: "NONE"}}
	for _, c := range []struct {
		existing []core.ReferralCode
		want     []CookieCode
	}{
		{nil, nil},
		{[]core.ReferralCode{"THIRD"}, []CookieCode{{Program: "a", Code: "THIRD"}}},
		{[]core.ReferralCode{"THIRD", "BOTH", "FIRST"}, []CookieCode{{Program: "a", Code: "FIRST"}, {Program: "b", Code: "BOTH"}}},
	} {
		if got := FirstCodes(all, c.existing); !slices.Equal(got, c.want) {
			t.Errorf("%v: %+v", c.existing, got)
		}
	}
}

func TestParseCookieUser(t *testing.T) {
	for body, want := range map[string]bool{
		`{}`:                           true,
		`{"firstName":"Ben"}`:          true,
		`{"id":null}`:                  true,
		`{"id":"c1","accountId":"c1"}`: true,
		`{"id":"c2"}`:                  false,
		`{"account_id":"c2"}`:          false,
		`{"user_id":7}`:                false,
		`{"nickname":"B"}`:             false,
		`[]`:                           false,
	} {
		u, err := ParseCookieUser("acme", "c1", []byte(body))
		if (err == nil) != want || want && (u.ID != "c1" || u.Account != "c1") {
			t.Errorf("%s: %+v, %v", body, u, err)
		}
	}
}

// Pages load a user's picture: it must not be a javascript: URL.
func TestParseUser_ImageURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"": true, "https://i.example/a.png": true, "http://i.example/": true,
		"javascript:alert(1)": false, "data:image/svg+xml,<svg onload=alert(1)>": false, "//i.example/a.png": false, "a.png": false, "https:": false,
	} {
		_, err := user(`{"imageUrl":"` + url + `"}`)
		if (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// The response about a user is a valid request that changes nothing.
func TestParseUser_WrittenBack(t *testing.T) {
	info := UserInfo{
		User: referral.User{
			Account: "a", ID: "u", FirstName: "Ann", LastName: "A", Email: "ann@example.com", ImageURL: "https://x.example/a.png", Locale: "en_US", CountryCode: "CA",
			Referable: true, CustomFields: `{"n":1.0}`, Segments: []string{"vip"}, Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: "ANNA"}},
			CookieID: "u", FirstSeenIP: "192.0.2.1", LastSeenIP: "192.0.2.2", USTaxForm: 3, Created: 1, Blocked: 2,
		},
		Account:    referral.Account{PaymentProviderID: "p"},
		ReferredBy: ReferredBy{Referral: &referral.Referral{Code: "BEN", State: referral.Converted}},
		Share:      link.Share{Origin: "https://go.example", Tenant: "acme"},
	}
	for name, answer := range map[string][]byte{"full": User(info), "empty": User(UserInfo{User: referral.NewUser("a", "u", 1)})} {
		update, err := ParseUser("acme", "a", "u", answer)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if update.Status != nil {
			t.Errorf("%s: the account's status changes to %s", name, *update.Status)
		}
		before := info.User
		if name == "empty" {
			before = referral.NewUser("a", "u", 1)
		}
		after := update.Apply(before)
		if after.CustomFields, err = MergeCustomFields(before.CustomFields, update.CustomFields); err != nil || !before.Same(after) {
			t.Errorf("%s: %+v became %+v, %v", name, before, after, err)
		}
	}
}
