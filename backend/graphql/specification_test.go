package graphql

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
)

func specificationSchema(t *testing.T) *ast.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/specification.graphql")
	require.NoError(t, err)
	schema, err := loadSchema(string(text))
	require.NoError(t, err)
	return schema
}

// The examples of section 5 of the GraphQL specification are valid or invalid as it says.
func TestSpecification_Validation(t *testing.T) {
	schema := specificationSchema(t)
	text, err := os.ReadFile("testdata/specification.txt")
	require.NoError(t, err)
	examples := strings.Split(string(text), "\n=== ")[1:]
	require.Greater(t, len(examples), 100)
	for _, example := range examples {
		title, document, _ := strings.Cut(example, "\n")
		name, verdict, _ := strings.Cut(title, ": ")
		t.Run(name, func(t *testing.T) {
			valid := false
			d, err := parse(document, authenticatedBounds)
			if err == nil {
				problems := validate(schema, d)
				valid = len(problems) == 0
				for _, p := range problems {
					require.NotContains(t, p.Err.Error(), "%!", "the message has Go syntax")
				}
			}
			require.Equal(t, verdict == "valid", valid, document)
		})
	}
}

// coercionSchema has a field for each kind of input.
const coercionSchema = `
	type Query {
		int(a: Int): Int
		float(a: Float): Int
		string(a: String): Int
		boolean(a: Boolean): Int
		id(a: ID): Int
		enum(a: Color): Int
		list(a: [Int]): Int
		full(a: [Int!]!): Int
		lists(a: [[Int]]): Int
		object(a: ExampleInputObject): Int
		default(a: Int! = 5): Int
		json(a: RSJsonNode): Int
		shallow(a: RSShallowMap): Int
		long(a: Long): Int
		date(a: RSDate): Int
	}
	enum Color { RED GREEN }
	input ExampleInputObject { a: String b: Int! c: Int = 3 d: [Color!] }
	scalar RSJsonNode
	scalar RSShallowMap
	scalar Long
	scalar RSDate`

