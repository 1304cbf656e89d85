package graphql

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	gopherrors "github.com/graph-gophers/graphql-go/errors"
	"github.com/graph-gophers/graphql-go/introspection"

	"kith/core"
)

// budget is how many bytes an answer may still take. What goes into it is charged
// before it is written: a node when it is made, for each of its fields as often as
// the document has a name for it; what a field is given, which may come back in its
// value or in an error; and errors. A call that has used its budget up ends there.
type budget struct {
	left atomic.Int64
	// most is what left began with.
	most   int64
	cancel context.CancelCauseFunc
	// names is how many response names the document has for a field, by its name in
	// lower case.
	names map[string]int
}

// errAnswerTooLarge ends a call whose answer would be too large.
var errAnswerTooLarge = errors.New("graphql: the answer is too large")

func newBudget(most int, names map[string]int, cancel context.CancelCauseFunc) *budget {
	b := &budget{most: int64(most), cancel: cancel, names: names}
	b.left.Store(b.most)
	return b
}

func (b *budget) spend(n int) {
	if b.left.Add(-int64(n)) < 0 {
		b.cancel(errAnswerTooLarge)
	}
}

// tooLarge is the error of a call that has used its budget up. What a mutation did
// before stays done.
func (b *budget) tooLarge() error {
	return core.Invalid("query", "the answer would take more than "+strconv.FormatInt(b.most, 10)+
		" bytes: ask for fewer fields, or for smaller pages; what was changed until then stays changed")
}

// charged is node, after its fields were charged.
func charged[T any](c *call, node *T) *T {
	if node != nil {
		c.budget.spend(c.budget.sizeOf(reflect.ValueOf(node).Elem()))
	}
	return node
}

// sizeOf is how many bytes the fields of a node take in the answer.
func (b *budget) sizeOf(node reflect.Value) (size int) {
	kind := node.Type()
	for i := range node.NumField() {
		if field := kind.Field(i); field.IsExported() {
			if times := b.names[strings.ToLower(field.Name)]; times > 0 {
				size += times * b.valueSize(node.Field(i))
			}
		}
	}
	return size
}

func (b *budget) valueSize(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return b.valueSize(v.Elem())
	case reflect.String:
		return jsonSize(v.String())
	case reflect.Struct:
		return b.sizeOf(v)
	case reflect.Slice:
		for i := range v.Len() {
			size += 1 + b.valueSize(v.Index(i))
		}
	}
	return size
}

// jsonSize is how many bytes a text takes at most as JSON.
func jsonSize(s string) int {
	size := len(s) + 2
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c == '<' || c == '>' || c == '&':
			size += 5
		case c == '"' || c == '\\':
			size++
		}
	}
	return size
}

// givenSize is how many bytes a value of a call takes.
func givenSize(value any) (size int) {
	switch v := value.(type) {
	case string:
		return jsonSize(v)
	case sentText:
		return jsonSize(string(v))
	case []any:
		for _, one := range v {
			size += 1 + givenSize(one)
		}
	case map[string]any:
		for key, one := range v {
			size += len(key) + 4 + givenSize(one)
		}
	case argument:
		return givenSize(v.value)
	default:
		return 48
	}
	return size
}

// charging charges the fields of a call as they are resolved.
type charging struct{}

// TraceQuery does nothing.
func (charging) TraceQuery(ctx context.Context, _, _ string, _ map[string]any, _ map[string]*introspection.Type) (context.Context, func([]*gopherrors.QueryError)) {
	return ctx, func([]*gopherrors.QueryError) {}
}

// copies is how often what a field is given is copied until its value stands in the
// answer.
const copies = 3

// errorSize is what an error takes besides its message.
const errorSize = 512

// TraceField charges what a field is given, and its error.
func (charging) TraceField(ctx context.Context, _, _, _ string, _ bool, args map[string]any) (context.Context, func(*gopherrors.QueryError)) {
	b := callOf(ctx).budget
	if len(args) > 0 {
		b.spend(copies * givenSize(args))
	}
	return ctx, func(err *gopherrors.QueryError) {
		if err != nil && ctx.Err() == nil {
			// The message is in the answer twice: by itself and in apiError.
			b.spend(errorSize + 2*jsonSize(err.Message))
		}
	}
}
