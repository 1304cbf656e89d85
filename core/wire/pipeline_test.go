package wire

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"kith/core"
	"kith/core/pipeline"
	"kith/core/referral"
)

// describe returns what a message does, as text.
func describe(m pipeline.Message) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	pointer := func(name string, s *string) {
		if s != nil {
			add(name, *s)
		}
	}
	u := m.User
	add("key", string(m.Key))
	add("account", string(u.Account))
	add("user", string(u.ID))
	pointer("first", u.FirstName)
	pointer("last", u.LastName)
	pointer("email", u.Email)
	pointer("image", u.ImageURL)
	pointer("locale", u.Locale)
	pointer("country", u.CountryCode)
	for _, c := range u.CustomFields {
		add("custom."+c.Name, c.Value)
	}
	for _, c := range u.Claims {
		add("code", string(c.Code))
	}
	add("event", m.Event.Key)
	if m.Event.Triggered != 0 {
		add("at", strconv.FormatInt(int64(m.Event.Triggered), 10))
	}
	add("fields", m.Event.Fields)
	add("group", string(m.Account.ID))
	if m.Account.Status != nil {
		add("status", string(*m.Account.Status))
	}
	for _, p := range m.Omitted {
		add("omitted", p.Field)
	}
	if m.Ignored != nil {
		add("ignored", m.Ignored.Field)
	}
	if m.Err != nil {
		add("err", m.Err.Error())
	}
	return strings.Join(parts, " ")
}

const (
	// segmentTrack has the shape of a track that Segment's webhook destination sends.
	segmentTrack = `{"anonymousId":"b1f9","channel":"server","context":{"library":{"name":"analytics-node","version":"2.1.0"},"locale":"en-US","traits":{"email":"ann@shop.example"}},
"event":"Order Completed","integrations":{},"messageId":"ajs-next-1772355600000-4e192e5e-1a6a-4d0a-b7ae-aee1e5b0e3a1","originalTimestamp":"2026-03-01T09:00:00.000Z",
"properties":{"checkout_id":"c1","order_id":50314,"total":"90.10","revenue":80.50,"tax":1,"currency":"usd","coupon":"ANN-5","products":[{"sku":"45","price":19}]},
"receivedAt":"2026-03-01T09:00:02.000Z","sentAt":"2026-03-01T09:00:01.000Z","timestamp":"2026-03-01T09:00:00.250Z","type":"track","userId":"u1","version":2}`
	// rudderIdentify has the shape of an identify of RudderStack's JavaScript SDK.
	rudderIdentify = `{"type":"identify","channel":"web","userId":"u1","messageId":"7a1b2c3d-0000-4000-8000-000000000001","context":{"locale":"pt-BR","traits":{"name":"Ann Mary Lee","email":"ann@shop.example","avatar":"https://shop.example/a.png","address":{"country":"br"},"referral_code":"BOB"}},"originalTimestamp":"2026-03-01T09:00:00Z"}`
)

