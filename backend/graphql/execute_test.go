package graphql

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/auth"
)

const executionSchema = `
	type Query { a: A, list: [A], full: [A!], must: A!, shape: Shape, pair(x: Int! = 1, y: Int): [Int!]! }
	type Mutation { first: Int, second: Int! }
	type A { ok: Int!, bad: Int!, maybe: Int, nothing: Int!, a: A }
	interface Shape { size: Int }
	type Square implements Shape { size: Int, side: Int }
	type Circle implements Shape { size: Int, radius: Int }`

type (
	executed  struct{ *query }
	changed   struct{}
	executedA struct {
		OK int32
	}
	shape  struct{}
	square struct{ Size, Side int32 }
)

func (executed) A() *executedA      { return &executedA{1} }
func (executed) Must() *executedA   { return &executedA{1} }
func (executed) List() []*executedA { return []*executedA{{1}, nil, {2}} }
func (executed) Full() *[]*executedA {
	return &[]*executedA{{1}, {2}}
}
func (executed) Shape() *shape { return &shape{} }
func (executed) Pair(_ context.Context, args struct{ X, Y argument }) ([]int32, error) {
	return []int32{int32(args.X.number(0)), int32(args.Y.number(-1))}, nil
}
func (changed) First() (*int32, error)    { return nil, core.Invalid("first", "is bad") }
func (changed) Second() (*int32, error)   { return pointer(int32(2)), nil }
func (*executedA) Bad() (int32, error)    { return 0, core.Invalid("bad", "is bad") }
func (*executedA) Maybe() (*int32, error) { return nil, errors.New("secret") }
func (*executedA) Nothing() *int32        { return nil }
func (a *executedA) A() *executedA        { return a }
func (*shape) ToSquare() (*square, bool)  { return &square{4, 2}, true }
func (*shape) ToCircle() (*square, bool)  { return nil, false }

