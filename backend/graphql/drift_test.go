package graphql

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/graph-gophers/graphql-go/ast"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/wasm/transcript"
)

// Every field that the schema offers, of every type, is asked for with success
// in some story; so the stories show the whole surface.
func TestSchema_StoriesAskForEveryField(t *testing.T) {
	s, err := New(nil, slog.New(slog.DiscardHandler), false)
	require.NoError(t, err)
	exchanges, err := transcript.Exchanges("../../wasm/transcript/testdata/story")
	require.NoError(t, err)
	seen := &asked{schema: s.schema.AST(), fields: map[string]bool{}}
	for _, x := range exchanges {
		if x.Method == "POST" && strings.HasSuffix(x.Target, "/graphql") && x.Status == 200 && x.ResponseType == "application/json" {
			seen.call(t, x)
		}
	}
	for _, kind := range s.schema.AST().Types {
		object, ok := kind.(*ast.ObjectTypeDefinition)
		if !ok || strings.HasPrefix(object.Name, "__") {
			continue
		}
		for _, f := range object.Fields {
			assert.True(t, seen.fields[object.Name+"."+f.Name], "no story asks for %s.%s", object.Name, f.Name)
		}
	}
}

// asked collects the fields that stories ask for.
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
	d, err := parse(body.Query, knownBounds)
	if err != nil {
		return
	}
	op := d.operation(body.OperationName)
	require.NotNil(t, op, x.Title)
	data := gjson.Get(x.Response, "data")
	for _, s := range op.selections {
		// A field that failed shows nothing.
		if data.Get(gjson.Escape(s.alias)).Type != gjson.Null {
			a.selections(d, []selection{s}, a.schema.RootOperationTypes[op.kind])
		}
	}
}

func (a *asked) selections(d *document, all []selection, of ast.NamedType) {
	for _, s := range all {
		switch {
		case s.spread != "":
			a.selections(d, d.fragments[s.spread].selections, a.schema.Types[d.fragments[s.spread].on])
		case s.name == "" && s.on != "":
			a.selections(d, s.children, a.schema.Types[s.on])
		case s.name == "":
			a.selections(d, s.children, of)
		default:
			def := fieldsOf(of).Get(s.name)
			if def == nil {
				continue // __typename
			}
			for _, object := range objectsOf(of) {
				a.fields[object+"."+s.name] = true
			}
			a.selections(d, s.children, named(def.Type))
		}
	}
}

// objectsOf are the types that a field of a type is a field of: of an
// interface, all that have it.
func objectsOf(t ast.NamedType) []string {
	if face, ok := t.(*ast.InterfaceTypeDefinition); ok {
		var all []string
		for _, object := range face.PossibleTypes {
			all = append(all, object.Name)
		}
		return all
	}
	return []string{t.TypeName()}
}
