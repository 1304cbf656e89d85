package graphql

import (
	"flag"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"kith/backend/app/base"
	"kith/core/auth"
)

// Each field of Query and Mutation, and each other field that has fields, is permitted to the
// roles of API keys in testdata/roles.txt, and refuses all others with a message that names
// those. With -update the file is rewritten: read the diff.
func TestRoles(t *testing.T) {
	s, err := New(nil, slog.New(slog.DiscardHandler), false)
	require.NoError(t, err)
	var got []string
	for name, kind := range s.schema.Types {
		if kind.Kind != ast.Object && kind.Kind != ast.Interface || strings.HasPrefix(name, "__") {
			continue
		}
		for _, f := range kind.Fields {
			selected := &ast.Field{Name: f.Name, ObjectDefinition: kind}
			if s.schema.Types[f.Type.Name()].IsCompositeType() {
				selected.SelectionSet = ast.SelectionSet{&ast.Field{Name: "__typename"}}
			} else if kind != s.schema.Query && kind != s.schema.Mutation {
				continue
			}
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			var permitted []string
			refusals := map[auth.Role]error{}
			for _, role := range auth.Roles() {
				e := execution{call: &call{Server: s, Request: Request{Caller: base.Caller{Key: true, Role: role}}}}
				if err := e.permitted(ast.SelectionSet{selected}, nil); err != nil {
					refusals[role] = err
				} else {
					permitted = append(permitted, string(role))
				}
			}
			for role, err := range refusals {
				require.EqualError(t, err, "API key: has the role "+string(role)+", which does not permit "+name+"."+f.Name+"; use a key with the role "+strings.Join(permitted, " or "))
			}
			got = append(got, name+"."+f.Name+": "+strings.Join(permitted, " "))
		}
	}
	slices.Sort(got)
	text := strings.Join(got, "\n") + "\n"
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile("testdata/roles.txt", []byte(text), 0o600))
	}
	want, err := os.ReadFile("testdata/roles.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}
