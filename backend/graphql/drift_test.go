package graphql

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/ast"

	"kith/wasm/transcript"
)

// Every field of every type of the schema is in an answer of some story, so the stories
// show the whole API.
func TestSchema_StoriesAskForEveryField(t *testing.T) {
	s, err := New(nil, slog.New(slog.DiscardHandler), false)
	require.NoError(t, err)
	exchanges, err := transcript.Exchanges("../../wasm/transcript/testdata/story")
	require.NoError(t, err)
	seen := &asked{schema: s.schema, fields: map[string]bool{}}
	for _, x := range exchanges {
		if x.Method == "POST" && strings.HasSuffix(x.Target, "/graphql") && x.Status == 200 && x.ResponseType == "application/json" {
			seen.call(t, x)
		}
	}
	for name, kind := range s.schema.Types {
		if kind.Kind != ast.Object || strings.HasPrefix(name, "__") {
			continue
		}
		for _, f := range kind.Fields {
			assert.True(t, seen.fields[name+"."+f.Name] || strings.HasPrefix(f.Name, "__"), "no story has an answer with %s.%s", name, f.Name)
		}
	}
}

// asked collects the fields that the stories request.
type asked struct {
	schema *ast.Schema
	fields map[string]bool
}

func (a *asked) call(t *testing.T, x transcript.Exchange) {
	t.Helper()
	var body struct{ Query, OperationName string }
	if json.Unmarshal([]byte(x.Request), &body) != nil {
		return
	}
	d, err := parse(body.Query, authenticatedBounds)
	if err != nil {
		return
	}
	if problems := validate(a.schema, d); len(problems) > 0 {
		return
	}
	op := d.Operations.ForName(body.OperationName)
	require.NotNil(t, op, x.Title)
	data := gjson.Get(x.Response, "data")
	for _, s := range op.SelectionSet {
		// A field that failed is null.
		if f, ok := s.(*ast.Field); !ok || data.Get(gjson.Escape(f.Alias)).Type != gjson.Null {
			a.selections(ast.SelectionSet{s})
		}
	}
}

func (a *asked) selections(all ast.SelectionSet) {
	for _, s := range all {
		switch s := s.(type) {
		case *ast.FragmentSpread:
			a.selections(s.Definition.SelectionSet)
		case *ast.InlineFragment:
			a.selections(s.SelectionSet)
		case *ast.Field:
			for _, object := range a.objectsOf(s.ObjectDefinition) {
				a.fields[object+"."+s.Name] = true
			}
			a.selections(s.SelectionSet)
		}
	}
}

// objectsOf returns the object types that a field of a type belongs to: the type itself,
// or all types that implement it.
func (a *asked) objectsOf(t *ast.Definition) []string {
	if t.Kind != ast.Interface {
		return []string{t.Name}
	}
	var all []string
	for _, object := range a.schema.PossibleTypes[t.Name] {
		all = append(all, object.Name)
	}
	return all
}

// Every error that a query or mutation gets in a story is in the list of its
// description, or in that of every field, which the description of Query has.
func TestSchema_ErrorsAreListed(t *testing.T) {
	s, err := New(nil, slog.New(slog.DiscardHandler), false)
	require.NoError(t, err)
	exchanges, err := transcript.Exchanges("../../wasm/transcript/testdata/story")
	require.NoError(t, err)
	compared := 0
	for _, x := range exchanges {
		var body struct{ Query, OperationName string }
		if x.Method != "POST" || !strings.HasSuffix(x.Target, "/graphql") || json.Unmarshal([]byte(x.Request), &body) != nil {
			continue
		}
		d, err := parse(body.Query, authenticatedBounds)
		if err != nil || len(validate(s.schema, d)) > 0 {
			continue
		}
		fields := map[string]*ast.FieldDefinition{}
		for _, selected := range d.Operations.ForName(body.OperationName).SelectionSet {
			if f, ok := selected.(*ast.Field); ok {
				fields[f.Alias] = f.Definition
			}
		}
		for _, e := range gjson.Get(x.Response, "errors").Array() {
			path := e.Get("path").Array()
			if len(path) != 1 {
				continue
			}
			field := fields[path[0].String()]
			require.NotNil(t, field, x.Title)
			line := "- `" + e.Get("extensions.apiError.apiErrorCode").String() + "`"
			if rs := e.Get("extensions.apiError.rsCode").String(); rs != "" {
				line += " (`" + rs + "`)"
			}
			compared++
			assert.True(t, strings.Contains(field.Description, line+": ") || strings.Contains(s.schema.Query.Description, line+": "),
				"%s does not list %s: %s/%s: %s", field.Name, line, x.Story, x.Title, e.Get("message"))
		}
	}
	require.NotZero(t, compared)
}
