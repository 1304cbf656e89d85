package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"

	"kith/backend/fault"
	"kith/core"
	"kith/core/wire"
)

// execution runs an operation by section 6 of the GraphQL specification. It writes each
// value when it was resolved.
type execution struct {
	*call
	document *ast.QueryDocument
	inputs   inputs

	// mu guards the fields below.
	mu     sync.Mutex
	errors []wire.GraphQLError
	// stopped reports whether errors has the error of the cancelled call.
	stopped bool
}

// group has the fields of an operation that are one field of the answer, since they have
// the same response name.
type group struct {
	// name is the response name.
	name   string
	fields []*ast.Field
	// below has the groups within this one, by object type.
	below map[string][]*group
}

// path is the path of a field in the answer, as a list that ends at the operation.
type path struct {
	up *path
	// step is a response name, or the index of an element as an int.
	step any
}

// run returns the data of an operation: a JSON object, or "null".
func (e *execution) run(ctx context.Context, op *ast.OperationDefinition) string {
	o := e.roots[op.Operation]
	groups, err := e.collect(o.def, op.SelectionSet)
	if err != nil {
		e.fail(ctx, err, nil, nil)
		return "null"
	}
	var w bytes.Buffer
	if op.Operation == ast.Mutation {
		if !e.object(ctx, &w, o, o.value, groups, nil) {
			return "null"
		}
		return w.String()
	}
	return e.query(ctx, o, groups)
}

// query resolves the top-level fields of a query concurrently.
func (e *execution) query(ctx context.Context, o *object, groups []*group) string {
	written, ok := make([]bytes.Buffer, len(groups)), make([]bool, len(groups))
	slots := make(chan struct{}, parallel)
	var running sync.WaitGroup
	for i, g := range groups {
		slots <- struct{}{}
		running.Go(func() {
			ok[i] = e.field(ctx, &written[i], o, o.value, g, &path{step: g.name})
			<-slots
		})
	}
	running.Wait()
	if slices.Contains(ok, false) {
		return "null"
	}
	return joined(groups, written)
}

// joined returns the JSON object of fields that were written to separate buffers.
func joined(groups []*group, written []bytes.Buffer) string {
	var b strings.Builder
	size := len("{}")
	for i, g := range groups {
		size += len(`,"":`) + len(g.name) + written[i].Len()
	}
	b.Grow(size)
	b.WriteByte('{')
	for i, g := range groups {
		b.WriteString(key(i, g.name))
		b.Write(written[i].Bytes())
	}
	b.WriteByte('}')
	return b.String()
}

// collect groups the selections of an object (GraphQL specification, section 6.3.2).
func (e *execution) collect(of *ast.Definition, sets ...ast.SelectionSet) ([]*group, error) {
	c := collector{execution: e, of: of, byName: map[string]*group{}, visited: map[string]bool{}}
	for _, set := range sets {
		if err := c.set(set); err != nil {
			return nil, err
		}
	}
	return c.groups, nil
}

type collector struct {
	*execution
	of      *ast.Definition
	groups  []*group
	byName  map[string]*group
	visited map[string]bool
}

