package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"kith/core/auth"
)

// permitted returns an error if the role of the caller's API key does not permit a
// selection. Scalar fields are permitted with the object that they belong to.
func (e *execution) permitted(selected ast.SelectionSet) error {
	p := permissions{execution: e}
	return p.all(selected)
}

type permissions struct {
	*execution
	// visited are the names of the fragments that were checked.
	visited []string
}

func (p *permissions) all(selected ast.SelectionSet) error {
	for _, s := range selected {
		if err := p.one(s); err != nil {
			return err
		}
	}
	return nil
}

func (p *permissions) one(s ast.Selection) error {
	switch s := s.(type) {
	case *ast.InlineFragment:
		return p.all(s.SelectionSet)
	case *ast.FragmentSpread:
		if slices.Contains(p.visited, s.Name) {
			return nil
		}
		p.visited = append(p.visited, s.Name)
		return p.all(p.document.Fragments.ForName(s.Name).SelectionSet)
	case *ast.Field:
		return p.field(s)
	}
	return nil
}

func (p *permissions) field(f *ast.Field) error {
	if strings.HasPrefix(f.Name, "__") {
		return nil
	}
	of := f.ObjectDefinition
	if atTop := of == p.schema.Query || of == p.schema.Mutation; atTop || len(f.SelectionSet) > 0 {
		if err := p.Caller.Require(auth.Operation(of.Name + "." + f.Name)); err != nil {
			return err
		}
	}
	return p.all(f.SelectionSet)
}
