package graphql

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/ast"

	"kith/core"
)

// inputs converts variables and literals to values of the schema's types, by the rules of
// the GraphQL specification (October 2021, sections 3.5 to 3.12 and 6.1.2). A number
// becomes an int64 or a json.Number, a string or an enum value a string, a list an []any,
// and an input object a map[string]any without the keys that are missing. A JSON object
// or list in a variable becomes a rawJSON.
type inputs struct {
	schema *ast.Schema
	// variables are the variables of the operation that have a value or a default.
	variables map[string]any
}

// newInputs converts the variables of an operation before any field is run. sent is a JSON
// object, or empty.
func newInputs(schema *ast.Schema, op *ast.OperationDefinition, sent string) (inputs, error) {
	in := inputs{schema: schema, variables: map[string]any{}}
	all := gjson.Parse(sent).Map()
	for _, v := range op.VariableDefinitions {
		at := "variables." + short(v.Variable)
		given, isGiven := all[v.Variable]
		var value any
		var err error
		switch {
		case isGiven:
			value, err = in.coerce(v.Type, given, at)
		case v.DefaultValue != nil:
			value, err = in.literal(v.Type, v.DefaultValue, at)
		case v.Type.NonNull:
			err = core.Malformed(at, "is required")
		default:
			continue
		}
		if err != nil {
			return in, err
		}
		in.variables[v.Variable] = value
	}
	return in, nil
}

// coerce converts a JSON value to a type. at is its path, for errors.
func (in inputs) coerce(t *ast.Type, value gjson.Result, at string) (any, error) {
	switch {
	case value.Type == gjson.Null && t.NonNull:
		return nil, core.Malformed(at, "must not be null")
	case value.Type == gjson.Null:
		return nil, nil
	case t.Elem != nil:
		return in.coerceList(t.Elem, value, at)
	}
	kind := in.schema.Types[t.NamedType]
	switch kind.Kind {
	case ast.Enum:
		return coerceEnum(kind, value, at)
	case ast.InputObject:
		return in.coerceObject(kind, value, at)
	}
	out, rule := coerceScalar(kind.Name, jsonValue(value))
	if rule != "" {
		return nil, core.Malformed(at, rule)
	}
	return out, nil
}

