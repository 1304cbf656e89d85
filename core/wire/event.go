package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/event"
)

// ParseEvents parses the body of an event call (spec 2.8; clients 1.5.1). Ids in the
// body must be equal to those in the path. The result has no event ids and no time of
// receipt; see event.Call.Stamp.
func ParseEvents(account core.AccountID, user core.UserID, body []byte) (event.Call, error) {
	batch := event.Call{Account: account, User: user}
	return parseBatch(batch, body, func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "userId":
			return r.same(key, v, string(user))
		case "accountId":
			return r.same(key, v, string(account))
		}
		return false
	})
}

// ParseUserEvents parses a UserEventInput of GraphQL: the body of an event call with
// the ids of the user.
func ParseUserEvents(input []byte) (event.Call, error) {
	var account core.AccountID
	var user core.UserID
	batch, err := parseBatch(event.Call{}, input, func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "userId":
			return setParsed(r, key, v, &user, core.ParseUserID)
		case "accountId":
			return setParsed(r, key, v, &account, core.ParseAccountID)
		}
		return false
	})
	switch {
	case err != nil:
		return event.Call{}, err
	case user == "":
		return event.Call{}, required("userId", "RS043")
	case account == "":
		return event.Call{}, required("accountId", "RS044")
	}
	batch.Account, batch.User = account, user
	return batch, nil
}

// parseBatch parses the events of a call. whose parses the keys with the user's ids.
func parseBatch(batch event.Call, body []byte, whose func(r *reader, key string, v *fastjson.Value) bool) (event.Call, error) {
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "idempotencyKey":
			return setParsed(r, key, v, &batch.Key, core.ParseIdempotencyKey)
		case "events":
			return r.items(key, v, event.MaxEvents, func(i int, v *fastjson.Value) error {
				e, err := parseEvent(element(key, i), v)
				batch.Events = append(batch.Events, e)
				return err
			})
		}
		return whose(r, key, v)
	})
	if err == nil && len(batch.Events) == 0 {
		err = core.Invalid("events", "must have at least one event")
	}
	if err != nil {
		return event.Call{}, err
	}
	keepFields(body, batch.Events)
	return batch, nil
}

func parseEvent(at string, v *fastjson.Value) (event.Event, error) {
	var e event.Event
	err := fields(v, at, func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "id":
			return true
		case "key":
			if v.Type() == fastjson.TypeNull || v.Type() == fastjson.TypeString && len(v.GetStringBytes()) == 0 {
				return true // it is missing
			}
			s, err := textItem(r.path(key), v)
			if err == nil && len(s) > event.MaxKey {
				err = core.Invalid(r.path(key), "must not be longer than "+strconv.Itoa(event.MaxKey)+" bytes")
			}
			if err == nil && core.Trim(s) != s {
				err = core.Invalid(r.path(key), "must not begin or end with a blank")
			}
			e.Key = s
			return r.fail(err)
		case "fields":
			return r.nested(key, v, func(r *reader, name string, v *fastjson.Value) bool {
				return r.fail(checkField(r.path(name), v, false))
			})
		case "dateTriggered":
			return r.date(&e.Triggered, key, v, 1)
		}
		return false
	})
	if err == nil && e.Key == "" {
		err = core.Invalid(at+".key", "is required")
	}
	return e, err
}

// checkField checks the limits of a field (clients 1.5.4): no long strings, no U+0000, no
// arrays of arrays.
func checkField(at string, v *fastjson.Value, inArray bool) error {
	switch v.Type() {
	case fastjson.TypeString:
		text := v.GetStringBytes()
		if len(text) > event.MaxText {
			return core.Invalid(at, "must not be longer than "+strconv.Itoa(event.MaxText)+" bytes")
		}
		if slices.Contains(text, 0) {
			return core.Invalid(at, noNUL)
		}
	case fastjson.TypeArray:
		if inArray {
			return core.Invalid(at, "must not be an array within an array")
		}
		for i, item := range v.GetArray() {
			if err := checkField(element(at, i), item, true); err != nil {
				return err
			}
		}
	case fastjson.TypeObject:
		return fields(v, at, func(r *reader, name string, v *fastjson.Value) bool {
			return r.fail(checkField(r.path(name), v, false))
		})
	}
	return nil
}