func TestParseMessages_Mapping(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, c := range []struct{ name, settings, body, want string }{
		{"Segment's order", `{}`, segmentTrack,
			`key=ajs-next-1772355600000-4e192e5e-1a6a-4d0a-b7ae-aee1e5b0e3a1 account=u1 user=u1 email=ann@shop.example locale=en_US event=purchase at=1772355600250 ` +
				`fields={"checkout_id":"c1","total":"90.10","tax":1,"products":[{"sku":"45","price":19}],"order_id":"50314","revenue":80.50,"currency":"USD","coupon":"ANN-5","referral_code":"ANN-5"}`},
		{"RudderStack's identify", `{"customFields":{"mail":"email"}}`, rudderIdentify,
			`key=7a1b2c3d-0000-4000-8000-000000000001 account=u1 user=u1 first=Ann last=Mary Lee email=ann@shop.example image=https://shop.example/a.png locale=pt_BR country=BR custom.mail="ann@shop.example" code=BOB`},
		{"a refund", `{}`, `{"type":"track","userId":7,"event":"Order Refunded","messageId":"short","properties":{"orderId":"o1","total":1e2}}`,
			`account=7 user=7 event=refund fields={"orderId":"o1","total":1e2,"order_id":"o1","revenue":1e2}`},
		{"a text of digits keeps its digits", `{}`, `{"type":"track","userId":"u","event":"Order Completed","properties":{"revenue":" 12345678901234567890.10 "}}`,
			`account=u user=u event=purchase fields={"revenue":12345678901234567890.10}`},
		{"a currency sign is no number", `{}`, `{"type":"track","userId":"u","event":"Order Completed","properties":{"revenue":"$80","currency":"dollar"}}`,
			`account=u user=u event=purchase fields={"revenue":"$80","currency":"dollar"} omitted=properties.revenue omitted=properties.currency`},
		{"a revenue that is no number is not replaced by the total", `{}`, `{"type":"track","userId":"u","event":"Order Completed","properties":{"revenue":true,"total":"5"}}`,
			`account=u user=u event=purchase fields={"total":"5","revenue":true} omitted=properties.revenue`},
		{"a coupon that is no code", `{}`, `{"type":"track","userId":"u","event":"x","properties":{"coupon":"20 % off"}}`,
			`account=u user=u event=x fields={"coupon":"20 % off"}`},
		{"a referral code that is no code", `{}`, `{"type":"track","userId":"u","event":"x","properties":{"referral_code":"a b"}}`,
			`account=u user=u event=x fields={} omitted=properties.referral_code`},
		{"a property above the limits", `{}`, `{"type":"track","userId":"u","event":"x","properties":{"a":1,"b":"` + strings.Repeat("y", 1501) + `","c":[[1]],"a":2}}`,
			`account=u user=u event=x fields={} omitted=properties.a omitted=properties.b omitted=properties.c[0]`},
		{"other events are logged under their names", `{}`, `{"type":"track","userId":"u","event":" Product Added "}`, `account=u user=u event=Product Added fields={}`},
		{"other events are ignored", `{"otherEvents":"ignore"}`, `{"type":"track","userId":"u","event":"Product Added"}`, `ignored=event`},
		{"an event is ignored", `{"events":{"Noise":""}}`, `{"type":"track","userId":"u","event":"Noise"}`, `ignored=event`},
		{"events replace the defaults", `{"events":{"Bought":"purchase"}}`, `{"type":"track","userId":"u","event":"Order Completed"}`, `account=u user=u event=Order Completed fields={}`},
		{"fields from a nested property", `{"fields":{"revenue":["order.amount"],"plan":["order.plan"]}}`, `{"type":"track","userId":"u","event":"x","properties":{"revenue":1,"order":{"amount":"9.90","plan":["a"]}}}`,
			`account=u user=u event=x fields={"order":{"amount":"9.90","plan":["a"]},"revenue":9.90,"plan":["a"]}`},
		{"the account is the group", `{"accountId":["context.groupId","traits.company.id"]}`, `{"type":"track","userId":"u","event":"x","context":{"groupId":"g1"}}`, `account=g1 user=u event=x fields={}`},
		{"the account is a trait", `{"accountId":["context.groupId","traits.company.id"]}`, `{"type":"identify","userId":"u","traits":{"company":{"id":9}}}`, `account=9 user=u`},
		{"the account is the user without a group", `{"accountId":["context.groupId"]}`, `{"type":"identify","userId":"u"}`, `account=u user=u`},
		{"the time in milliseconds", `{}`, `{"type":"track","userId":"u","event":"x","timestamp":1772355600250}`, `account=u user=u event=x at=1772355600250 fields={}`},
		{"a wrong time", `{}`, `{"type":"track","userId":"u","event":"x","timestamp":"yesterday"}`, `account=u user=u event=x fields={} omitted=timestamp`},
		{"a time in seconds", `{}`, `{"type":"track","userId":"u","event":"x","timestamp":1772355600}`, `account=u user=u event=x fields={} omitted=timestamp`},
		{"traits of a wrong form", `{"customFields":{"a":"a"}}`, `{"type":"identify","userId":"u","traits":{"email":"no address","avatar":"javascript:1","address":{"country":"Germany"},"a":{},"referral_code":"a b","firstName":"` + "\\u0000" + `"}}`,
			`account=u user=u code=a b omitted=traits.firstName omitted=traits.email omitted=traits.avatar omitted=traits.a`},
		{"an anonymous visitor", `{}`, `{"type":"track","anonymousId":"a","userId":null,"event":"x"}`, `ignored=userId`},
		{"no user at all", `{}`, `{"type":"identify"}`, `err=userId: must not be empty`},
		{"a track without a name", `{}`, `{"type":"track","userId":"u"}`, `err=event: is required: the name of the event`},
		{"a page", `{}`, `{"type":"page","userId":"u"}`, `ignored=type`},
		{"no type", `{}`, `{"userId":"u"}`, `err=type: is required; give identify, track or group`},
		{"no object", `{}`, `[7]`, `err=must be an object`},
		{"a message id that is too long", `{}`, `{"type":"identify","userId":"u","messageId":"` + long + `"}`, `account=u user=u`},
		{"a group", `{}`, `{"type":"group","userId":"u","groupId":"g","traits":{"plan":"pro"}}`, `ignored=groupId`},
		{"a group without a status", `{"accountId":["context.groupId"]}`, `{"type":"group","groupId":"g","traits":{"plan":"pro"}}`, `ignored=traits`},
		{"a group with a status", `{"accountId":["context.groupId"],"accountStatus":{"trait":"plan","values":{"pro":"PAID"}}}`, `{"type":"group","groupId":"g","traits":{"plan":"pro"}}`, `group=g status=PAID`},
		{"a group with another value", `{"accountId":["context.groupId"],"accountStatus":{"trait":"plan","values":{"pro":"PAID"}}}`, `{"type":"group","groupId":"g","traits":{"plan":"basic"}}`, `ignored=traits.plan`},
		{"a group without an id", `{}`, `{"type":"group","userId":"u"}`, `err=groupId: must not be empty`},
	} {
		s, err := ParsePipelineSettings([]byte(c.settings))
		if err != nil {
			t.Errorf("%s: settings: %v", c.name, err)
			continue
		}
		all, err := ParseMessages("shop", s, []byte(c.body))
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %d messages, %v", c.name, len(all), err)
			continue
		}
		if got := describe(all[0]); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestParseMessages_Bodies(t *testing.T) {
	one := `{"type":"identify","userId":"u"}`
	for _, c := range []struct {
		name, body string
		want       int
		err        string
	}{
		{"one", one, 1, ""},
		{"an array", "[" + one + "," + one + "]", 2, ""},
		{"a batch", `{"batch":[` + one + `,3],"sentAt":"2026-03-01T09:00:00Z"}`, 2, ""},
		{"the most messages", "[" + strings.Repeat("1,", pipeline.MaxMessages-1) + "1]", pipeline.MaxMessages, ""},
		{"one message too many", "[" + strings.Repeat("1,", pipeline.MaxMessages) + "1]", 0, "batch: must not have more than 1000 messages; send the others in another call"},
		{"an empty batch", `{"batch":[]}`, 0, "batch: must have at least one message"},
		{"a number", `7`, 0, "the body must be a message, an array of messages, or an object with such an array as batch"},
		{"no JSON", `{`, 0, "the body is not valid JSON"},
		{"nothing", ``, 0, "the body is not valid JSON"},
		{"too deep", strings.Repeat("[", 25), 0, "the body is nested more than 24 levels deep"},
		{"too large", `{"a":"` + strings.Repeat("x", pipeline.MaxBody) + `"}`, 0, "the body is larger than 512000 bytes"},
	} {
		all, err := ParseMessages("shop", pipeline.Default(), []byte(c.body))
		if text := errorText(err); len(all) != c.want || text != c.err {
			t.Errorf("%s: %d messages, %q; want %d, %q", c.name, len(all), text, c.want, c.err)
		}
		for i, m := range all {
			if m.Index != i {
				t.Errorf("%s: message %d has the index %d", c.name, i, m.Index)
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParsePipelineSettings(t *testing.T) {
	defaults := string(PipelineSettings(pipeline.Default()))
	for _, c := range []struct{ body, want, err string }{
		{`{}`, defaults, ""},
		{defaults, defaults, ""},
		{`{"createUsers":null,"accountId":null,"events":null,"otherEvents":null,"fields":null,"customFields":null,"referralCode":null,"accountStatus":null}`, defaults, ""},
		{`{"createUsers":false,"accountId":["context.groupId"],"events":{"A":"b","C":""},"otherEvents":"ignore","fields":{"x":["y.z"]},"customFields":{"plan":"plan"},"referralCode":[],"accountStatus":{"trait":"plan","values":{"pro":"PAID"}}}`,
			`{"createUsers":false,"accountId":["context.groupId"],"events":{"A":"b","C":""},"otherEvents":"ignore","fields":{"x":["y.z"]},"customFields":{"plan":"plan"},"referralCode":[],"accountStatus":{"trait":"plan","values":{"pro":"PAID"}}}`, ""},
		{`{"accountId":["a..b"]}`, "", "accountId[0]: must be 1 to 5 names of keys, separated by dots, such as context.groupId"},
		{`{"accountId":["a.b.c.d.e.f"]}`, "", "accountId[0]: must be 1 to 5 names of keys, separated by dots, such as context.groupId"},
		{`{"fields":{"a":["1","2","3","4","5","6"]}}`, "", "fields.a: must not have more than 5 elements"},
		{`{"otherEvents":"drop"}`, "", "otherEvents: must be log or ignore"},
		{`{"events":{"A":" b"}}`, "", "events.A: must be at most 128 bytes without a blank at either end, or empty to ignore the event"},
		{`{"accountStatus":{"trait":"plan"}}`, "", "accountStatus: must have both trait and values; leave it out, and groups change no status"},
		{`{"accountStatus":{"trait":"plan","values":{"pro":"RICH"}}}`, "", "accountStatus.values.pro: must be one of PAID, TRIAL, FREE, CANCELLED"},
		{`{"createUser":true}`, "", "createUser: is not a key of this request"},
	} {
		s, err := ParsePipelineSettings([]byte(c.body))
		if text := errorText(err); text != c.err || err == nil && string(PipelineSettings(s)) != c.want {
			t.Errorf("%s: %q, %s; want %q, %s", c.body, text, PipelineSettings(s), c.err, c.want)
		}
	}
}

// The answer names each message that had no effect, and each value that was left out.
func TestPipelineReport(t *testing.T) {
	all, err := ParseMessages("shop", pipeline.Default(), []byte(`[{"type":"page"},{"type":"track","userId":"u","event":"x","messageId":"m-0000001","timestamp":"?"},{"type":"identify","messageId":"m2"}]`))
	if err != nil {
		t.Fatal(err)
	}
	got := string(PipelineReport([]pipeline.Result{{Message: all[0], State: pipeline.Ignored}, {Message: all[1]}, {Message: all[2], State: pipeline.Failed}, {State: pipeline.Duplicate}}))
	const want = `{"received":4,"processed":1,"duplicates":1,` +
		`"ignored":[{"index":0,"messageId":null,"type":"page","field":"type","message":"only identify, track and group have an effect","remedy":"filter other types at the pipeline to save calls"}],` +
		`"omitted":[{"index":1,"messageId":"m-0000001","type":"track","field":"timestamp","message":"must be a time such as 2026-03-01T09:00:00.000Z","remedy":"the time of receipt is used"}],` +
		`"failed":[{"index":2,"messageId":"m2","type":"identify","field":"userId","message":"must not be empty","remedy":"correct it at the source, and send the message again","apiErrorCode":"VALIDATION_FAILED"}]}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Whatever a pipeline sends, each message has exactly one outcome, and what it logs is
// within the limits of an event call.
func FuzzParseMessages(f *testing.F) {
	for _, body := range []string{segmentTrack, rudderIdentify, `{"batch":[` + segmentTrack + `]}`, `[{"type":"group","groupId":"g","traits":{"plan":"pro"}}]`,
		`{"type":"track","userId":"u","event":"x","properties":{"revenue":"1e5","a":{"b":[1,{"c":null}]}}}`} {
		f.Add([]byte(body))
	}
	s := pipeline.Default()
	s.Account, s.StatusTrait, s.Statuses = []pipeline.Path{"context.groupId"}, "plan", []pipeline.StatusOf{{Value: "pro", Status: referral.Paid}}
	s.Custom = []pipeline.Custom{{Name: "plan", From: "plan"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		all, err := ParseMessages("shop", s, body)
		if err != nil {
			if all != nil {
				t.Error("both messages and an error")
			}
			return
		}
		for _, m := range all {
			if m.Err != nil || m.Ignored != nil {
				continue
			}
			switch m.Type {
			case pipeline.Track:
				call := `{"events":[{"key":` + string(appendString(nil, m.Event.Key)) + `,"fields":` + m.Event.Fields + `}]}`
				if _, err := ParseEvents(m.User.Account, m.User.ID, []byte(call)); err != nil {
					t.Errorf("%s: %v", call, err)
				}
			case pipeline.Identify:
				if m.User.ID == "" || m.User.Account == "" {
					t.Error("no ids")
				}
			case pipeline.Group:
				if m.Account.ID == "" || m.Account.Status == nil {
					t.Error("a group without an effect")
				}
			default:
				t.Errorf("a message of type %q has an effect", m.Type)
			}
		}
		results := make([]pipeline.Result, len(all))
		for i, m := range all {
			results[i].Message = m
		}
		if err := checkObject(PipelineReport(results), 64<<20); err != nil {
			t.Error(err)
		}
	})
}

func TestFirstMessage(t *testing.T) {
	for _, c := range []struct {
		body, first string
		n           int
	}{{` [ {"a":1} ,2]`, `{"a":1}`, 2}, {`{"a":1}`, "", 0}, {`[]`, "", 0}, {`[`, "", 0}} {
		first, n, ok := FirstMessage([]byte(c.body))
		if string(first) != c.first || n != c.n || ok != (n > 0) {
			t.Errorf("%s: %q, %d, %v", c.body, first, n, ok)
		}
	}
}

// Problem texts are divided at the first semicolon.
func TestMessageProblem(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{core.Invalid("a", "must be b; give c"), []string{"a", "must be b", "give c"}},
		{core.NotFound("there is no such user; identify the user first"), []string{"", "there is no such user", "identify the user first"}},
		{&core.Error{Code: core.CodeNotSupported, Field: "s", Message: "x"}, []string{"s", "x", "filter such messages at the pipeline"}},
	} {
		p := MessageProblem(c.err)
		if !slices.Equal([]string{p.Field, p.Message, p.Remedy}, c.want) {
			t.Errorf("%v: %q", c.err, p)
		}
	}
}
