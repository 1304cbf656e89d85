package graphql

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"kith/core"
)

// Types of leaves in an answer, besides string, bool and int32.
type (
	// id is an ID.
	id string
	// word is a text of a scalar type, such as RSLocale.
	word string
	// long is a Long.
	long int64
	// decimal is a Float as it is written: no digit is lost.
	decimal string
	// date is an RSDate.
	date core.Time
	// node is JSON.
	node string
)

// argument is what a call gives for an argument, as inputs coerced it; nil when it
// is null or not given.
type argument struct{ value any }

// text is a string or an ID; "" when it is not given.
func (a argument) text(field string) (string, error) {
	switch v := a.value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", core.Malformed(field, "must be a string")
}

// number is a whole number; unset when it is not given.
func (a argument) number(field string, unset int64) (int64, error) {
	switch v := a.value.(type) {
	case nil:
		return unset, nil
	case int64:
		return v, nil
	case json.Number: // within an RSJsonNode
		if n, ok := wholeNumber(v); ok {
			return n, nil
		}
	}
	return 0, core.Malformed(field, "must be a whole number")
}

// date is an RSDate; zero when it is not given.
func (a argument) date(field string) (core.Time, error) {
	n, err := a.number(field, 0)
	return core.Time(n), err
}

// list are the elements of a list.
func (a argument) list() []argument {
	values, _ := a.opened().([]any)
	all := make([]argument, len(values))
	for i, value := range values {
		all[i] = argument{value}
	}
	return all
}

// object are the members of an object; ok is false for what is none.
func (a argument) object() (members map[string]any, ok bool) {
	members, ok = a.opened().(map[string]any)
	return members, ok
}

// member is what an object has under a key.
func (a argument) member(key string) argument {
	members, _ := a.object()
	return argument{members[key]}
}

// without is an object without some of its keys.
func (a argument) without(keys ...string) argument {
	members, _ := a.object()
	kept := maps.Clone(members)
	for _, key := range keys {
		delete(kept, key)
	}
	return argument{kept}
}

// opened is the value, or what an object or list that came as JSON has in it.
func (a argument) opened() any {
	raw, ok := a.value.(rawJSON)
	if !ok {
		return a.value
	}
	parsed := gjson.Parse(string(raw))
	if parsed.IsArray() {
		list := []any{}
		parsed.ForEach(func(_, item gjson.Result) bool {
			list = append(list, jsonValue(item))
			return true
		})
		return list
	}
	members := map[string]any{}
	parsed.ForEach(func(key, member gjson.Result) bool {
		members[key.Str] = jsonValue(member)
		return true
	})
	return members
}

// rawJSON is an object or a list as it was sent: no number of it loses a digit, and
// no key its place.
type rawJSON string

// jsonValue is JSON as a value: nil, a bool, a string, a json.Number or a rawJSON.
func jsonValue(v gjson.Result) any {
	switch v.Type {
	case gjson.Null:
		return nil
	case gjson.String:
		return v.Str
	case gjson.Number:
		return json.Number(v.Raw)
	case gjson.JSON:
		return rawJSON(v.Raw)
	}
	return v.Type == gjson.True
}

// json is the value as JSON; "null" when it is not given.
func (a argument) json() string {
	if raw, ok := a.value.(rawJSON); ok {
		return string(raw)
	}
	return string(appendJSON(nil, a.value))
}

func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case json.Number:
		return append(b, v...)
	case rawJSON:
		return append(b, v...)
	case map[string]any:
		return appendObject(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	}
	return append(b, jsonText(value)...)
}

func appendObject(b []byte, object map[string]any) []byte {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, jsonText(key)...)
		b = append(b, ':')
		b = appendJSON(b, object[key])
	}
	return append(b, '}')
}

// jsonText is a value that JSON can say: a text, a number, a truth value or null, a
// list of them, or JSON that was read or made here.
func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// Optional values of an answer are pointers.

func textOrNull[S ~string](s S) *S {
	if s == "" {
		return nil
	}
	return &s
}

// dateOrNull is null for never.
func dateOrNull(t core.Time) *date {
	if t == 0 {
		return nil
	}
	d := date(t)
	return &d
}

func pointer[T any](v T) *T { return &v }
