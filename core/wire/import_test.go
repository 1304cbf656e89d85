package wire

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"kith/core"
	"kith/core/event"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/reward"
)

func layout(t *testing.T, typ job.Type, names ...string) importfile.Layout {
	t.Helper()
	l, problems := importfile.ParseHeader(typ, names, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return l
}

func TestRow_AppendJSON(t *testing.T) {
	l := layout(t, job.ImportUser, "customFields.b", "id", "referable", "referredBy.code", "accountId", "customFields.a.c", "shareLink",
		"dateCreated", "customFields.a.d", "referredBy.isConverted")
	for _, c := range []struct {
		cells []string
		want  string
	}{
		{[]string{"1", "u", "TRUE", "ANN", "a", "2.50", "https://x", "1", "true", "false"},
			`{"accountId":"a","customFields":{"a":{"c":2.50,"d":true},"b":1},"dateCreated":1,"id":"u","referable":true,"referredBy":{"code":"ANN","isConverted":false}}`},
		{[]string{"", "u", "", "", "a", "", "", "", "", ""}, `{"accountId":"a","id":"u"}`},
		{[]string{"", "u", "yes", "", "a", "", "", "2026-01-01", "x\"\n", "1"},
			`{"accountId":"a","customFields":{"a":{"d":"x\"\n"}},"dateCreated":"2026-01-01","id":"u","referable":"yes","referredBy":{"isConverted":"1"}}`},
		{[]string{"01", "1", "", "", "2", "12345678901234567", "", "-1", "", ""},
			`{"accountId":"2","customFields":{"a":{"c":"12345678901234567"},"b":"01"},"dateCreated":-1,"id":"1"}`},
	} {
		if got := string(CellsRow(l, c.cells).AppendJSON(nil)); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.cells, got, c.want)
		}
	}
}

// A row of a CSV file is parsed as a line with the same JSON would be.
func TestRow_CellsAreParsedAsJSON(t *testing.T) {
	users := layout(t, job.ImportUser, "customFields.b", "id", "referable", "referredBy.code", "accountId", "customFields.a", "referralCodes.classic",
		"dateCreated", "shareLinks.classic", "referredBy.isConverted", "email")
	events := layout(t, job.ImportUserEvent, "event.fields.b.c", "userId", "event.key", "event.fields.a", "accountId", "event.dateTriggered", "idempotencyKey")
	values := []string{"", "a", "u", "true", "FALSE", "1", "-2.50", "01", "12345678901234567", "ANNA10", "a@b.example", `x"\<é` + "\n", "2026-01-01", "key-0001", "\x00"}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 20000 {
		for _, l := range []importfile.Layout{users, events} {
			cells := make([]string, len(l.Columns))
			for i := range cells {
				cells[i] = values[random.IntN(len(values))]
			}
			row := CellsRow(l, cells)
			line := LineRow(row.AppendJSON(nil))
			if len(l.Columns) == len(users.Columns) {
				u, at, err := ParseImportedUser("t", row)
				want, wantAt, wantErr := ParseImportedUser("t", line)
				if at != wantAt || !reflect.DeepEqual(u, want) || !reflect.DeepEqual(err, wantErr) {
					t.Fatalf("%q:\n%+v, %v\nwant\n%+v, %v", cells, u, err, want, wantErr)
				}
				continue
			}
			b, err := ParseImportedEvent(row)
			want, wantErr := ParseImportedEvent(line)
			if !reflect.DeepEqual(b, want) || !reflect.DeepEqual(err, wantErr) {
				t.Fatalf("%q:\n%+v, %v\nwant\n%+v, %v", cells, b, err, want, wantErr)
			}
			if err == nil {
				accepted++
			}
		}
	}
	if accepted < 100 {
		t.Errorf("only %d rows were accepted", accepted)
	}
}