// keepFields sets the fields of events as they were sent, so that numbers keep all
// digits and nulls are kept.
func keepFields(body []byte, events []event.Event) {
	i := 0
	member(gjson.ParseBytes(body), "events").ForEach(func(_, e gjson.Result) bool {
		if f := member(e, "fields"); f.IsObject() && i < len(events) {
			events[i].Fields = f.Raw
		}
		i++
		return true
	})
}

// Events returns the response to an event call. Events are processed after the
// response, so dateProcessed is null.
func Events(b event.Call) []byte {
	w := begin(nil)
	w.text("userId", string(b.User))
	w.text("accountId", string(b.Account))
	w.list("events", len(b.Events), func(dst []byte, i int) []byte {
		return appendEvent(dst, b.Events[i], b.Received)
	})
	return w.end()
}

func appendEvent(b []byte, e event.Event, received core.Time) []byte {
	w := begin(b)
	w.text("id", e.ID)
	w.text("key", e.Key)
	w.raw("fields", EventFields(e))
	w.number("dateTriggered", int64(e.Triggered))
	w.number("dateReceived", int64(received))
	w.raw("dateProcessed", "null")
	return w.end()
}

// IntakeEvents returns the events of a call as the JSON array that event.Append
// stores: id, key, fields and dateTriggered of each.
func IntakeEvents(b event.Call) []byte {
	return list(nil, len(b.Events), func(dst []byte, i int) []byte {
		e := b.Events[i]
		w := begin(dst)
		w.text("id", e.ID)
		w.text("key", e.Key)
		w.raw("fields", EventFields(e))
		w.number("dateTriggered", int64(e.Triggered))
		return w.end()
	})
}

// EventFields returns the fields of an event as a JSON object.
func EventFields(e event.Event) string {
	if e.Fields == "" {
		return "{}"
	}
	return e.Fields
}

// Limits of event.Refused.Events, in bytes.
const (
	maxRefusedValue = 100
	maxRefused      = 600
)

// Refused returns the record of a call that was refused, without its times. recorded is the
// key of the event that was recorded. Its events are the first ones, as far as they fit: the
// key of each, and those of its fields that say which order is missing.
func Refused(c event.Call, recorded string) event.Refused {
	same := event.Call{Events: make([]event.Event, len(c.Events))}
	for i, e := range c.Events {
		same.Events[i] = event.Event{Key: e.Key, Fields: e.Fields}
	}
	whose := appendString(appendString(nil, string(c.Account)), string(c.User))
	sum := sha256.Sum256(append(whose, IntakeEvents(same)...))
	return event.Refused{
		Key: c.Key, Digest: base64.RawURLEncoding.EncodeToString(sum[:16]), Account: c.Account, User: c.User,
		Event: c.Events[0].Key, Recorded: recorded, Events: string(refusedEvents(c.Events)),
	}
}

func refusedEvents(all []event.Event) []byte {
	var shown [][]byte
	size := 0
	for _, e := range all {
		one := refusedEvent(e)
		if size += len(one); len(shown) > 0 && size > maxRefused {
			break
		}
		shown = append(shown, one)
	}
	return list(nil, len(shown), func(b []byte, i int) []byte { return append(b, shown[i]...) })
}

func refusedEvent(e event.Event) []byte {
	w := begin(nil)
	w.text("key", e.Key)
	w.object("fields", func() {
		for _, name := range []string{"order_id", "refund_id", "revenue", "currency"} {
			v := gjson.Get(e.Fields, name)
			if (v.Type == gjson.String || v.Type == gjson.Number) && len(v.Raw) <= maxRefusedValue {
				w.raw(name, v.Raw)
			}
		}
	})
	return w.end()
}

// RefusedEvents returns the response to GET /events/refused: {count, totalCount, refused}.
// total is the number of calls on all pages.
func RefusedEvents(page []event.Refused, total int) []byte {
	return pageOf("refused", page, total, appendRefused)
}

func appendRefused(b []byte, r event.Refused) []byte {
	w := begin(b)
	w.text("idempotencyKey", string(r.Key))
	w.text("accountId", string(r.Account))
	w.text("userId", string(r.User))
	w.text("event", r.Event)
	w.text("recordedEvent", r.Recorded)
	w.raw("events", r.Events)
	w.number("times", r.Times)
	w.date("dateFirst", r.First)
	w.date("dateLast", r.Last)
	return w.end()
}
