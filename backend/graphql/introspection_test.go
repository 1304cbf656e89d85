package graphql_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"kith/backend/app/base"
)

// fullIntrospection is the query of tools that generate clients.
const fullIntrospection = `query IntrospectionQuery { __schema { description queryType { name } mutationType { name } subscriptionType { name }
	types { ...FullType } directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
	fragment FullType on __Type { kind name description specifiedByURL isOneOf
		fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
		inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
		enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
	fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
	fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } }`

// Introspection describes every type as schema.graphql does.
func TestIntrospection_IsTheSchema(t *testing.T) {
	b := newBench(t)
	text, err := os.ReadFile("schema.graphql")
	require.NoError(t, err)
	schema, err := validator.LoadSchema(validator.Prelude, &ast.Source{Input: string(text)})
	require.NoError(t, err)
	_, answer := b.send(t, b.keyHolder(t), document(fullIntrospection))
	require.False(t, gjson.Get(answer, "errors").Exists())
	answered := gjson.Get(answer, "data.__schema")
	require.Equal(t, "Query", answered.Get("queryType.name").String())
	require.Equal(t, "Mutation", answered.Get("mutationType.name").String())
	require.Equal(t, gjson.Null, answered.Get("subscriptionType").Type)
	require.JSONEq(t, `["deprecated","include","oneOf","skip","specifiedBy"]`, answered.Get("directives.#.name").Raw)
	require.Len(t, answered.Get("types").Array(), len(schema.Types))
	for _, kind := range answered.Get("types").Array() {
		def := schema.Types[kind.Get("name").String()]
		require.NotNil(t, def, kind.Raw)
		require.Equal(t, described(schema, def), introspected(kind), def.Name)
	}
}

// described returns one line for each part of a type of the schema.
func described(schema *ast.Schema, def *ast.Definition) (lines []string) {
	lines = append(lines, string(def.Kind)+" "+def.Name+" "+def.Description)
	for _, name := range def.Interfaces {
		lines = append(lines, "implements "+name)
	}
	for _, f := range def.Fields {
		if strings.HasPrefix(f.Name, "__") {
			continue
		}
		lines = append(lines, f.Name+": "+f.Type.String()+defaulted(f.DefaultValue)+" "+f.Description)
		for _, a := range f.Arguments {
			lines = append(lines, f.Name+"("+a.Name+": "+a.Type.String()+defaulted(a.DefaultValue)+")")
		}
	}
	for _, v := range def.EnumValues {
		lines = append(lines, v.Name+" "+v.Description)
	}
	if def.IsAbstractType() {
		for _, possible := range schema.PossibleTypes[def.Name] {
			lines = append(lines, "possible "+possible.Name)
		}
	}
	return lines
}

func defaulted(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return " = " + v.String()
}

// introspected returns the lines of described for a type in an answer to introspection.
func introspected(kind gjson.Result) (lines []string) {
	text := func(r gjson.Result) string { return r.String() }
	unset := func(r gjson.Result) string {
		if r.Get("defaultValue").Type == gjson.Null {
			return ""
		}
		return " = " + text(r.Get("defaultValue"))
	}
	lines = append(lines, text(kind.Get("kind"))+" "+text(kind.Get("name"))+" "+text(kind.Get("description")))
	for _, i := range kind.Get("interfaces").Array() {
		lines = append(lines, "implements "+text(i.Get("name")))
	}
	for _, f := range append(kind.Get("fields").Array(), kind.Get("inputFields").Array()...) {
		lines = append(lines, text(f.Get("name"))+": "+introspectedType(f.Get("type"))+unset(f)+" "+text(f.Get("description")))
		for _, a := range f.Get("args").Array() {
			lines = append(lines, text(f.Get("name"))+"("+text(a.Get("name"))+": "+introspectedType(a.Get("type"))+unset(a)+")")
		}
	}
	for _, v := range kind.Get("enumValues").Array() {
		lines = append(lines, text(v.Get("name"))+" "+text(v.Get("description")))
	}
	for _, p := range kind.Get("possibleTypes").Array() {
		lines = append(lines, "possible "+text(p.Get("name")))
	}
	return lines
}

func introspectedType(t gjson.Result) string {
	switch t.Get("kind").String() {
	case "NON_NULL":
		return introspectedType(t.Get("ofType")) + "!"
	case "LIST":
		return "[" + introspectedType(t.Get("ofType")) + "]"
	}
	return t.Get("name").String()
}

// Introspection needs the API key, also in a document with other fields.
func TestIntrospection_NeedsTheAPIKey(t *testing.T) {
	b := newBench(t)
	for _, query := range []string{`{__schema{queryType{name}}}`, `{__type(name:"User"){name}}`, `{jwks ...f} fragment f on Query{x:__type(name:"User"){name}}`, fullIntrospection} {
		_, answer := b.send(t, b.keyHolder(t), document(query))
		require.False(t, gjson.Get(answer, "errors").Exists())
		for _, caller := range []base.Caller{b.anonymous(t), b.userToken(t, "anna")} {
			_, answer := b.send(t, caller, document(query))
			require.Contains(t, answer, "without the API key")
			require.NotContains(t, answer, `"data"`)
		}
	}
	b.call(t, b.anonymous(t), document(`{__typename viewer{__typename}}`))
}