// coerceList converts a JSON value to a list of a type. A value that is not a list becomes
// a list with one element.
func (in inputs) coerceList(t *ast.Type, value gjson.Result, at string) (any, error) {
	if !value.IsArray() {
		one, err := in.coerce(t, value, at)
		return []any{one}, err
	}
	items := value.Array()
	out := make([]any, len(items))
	for i, item := range items {
		var err error
		if out[i], err = in.coerce(t, item, at+"["+strconv.Itoa(i)+"]"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// coerceEnum converts a JSON value to a value of an enum.
func coerceEnum(kind *ast.Definition, value gjson.Result, at string) (any, error) {
	if value.Type != gjson.String || kind.EnumValues.ForName(value.Str) == nil {
		names := make([]string, len(kind.EnumValues))
		for i, v := range kind.EnumValues {
			names[i] = v.Name
		}
		return nil, core.Malformed(at, "must be one of "+strings.Join(names, ", "))
	}
	return value.Str, nil
}

// coerceObject converts a JSON value to an input object.
func (in inputs) coerceObject(kind *ast.Definition, value gjson.Result, at string) (any, error) {
	if !value.IsObject() {
		return nil, core.Malformed(at, "must be an object")
	}
	object, err := members(kind, value, at)
	if err != nil {
		return nil, err
	}
	return in.object(kind, at, func(f *ast.FieldDefinition, at string) (member any, given bool, err error) {
		sent, given := object[f.Name]
		if given {
			member, err = in.coerce(f.Type, sent, at)
		}
		return member, given, err
	})
}

// object returns an input object of a type. read returns the value of a key; a key without
// a value gets its default.
func (in inputs) object(kind *ast.Definition, at string, read func(f *ast.FieldDefinition, at string) (member any, given bool, err error)) (map[string]any, error) {
	out := map[string]any{}
	for _, f := range kind.Fields {
		at := at + "." + f.Name
		member, given, err := read(f, at)
		if err == nil && !given {
			member, given, err = in.unset(f, at)
		}
		if err != nil {
			return nil, err
		}
		if given {
			out[f.Name] = member
		}
	}
	return out, nil
}

// members returns the values of a JSON object by key. A key that the type does not have is
// an error.
func members(kind *ast.Definition, object gjson.Result, at string) (all map[string]gjson.Result, err error) {
	all = map[string]gjson.Result{}
	object.ForEach(func(key, value gjson.Result) bool {
		if kind.Fields.ForName(key.Str) == nil {
			err = core.Malformed(at+"."+short(key.Str), "is not a key of "+kind.Name+"; leave it out")
		}
		all[key.Str] = value
		return err == nil
	})
	return all, err
}

// unset returns the default of a missing key of an input object, if it has one.
func (in inputs) unset(f *ast.FieldDefinition, at string) (value any, given bool, err error) {
	if f.DefaultValue != nil {
		value, err = in.literal(f.Type, f.DefaultValue, at)
		return value, true, err
	}
	if f.Type.NonNull {
		err = core.Malformed(at, "is required")
	}
	return nil, false, err
}

// literal converts a literal of the document to a type and replaces the variables in it.
// Validation has checked that it has the type.
func (in inputs) literal(t *ast.Type, v *ast.Value, at string) (value any, err error) {
	switch {
	case v.Kind == ast.Variable:
		value = in.variables[v.Raw]
	case v.Kind == ast.NullValue:
	case t.Elem != nil:
		return in.literalList(t.Elem, v, at)
	default:
		return in.literalOf(in.schema.Types[t.NamedType], v, at)
	}
	if value == nil && t.NonNull {
		return nil, core.Malformed(at, "must not be null")
	}
	return value, nil
}

// literalOf converts a literal to a named type.
func (in inputs) literalOf(kind *ast.Definition, v *ast.Value, at string) (any, error) {
	switch kind.Kind {
	case ast.Enum:
		return v.Raw, nil
	case ast.InputObject:
		return in.literalObject(kind, v, at)
	}
	value, rule := coerceScalar(kind.Name, plainValue(v, in.variables))
	if rule != "" {
		return nil, core.Malformed(at, rule)
	}
	return value, nil
}

func (in inputs) literalList(t *ast.Type, v *ast.Value, at string) (any, error) {
	if v.Kind != ast.ListValue {
		one, err := in.literal(t, v, at)
		return []any{one}, err
	}
	out := make([]any, len(v.Children))
	for i, child := range v.Children {
		var err error
		if out[i], err = in.literal(t, child.Value, at+"["+strconv.Itoa(i)+"]"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (in inputs) literalObject(kind *ast.Definition, v *ast.Value, at string) (any, error) {
	return in.object(kind, at, func(f *ast.FieldDefinition, at string) (member any, given bool, err error) {
		child := v.Children.ForName(f.Name)
		if given = child != nil && in.given(child); given {
			member, err = in.literal(f.Type, child, at)
		}
		return member, given, err
	})
}

// given reports whether a literal has a value: a variable may have none.
func (in inputs) given(v *ast.Value) bool {
	if v.Kind != ast.Variable {
		return true
	}
	_, given := in.variables[v.Raw]
	return given
}

// arguments returns the arguments of a field or directive (GraphQL specification, section
// 6.4.1).
func (in inputs) arguments(defined ast.ArgumentDefinitionList, sent ast.ArgumentList) (map[string]any, error) {
	out := make(map[string]any, len(defined))
	for _, a := range defined {
		from := a.DefaultValue
		if given := sent.ForName(a.Name); given != nil && in.given(given.Value) {
			from = given.Value
		}
		if from == nil {
			if a.Type.NonNull {
				return nil, core.Malformed(a.Name, "is required")
			}
			continue
		}
		var err error
		if out[a.Name], err = in.literal(a.Type, from, a.Name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plainValue returns a literal as its JSON value. An enum value is a string.
func plainValue(v *ast.Value, variables map[string]any) any {
	switch v.Kind {
	case ast.Variable:
		return variables[v.Raw]
	case ast.NullValue:
		return nil
	case ast.BooleanValue:
		return v.Raw == "true"
	case ast.IntValue, ast.FloatValue:
		return json.Number(v.Raw)
	case ast.ListValue:
		list := make([]any, len(v.Children))
		for i, child := range v.Children {
			list[i] = plainValue(child.Value, variables)
		}
		return list
	case ast.ObjectValue:
		object := make(map[string]any, len(v.Children))
		for _, child := range v.Children {
			object[child.Name] = plainValue(child.Value, variables)
		}
		return object
	}
	return v.Raw
}

// coerceScalar converts a value to a scalar type. If that is not possible, rule says what
// the value must be.
func coerceScalar(name string, value any) (out any, rule string) {
	switch name {
	case "RSJsonNode":
		return value, ""
	case "RSShallowMap":
		_, ok := argument{value}.object()
		return value, unless(ok, "must be an object")
	case "Boolean":
		_, ok := value.(bool)
		return value, unless(ok, "must be true or false")
	case "Int":
		n, ok := wholeNumber(value)
		return n, unless(ok && n == int64(int32(n)), "must be a whole number of up to 32 bits")
	case "RSDate":
		if text, ok := value.(string); ok {
			_, ok := core.ParseDate(text)
			return text, unless(ok, "must be a time in epoch milliseconds, or as text such as 2026-03-01T09:00:00Z")
		}
		n, ok := wholeNumber(value)
		return n, unless(ok, "must be a whole number")
	case "Long":
		n, ok := wholeNumber(value)
		return n, unless(ok, "must be a whole number")
	case "Float":
		_, ok := value.(json.Number)
		return value, unless(ok, "must be a number")
	case "ID":
		if n, ok := wholeNumber(value); ok {
			return strconv.FormatInt(n, 10), ""
		}
	}
	_, ok := value.(string)
	return value, unless(ok, "must be a string")
}

// unless returns "" if ok, and otherwise the rule.
func unless(ok bool, rule string) string {
	if ok {
		return ""
	}
	return rule
}

// wholeNumber returns a whole number in any notation of JSON, such as 2.0 or 1.6E12.
func wholeNumber(value any) (n int64, ok bool) {
	text, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true
	}
	// The exponent is limited: 1e999999999 has a billion digits.
	_, exponent, _ := strings.Cut(strings.ToLower(string(text)), "e")
	if len(text) > maxNumber || len(exponent) > maxExponent {
		return 0, false
	}
	exact, ok := new(big.Rat).SetString(string(text))
	if !ok || !exact.IsInt() || !exact.Num().IsInt64() {
		return 0, false
	}
	return exact.Num().Int64(), true
}

// Limits of a whole number that is not a plain integer, in bytes: of the number, and of
// its exponent.
const (
	maxNumber   = 64
	maxExponent = 4
)