// Values are converted as sections 3.5 to 3.12, 6.1.2 and 6.4.1 of the GraphQL
// specification say. want is the arguments as JSON, or the error.
func TestSpecification_Coercion(t *testing.T) {
	schema, err := loadSchema(coercionSchema)
	require.NoError(t, err)
	for _, c := range []struct{ query, variables, want string }{
		// 3.5.1
		{`query($v:Int){int(a:$v)}`, `{"v":4}`, `{"a":4}`},
		{`query($v:Int){int(a:$v)}`, `{"v":4.0}`, `{"a":4}`},
		{`query($v:Int){int(a:$v)}`, `{"v":1.2E3}`, `{"a":1200}`},
		{`query($v:Int){int(a:$v)}`, `{"v":-2147483648}`, `{"a":-2147483648}`},
		{`query($v:Int){int(a:$v)}`, `{"v":2147483648}`, `variables.v: must be a whole number of up to 32 bits`},
		{`query($v:Int){int(a:$v)}`, `{"v":1e999999999}`, `variables.v: must be a whole number of up to 32 bits`},
		{`query($v:Int){int(a:$v)}`, `{"v":4.5}`, `variables.v: must be a whole number of up to 32 bits`},
		{`query($v:Int){int(a:$v)}`, `{"v":"4"}`, `variables.v: must be a whole number of up to 32 bits`},
		{`query($v:Int){int(a:$v)}`, `{"v":true}`, `variables.v: must be a whole number of up to 32 bits`},
		{`query($v:Int){int(a:$v)}`, `{"v":null}`, `{"a":null}`},
		{`query($v:Int){int(a:$v)}`, `{}`, `{}`},
		{`query($v:Int!){int(a:$v)}`, `{}`, `variables.v: is required`},
		{`query($v:Int!){int(a:$v)}`, `{"v":null}`, `variables.v: must not be null`},
		{`query($v:Int=7){int(a:$v)}`, `{}`, `{"a":7}`},
		{`query($v:Int=7){int(a:$v)}`, `{"v":null}`, `{"a":null}`},
		{`query($v:Int!=7){int(a:$v)}`, `{}`, `{"a":7}`},
		{`query($v:Int!=7){int(a:$v)}`, `{"v":8}`, `{"a":8}`},
		{`query($v:Int!=7){int(a:$v)}`, `{"v":null}`, `variables.v: must not be null`},
		{`{int(a:4)}`, ``, `{"a":4}`},
		{`{int(a:null)}`, ``, `{"a":null}`},
		// 3.5.2
		{`query($v:Float){float(a:$v)}`, `{"v":1}`, `{"a":1}`},
		{`query($v:Float){float(a:$v)}`, `{"v":1.50}`, `{"a":1.50}`},
		{`query($v:Float){float(a:$v)}`, `{"v":"1.5"}`, `variables.v: must be a number`},
		{`{float(a:1)}`, ``, `{"a":1}`},
		// 3.5.3
		{`query($v:String){string(a:$v)}`, `{"v":"\u00e4"}`, `{"a":"ä"}`},
		{`query($v:String){string(a:$v)}`, `{"v":1}`, `variables.v: must be a string`},
		{`query($v:String){string(a:$v)}`, `{"v":["x"]}`, `variables.v: must be a string`},
		{`query($v:String){string(a:$v)}`, `{"v":{}}`, `variables.v: must be a string`},
		{`{string(a:"\uD83D\uDE00\n\/")}`, ``, `{"a":"😀\n/"}`},
		{"{string(a:\"\"\"\n    a\n      \\\"\"\"b\n\n\"\"\")}", ``, `{"a":"a\n  \"\"\"b"}`},
		// 3.5.4
		{`query($v:Boolean){boolean(a:$v)}`, `{"v":true}`, `{"a":true}`},
		{`query($v:Boolean){boolean(a:$v)}`, `{"v":"true"}`, `variables.v: must be true or false`},
		{`query($v:Boolean){boolean(a:$v)}`, `{"v":1}`, `variables.v: must be true or false`},
		{`query($v:Boolean){boolean(a:$v)}`, `{"v":[true]}`, `variables.v: must be true or false`},
		// 3.5.5
		{`query($v:ID){id(a:$v)}`, `{"v":"4"}`, `{"a":"4"}`},
		{`query($v:ID){id(a:$v)}`, `{"v":4}`, `{"a":"4"}`},
		{`query($v:ID){id(a:$v)}`, `{"v":4.0}`, `{"a":"4"}`},
		{`query($v:ID){id(a:$v)}`, `{"v":4.5}`, `variables.v: must be a string`},
		{`query($v:ID){id(a:$v)}`, `{"v":true}`, `variables.v: must be a string`},
		{`{id(a:4)}`, ``, `{"a":"4"}`},
		// 3.9
		{`query($v:Color){enum(a:$v)}`, `{"v":"RED"}`, `{"a":"RED"}`},
		{`query($v:Color){enum(a:$v)}`, `{"v":"red"}`, `variables.v: must be one of RED, GREEN`},
		{`query($v:Color){enum(a:$v)}`, `{"v":0}`, `variables.v: must be one of RED, GREEN`},
		{`{enum(a:GREEN)}`, ``, `{"a":"GREEN"}`},
		// 3.10.2: the examples of input objects
		{`{object(a:{a:"abc",b:123})}`, ``, `{"a":{"a":"abc","b":123,"c":3}}`},
		{`{object(a:{a:null,b:123})}`, ``, `{"a":{"a":null,"b":123,"c":3}}`},
		{`{object(a:{b:123})}`, ``, `{"a":{"b":123,"c":3}}`},
		{`query($var:String){object(a:{a:$var,b:123})}`, `{"var":null}`, `{"a":{"a":null,"b":123,"c":3}}`},
		{`query($var:String){object(a:{a:$var,b:123})}`, `{}`, `{"a":{"b":123,"c":3}}`},
		{`query($var:Int!){object(a:{b:$var})}`, `{"var":123}`, `{"a":{"b":123,"c":3}}`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":{"b":123}}`, `{"a":{"b":123,"c":3}}`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":{"b":123.0,"c":null,"d":"RED"}}`, `{"a":{"b":123,"c":null,"d":["RED"]}}`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":"abc123"}`, `variables.var: must be an object`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":[{"b":1}]}`, `variables.var: must be an object`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":{"a":"abc","b":"123"}}`, `variables.var.b: must be a whole number of up to 32 bits`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":{"a":"abc"}}`, `variables.var.b: is required`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":{"a":"abc","b":null}}`, `variables.var.b: must not be null`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":{"b":123,"other":"x"}}`, `variables.var.other: is not a key of ExampleInputObject; leave it out`},
		{`query($var:ExampleInputObject){object(a:$var)}`, `{"var":{"b":123,"d":["RED","BLUE"]}}`, `variables.var.d[1]: must be one of RED, GREEN`},
		{`query($var:ExampleInputObject={b:1}){object(a:$var)}`, `{}`, `{"a":{"b":1,"c":3}}`},
		// 3.11 and 3.12
		{`query($v:[Int]){list(a:$v)}`, `{"v":[1,2,3]}`, `{"a":[1,2,3]}`},
		{`query($v:[Int]){list(a:$v)}`, `{"v":[1,null]}`, `{"a":[1,null]}`},
		{`query($v:[Int]){list(a:$v)}`, `{"v":[1,"b",true]}`, `variables.v[1]: must be a whole number of up to 32 bits`},
		{`query($v:[Int]){list(a:$v)}`, `{"v":1}`, `{"a":[1]}`},
		{`query($v:[Int]){list(a:$v)}`, `{"v":null}`, `{"a":null}`},
		{`query($v:[Int!]!){full(a:$v)}`, `{"v":[1,null]}`, `variables.v[1]: must not be null`},
		{`query($v:[Int!]!){full(a:$v)}`, `{"v":[]}`, `{"a":[]}`},
		{`query($v:[[Int]]){lists(a:$v)}`, `{"v":[[1],[2,3]]}`, `{"a":[[1],[2,3]]}`},
		{`query($v:[[Int]]){lists(a:$v)}`, `{"v":1}`, `{"a":[[1]]}`},
		{`{lists(a:1)}`, ``, `{"a":[[1]]}`},
		{`{list(a:1)}`, ``, `{"a":[1]}`},
		{`query($v:Int){list(a:[1,$v])}`, `{}`, `{"a":[1,null]}`},
		// 6.4.1
		{`{default}`, ``, `{"a":5}`},
		{`query($v:Int){default(a:$v)}`, `{}`, `{"a":5}`},
		{`query($v:Int){default(a:$v)}`, `{"v":6}`, `{"a":6}`},
		{`query($v:Int){default(a:$v)}`, `{"v":null}`, `a: must not be null`},
		// 6.1.2: a variable that the operation does not define is ignored
		{`{int}`, `{"other":1}`, `{}`},
		// Scalars that the specification does not define
		{`query($v:RSJsonNode){json(a:$v)}`, `{"v":{"b":1.50,"a":[1E3,{}]}}`, `{"a":{"b":1.50,"a":[1E3,{}]}}`},
		{`query($v:Int){json(a:{n:[$v,1.50,X]})}`, `{"v":1.0}`, `{"a":{"n":[1,1.50,"X"]}}`},
		{`query($v:RSShallowMap){shallow(a:$v)}`, `{"v":{"a":1}}`, `{"a":{"a":1}}`},
		{`query($v:RSShallowMap){shallow(a:$v)}`, `{"v":[]}`, `variables.v: must be an object`},
		{`query($v:Long){long(a:$v)}`, `{"v":9007199254740993}`, `{"a":9007199254740993}`},
		{`query($v:Long){long(a:$v)}`, `{"v":9223372036854775808}`, `variables.v: must be a whole number`},
		{`query($v:RSDate){date(a:$v)}`, `{"v":1.7E12}`, `{"a":1700000000000}`},
		{`query($v:RSDate){date(a:$v)}`, `{"v":"2026-01-01"}`, `{"a":"2026-01-01"}`},
		{`query($v:RSDate){date(a:$v)}`, `{"v":"5"}`, `variables.v: must be a time in epoch milliseconds, or as text such as 2026-03-01T09:00:00Z`},
		{`{long(a:1772355600000)}`, ``, `{"a":1772355600000}`},
		{`{long(a:12345678901234567)}`, ``, `{"a":12345678901234567}`},
		{`{date(a:"x")}`, ``, `"x": must be a time in epoch milliseconds, or as text such as 2026-03-01T09:00:00Z`},
		{`{long(a:[1])}`, ``, `[1]: must be a whole number`},
	} {
		t.Run(c.query+c.variables, func(t *testing.T) {
			require.Equal(t, c.want, coerced(t, schema, c.query, c.variables))
		})
	}
}

// coerced returns the arguments of the first field of a query as JSON, or the error.
func coerced(t *testing.T, schema *ast.Schema, query, variables string) string {
	t.Helper()
	d, err := parse(query, authenticatedBounds)
	require.NoError(t, err)
	if problems := validate(schema, d); len(problems) > 0 {
		return problems[0].Err.Error()
	}
	in, err := newInputs(schema, d.Operations[0], variables)
	if err != nil {
		return err.Error()
	}
	f := d.Operations[0].SelectionSet[0].(*ast.Field)
	arguments, err := in.arguments(f.Definition.Arguments, f.Arguments)
	if err != nil {
		return err.Error()
	}
	return argument{arguments}.json()
}