// A number that is not in the form of JSON, or that a parser could round, stays a
// string.
func TestPlainNumber(t *testing.T) {
	for s, want := range map[string]bool{
		"0": true, "-1": true, "12": true, "1.5": true, "0.10": true, "1234567890123456": true, "12345678.1234567": true,
		"": false, "-": false, "01": false, "+1": false, "1.": false, ".5": false, "1e3": false, "1,5": false, "12345678901234567": false,
		"0x1": false, " 1": false, "1.2.3": false, "--1": false,
	} {
		if got := plainNumber(s, true); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
	if plainNumber("1.5", false) || !plainNumber("15", false) {
		t.Error("whole numbers")
	}
}

func TestParseImportedUser(t *testing.T) {
	u, created, err := ParseImportedUser("t", LineRow([]byte(`{"accountId":"a","id":"u","firstName":"Ann","dateCreated":7,"referredBy":{"code":"BOB"},"customFields":{"n":1.0}}`)))
	if err != nil || created != 7 || u.Account != "a" || u.ID != "u" || *u.FirstName != "Ann" || u.Claims[0].Code != "BOB" ||
		u.CustomFields[0] != (referral.CustomField{Name: "n", Value: "1.0"}) {
		t.Errorf("%+v, %d, %v", u, created, err)
	}
	for row, want := range map[string]string{
		`{"id":"u"}`:                                        "accountId: is required",
		`{"accountId":"a"}`:                                 "id: is required",
		`{"accountId":"a","id":""}`:                         "id: must not be empty",
		`{"accountId":"a","id":null}`:                       "id: is required",
		`{"accountId":1,"id":"u"}`:                          "accountId: must be a string",
		`{"accountId":"a","id":"u","nick":"x"}`:             "nick: is not a key of this request",
		`{"accountId":"a","id":"u","referable":"yes"}`:      "referable: must be true or false",
		`{"accountId":"a","id":"u","dateCreated":"x"}`:      "dateCreated: must be a time in epoch milliseconds, or as text such as 2026-03-01, 2026-03-01T09:00:00 (UTC) or 2026-03-01T09:00:00+01:00",
		`{"accountId":"a","id":"u","firstName":"x\u0000y"}`: "firstName: must not contain the character U+0000",
		`{"accountId":"a","id":"u"`:                         "the row is not a valid JSON object",
		`["accountId"]`:                                     "the row is a JSON array; write each of its objects on a line of its own",
		`x`:                                                 "the row is not a valid JSON object",
	} {
		if _, _, err := ParseImportedUser("t", LineRow([]byte(row))); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", row, err, want)
		}
	}
}

