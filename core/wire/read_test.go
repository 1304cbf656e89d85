package wire

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
)

// readers are three functions that parse a body; each returns only the error.
var readers = map[string]func(body string) error{
	"account": func(body string) error { _, err := ParseAccount("shop", []byte(body)); return err },
	"user":    func(body string) error { _, err := user(body); return err },
	"events":  func(body string) error { _, err := ParseEvents("a@b.c", "bob", []byte(body)); return err },
}

func user(body string) (referral.UserUpdate, error) {
	return ParseUser("acme", "a@b.c", "bob", []byte(body))
}

// refused checks the code and field of an error.
func refused(t *testing.T, name string, err error, code core.Code, field string) {
	t.Helper()
	var e *core.Error
	if !errors.As(err, &e) || e.Code != code || e.Field != field || e.Message == "" {
		t.Errorf("%s: %#v, want code %d about %q", name, err, code, field)
	}
}

func TestBody_Malformed(t *testing.T) {
	for call, read := range readers {
		for name, body := range map[string]string{
			"empty": "", "blank": "  \n", "null": "null", "text": `"a"`, "number": "1", "array": "[]", "array of objects": "[{}]",
			"unfinished": `{"id":"a"`, "unfinished text": `{"id":"a`, "trailing garbage": `{"id":"a"}x`, "two objects": `{}{}`,
			"trailing comma": `{"id":"a",}`, "no comma": `{"id":"a" "x":1}`, "no colon": `{"id" "a"}`, "key without quotes": `{id:"a"}`,
			"single quotes": `{'id':'a'}`, "comment": `{/**/}`, "byte order mark": "\ufeff{}", "NaN": `{"id":NaN}`,
			"Infinity": `{"id":-Infinity}`, "leading zero": `{"id":01}`, "leading plus": `{"id":+1}`, "no digit after the point": `{"id":1.}`,
			"hex": `{"id":0x1}`, "line break in a text": "{\"id\":\"a\nb\"}", "NUL in a text": "{\"id\":\"a\x00b\"}", "trailing NUL": "{}\x00",
			"unknown escape": `{"id":"\x"}`, "short escape": `{"id":"\u12"}`, "invalid UTF-8": "{\"id\":\"\xff\"}",
			"cut UTF-8": "{\"id\":\"\xc3\"}", "surrogate in UTF-8": "{\"id\":\"\xed\xa0\x80\"}", "UTF-16": "{\x00}\x00",
		} {
			refused(t, call+", "+name, read(body), core.CodeMalformed, "")
		}
	}
}

func TestBody_Size(t *testing.T) {
	pad := func(n int) string { return `{"id":"a"` + strings.Repeat(" ", n-10) + "}" }
	for _, c := range []struct {
		size int
		ok   bool
	}{{MaxBody - 1, true}, {MaxBody, true}, {MaxBody + 1, false}} {
		_, err := ParseAccount("shop", []byte(pad(c.size)))
		if c.ok && err != nil {
			t.Errorf("%d bytes: %v", c.size, err)
		}
		if !c.ok {
			refused(t, strconv.Itoa(c.size)+" bytes", err, core.CodeTooLarge, "")
		}
	}
	if got := TooLarge(MaxBody).Message; got != "the body is larger than 1 MiB" {
		t.Error(got)
	}
	if got := TooLarge(1000).Message; got != "the body is larger than 1000 bytes" {
		t.Error(got)
	}
}

func TestBody_Depth(t *testing.T) {
	// A field is at level 5, below body, events, event and fields.
	nested := func(levels int, open, close string) string {
		return `{"events":[{"key":"a","fields":{"f":` + strings.Repeat(open, levels-4) + "1" + strings.Repeat(close, levels-4) + `}}]}`
	}
	if err := readers["events"](nested(24, `{"a":`, "}")); err != nil {
		t.Errorf("24 levels: %v", err)
	}
	refused(t, "25 levels", readers["events"](nested(25, `{"a":`, "}")), core.CodeMalformed, "")
	for call, read := range readers {
		refused(t, call+", 25 levels", read(strings.Repeat(`{"a":`, 25)+"1"+strings.Repeat("}", 25)), core.CodeMalformed, "")
		refused(t, call+", 100000 levels", read(strings.Repeat("[", 100000)), core.CodeMalformed, "")
		refused(t, call+", 100000 objects", read(strings.Repeat(`{"a":`, 100000)), core.CodeMalformed, "")
	}
	if tooDeep([]byte(`"` + strings.Repeat("[", 99) + `\"` + strings.Repeat("{", 99) + `"`)) {
		t.Error("brackets in a string are counted")
	}
	if tooDeep([]byte("[" + strings.Repeat("[],", 99) + "[]]")) {
		t.Error("closed levels are counted")
	}
}

