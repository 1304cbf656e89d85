package graphql

import (
	"context"
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// The nodes of this file describe the schema, as in section 4 of the GraphQL
// specification. Server.allowed decides which callers may read them.

type schemaNode struct{ schema *ast.Schema }

// Schema is the field __schema.
func (*query) Schema(ctx context.Context) schemaNode { return schemaNode{callOf(ctx).schema} }

// Type is the field __type. It returns a type by its name, or null.
func (*query) Type(ctx context.Context, args struct{ Name argument }) *typeNode {
	s, name := callOf(ctx).schema, args.Name.text()
	if s.Types[name] == nil {
		return nil
	}
	return named(s, name)
}

// Description is null: the schema has no description.
func (schemaNode) Description() *string { return nil }

// Types returns all types, sorted by name.
func (n schemaNode) Types() (all []*typeNode) {
	for _, name := range slices.Sorted(maps.Keys(n.schema.Types)) {
		all = append(all, named(n.schema, name))
	}
	return all
}

// QueryType returns the type Query.
func (n schemaNode) QueryType() *typeNode { return named(n.schema, n.schema.Query.Name) }

// MutationType returns the type Mutation.
func (n schemaNode) MutationType() *typeNode { return named(n.schema, n.schema.Mutation.Name) }

// SubscriptionType is null: the schema has no subscriptions.
func (schemaNode) SubscriptionType() *typeNode { return nil }

// Directives returns the directives that a document may use, sorted by name.
func (n schemaNode) Directives() (all []directiveNode) {
	for _, name := range slices.Sorted(maps.Keys(n.schema.Directives)) {
		d := n.schema.Directives[name]
		one := directiveNode{Name: name, Description: textOrNull(d.Description), IsRepeatable: d.IsRepeatable, argumentsNode: argumentsNode{n.schema, d.Arguments}}
		for _, at := range d.Locations {
			one.Locations = append(one.Locations, string(at))
		}
		all = append(all, one)
	}
	return all
}

// typeNode is a named type, a list, or a non-null type.
type typeNode struct {
	schema *ast.Schema
	// def is the definition of a named type; nil for a list and a non-null type.
	def *ast.Definition
	// wrapped is the type within a list or a non-null type; nil for a named type.
	wrapped *typeNode
	// wrapper is LIST or NON_NULL; empty for a named type.
	wrapper string
}

func named(s *ast.Schema, name string) *typeNode { return &typeNode{schema: s, def: s.Types[name]} }

func typeOf(s *ast.Schema, t *ast.Type) *typeNode {
	switch {
	case t.NonNull:
		nullable := *t
		nullable.NonNull = false
		return &typeNode{wrapped: typeOf(s, &nullable), wrapper: "NON_NULL"}
	case t.Elem != nil:
		return &typeNode{wrapped: typeOf(s, t.Elem), wrapper: "LIST"}
	}
	return named(s, t.NamedType)
}

// is reports whether the type is a named type of one of these kinds.
func (n *typeNode) is(kinds ...ast.DefinitionKind) bool {
	return n.def != nil && slices.Contains(kinds, n.def.Kind)
}

// Kind returns a __TypeKind.
func (n *typeNode) Kind() string {
	if n.def == nil {
		return n.wrapper
	}
	return string(n.def.Kind)
}

// Name is null for a list and a non-null type.
func (n *typeNode) Name() *string {
	if n.def == nil {
		return nil
	}
	return &n.def.Name
}

// Description returns the description of the type, or null.
func (n *typeNode) Description() *string {
	if n.def == nil {
		return nil
	}
	return textOrNull(n.def.Description)
}

// SpecifiedByURL returns the URL in @specifiedBy of a scalar, or null.
func (n *typeNode) SpecifiedByURL() *string {
	if n.def == nil {
		return nil
	}
	return directiveText(n.def.Directives, "specifiedBy", "url")
}

type deprecatedArguments struct{ IncludeDeprecated argument }

// shows reports whether an element with these directives is listed.
func (a deprecatedArguments) shows(directives ast.DirectiveList) bool {
	return a.IncludeDeprecated.value == true || directives.ForName("deprecated") == nil
}

// Fields returns the fields of an object or interface; null for other kinds.
func (n *typeNode) Fields(args deprecatedArguments) *[]fieldNode {
	if !n.is(ast.Object, ast.Interface) {
		return nil
	}
	all := []fieldNode{}
	for _, f := range n.def.Fields {
		// __schema and __type are not listed.
		if args.shows(f.Directives) && (len(f.Name) < 2 || f.Name[:2] != "__") {
			all = append(all, fieldNode{
				Name: f.Name, Description: textOrNull(f.Description), Type: typeOf(n.schema, f.Type),
				deprecation: deprecation{f.Directives}, argumentsNode: argumentsNode{n.schema, f.Arguments},
			})
		}
	}
	return &all
}

// Interfaces returns what an object or interface implements; null for other kinds.
func (n *typeNode) Interfaces() *[]*typeNode {
	if !n.is(ast.Object, ast.Interface) {
		return nil
	}
	all := []*typeNode{}
	for _, name := range n.def.Interfaces {
		all = append(all, named(n.schema, name))
	}
	return &all
}

// PossibleTypes returns the object types of an interface or union; null for other kinds.
func (n *typeNode) PossibleTypes() *[]*typeNode {
	if !n.is(ast.Interface, ast.Union) {
		return nil
	}
	all := []*typeNode{}
	for _, def := range n.schema.PossibleTypes[n.def.Name] {
		all = append(all, named(n.schema, def.Name))
	}
	return &all
}

// EnumValues returns the values of an enum; null for other kinds.
func (n *typeNode) EnumValues(args deprecatedArguments) *[]enumValueNode {
	if !n.is(ast.Enum) {
		return nil
	}
	all := []enumValueNode{}
	for _, v := range n.def.EnumValues {
		if args.shows(v.Directives) {
			all = append(all, enumValueNode{v.Name, textOrNull(v.Description), deprecation{v.Directives}})
		}
	}
	return &all
}

// InputFields returns the keys of an input object; null for other kinds.
func (n *typeNode) InputFields(args deprecatedArguments) *[]inputNode {
	if !n.is(ast.InputObject) {
		return nil
	}
	all := []inputNode{}
	for _, f := range n.def.Fields {
		if args.shows(f.Directives) {
			all = append(all, newInput(n.schema, f.Name, f.Description, f.Type, f.DefaultValue, f.Directives))
		}
	}
	return &all
}

// OfType returns the type within a list or a non-null type; null for other kinds.
func (n *typeNode) OfType() *typeNode { return n.wrapped }

// IsOneOf reports whether an input object has @oneOf; null for other kinds.
func (n *typeNode) IsOneOf() *bool {
	if !n.is(ast.InputObject) {
		return nil
	}
	return pointer(n.def.Directives.ForName("oneOf") != nil)
}

// deprecation has the fields of an element that may have @deprecated.
type deprecation struct{ directives ast.DirectiveList }

// IsDeprecated reports whether the element has @deprecated.
func (d deprecation) IsDeprecated() bool { return d.directives.ForName("deprecated") != nil }

// DeprecationReason is null unless the element is deprecated.
func (d deprecation) DeprecationReason() *string {
	return directiveText(d.directives, "deprecated", "reason")
}

// directiveText returns an argument of a directive, or nil without the directive.
func directiveText(all ast.DirectiveList, name, argument string) *string {
	d := all.ForName(name)
	if d == nil {
		return nil
	}
	if given := d.Arguments.ForName(argument); given != nil {
		return &given.Value.Raw
	}
	return &d.Definition.Arguments.ForName(argument).DefaultValue.Raw
}

type fieldNode struct {
	Name        string
	Description *string
	Type        *typeNode
	deprecation
	argumentsNode
}

type enumValueNode struct {
	Name        string
	Description *string
	deprecation
}

// inputNode is an argument, or a key of an input object.
type inputNode struct {
	Name                      string
	Description, DefaultValue *string
	Type                      *typeNode
	deprecation
}

func newInput(s *ast.Schema, name, description string, t *ast.Type, unset *ast.Value, directives ast.DirectiveList) inputNode {
	n := inputNode{Name: name, Description: textOrNull(description), Type: typeOf(s, t), deprecation: deprecation{directives}}
	if unset != nil {
		n.DefaultValue = pointer(unset.String())
	}
	return n
}

// argumentsNode has the arguments of a field or a directive.
type argumentsNode struct {
	schema  *ast.Schema
	defined ast.ArgumentDefinitionList
}

// Args returns the arguments.
func (n argumentsNode) Args(args deprecatedArguments) []inputNode {
	all := []inputNode{}
	for _, a := range n.defined {
		if args.shows(a.Directives) {
			all = append(all, newInput(n.schema, a.Name, a.Description, a.Type, a.DefaultValue, a.Directives))
		}
	}
	return all
}

type directiveNode struct {
	Name         string
	Description  *string
	IsRepeatable bool
	Locations    []string
	argumentsNode
}