func (c *collector) set(selections ast.SelectionSet) error {
	for _, s := range selections {
		if err := c.selection(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) selection(s ast.Selection) error {
	switch s := s.(type) {
	case *ast.Field:
		wanted, err := c.wanted(s.Directives)
		if wanted {
			c.add(s)
		}
		return err
	case *ast.InlineFragment:
		wanted, err := c.wanted(s.Directives)
		if err != nil || !wanted || s.TypeCondition != "" && !c.is(s.TypeCondition) {
			return err
		}
		return c.set(s.SelectionSet)
	case *ast.FragmentSpread:
		wanted, err := c.wanted(s.Directives)
		if err != nil || !wanted || c.visited[s.Name] {
			return err
		}
		c.visited[s.Name] = true
		if f := c.document.Fragments.ForName(s.Name); c.is(f.TypeCondition) {
			return c.set(f.SelectionSet)
		}
	}
	return nil
}

func (c *collector) add(f *ast.Field) {
	g := c.byName[f.Alias]
	if g == nil {
		g = &group{name: f.Alias}
		c.byName[f.Alias] = g
		c.groups = append(c.groups, g)
	}
	g.fields = append(g.fields, f)
}

// is reports whether the object has a type, which may be an interface or a union.
func (c *collector) is(name string) bool {
	return name == c.of.Name || slices.Contains(c.schema.PossibleTypes[name], c.of)
}

// wanted reports whether @skip and @include leave a selection in.
func (e *execution) wanted(directives ast.DirectiveList) (bool, error) {
	for _, d := range directives {
		arguments, err := e.inputs.arguments(d.Definition.Arguments, d.Arguments)
		if err != nil {
			return false, err
		}
		if d.Name == "skip" && arguments["if"] == true || d.Name == "include" && arguments["if"] == false {
			return false, nil
		}
	}
	return true, nil
}

// object writes the fields of an object. It returns false if the object must be null.
func (e *execution) object(ctx context.Context, w *bytes.Buffer, o *object, value reflect.Value, groups []*group, at *path) bool {
	e.put(w, "{")
	for i, g := range groups {
		e.put(w, key(i, g.name))
		if !e.field(ctx, w, o, value, g, &path{at, g.name}) {
			return false
		}
	}
	e.put(w, "}")
	return true
}

// key returns the JSON before the i-th value of an object: a comma, the name and a colon.
// A name has letters, digits and underscores only.
func key(i int, name string) string {
	if i == 0 {
		return `"` + name + `":`
	}
	return `,"` + name + `":`
}

// field resolves a field and writes its value. It returns false if the parent must be
// null.
func (e *execution) field(ctx context.Context, w *bytes.Buffer, o *object, parent reflect.Value, g *group, at *path) bool {
	f := g.fields[0]
	if f.Name == "__typename" {
		e.put(w, strconv.Quote(o.def.Name))
		return true
	}
	// The definition in the document may be that of an interface, which is less specific.
	bound := o.fields[f.Name]
	value, err := e.resolve(ctx, bound, parent, f)
	if err != nil {
		e.fail(ctx, err, f, at)
		return e.null(w, bound.Type)
	}
	return e.complete(ctx, w, bound.Type, value, g, at)
}

// resolve returns the value of a field. A panic is an internal error.
func (e *execution) resolve(ctx context.Context, bound boundField, parent reflect.Value, f *ast.Field) (value reflect.Value, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	defer func() {
		if value := recover(); value != nil {
			err = fault.Of(value)
		}
	}()
	arguments, err := e.inputs.arguments(bound.Arguments, f.Arguments)
	if err != nil {
		return value, err
	}
	return bound.resolve(ctx, parent, arguments)
}

// null writes null if a type is nullable, and reports whether it is.
func (e *execution) null(w *bytes.Buffer, t *ast.Type) bool {
	if !t.NonNull {
		e.put(w, "null")
	}
	return !t.NonNull
}

// complete writes a value of a type (GraphQL specification, section 6.4.3). It returns
// false if the value is null and must not be, so that its parent must be null.
func (e *execution) complete(ctx context.Context, w *bytes.Buffer, t *ast.Type, value reflect.Value, g *group, at *path) bool {
	if isNull(value) {
		if t.NonNull {
			e.fail(ctx, &core.Error{Message: "null for " + t.String()}, g.fields[0], at)
		}
		return e.null(w, t)
	}
	start := w.Len()
	if e.writeValue(ctx, w, t, value, g, at) {
		return true
	}
	w.Truncate(start)
	return e.null(w, t)
}

// isNull reports whether a value is null. An empty list is not null.
func isNull(v reflect.Value) bool {
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}

// writeValue writes a value that is not null. It returns false if it must be null.
func (e *execution) writeValue(ctx context.Context, w *bytes.Buffer, t *ast.Type, value reflect.Value, g *group, at *path) bool {
	if t.Elem != nil {
		return e.list(ctx, w, t.Elem, reflect.Indirect(value), g, at)
	}
	if kind := e.schema.Types[t.NamedType]; kind.IsLeafType() {
		e.leaf(w, reflect.Indirect(value))
		return true
	}
	o, value := e.objectOf(t.NamedType, value)
	if o == nil {
		e.fail(ctx, &core.Error{Message: "the value has no object type of " + t.NamedType}, g.fields[0], at)
		return false
	}
	groups, err := e.below(g, o.def)
	if err != nil {
		e.fail(ctx, err, g.fields[0], at)
		return false
	}
	return e.object(ctx, w, o, value, groups, at)
}

// list writes a list. It returns false if the list must be null.
func (e *execution) list(ctx context.Context, w *bytes.Buffer, t *ast.Type, list reflect.Value, g *group, at *path) bool {
	e.put(w, "[")
	for i := range list.Len() {
		if i > 0 {
			e.put(w, ",")
		}
		if !e.complete(ctx, w, t, list.Index(i), g, &path{at, i}) {
			return false
		}
	}
	e.put(w, "]")
	return true
}

// below returns the groups within a group, for an object type.
func (e *execution) below(g *group, of *ast.Definition) ([]*group, error) {
	if groups, ok := g.below[of.Name]; ok {
		return groups, nil
	}
	sets := make([]ast.SelectionSet, len(g.fields))
	for i, f := range g.fields {
		sets[i] = f.SelectionSet
	}
	groups, err := e.collect(of, sets...)
	if err != nil {
		return nil, err
	}
	if g.below == nil {
		g.below = map[string][]*group{}
	}
	g.below[of.Name] = groups
	return groups, nil
}

// leaf writes a value of a scalar type or an enum.
func (e *execution) leaf(w *bytes.Buffer, v reflect.Value) {
	start := w.Len()
	switch value := v.Interface().(type) {
	case decimal:
		w.WriteString(string(value))
	case node:
		// It is valid JSON, but may have line breaks.
		_ = json.Compact(w, []byte(value))
	default:
		// A string, a number or a boolean.
		_ = json.NewEncoder(w).Encode(value)
		w.Truncate(w.Len() - len("\n"))
	}
	e.budget.spend(w.Len() - start)
}

// put writes a part of the answer.
func (e *execution) put(w *bytes.Buffer, text string) {
	w.WriteString(text)
	e.budget.spend(len(text))
}

// fail records the error of a field. The error of a cancelled call is recorded once; none is if
// the answer became too large, since one error then takes its place.
func (e *execution) fail(ctx context.Context, err error, f *ast.Field, at *path) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil {
		if e.stopped || context.Cause(ctx) == errAnswerTooLarge {
			return
		}
		e.stopped = true
		err = &core.Error{Code: core.CodeUnavailable, Message: "the call took too long, or its client disconnected; try again"}
	}
	if ctx.Err() != context.Canceled { // by the client, for which there is no other cause now
		e.logFault(err)
	}
	out := wire.GraphQLError{Kind: wire.GraphQLFetching, Err: err, Path: at.json()}
	if f != nil {
		out.At = []wire.Position{{Line: f.Position.Line, Column: f.Position.Column}}
	}
	e.errors = append(e.errors, out)
	shown, _, _ := wire.Shown(err)
	e.budget.spend(errorSize + 2*len(shown.Error()))
}

// json returns the path as JSON; "" for the operation.
func (p *path) json() string {
	if p == nil {
		return ""
	}
	var steps []any
	for ; p != nil; p = p.up {
		steps = append(steps, p.step)
	}
	slices.Reverse(steps)
	return jsonText(steps)
}