func TestBody_Keys(t *testing.T) {
	long := strings.Repeat("k", 100)
	for _, c := range []struct {
		call, name, body, field string
	}{
		{"account", "unknown key", `{"id":"a","x":1}`, "x"},
		{"account", "unknown nested key", `{"id":"a","subscription":{"x":1}}`, "subscription.x"},
		{"account", "unknown key of referral", `{"id":"a","referral":{"x":1}}`, "referral.x"},
		{"account", "key in another case", `{"ID":"a"}`, "ID"},
		{"account", "empty key", `{"":"a"}`, ""},
		{"account", "long key", `{"` + long + `":1}`, long[:64] + "…"},
		{"account", "key twice", `{"id":"a","id":"a"}`, "id"},
		{"account", "key twice, once escaped", `{"id":"a","\u0069d":"b"}`, "id"},
		{"account", "nested key twice", `{"id":"a","referral":{"code":"A","code":"B"}}`, "referral.code"},
		{"account", "server's key", `{"id":"a","dateCreated":1}`, "dateCreated"},
		{"user", "unknown key", `{"x":1}`, "x"},
		{"user", "prototype", `{"__proto__":{}}`, "__proto__"},
		{"user", "unknown key of referredBy", `{"referredBy":{"x":1}}`, "referredBy.x"},
		{"user", "two spellings", `{"firstName":"A","first_name":"B"}`, "first_name"},
		{"user", "two spellings of the status", `{"account_status":"PAID","accountStatus":"TRIAL"}`, "accountStatus"},
		{"user", "custom field twice", `{"customFields":{"a":1,"a":2}}`, "customFields.a"},
		{"events", "unknown key", `{"events":[{"key":"a"}],"x":1}`, "x"},
		{"events", "unknown key of the second event", `{"events":[{"key":"a"},{"key":"a","x":1}]}`, "events[1].x"},
		{"events", "trailing blank in a key", `{"events":[{"key ":"a"}]}`, "events[0].key "},
		{"events", "field twice", `{"events":[{"key":"a","fields":{"b":1,"b":2}}]}`, "events[0].fields.b"},
		{"events", "nested field twice", `{"events":[{"key":"a","fields":{"b":[{"c":1,"c":2}]}}]}`, "events[0].fields.b[0].c"},
	} {
		refused(t, c.call+", "+c.name, readers[c.call](c.body), core.CodeMalformed, c.field)
	}
}

