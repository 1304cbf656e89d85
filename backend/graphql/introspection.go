package graphql

import (
	"context"
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// The nodes of this file are the schema itself, as section 4 of the GraphQL
// specification has it. Answer decides which callers may ask for it.

type schemaNode struct{ schema *ast.Schema }

// Schema is the field __schema.
func (*query) Schema(ctx context.Context) schemaNode { return schemaNode{callOf(ctx).schema} }

// Type is the field __type: a type by its name, or null.
func (*query) Type(ctx context.Context, args struct{ Name argument }) (*typeNode, error) {
	name, err := args.Name.text("name")
	s := callOf(ctx).schema
	if err != nil || s.Types[name] == nil {
		return nil, err
	}
	return named(s, name), nil
}

// Description is null: the schema has none.
func (schemaNode) Description() *string { return nil }

// Types are all types, in the order of their names.
func (n schemaNode) Types() (all []*typeNode) {
	for _, name := range slices.Sorted(maps.Keys(n.schema.Types)) {
		all = append(all, named(n.schema, name))
	}
	return all
}

// QueryType is the root of queries.
func (n schemaNode) QueryType() *typeNode { return named(n.schema, n.schema.Query.Name) }

// MutationType is the root of mutations.
func (n schemaNode) MutationType() *typeNode { return named(n.schema, n.schema.Mutation.Name) }

// SubscriptionType is null: GraphQL subscriptions are not offered.
func (schemaNode) SubscriptionType() *typeNode { return nil }

// Directives are those that a document may have.
func (n schemaNode) Directives() (all []directiveNode) {
	for _, name := range slices.Sorted(maps.Keys(n.schema.Directives)) {
		all = append(all, directiveNode{n.schema, n.schema.Directives[name]})
	}
	return all
}

// typeNode is a type: one by its name, or a list of, or never null.
type typeNode struct {
	schema *ast.Schema
	// def is nil for a list, and for a type that is never null.
	def *ast.Definition
	// wrapped is the type within, nil for one by its name.
	wrapped *typeNode
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

// is reports whether the type has one of these kinds.
func (n *typeNode) is(kinds ...ast.DefinitionKind) bool {
	return n.def != nil && slices.Contains(kinds, n.def.Kind)
}

// Kind is a __TypeKind.
func (n *typeNode) Kind() string {
	if n.def == nil {
		return n.wrapper
	}
	return string(n.def.Kind)
}

// Name is null for a type without one.
func (n *typeNode) Name() *string {
	if n.def == nil {
		return nil
	}
	return &n.def.Name
}

// Description is what the schema says about the type.
func (n *typeNode) Description() *string {
	if n.def == nil {
		return nil
	}
	return textOrNull(n.def.Description)
}

// SpecifiedByURL is what a scalar's @specifiedBy says.
func (n *typeNode) SpecifiedByURL() *string {
	if n.def == nil {
		return nil
	}
	return directiveText(n.def.Directives, "specifiedBy", "url")
}

type deprecatedArguments struct{ IncludeDeprecated argument }

// shows reports whether something with these directives is to be listed.
func (a deprecatedArguments) shows(directives ast.DirectiveList) bool {
	return a.IncludeDeprecated.value == true || directives.ForName("deprecated") == nil
}

// Fields are those of an object or interface.
func (n *typeNode) Fields(args deprecatedArguments) *[]fieldNode {
	if !n.is(ast.Object, ast.Interface) {
		return nil
	}
	all := []fieldNode{}
	for _, f := range n.def.Fields {
		// __schema and __type are fields of every query, and not listed.
		if args.shows(f.Directives) && (len(f.Name) < 2 || f.Name[:2] != "__") {
			all = append(all, fieldNode{n.schema, f})
		}
	}
	return &all
}

// Interfaces are those that an object or interface implements.
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

// PossibleTypes are the objects of an interface or union.
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

// EnumValues are those of an enum.
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

// InputFields are the keys of an input object.
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

// OfType is the type within a list, or within one that is never null.
func (n *typeNode) OfType() *typeNode { return n.wrapped }

// IsOneOf is null for what is no input object.
func (n *typeNode) IsOneOf() *bool {
	if !n.is(ast.InputObject) {
		return nil
	}
	return pointer(n.def.Directives.ForName("oneOf") != nil)
}

// deprecation is what @deprecated says.
type deprecation struct{ directives ast.DirectiveList }

// IsDeprecated reports whether there is the directive.
func (d deprecation) IsDeprecated() bool { return d.directives.ForName("deprecated") != nil }

// DeprecationReason is null for what is not deprecated.
func (d deprecation) DeprecationReason() *string {
	return directiveText(d.directives, "deprecated", "reason")
}

// directiveText is an argument of a directive; null without the directive.
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
	schema *ast.Schema
	def    *ast.FieldDefinition
}

// Name is the field's.
func (n fieldNode) Name() string { return n.def.Name }

// Description is what the schema says about the field.
func (n fieldNode) Description() *string { return textOrNull(n.def.Description) }

// Args are the field's arguments.
func (n fieldNode) Args(args deprecatedArguments) []inputNode {
	return argumentNodes(n.schema, n.def.Arguments, args)
}

// Type is what the field returns.
func (n fieldNode) Type() *typeNode { return typeOf(n.schema, n.def.Type) }

// IsDeprecated reports whether the field is to be avoided.
func (n fieldNode) IsDeprecated() bool { return deprecation{n.def.Directives}.IsDeprecated() }

// DeprecationReason says why.
func (n fieldNode) DeprecationReason() *string {
	return deprecation{n.def.Directives}.DeprecationReason()
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

func argumentNodes(s *ast.Schema, defined ast.ArgumentDefinitionList, args deprecatedArguments) []inputNode {
	all := []inputNode{}
	for _, a := range defined {
		if args.shows(a.Directives) {
			all = append(all, newInput(s, a.Name, a.Description, a.Type, a.DefaultValue, a.Directives))
		}
	}
	return all
}

type directiveNode struct {
	schema *ast.Schema
	def    *ast.DirectiveDefinition
}

// Name is the directive's.
func (n directiveNode) Name() string { return n.def.Name }

// Description is what the GraphQL specification says about the directive.
func (n directiveNode) Description() *string { return textOrNull(n.def.Description) }

// IsRepeatable reports whether it may stand twice at one place.
func (n directiveNode) IsRepeatable() bool { return n.def.IsRepeatable }

// Locations are where it may stand.
func (n directiveNode) Locations() (all []string) {
	for _, at := range n.def.Locations {
		all = append(all, string(at))
	}
	return all
}

// Args are the directive's arguments.
func (n directiveNode) Args(args deprecatedArguments) []inputNode {
	return argumentNodes(n.schema, n.def.Arguments, args)
}
