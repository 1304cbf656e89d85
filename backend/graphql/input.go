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

// inputs turn what a call sends into values of the schema's types, by the rules of the
// GraphQL specification (October 2021, sections 3.5 to 3.12 and 6.1.2): a number is
// an int64 or a json.Number, text and enums are strings, a list is an []any, an
// input object a map[string]any without the keys that were not given, and JSON that
// came in a variable is a rawJSON.
type inputs struct {
	schema *ast.Schema
	// variables are those of the operation; one that was not given and has no
	// default is missing.
	variables map[string]any
}

// newInputs coerces the variables of an operation, all before anything is run. sent
// is a JSON object, or empty.
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

// coerce turns a value of the variables into one of a type.
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

// coerceList takes a single value for a list of one.
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

// object makes an input object: read returns what is given for a key of it, and
// other keys are what the type says.
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

// members are the values of an input object, each of a key that it has.
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

// unset is what a key of an input object is when it is not given.
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

// literal turns a value of the document, which validation found to be of a type,
// into one of that type, with the variables that are in it.
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

// given reports whether a literal is there: a variable without a value is not.
func (in inputs) given(v *ast.Value) bool {
	if v.Kind != ast.Variable {
		return true
	}
	_, given := in.variables[v.Raw]
	return given
}

// arguments are those of a field or directive (GraphQL specification, section 6.4.1).
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

// plainValue is a literal as JSON has it; an enum is a text.
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

// coerceScalar turns a value into one of a scalar type; rule says what it must be
// when it is no such value.
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
	case "Long", "RSDate":
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

func unless(ok bool, rule string) string {
	if ok {
		return ""
	}
	return rule
}

// wholeNumber is a whole number in any notation of JSON, such as 2.0 and 1.6E12.
func wholeNumber(value any) (n int64, ok bool) {
	text, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true
	}
	// Digits are bounded, since a short text can name a number of a billion of them.
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

// A whole number in another notation may have so many bytes, and its exponent of them.
const (
	maxNumber   = 64
	maxExponent = 4
)
