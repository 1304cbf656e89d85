package graphql

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"

	"kith/core"
)

// id is an ID in an answer.
type id string

func (id) ImplementsGraphQLType(name string) bool { return name == "ID" }
func (*id) UnmarshalGraphQL(any) error            { return errOutput }

// word is a text of a scalar type in an answer.
type word string

func (word) ImplementsGraphQLType(name string) bool {
	return slices.Contains([]string{"RSLocale", "RSCountryCode", "RSCurrencyCode", "SegmentKey", "IsoDuration", "JobType", "WidgetType"}, name)
}
func (*word) UnmarshalGraphQL(any) error { return errOutput }

// long is a Long in an answer.
type long int64

func (long) ImplementsGraphQLType(name string) bool { return name == "Long" }
func (*long) UnmarshalGraphQL(any) error            { return errOutput }

// decimal is a Float in an answer, written as it is: no digit is lost.
type decimal string

func (decimal) ImplementsGraphQLType(name string) bool { return name == "Float" }
func (*decimal) UnmarshalGraphQL(any) error            { return errOutput }
func (d decimal) MarshalJSON() ([]byte, error)         { return []byte(d), nil }

// date is an RSDate in an answer.
type date core.Time

func (date) ImplementsGraphQLType(name string) bool { return name == "RSDate" }
func (*date) UnmarshalGraphQL(any) error            { return errOutput }

// node is JSON in an answer.
type node string

func (node) ImplementsGraphQLType(name string) bool {
	return name == "RSJsonNode" || name == "RSShallowMap"
}
func (*node) UnmarshalGraphQL(any) error    { return errOutput }
func (n node) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// errOutput says that a type of answers was given to the executor as one of
// arguments, which are all of the type argument.
var errOutput = errors.New("graphql: a type of answers stands for an argument")

// argument is what a call gives for an argument, of whatever type. The executor
// checks the form that the schema asks for, and the resolver the rest: so what
// is wrong has a path in the answer, and is worded as in the REST call.
type argument struct{ value any }

// ImplementsGraphQLType says that every argument is read as it is.
func (argument) ImplementsGraphQLType(string) bool { return true }

// UnmarshalGraphQL takes a value; null and none are nil.
func (a *argument) UnmarshalGraphQL(value any) error {
	a.value = value
	return nil
}

// Nullable says that an argument that is null needs no pointer.
func (*argument) Nullable() {}

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
	case int32:
		return int64(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
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

// list is a list, or a single value for one of its own, as GraphQL has it.
func (a argument) list() []argument {
	values, ok := a.value.([]any)
	if !ok && a.value != nil {
		values = []any{a.value}
	}
	all := make([]argument, len(values))
	for i, value := range values {
		all[i] = argument{value}
	}
	return all
}

// member is what an object has under a key.
func (a argument) member(key string) argument {
	object, _ := a.value.(map[string]any)
	return argument{object[key]}
}

// without is an object without some of its keys.
func (a argument) without(keys ...string) argument {
	object, _ := a.value.(map[string]any)
	if !slices.ContainsFunc(keys, func(key string) bool { _, has := object[key]; return has }) {
		return a
	}
	kept := maps.Clone(object)
	delete(kept, sent)
	for _, key := range keys {
		delete(kept, key)
	}
	return argument{kept}
}

// json is the value as JSON; "null" when it is not given. A value that came in
// the variables is as it was sent.
func (a argument) json() string { return string(appendJSON(nil, a.value)) }

// sent is the key under which an object of the variables keeps its own text.
// Its value has a type that no value of a call has, so a call's own key of that
// name is no text.
const sent = "\x00sent"

type sentText string

func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case json.Number:
		return append(b, v...)
	case map[string]any:
		if text, ok := v[sent].(sentText); ok {
			return append(b, text...)
		}
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
	// A text, a number or a truth value: what JSON can say.
	text, _ := json.Marshal(value)
	return append(b, text...)
}

func appendObject(b []byte, object map[string]any) []byte {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, key)
		b = append(b, ':')
		b = appendJSON(b, object[key])
	}
	return append(b, '}')
}

// variables reads the variables of a call, which are a JSON object or empty.
func variables(text string) (map[string]any, error) {
	if text == "" {
		return map[string]any{}, nil
	}
	all, err := decode(json.RawMessage(text))
	object, _ := all.(map[string]any)
	delete(object, sent)
	return object, err
}

// decode reads JSON so that the executor can check its form, and every object
// remembers its text: no number loses a digit, no key its place.
func decode(raw json.RawMessage) (any, error) {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
		object := make(map[string]any, len(members)+1)
		for key, member := range members {
			value, err := decode(member)
			if err != nil {
				return nil, err
			}
			object[key] = value
		}
		object[sent] = sentText(raw)
		return object, nil
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			var err error
			if list[i], err = decode(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case '"', 't', 'f', 'n':
		var value any
		err := json.Unmarshal(raw, &value)
		return value, err
	}
	return json.Number(raw), nil
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
