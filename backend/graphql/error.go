package graphql

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	gopherrors "github.com/graph-gophers/graphql-go/errors"
	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/wire"
)

// refused is the answer to a document that is not run.
func refused(err error) (status int, answer []byte) {
	e := wire.GraphQLError{Err: err, Kind: wire.GraphQLValidation}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		e = wire.GraphQLError{Err: core.Invalid("query", syntax.message), Kind: wire.GraphQLSyntax, At: []wire.Position{syntax.at}}
	}
	return wire.GraphQLAnswer("", false, []wire.GraphQLError{e})
}

// anyDone reports whether any field of an operation has an answer.
func anyDone(data string) (done bool) {
	gjson.Parse(data).ForEach(func(_, field gjson.Result) bool {
		done = field.Type != gjson.Null
		return !done
	})
	return done
}

// errors turns the executor's errors into those of the answer, in the order of
// their places; faults of ours are logged, each once.
func (s *Server) errors(ctx context.Context, d *document, operation string, all []*gopherrors.QueryError) []wire.GraphQLError {
	out := make([]wire.GraphQLError, len(all))
	for i, e := range all {
		out[i] = s.error(ctx, d, operation, e)
	}
	slices.SortStableFunc(out, func(a, b wire.GraphQLError) int {
		if len(a.At) == 0 || len(b.At) == 0 {
			return 0
		}
		if a.At[0].Line != b.At[0].Line {
			return a.At[0].Line - b.At[0].Line
		}
		return a.At[0].Column - b.At[0].Column
	})
	return out
}

func (s *Server) error(ctx context.Context, d *document, operation string, e *gopherrors.QueryError) wire.GraphQLError {
	out := wire.GraphQLError{Kind: wire.GraphQLFetching, Err: e.ResolverError}
	if out.Err == nil {
		out.Kind, out.Err = wire.GraphQLValidation, core.Invalid("", e.Message)
	}
	if ctx.Err() != nil {
		out.Err = &core.Error{Code: core.CodeUnavailable, Message: "the call took too long, or its client left"}
	}
	s.logFault(out.Err)
	for _, l := range e.Locations {
		if at, ok := d.place(l.Line); ok {
			out.At = append(out.At, at)
		}
	}
	if len(e.Path) > 0 {
		out.Path, out.At = path(d, operation, e.Path)
	}
	return out
}

// path writes the path of an error and finds its place in the document.
func path(d *document, operation string, steps []any) (text string, at []wire.Position) {
	var names []string
	for _, step := range steps {
		if name, ok := step.(string); ok {
			names = append(names, name)
		}
	}
	// Names and indices: what JSON can say.
	raw, _ := json.Marshal(steps)
	if op := d.operation(operation); op != nil {
		if found, ok := d.locate(op.selections, names); ok {
			at = []wire.Position{found}
		}
	}
	return string(raw), at
}

// logFault logs an error whose text is withheld.
func (s *Server) logFault(err error) {
	if _, status, _ := wire.Shown(err); status >= 500 {
		s.log.Error("graphql field failed", "error", err)
	}
}