// Operations are run by section 6 of the GraphQL specification: fields are merged and
// keep their order, and an error makes the nearest nullable parent null.
func TestExecution(t *testing.T) {
	schema, err := loadSchema(executionSchema)
	require.NoError(t, err)
	// No query here uses the radius, and the Go type does not have it.
	schema.Types["Circle"].Fields = schema.Types["Circle"].Fields[:1]
	s := &Server{MaxTime: time.Hour, log: slog.New(slog.DiscardHandler)}
	s.binding, err = bind(schema, executed{}, changed{})
	require.NoError(t, err)
	for _, c := range []struct{ body, data, paths string }{
		{`{"query":"{a{ok}}"}`, `{"a":{"ok":1}}`, `[]`},
		{`{"query":"{b:a{x:ok ok} ...f a{ok}} fragment f on Query{b:a{maybe2:ok ok} c:a{ok}}"}`, `{"b":{"x":1,"ok":1,"maybe2":1},"c":{"ok":1},"a":{"ok":1}}`, `[]`},
		{`{"query":"query($s:Boolean!,$i:Boolean=false){a@skip(if:$s){ok} b:a@include(if:$i){ok} c:a@include(if:true)@skip(if:false){ok} ...@include(if:$i){d:a{ok}}}","variables":{"s":true}}`, `{"c":{"ok":1}}`, `[]`},
		{`{"query":"{a@skip(if:true){ok}}"}`, `{}`, `[]`},
		{`{"query":"{shape{__typename size ...on Square{side} ...on Circle{round:size} ...on Shape{again:size}}}"}`, `{"shape":{"__typename":"Square","size":4,"side":2,"again":4}}`, `[]`},
		{`{"query":"{a{ok bad}}"}`, `{"a":null}`, `[["a","bad"]]`},
		{`{"query":"{a{ok maybe}}"}`, `{"a":{"ok":1,"maybe":null}}`, `[["a","maybe"]]`},
		{`{"query":"{a{ok nothing}}"}`, `{"a":null}`, `[["a","nothing"]]`},
		{`{"query":"{a{a{a{ok bad}}}}"}`, `{"a":{"a":{"a":null}}}`, `[["a","a","a","bad"]]`},
		{`{"query":"{list{ok}}"}`, `{"list":[{"ok":1},null,{"ok":2}]}`, `[]`},
		{`{"query":"{list{bad}}"}`, `{"list":[null,null,null]}`, `[["list",0,"bad"],["list",2,"bad"]]`},
		{`{"query":"{full{ok}}"}`, `{"full":[{"ok":1},{"ok":2}]}`, `[]`},
		{`{"query":"{full{bad}}"}`, `{"full":null}`, `[["full",0,"bad"]]`},
		{`{"query":"{a{ok} must{bad}}"}`, `null`, `[["must","bad"]]`},
		{`{"query":"{pair b:pair(x:2) c:pair(y:3,x:4)}"}`, `{"pair":[1,-1],"b":[2,-1],"c":[4,3]}`, `[]`},
		{`{"query":"query($x:Int){pair(x:$x)}","variables":{"x":null}}`, `null`, `[["pair"]]`},
		{`{"query":"mutation{a:first second b:first}"}`, `{"a":null,"second":2,"b":null}`, `[["a"],["b"]]`},
		{`{"query":"query a{a{ok}} query b{__typename}","operationName":"b"}`, `{"__typename":"Query"}`, `[]`},
	} {
		_, answer, err := s.Answer(t.Context(), Request{Caller: base.Caller{Key: true, Role: auth.RoleAll}, Body: []byte(c.body)})
		require.NoError(t, err)
		require.Equal(t, c.data, gjson.GetBytes(answer, "data").Raw, "%s\n%s", c.body, answer)
		require.Equal(t, c.paths, "["+trimmed(gjson.GetBytes(answer, "errors.#.path").Raw)+"]", c.body)
		require.NotContains(t, string(answer), "secret")
	}
	for body, want := range map[string]string{
		`{"query":"query a{a{ok}} query b{a{ok}}"}`:                         "operationName: is required, since the document has several operations",
		`{"query":"query a{a{ok}}","operationName":"b"}`:                    "operationName: must be the name of an operation in the document, which has none named b",
		`{"query":"fragment f on A{ok}"}`:                                   "query: must have an operation, such as { viewer { permissions } }",
		`{"query":"query a{a{ok}} query b{__typename}","operationName":""}`: "operationName: is required, since the document has several operations",
	} {
		_, answer, err := s.Answer(t.Context(), Request{Caller: base.Caller{Key: true, Role: auth.RoleAll}, Body: []byte(body)})
		require.NoError(t, err)
		require.Equal(t, want, gjson.GetBytes(answer, "errors.0.message").String(), body)
	}
}

// trimmed returns a list without its brackets.
func trimmed(list string) string {
	if len(list) < 2 {
		return ""
	}
	return list[1 : len(list)-1]
}

// Binding a schema fails if the Go types have no method or field of the right form.
func TestBind_Errors(t *testing.T) {
	for text, want := range map[string]string{
		`type Query{b:Int} type Mutation{first:Int}`:                           "Query.b: graphql.executed has no such method or field",
		`type Query{pair(z:Int):[Int]} type Mutation{first:Int}`:               "Query.pair: struct { X graphql.argument; Y graphql.argument } has no argument z",
		`type Query{a(x:Int):A} type A{ok:Int} type Mutation{first:Int}`:       "Query.a: the method takes no arguments",
		`type Query{a:[A]} type A{ok:Int} type Mutation{first:Int}`:            "Query.a: graphql.executedA is not a slice",
		`type Query{a:Int} type Mutation{first:Int}`:                           "Query.a: graphql.executedA is not a scalar",
		`type Query{shape:S} union S=T type T{x:Int} type Mutation{first:Int}`: "Query.shape: *graphql.shape has no ToT",
	} {
		schema, err := loadSchema(text)
		require.NoError(t, err)
		_, err = bind(schema, executed{}, changed{})
		require.EqualError(t, err, want)
	}
}