// Many keys are parsed in linear time. When each was compared with all before it,
// this took 16 s.
func TestBody_ManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"events":[{"key":"a","fields":{"`)
	for i := range 100000 {
		b.WriteString(strconv.Itoa(i) + `":1,"`)
	}
	b.WriteString(`z":1}}]}`)
	if b.Len() > MaxBody {
		t.Fatal("the body is too large to show anything")
	}
	if err := readers["events"](b.String()); err != nil {
		t.Error(err)
	}
}

func TestBody_Types(t *testing.T) {
	for _, c := range []struct {
		call, body, field string
	}{
		{"account", `{"id":1}`, "id"},
		{"account", `{"id":["a"]}`, "id"},
		{"account", `{"id":"a","currency":1}`, "currency"},
		{"account", `{"id":"a","subscription":"PAID"}`, "subscription"},
		{"account", `{"id":"a","subscription":[]}`, "subscription"},
		{"account", `{"id":"a","subscription":{"status":true}}`, "subscription.status"},
		{"account", `{"id":"a","subscription":{"billingIntervalValue":"1"}}`, "subscription.billingIntervalValue"},
		{"account", `{"id":"a","subscription":{"billingIntervalValue":1.5}}`, "subscription.billingIntervalValue"},
		{"account", `{"id":"a","subscription":{"billingIntervalValue":1.5e0}}`, "subscription.billingIntervalValue"},
		{"account", `{"id":"a","subscription":{"billingIntervalValue":1e19}}`, "subscription.billingIntervalValue"},
		{"account", `{"id":"a","subscription":{"billingIntervalValue":9223372036854775808}}`, "subscription.billingIntervalValue"},
		{"account", `{"id":"a","subscription":{"value":"9.90"}}`, "subscription.value"},
		{"account", `{"id":"a","referral":{"code":1}}`, "referral.code"},
		{"user", `{"email":1}`, "email"},
		{"user", `{"referable":"true"}`, "referable"},
		{"user", `{"referable":1}`, "referable"},
		{"user", `{"customFields":[]}`, "customFields"},
		{"user", `{"segments":"vip"}`, "segments"},
		{"user", `{"segments":[1]}`, "segments[0]"},
		{"user", `{"segments":["a",null]}`, "segments[1]"},
		{"user", `{"referralCodes":[]}`, "referralCodes"},
		{"user", `{"referralCodes":{"p":1}}`, "referralCodes.p"},
		{"user", `{"referredByCodes":"ANN"}`, "referredByCodes"},
		{"user", `{"referredByCodes":[{}]}`, "referredByCodes[0]"},
		{"user", `{"referredBy":"ANN"}`, "referredBy"},
		{"user", `{"referredBy":{"isConverted":"yes"}}`, "referredBy.isConverted"},
		{"user", `{"referral_code":1}`, "referral_code"},
		{"user", `{"cookies":{}}`, "cookies"},
		{"user", `{"dateCreated":true}`, "dateCreated"},
		{"user", `{"shareLinks":1}`, "shareLinks"},
		{"events", `{"events":{}}`, "events"},
		{"events", `{"events":["a"]}`, "events[0]"},
		{"events", `{"events":[null]}`, "events[0]"},
		{"events", `{"events":[{"key":1}]}`, "events[0].key"},
		{"events", `{"events":[{"key":"a","fields":"x"}]}`, "events[0].fields"},
		{"events", `{"events":[{"key":"a","fields":[]}]}`, "events[0].fields"},
		{"events", `{"events":[{"key":"a","dateTriggered":[1]}]}`, "events[0].dateTriggered"},
		{"events", `{"events":[{"key":"a"}],"idempotencyKey":12345678}`, "idempotencyKey"},
		{"events", `{"events":[{"key":"a"}],"userId":1}`, "userId"},
	} {
		refused(t, c.call+", "+c.body, readers[c.call](c.body), core.CodeMalformed, c.field)
	}
}

func TestBody_Values(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"n` + strconv.Itoa(i) + `":1,`)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for _, c := range []struct {
		call, name, body, field string // no field: accepted
	}{
		{"account", "no id", `{}`, "id"},
		{"account", "id null", `{"id":null}`, "id"},
		{"account", "id empty", `{"id":""}`, "id"},
		{"account", "currency", `{"id":"a","currency":"EUR"}`, ""},
		{"account", "currency in small letters", `{"id":"a","currency":"eur"}`, "currency"},
		{"account", "currency of four letters", `{"id":"a","currency":"EURO"}`, "currency"},
		{"account", "status", `{"id":"a","subscription":{"status":"FREE"}}`, ""},
		{"account", "bad status", `{"id":"a","subscription":{"status":"ACTIVE"}}`, "subscription.status"},
		{"account", "bad interval", `{"id":"a","subscription":{"billingIntervalType":"HOUR"}}`, "subscription.billingIntervalType"},
		{"account", "interval of 0", `{"id":"a","subscription":{"billingIntervalValue":0}}`, "subscription.billingIntervalValue"},
		{"account", "interval as Java writes it", `{"id":"a","subscription":{"billingIntervalValue":1.0,"value":1.6E7}}`, ""},
		{"account", "interval of 1", `{"id":"a","subscription":{"billingIntervalValue":1}}`, ""},
		{"account", "value of 0", `{"id":"a","subscription":{"value":0}}`, ""},
		{"account", "value below 0", `{"id":"a","subscription":{"value":-0.01}}`, "subscription.value"},
		{"account", "value of 32 digits", `{"id":"a","subscription":{"value":` + strings.Repeat("9", 32) + `}}`, ""},
		{"account", "value of 33 digits", `{"id":"a","subscription":{"value":` + strings.Repeat("9", 33) + `}}`, "subscription.value"},
		{"account", "value with a big exponent", `{"id":"a","subscription":{"value":1e999999999}}`, "subscription.value"},
		{"user", "another user", `{"id":"eve"}`, "id"},
		{"user", "another account", `{"account_id":"eve"}`, "account_id"},
		{"user", "another tenant", `{"tenant_alias":"test_acme"}`, "tenant_alias"},
		{"user", "text of 4096 bytes", `{"firstName":"` + text(4096) + `"}`, ""},
		{"user", "text of 4097 bytes", `{"firstName":"` + text(4097) + `"}`, "firstName"},
		{"user", "email", `{"email":"Ännä+x@bücher.example"}`, ""},
		{"user", "email without a domain suffix", `{"email":"anna@mail"}`, ""},
		{"user", "email empty", `{"email":""}`, ""},
		{"user", "email without @", `{"email":"x"}`, "email"},
		{"user", "email without a name", `{"email":"@example.com"}`, "email"},
		{"user", "email without a host", `{"email":"anna@"}`, "email"},
		{"user", "email with a blank", `{"email":"anna @example.com"}`, "email"},
		{"user", "email with a line feed", `{"email":"anna@exa\nmple.com"}`, "email"},
		{"user", "email of 254 bytes", `{"email":"a@` + text(252) + `"}`, ""},
		{"user", "email of 255 bytes", `{"email":"a@` + text(253) + `"}`, "email"},
		{"user", "country", `{"countryCode":"CA"}`, ""},
		{"user", "country in small letters", `{"countryCode":"ca"}`, ""},
		{"user", "country empty", `{"countryCode":""}`, ""},
		{"user", "country of 3 letters", `{"countryCode":"CAN"}`, "countryCode"},
		{"user", "country of 30 letters", `{"countryCode":"` + text(30) + `"}`, "countryCode"},
		{"user", "country of digits", `{"countryCode":"49"}`, "countryCode"},
		{"user", "locale", `{"locale":"en_US"}`, ""},
		{"user", "locale that begins with a hyphen", `{"locale":"-en"}`, "locale"},
		{"user", "locale ???", `{"locale":"???"}`, "locale"},
		{"user", "locale of a letter", `{"locale":"e"}`, "locale"},
		{"user", "locale that begins with _", `{"locale":"_en"}`, "locale"},
		{"user", "100 custom fields", `{"customFields":{` + names(100) + `}}`, ""},
		{"user", "101 custom fields", `{"customFields":{` + names(101) + `}}`, "customFields"},
		{"user", "custom field of 1024 bytes", `{"customFields":{"a":"` + text(1024) + `"}}`, ""},
		{"user", "custom field of 1025 bytes", `{"customFields":{"a":"` + text(1025) + `"}}`, "customFields.a"},
		{"user", "custom field name of 64 bytes", `{"customFields":{"` + text(64) + `":1}}`, ""},
		{"user", "custom field name of 65 bytes", `{"customFields":{"` + text(65) + `":1}}`, "customFields." + text(64) + "…"},
		{"user", "custom field without name", `{"customFields":{"":1}}`, "customFields."},
		{"user", "array as custom field", `{"customFields":{"a":[]}}`, "customFields.a"},
		{"user", "object as custom field", `{"customFields":{"a":{}}}`, "customFields.a"},
		{"user", "100 segments", `{"segments":[` + many(100, `"a"`) + `]}`, ""},
		{"user", "101 segments", `{"segments":[` + many(101, `"a"`) + `]}`, "segments"},
		{"user", "empty segment", `{"segments":[""]}`, "segments[0]"},
		{"user", "20 codes", `{"referredByCodes":[` + many(20, `"A"`) + `]}`, ""},
		{"user", "21 codes", `{"referredByCodes":[` + many(21, `"A"`) + `]}`, "referredByCodes"},
		{"user", "bad code of the user", `{"referralCodes":{"p":"b c"}}`, "referralCodes.p"},
		{"user", "bad program", `{"referralCodes":{"a_b":"A"}}`, "referralCodes.a_b"},
		{"user", "bad payment id", `{"paymentProviderId":""}`, "paymentProviderId"},
		{"events", "no events", `{}`, "events"},
		{"events", "events null", `{"events":null}`, "events"},
		{"events", "events empty", `{"events":[]}`, "events"},
		{"events", "999 events", `{"events":[` + many(event.MaxEvents-1, `{"key":"a"}`) + `]}`, ""},
		{"events", "1000 events", `{"events":[` + many(event.MaxEvents, `{"key":"a"}`) + `]}`, ""},
		{"events", "1001 events", `{"events":[` + many(event.MaxEvents+1, `{"key":"a"}`) + `]}`, "events"},
		{"events", "no key", `{"events":[{"fields":{}}]}`, "events[0].key"},
		{"events", "a null key", `{"events":[{"key":null}]}`, "events[0].key"},
		{"events", "empty key", `{"events":[{"key":""}]}`, "events[0].key"},
		{"events", "key with a blank inside", `{"events":[{"key":"sign up"}]}`, ""},
		{"events", "key that ends with a blank", `{"events":[{"key":"purchase "}]}`, "events[0].key"},
		{"events", "key that begins with a tab", `{"events":[{"key":"\tpurchase"}]}`, "events[0].key"},
		{"events", "key that is a no-break space", `{"events":[{"key":"\u00a0"}]}`, "events[0].key"},
		{"events", "key of 128 bytes", `{"events":[{"key":"` + text(128) + `"}]}`, ""},
		{"events", "key of 129 bytes", `{"events":[{"key":"` + text(129) + `"}]}`, "events[0].key"},
		{"events", "field of 1500 bytes", `{"events":[{"key":"a","fields":{"f":"` + text(1500) + `"}}]}`, ""},
		{"events", "field of 1501 bytes", `{"events":[{"key":"a","fields":{"f":"` + text(1501) + `"}}]}`, "events[0].fields.f"},
		{"events", "1501 bytes in 1500 letters", `{"events":[{"key":"a","fields":{"f":"` + text(1499) + `ü"}}]}`, "events[0].fields.f"},
		{"events", "1500 bytes as escapes", `{"events":[{"key":"a","fields":{"f":"` + strings.Repeat(`\u0061`, 1500) + `"}}]}`, ""},
		{"events", "long text in an array", `{"events":[{"key":"a","fields":{"f":[1,"` + text(1501) + `"]}}]}`, "events[0].fields.f[1]"},
		{"events", "long text in an object", `{"events":[{"key":"a","fields":{"f":{"g":"` + text(1501) + `"}}}]}`, "events[0].fields.f.g"},
		{"events", "array", `{"events":[{"key":"a","fields":{"f":[1,{"g":[2]}]}}]}`, ""},
		{"events", "array of arrays", `{"events":[{"key":"a","fields":{"f":[1,[2]]}}]}`, "events[0].fields.f[1]"},
		{"events", "array of arrays, deeper", `{"events":[{"key":"a","fields":{"f":{"g":[[]]}}}]}`, "events[0].fields.f.g[0]"},
		{"events", "date of 0", `{"events":[{"key":"a","dateTriggered":0}]}`, "events[0].dateTriggered"},
		{"events", "date below 0", `{"events":[{"key":"a","dateTriggered":-1}]}`, "events[0].dateTriggered"},
		{"events", "another user", `{"events":[{"key":"a"}],"userId":"eve"}`, "userId"},
		{"events", "another account", `{"events":[{"key":"a"}],"accountId":"eve"}`, "accountId"},
		{"events", "key of 7", `{"events":[{"key":"a"}],"idempotencyKey":"1234567"}`, "idempotencyKey"},
		{"events", "empty idempotency key", `{"events":[{"key":"a"}],"idempotencyKey":""}`, "idempotencyKey"},
		{"events", "idempotency key null", `{"events":[{"key":"a"}],"idempotencyKey":null}`, ""},
	} {
		err := readers[c.call](c.body)
		if c.field == "" && err != nil {
			t.Errorf("%s, %s: %v", c.call, c.name, err)
		}
		if c.field != "" {
			refused(t, c.call+", "+c.name, err, core.CodeInvalid, c.field)
		}
	}
}

func TestCheckJSONType(t *testing.T) {
	for kind, ok := range map[string]bool{
		"": true, "application/json": true, "Application/JSON; charset=utf-8": true, " application/json ;x": true,
		"application/ld+json": true, "application/vnd.api+json; v=1": true,
		"text/plain": false, "application/jsonx": false, "+json": false, "application/x-www-form-urlencoded": false,
		"multipart/form-data; boundary=application/json": false,
	} {
		err := CheckJSONType(kind)
		var e *core.Error
		if (err == nil) != ok || err != nil && (!errors.As(err, &e) || e.Code != core.CodeMediaType || e.RS != "RS046") {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestCheckQuery(t *testing.T) {
	for _, query := range []string{"", "&", "a", "a=1&b=1", "a=%26&b=a%3Bb", "fields=id&fields=email", "extraFields=a&extraFields=b", "a=b=c", "a=+&b=%20"} {
		if err := CheckQuery(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	for query, want := range map[string]string{
		"limit=1&limit=2":    "limit: occurs twice in the query; give it once",
		"limit=1&b&limit=1":  "limit: occurs twice in the query; give it once",
		"limit=1&%6Cimit=1":  "limit: occurs twice in the query; give it once",
		"limit=1;offset=2":   "the query has a semicolon; separate parameters by an ampersand, and write %3B for one in a value",
		"limit=%zz":          "the query is not percent-encoded; write %25 for a percent sign",
		"%=1":                "the query is not percent-encoded; write %25 for a percent sign",
		"a=1&a;b=2&limit=10": "the query has a semicolon; separate parameters by an ampersand, and write %3B for one in a value",
	} {
		if err := CheckQuery(query); err == nil || err.Error() != want {
			t.Errorf("%s: %v", query, err)
		}
	}
}
