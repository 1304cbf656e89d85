package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"kith/core"
	"kith/core/event"
)

func TestRefused_Events(t *testing.T) {
	long := strings.Repeat("x", maxRefusedValue-2)
	for _, c := range []struct {
		name   string
		events []event.Event
		want   string
	}{
		{"no fields", []event.Event{{Key: "refund"}}, `[{"key":"refund","fields":{}}]`},
		{
			"fields that name the order, as they were sent",
			[]event.Event{{Key: "refund", Fields: `{"email":"a@b.example","currency":"USD","revenue":20.00,"refund_id":7,"order_id":"\u00e9"}`}},
			`[{"key":"refund","fields":{"order_id":"\u00e9","refund_id":7,"revenue":20.00,"currency":"USD"}}]`,
		},
		{"no values of other types", []event.Event{{Key: "refund", Fields: `{"order_id":{"order_id":1},"refund_id":[1],"revenue":null,"currency":true}`}}, `[{"key":"refund","fields":{}}]`},
		{
			"no long values",
			[]event.Event{{Key: "refund", Fields: `{"order_id":"` + long + `","refund_id":"` + long + `x"}`}},
			`[{"key":"refund","fields":{"order_id":"` + long + `"}}]`,
		},
		{"several events", []event.Event{{Key: "refund"}, {Key: "browse"}}, `[{"key":"refund","fields":{}},{"key":"browse","fields":{}}]`},
	} {
		if got := Refused(event.Call{Events: c.events}, "purchase"); got.Events != c.want || got.Event != "refund" || got.Recorded != "purchase" {
			t.Errorf("%s: got %+v, want the events %s", c.name, got, c.want)
		}
	}
	many := event.Call{Events: make([]event.Event, event.MaxEvents)}
	for i := range many.Events {
		many.Events[i].Key = strings.Repeat("é", event.MaxKey/2)
	}
	if got := Refused(many, "").Events; len(got) > maxRefused+20 || len(got) < maxRefused/2 || !json.Valid([]byte(got)) {
		t.Errorf("%d events have a copy of %d bytes: %s", len(many.Events), len(got), got)
	}
}

// Calls have the same digest if user, keys and fields are equal, whatever the times and ids.
func TestRefused_Digest(t *testing.T) {
	call := func(account core.AccountID, user core.UserID, key, fields string) event.Call {
		return event.Call{Account: account, User: user, Events: []event.Event{{Key: key, Fields: fields}}}
	}
	first := call("a", "bc", "refund", `{"revenue":1}`)
	again := call("a", "bc", "refund", `{"revenue":1}`)
	again.Stamp(5, [6]byte{1})
	if Refused(first, "").Digest != Refused(again, "").Digest || Refused(first, "").Digest == "" {
		t.Error("the same call has two digests")
	}
	for _, other := range []event.Call{call("ab", "c", "refund", `{"revenue":1}`), call("a", "bc", "other", `{"revenue":1}`), call("a", "bc", "refund", `{"revenue":2}`)} {
		if Refused(other, "").Digest == Refused(first, "").Digest {
			t.Errorf("%+v has the digest of another call", other)
		}
	}
}
