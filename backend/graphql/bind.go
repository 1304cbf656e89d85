package graphql

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// resolver returns the value of a field of a parent.
type resolver func(ctx context.Context, parent reflect.Value, arguments map[string]any) (reflect.Value, error)

// boundField is a field of an object type with its resolver.
type boundField struct {
	*ast.FieldDefinition
	resolve resolver
}

// object is an object type of the schema, bound to a Go type.
type object struct {
	def    *ast.Definition
	fields map[string]boundField
	// value is the parent of the fields of Query or Mutation; invalid for other types.
	value reflect.Value
}

// goType is a type of the schema, by name, together with a Go type.
type goType struct {
	name string
	of   reflect.Type
}

// member is an object type of an interface or a union. The method returns a value as that
// object type, and whether it is one.
type member struct {
	method int
	object *object
}

// binding resolves each field of the schema with the method or field of a Go type that
// has the same name, regardless of case. A method has up to two parameters: a context,
// and a struct with a field of type argument for each argument of the GraphQL field. It
// returns a value, or a value and an error. The Go type of an interface or a union has a
// method ToX for each of its object types X, which returns the value as an X, and whether
// it is one.
type binding struct {
	schema  *ast.Schema
	roots   map[ast.Operation]*object
	objects map[goType]*object
	members map[goType][]member
}

// bind binds the schema to the Go values of Query and Mutation. It fails if a field has no
// method or field of the right form.
func bind(schema *ast.Schema, q, m any) (binding, error) {
	b := binding{schema: schema, objects: map[goType]*object{}, members: map[goType][]member{}}
	queries, err := b.object(schema.Query, reflect.TypeOf(q))
	if err != nil {
		return b, err
	}
	mutations, err := b.object(schema.Mutation, reflect.TypeOf(m))
	if err != nil {
		return b, err
	}
	queries.value, mutations.value = reflect.ValueOf(q), reflect.ValueOf(m)
	b.roots = map[ast.Operation]*object{ast.Query: queries, ast.Mutation: mutations}
	return b, nil
}

// objectOf returns the object type of a value whose type in the schema has this name, and
// the value as that type. The object type is nil if the value has none.
func (b *binding) objectOf(name string, v reflect.Value) (*object, reflect.Value) {
	key := goType{name, v.Type()}
	for _, m := range b.members[key] {
		if out := v.Method(m.method).Call(nil); out[1].Bool() {
			return m.object, out[0]
		}
	}
	return b.objects[key], v
}

// object binds an object type to a Go type.
func (b *binding) object(def *ast.Definition, of reflect.Type) (*object, error) {
	key := goType{def.Name, of}
	if o := b.objects[key]; o != nil {
		return o, nil
	}
	o := &object{def: def, fields: map[string]boundField{}}
	b.objects[key] = o
	for _, f := range def.Fields {
		r, out, err := resolverOf(f, of)
		if err == nil {
			err = b.output(f.Type, out)
		}
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", def.Name, f.Name, err)
		}
		o.fields[f.Name] = boundField{f, r}
	}
	return o, nil
}

// output binds the type of a field to the Go type that its resolver returns.
func (b *binding) output(t *ast.Type, of reflect.Type) error {
	for ; t.Elem != nil; t = t.Elem {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Slice {
			return fmt.Errorf("%s is not a slice", of)
		}
		of = of.Elem()
	}
	switch def := b.schema.Types[t.NamedType]; def.Kind {
	case ast.Object:
		_, err := b.object(def, of)
		return err
	case ast.Interface, ast.Union:
		return b.abstract(def, of)
	}
	return checkLeaf(of)
}

// abstract binds an interface or a union to a Go type.
func (b *binding) abstract(def *ast.Definition, of reflect.Type) error {
	key := goType{def.Name, of}
	if b.members[key] != nil {
		return nil
	}
	b.members[key] = []member{}
	for _, possible := range b.schema.PossibleTypes[def.Name] {
		method, ok := of.MethodByName("To" + possible.Name)
		if !ok {
			return fmt.Errorf("%s has no To%s", of, possible.Name)
		}
		o, err := b.object(possible, method.Type.Out(0))
		if err != nil {
			return err
		}
		b.members[key] = append(b.members[key], member{method.Index, o})
	}
	return nil
}

// checkLeaf returns an error unless values of a Go type can be written as a scalar.
func checkLeaf(of reflect.Type) error {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return nil
	}
	return fmt.Errorf("%s is not a scalar", of)
}

// resolverOf returns the resolver of a field, and the Go type that it returns.
func resolverOf(f *ast.FieldDefinition, of reflect.Type) (resolver, reflect.Type, error) {
	// A Go name has no underscores, with which the fields of introspection begin.
	same := func(name string) bool { return strings.EqualFold(name, strings.TrimPrefix(f.Name, "__")) }
	for i := range of.NumMethod() {
		if method := of.Method(i); same(method.Name) {
			return methodResolver(f, method)
		}
	}
	indirect := of
	if of.Kind() == reflect.Pointer {
		indirect = of.Elem()
	}
	field, ok := indirect.FieldByNameFunc(same)
	if !ok || !field.IsExported() || len(f.Arguments) > 0 {
		return nil, nil, fmt.Errorf("%s has no such method or field", of)
	}
	return func(_ context.Context, parent reflect.Value, _ map[string]any) (reflect.Value, error) {
		return reflect.Indirect(parent).FieldByIndex(field.Index), nil
	}, field.Type, nil
}

// methodResolver returns the resolver that calls a method.
func methodResolver(f *ast.FieldDefinition, method reflect.Method) (resolver, reflect.Type, error) {
	in := 1
	takesContext := method.Type.NumIn() > in && method.Type.In(in) == reflect.TypeFor[context.Context]()
	if takesContext {
		in++
	}
	var arguments argumentsOf
	if method.Type.NumIn() > in {
		arguments.of = method.Type.In(in)
	}
	if err := arguments.bind(f.Arguments); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, parent reflect.Value, given map[string]any) (reflect.Value, error) {
		var in []reflect.Value
		if takesContext {
			in = append(in, reflect.ValueOf(ctx))
		}
		if arguments.of != nil {
			in = append(in, arguments.value(given))
		}
		out := parent.Method(method.Index).Call(in)
		if len(out) == 2 && !out[1].IsNil() {
			return out[0], out[1].Interface().(error)
		}
		return out[0], nil
	}, method.Type.Out(0), nil
}

// argumentsOf is the type of the struct with a field's arguments; nil: no arguments.
type argumentsOf struct {
	of reflect.Type
	// places has the index of the struct field of each argument, by name.
	places map[string][]int
}

func (a *argumentsOf) bind(defined ast.ArgumentDefinitionList) error {
	a.places = map[string][]int{}
	if a.of == nil && len(defined) > 0 {
		return fmt.Errorf("the method takes no arguments")
	}
	for _, d := range defined {
		field, ok := a.of.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, d.Name) })
		if !ok || field.Type != reflect.TypeFor[argument]() {
			return fmt.Errorf("%s has no argument %s", a.of, d.Name)
		}
		a.places[d.Name] = field.Index
	}
	return nil
}

func (a *argumentsOf) value(given map[string]any) reflect.Value {
	v := reflect.New(a.of).Elem()
	for name, value := range given {
		v.FieldByIndex(a.places[name]).Set(reflect.ValueOf(argument{value}))
	}
	return v
}
