// Package graphql translates GraphQL calls to use cases and back (reference,
// 1.11). It decides nothing: the schema says what is asked for, one call to
// backend/program does it, and core/wire writes the errors.
//
// The schema, schema.graphql, is the published surface. Every field of Query and
// Mutation has a method here that is named after it; the method checks who asks.
// What an argument must look like is checked as in the REST call that does the
// same, by the same code.
//
// # Errors
//
// A document that cannot be run is refused as a whole: the answer has errors and
// no data. Otherwise every field is answered by itself. One that fails is null
// and has an error with its path; the others stand. The fields of a mutation run
// one after the other, each in a transaction of its own, and what was done
// before a field failed stays done. The HTTP status is 200 for all of that, and
// 409 when nothing was done because an idempotency key was used before.
//
// # Bounds
//
// A document is measured before it runs; see bound.go. A call is one document:
// an array of them is refused.
package graphql

import (
	"context"
	_ "embed"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	gophers "github.com/graph-gophers/graphql-go"
	gopherrors "github.com/graph-gophers/graphql-go/errors"

	"kith/backend/program"
	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

//go:embed schema.graphql
var schemaText string

// Server answers GraphQL calls. Make one with New.
type Server struct {
	// MaxTime bounds a call: 20 s unless it is set before the first one.
	MaxTime time.Duration

	engine *program.Engine
	log    *slog.Logger
	// introspection is true in development: then the schema may be asked for.
	introspection bool
	schema        *gophers.Schema
}

// New returns a server. introspection lets anybody ask for the schema.
func New(engine *program.Engine, log *slog.Logger, introspection bool) (*Server, error) {
	s := &Server{MaxTime: defaultMaxTime, engine: engine, log: log, introspection: introspection}
	var err error
	s.schema, err = gophers.ParseSchema(schemaText, root{},
		gophers.UseFieldResolvers(), gophers.UseStringDescriptions(), gophers.DisableFieldSelections(),
		gophers.MaxParallelism(parallel), gophers.OverlapValidationLimit(maxOverlap),
		gophers.Tracer(charging{}), gophers.Logger(panicLog{log}), gophers.PanicHandler(panicError{}))
	return s, err
}

// Request is one call.
type Request struct {
	// Caller is who makes it.
	Caller program.Caller
	// Body is what they sent: JSON, up to wire.MaxBody.
	Body []byte
	// Cookie is the browser's Cookie header, IP the address of a user's own
	// call; either may be empty.
	Cookie, IP string
	// Base is the origin at which links to the service begin.
	Base string
	// Attempt counts one attempt to guess a code or an id, and refuses it when
	// there were too many. The call itself was counted once.
	Attempt func() error
}

// call is a Request under way: what its resolvers share.
type call struct {
	*Server
	Request
	tenant core.TenantAlias
	budget *budget

	// reading guards what is read once.
	reading sync.Mutex
	// attempts counts guesses; see attempt.
	attempts    atomic.Int64
	allPrograms *[]referral.Program
}

// attempt counts a code that a caller without the API key looks up. The first
// attempt of a call without credentials was counted with the call.
func (c *call) attempt() error {
	if c.Caller.Key || c.Attempt == nil || c.Caller.User == nil && c.attempts.Add(1) == 1 {
		return nil
	}
	return c.Attempt()
}

// input counts an input of a caller without credentials: it may make a user, or
// try an id or a code. A user's token says who they are.
func (c *call) input() error {
	if c.Caller.User != nil {
		return nil
	}
	return c.attempt()
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// Answer runs a call and returns status and JSON of the answer. An error says
// that it is no GraphQL call; what goes wrong within one is in the answer.
func (s *Server) Answer(ctx context.Context, r Request) (status int, body []byte, err error) {
	most := s.boundsOf(r.Caller)
	if len(r.Body) > most.body {
		return 0, nil, wire.TooLarge(most.body)
	}
	q, err := wire.ParseGraphQL(r.Body)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.MaxTime)
	defer cancel()
	c := &call{Server: s, Request: r, tenant: r.Caller.Tenant.Alias}
	status, body = s.answer(ctx, c, most, q)
	return status, body, nil
}

func (s *Server) answer(ctx context.Context, c *call, most bounds, q wire.GraphQLRequest) (status int, answer []byte) {
	d, err := parse(q.Query, most)
	if err != nil {
		return refused(err)
	}
	if err := d.bounded(most); err != nil {
		return refused(err)
	}
	given, err := variables(q.Variables)
	if err != nil {
		return refused(core.Invalid("variables", "cannot be read"))
	}
	if op := d.operation(q.Operation); op != nil {
		if err := s.allowed(d, op, given, most); err != nil {
			return refused(err)
		}
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	defer cancel(nil)
	c.budget = newBudget(most.answer, d.names, cancel)
	response := s.schema.Exec(ctx, d.text(), q.Operation, given)
	if context.Cause(ctx) == errAnswerTooLarge {
		return refused(c.budget.tooLarge())
	}
	data := string(response.Data)
	return wire.GraphQLAnswer(data, anyDone(data), s.errors(ctx, d, q.Operation, response.Errors))
}

// allowed refuses an operation before anything of it is run.
func (s *Server) allowed(d *document, op *operation, given map[string]any, most bounds) error {
	m := &meter{most: most, document: d, schema: s.schema.AST(), operation: op, variables: given, fragments: map[string]measure{}}
	if err := m.bounded(); err != nil {
		return err
	}
	if m.introspects && !s.introspection {
		return core.Invalid("query", "the schema can be asked for in development only")
	}
	return nil
}

// root has the resolvers of both kinds of operations.
type root struct{}

// Query resolves the fields of queries.
func (root) Query() *query { return &query{} }

// Mutation resolves the fields of mutations.
func (root) Mutation() *mutation { return &mutation{} }

type query struct{}

type mutation struct{}

// panicLog logs what a resolver panicked with.
type panicLog struct{ *slog.Logger }

// LogPanic writes one line.
func (l panicLog) LogPanic(_ context.Context, value any) {
	l.Error("graphql panicked", "value", value)
}

// panicError withholds what a resolver panicked with.
type panicError struct{}

// MakePanicError returns an internal error.
func (panicError) MakePanicError(context.Context, any) *gopherrors.QueryError {
	fault := &core.Error{}
	return &gopherrors.QueryError{Err: fault, ResolverError: fault}
}
