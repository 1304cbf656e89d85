// Package graphql translates GraphQL calls to use cases and back (clients 1.11).
// It decides nothing: the schema says what is asked for, one call to
// backend/app does it, and core/wire writes the errors.
//
// The schema, schema.graphql, is the published surface. Every field of Query and
// Mutation has a method here that is named after it; the method checks who asks.
// Documents are read and validated by gqlparser, arguments and variables are of
// their types before anything runs (input.go), and what a type does not say of them
// is checked as in the REST call that does the same, by the same code.
//
// # Errors
//
// A document that cannot be run is refused as a whole: the answer has errors and
// no data. Otherwise every field is answered by itself. One that fails is null
// and has an error with its path; the others stand. The fields of a mutation run
// one after the other, each in a transaction of its own, and what was done
// before a field failed stays done. The HTTP status is 200 for all of that, 409
// when nothing was done because an idempotency key was used before, and 405 for a
// mutation by GET. A client that prefers GraphQL's own media type gets the status
// of the first error when nothing was run.
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

	"github.com/vektah/gqlparser/v2/ast"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
)

//go:embed schema.graphql
var schemaText string

// Server answers GraphQL calls. Make one with New.
type Server struct {
	// MaxTime bounds a call: 20 s unless it is set before the first one.
	MaxTime time.Duration

	engine *app.Engine
	log    *slog.Logger
	// introspection is true in development: then anybody may ask for the schema.
	introspection bool
	binding
}

// New returns a server. introspection lets anybody ask for the schema, and not
// holders of the API key alone.
func New(engine *app.Engine, log *slog.Logger, introspection bool) (*Server, error) {
	schema, err := loadSchema(schemaText)
	if err != nil {
		return nil, err
	}
	s := &Server{MaxTime: defaultMaxTime, engine: engine, log: log, introspection: introspection}
	s.binding, err = bind(schema, &query{}, &mutation{})
	return s, err
}

// Request is one call.
type Request struct {
	// Caller is who makes it.
	Caller base.Caller
	// Body is what they sent: JSON, up to wire.MaxBody.
	Body []byte
	// Cookie is the browser's Cookie header, IP the address of a user's own
	// call; either may be empty.
	Cookie, IP string
	// Base is the origin at which links to the service begin.
	Base string
	// Remember has the browser know again a user whom the call identified without
	// ids, as a caller that IdentifyCookieUser returned; it may be nil.
	Remember func(base.Caller, core.UserID)
	// QueriesOnly refuses a mutation.
	QueriesOnly bool
	// StatusOfErrors gives an answer without data the status of its first error,
	// and not 200.
	StatusOfErrors bool
	// Attempt counts one attempt to guess a code or an id, and refuses it when
	// there were too many. The call itself was counted once.
	Attempt func() error
	// MayTry refuses to look at codes, known or not, when there were too many
	// attempts; it may be nil.
	MayTry func() error
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

// keyHolder is the call of ctx, if it was made with the API key.
func keyHolder(ctx context.Context) (*call, error) {
	c := callOf(ctx)
	return c, c.Caller.MustHoldKey()
}

// keyedText is keyHolder for a call with an argument of this name, such as the id
// of what it is about.
func keyedText(ctx context.Context, a argument, name string) (c *call, text string, err error) {
	if c, err = keyHolder(ctx); err != nil {
		return nil, "", err
	}
	text, err = a.text(name)
	return c, text, err
}

// attempt counts a code that a caller without the API key looks up. The first
// attempt of a call without credentials was counted with the call.
func (c *call) attempt() error {
	if c.Caller.Key || c.Attempt == nil || c.Caller.User == nil && c.attempts.Add(1) == 1 {
		return nil
	}
	return c.Attempt()
}

// mayTry refuses an identification that brings codes, known or not, when there were
// too many attempts.
func (c *call) mayTry(in rules.Identification) error {
	if c.MayTry == nil || !in.BringsCodes() {
		return nil
	}
	return c.MayTry()
}

// identified counts the unknown codes that an identification brought. It is stored by
// then, so its answer stands, and the next attempt is refused.
func (c *call) identified(done rules.Identified) {
	for range done.UnknownCodes {
		_ = c.attempt()
	}
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
	data, problems := s.answer(ctx, c, most, q)
	status, body = wire.GraphQLAnswer(data, anyDone(data), inOrder(problems))
	if data == "" && (r.StatusOfErrors || isWrongMethod(problems[0].Err)) {
		_, status, _ = wire.Shown(problems[0].Err)
	}
	return status, body, nil
}

// errWrongMethod is the answer to a mutation by GET, which a link or an image on any
// page could send.
var errWrongMethod = &core.Error{Code: core.CodeMethodNotAllowed, Message: "a mutation must be sent by POST; GET runs queries only"}

func isWrongMethod(err error) bool { return err == error(errWrongMethod) }

// answer runs a call. data is empty when nothing of it was run.
func (s *Server) answer(ctx context.Context, c *call, most bounds, q wire.GraphQLRequest) (data string, problems []wire.GraphQLError) {
	e, op, problems := s.prepare(c, most, q)
	if len(problems) > 0 {
		return "", problems
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	defer cancel(nil)
	c.budget = newBudget(most.answer, cancel)
	data = e.run(ctx, op)
	if context.Cause(ctx) == errAnswerTooLarge {
		return "", refused(c.budget.tooLarge())
	}
	return data, e.errors
}

// prepare reads a call and refuses whatever can be refused before it is run.
func (s *Server) prepare(c *call, most bounds, q wire.GraphQLRequest) (*execution, *ast.OperationDefinition, []wire.GraphQLError) {
	d, err := parse(q.Query, most)
	if err != nil {
		return nil, nil, refused(err)
	}
	if err := bounded(d, most); err != nil {
		return nil, nil, refused(err)
	}
	if problems := validate(s.schema, d); len(problems) > 0 {
		return nil, nil, problems
	}
	op, err := operation(d, q.Operation)
	if err != nil {
		return nil, nil, refused(err)
	}
	if c.QueriesOnly && op.Operation != ast.Query {
		return nil, nil, refused(errWrongMethod)
	}
	e := &execution{call: c, document: d}
	if e.inputs, err = newInputs(s.schema, op, q.Variables); err != nil {
		return nil, nil, refused(err)
	}
	if err := s.allowed(e, op, most); err != nil {
		return nil, nil, refused(err)
	}
	if err := e.permitted(op.SelectionSet); err != nil {
		return nil, nil, refused(err)
	}
	return e, op, nil
}

// operation is the one of a document that a call runs.
func operation(d *ast.QueryDocument, name string) (*ast.OperationDefinition, error) {
	if name == "" && len(d.Operations) > 1 {
		return nil, core.Invalid("operationName", "is required, since the document has several operations")
	}
	if op := d.Operations.ForName(name); op != nil {
		return op, nil
	}
	return nil, core.Invalid("operationName", "must be the name of an operation in the document; there is none called "+short(name))
}

// allowed refuses an operation that asks for too much, or for what its caller may
// not see.
func (s *Server) allowed(e *execution, op *ast.OperationDefinition, most bounds) error {
	m := meter{document: e.document, inputs: e.inputs, fragments: map[string]measure{}}
	total := m.selections(op.SelectionSet)
	if m.introspects && !s.introspection && !e.Caller.Key {
		return core.Invalid("query", "must not ask for the schema (__schema, __type) without the API key; send it, or read the documentation")
	}
	return total.within(most)
}

type query struct{}

type mutation struct{}

// SDL is the schema in GraphQL's own language.
func SDL() string { return schemaText }