// The negative examples of clients 3.3.4, and similar ones.
func TestParseImportedEvent(t *testing.T) {
	got, err := ParseImportedEvent(LineRow([]byte(`{"accountId":"a","userId":"u","idempotencyKey":"order-0001","event":{"key":"purchase","dateTriggered":7,"fields":{"revenue":1.10,"n":null}}}`)))
	want := event.Call{Account: "a", User: "u", Key: "order-0001", Events: []event.Event{{Key: "purchase", Triggered: 7, Fields: `{"revenue":1.10,"n":null}`}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for row, want := range map[string]string{
		`{"accountId":"a","userId":"u"}`:                                                      "event: is required",
		`{"accountId":"a","userId":"u","event":{"fields":{}}}`:                                "event.key: is required",
		`{"accountId":"a","userId":"u","event":{"key ":"purchase"}}`:                          "event.key : is not a key of this request",
		`{"accountId":"a","id":"u","event":{"key":"purchase"}}`:                               "id: is not a key of this request",
		`{"accountId":"a","userId":"u","event":{"key":"x","dateTriggered":"01.02.2026"}}`:     "event.dateTriggered: must be a time in epoch milliseconds, or as text such as 2026-03-01, 2026-03-01T09:00:00 (UTC) or 2026-03-01T09:00:00+01:00",
		`{"accountId":"a","userId":"u","event":{"key":"x","dateTriggered":1761500000}}`:       "event.dateTriggered: milliseconds expected: 1761500000 looks like seconds",
		`{"accountId":"a","userId":"u","event":{"key":"x","dateTriggered":20260301}}`:         "event.dateTriggered: milliseconds expected: 20260301 looks like a date; write it as 2026-03-01 or 2026-03-01T09:00:00Z",
		`{"accountId":"a","userId":"u","event":{"key":"x","dateTriggered":1761500000000000}}`: "event.dateTriggered: milliseconds expected: 1761500000000000 looks like microseconds",
		`{"accountId":"a","userId":"u","event":{"key":"x","fields":"text"}}`:                  "event.fields: must be an object",
		`{"accountId":"a","userId":"u","event":[{"key":"x"}]}`:                                "event: must be an object",
		`{"accountId":"a","userId":"u","events":[{"key":"x"}]}`:                               "events: is not a key of this request",
		`{"accountId":"a","userId":"u","event":null}`:                                         "event: is required",
		`{"userId":"u","event":{"key":"x"}}`:                                                  "accountId: is required",
		`{"accountId":"a","userId":"u","idempotencyKey":"short","event":{"key":"x"}}`:         "idempotencyKey: an idempotency key is 8 to 64 of A-Z a-z 0-9 - _ .",
		`[]`: "the row is a JSON array; write each of its objects on a line of its own",
		`[{"accountId":"a","userId":"u","event":{"key":"x"}}]`:                                    "the row is a JSON array; write each of its objects on a line of its own",
		`{"accountId":"a","userId":"u","event":{"key":"key "}}`:                                   "event.key: must not begin or end with a blank",
		`{"accountId":"a","userId":"u","event":{"key":""}}`:                                       "event.key: is required",
		`{"accountId":"a","userId":"u","event":{"key":"x","fields":{"a":["b",{"c":"d\u0000"}]}}}`: "event.fields.a[1].c: must not contain the character U+0000",
		`"x"`: "the row is not a valid JSON object",
	} {
		if _, err := ParseImportedEvent(LineRow([]byte(row))); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", row, err, want)
		}
	}
}

func TestParseDeletion(t *testing.T) {
	got, err := ParseDeletion(LineRow([]byte(`{"accountId":"a","id":"u","preserveEmptyAccount":false,"doNotTrack":true}`)))
	if err != nil || got.Account != "a" || got.User != "u" || *got.PreserveEmptyAccount || !*got.DoNotTrack {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = ParseDeletion(LineRow([]byte(`{"accountId":"a","id":"u"}`))); err != nil || got != (Deletion{Account: "a", User: "u"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseDeletion(LineRow([]byte(`{"accountId":"a","id":"u","doNotTrack":"yes"}`))); err == nil || err.Error() != "doNotTrack: must be true or false" {
		t.Error(err)
	}
}

func TestParseDraw(t *testing.T) {
	for value, want := range map[string]int64{
		`"12"`: 12, `12`: 12, `"12.99"`: 12, `12.99`: 12, `"0"`: 0, `"-3"`: 0, `-3.5`: 0, `""`: 0, `null`: 0, `" 7 "`: 7, `"0.9"`: 0, `"12."`: 12,
	} {
		got, err := ParseDraw(LineRow([]byte(`{"accountId":"a","id":"u","unit":"CENTS","email":"e","availableValue":"9","valueToRedeem":` + value + `}`)))
		if err != nil || got != (reward.Draw{Account: "a", User: "u", Unit: "CENTS", Amount: want}) {
			t.Errorf("%s: %+v, %v", value, got, err)
		}
	}
	for row, want := range map[string]string{
		`{"accountId":"a","id":"u","valueToRedeem":"1"}`:                                  "unit: is required",
		`{"accountId":"a","id":"u","unit":"CENTS","valueToRedeem":"ten"}`:                 "valueToRedeem: must be a number such as 12 or 12.5",
		`{"accountId":"a","id":"u","unit":"CENTS","valueToRedeem":"1e3"}`:                 "valueToRedeem: must be a number such as 12 or 12.5",
		`{"accountId":"a","id":"u","unit":"CENTS","valueToRedeem":"1,000"}`:               "valueToRedeem: must be a number such as 12 or 12.5",
		`{"accountId":"a","id":"u","unit":"CENTS","valueToRedeem":"1234567890123456789"}`: "valueToRedeem: must be a number such as 12 or 12.5",
		`{"accountId":"a","id":"u","unit":"CENTS","valueToRedeem":true}`:                  "valueToRedeem: must be a string",
	} {
		if _, err := ParseDraw(LineRow([]byte(row))); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", row, err, want)
		}
	}
}

func TestRowFailure(t *testing.T) {
	message, code, status, ok := RowFailure(event.Duplicate(""))
	if !ok || status != 409 || code != "CONFLICT" || message != event.Duplicate("").Error() {
		t.Error(message, code, status, ok)
	}
	for _, fault := range []error{&core.Error{}, &core.Error{Code: core.CodeUnavailable}, &testFault{}} {
		if _, _, _, ok := RowFailure(fault); ok {
			t.Errorf("%#v is not an error of the row", fault)
		}
	}
}

type testFault struct{}

func (*testFault) Error() string { return "the disk is gone" }
