package graphql

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"kith/core"
)

// Go types of scalars in an answer, besides string, bool and int32.
type (
	// id is an ID.
	id string
	// word is a custom scalar type that is a string, such as RSLocale.
	word string
	// long is a Long.
	long int64
	// decimal is a Float as decimal text, so that no digit is lost.
	decimal string
	// date is an RSDate.
	date core.Time
	// node is JSON.
	node string
)

// argument is the value of an argument, in one of the Go types that inputs returns; nil
// if it is null or missing.
type argument struct{ value any }

// text returns a string, an ID or an enum value; "" if it is missing. The value has the type
// that the schema states, since inputs converted it.
func (a argument) text() string {
	text, _ := a.value.(string)
	return text
}

// number returns an Int or a Long; unset if it is missing.
func (a argument) number(unset int64) int64 {
	if n, ok := a.value.(int64); ok {
		return n
	}
	return unset
}

// bound returns an RSDate that is an end of a span; see core.Bound. It is 0 if it is not set.
func (a argument) bound() core.Time {
	switch v := a.value.(type) {
	case string:
		t, _ := core.ParseDate(v)
		return core.Bound(t)
	case int64:
		return core.Bound(core.Time(v))
	}
	return 0
}

// list returns the elements of a list.
func (a argument) list() []argument {
	values, _ := a.decoded().([]any)
	all := make([]argument, len(values))
	for i, value := range values {
		all[i] = argument{value}
	}
	return all
}

// object returns the members of an object; ok is false for any other value.
func (a argument) object() (members map[string]any, ok bool) {
	members, ok = a.decoded().(map[string]any)
	return members, ok
}

// member returns the value of a key of an object.
func (a argument) member(key string) argument {
	members, _ := a.object()
	return argument{members[key]}
}

// without returns an object without some of its keys.
func (a argument) without(keys ...string) argument {
	members, _ := a.object()
	kept := maps.Clone(members)
	for _, key := range keys {
		delete(kept, key)
	}
	return argument{kept}
}

// decoded returns the value; a rawJSON becomes an []any or a map[string]any.
func (a argument) decoded() any {
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

// rawJSON is a JSON object or list as it was sent, so that numbers keep their digits and
// keys their order.
type rawJSON string

// jsonValue returns a JSON value as nil, a bool, a string, a json.Number or a rawJSON.
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

// json returns the value as JSON; "null" if it is missing.
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

// jsonText returns the JSON of a value that always has one: a string, a number, a boolean,
// nil, or a list of these.
func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// textOrNull returns nil for "". Nullable values of an answer are pointers.
func textOrNull[S ~string](s S) *S {
	if s == "" {
		return nil
	}
	return &s
}

// dateOrNull returns nil for the time 0, which means never.
func dateOrNull(t core.Time) *date {
	if t == 0 {
		return nil
	}
	d := date(t)
	return &d
}

// longOrNull returns nil for 0.
func longOrNull(n int64) *long {
	if n == 0 {
		return nil
	}
	return pointer(long(n))
}

func pointer[T any](v T) *T { return &v }
