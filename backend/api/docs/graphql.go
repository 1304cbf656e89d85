package docs

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// graphQLPage is what the page of the GraphQL API shows.
type graphQLPage struct {
	Intro  string
	Groups []typeGroup
}

// typeGroup is the types of one kind.
type typeGroup struct {
	Name  string
	Types []graphQLType
}

type graphQLType struct {
	Name, Text string
	// Fields are fields, or keys of an input.
	Fields []field
	// Values are those of an enumeration.
	Values []described
	// Of are the members of a union, or the types that implement an interface.
	Of []word
	// Root is true for Query and Mutation.
	Root bool
}

type field struct {
	Name, Text string
	Form       []word
	Default    string
	Arguments  []field
}

// GraphQL renders a schema in GraphQL's own language.
func GraphQL(text string) ([]byte, error) {
	schema, err := validator.LoadSchema(validator.Prelude, &ast.Source{Name: "schema.graphql", Input: text})
	if err != nil {
		return nil, err
	}
	groups := []typeGroup{{Name: "Queries"}, {Name: "Mutations"}, {Name: "Objects"}, {Name: "Inputs"}, {Name: "Enumerations"}, {Name: "Scalars"}}
	for _, def := range slices.SortedFunc(maps.Values(schema.Types), inOrder) {
		if def.BuiltIn {
			continue
		}
		at := map[ast.DefinitionKind]int{ast.InputObject: 3, ast.Enum: 4, ast.Scalar: 5}
		i, ok := at[def.Kind]
		switch {
		case def == schema.Query:
			i = 0
		case def == schema.Mutation:
			i = 1
		case !ok:
			i = 2
		}
		groups[i].Types = append(groups[i].Types, describedType(schema, def))
	}
	return render("graphql", graphQLPage{schema.Description, groups})
}

// inOrder compares types by where the schema defines them.
func inOrder(a, b *ast.Definition) int {
	line := func(d *ast.Definition) int {
		if d.Position == nil {
			return 0
		}
		return d.Position.Line
	}
	return cmp.Or(cmp.Compare(line(a), line(b)), strings.Compare(a.Name, b.Name))
}

func describedType(schema *ast.Schema, def *ast.Definition) graphQLType {
	t := graphQLType{Name: def.Name, Text: def.Description, Root: def == schema.Query || def == schema.Mutation}
	for _, f := range def.Fields {
		if strings.HasPrefix(f.Name, "__") {
			continue
		}
		one := field{Name: f.Name, Text: f.Description, Form: typeWords(f.Type), Default: defaultOf(f.DefaultValue)}
		for _, a := range f.Arguments {
			one.Arguments = append(one.Arguments, field{Name: a.Name, Text: a.Description, Form: typeWords(a.Type), Default: defaultOf(a.DefaultValue)})
		}
		t.Fields = append(t.Fields, one)
	}
	for _, v := range def.EnumValues {
		t.Values = append(t.Values, described{v.Name, v.Description})
	}
	if def.IsAbstractType() {
		for _, possible := range schema.PossibleTypes[def.Name] {
			t.Of = append(t.Of, word{possible.Name, true})
		}
	}
	return t
}

func defaultOf(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return v.String()
}

// typeWords is the name of a type, such as [User!]!, whose innermost name is a link.
func typeWords(t *ast.Type) []word {
	before, after, _ := strings.Cut(t.String(), t.Name())
	builtIn := slices.Contains([]string{"String", "Int", "Float", "Boolean", "ID"}, t.Name())
	return []word{{before, false}, {t.Name(), !builtIn}, {after, false}}
}
