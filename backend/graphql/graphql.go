// Package graphql translates between GraphQL and the use cases of backend/app (clients
// 1.11). It has no rules of its own: a field of Query or Mutation calls one use case, and
// core/wire writes the errors.
//
// The schema, schema.graphql, is the published API. Each field of Query and Mutation has
// a method here with the same name, which checks the credentials. The library gqlparser
// parses and validates documents. Arguments and variables are converted to their types
// before any field runs (input.go). Rules that a type cannot express are checked by the
// code that also checks the equivalent REST call.
//
// # Errors
//
// A document that is not valid is refused as a whole: the answer has errors and no data.
// Otherwise each field has its own result: a field that fails is null and has an error
// with its path, and the other fields have their values. The fields of a mutation run one
// after the other, each in its own transaction; a failure does not undo the fields before
// it. The HTTP status is 200 in all these cases, 409 if nothing was done because an
// idempotency key was used before, and 405 for a mutation by GET. A client that prefers
// the media type application/graphql-response+json gets the status of the first error if
// nothing was run.
//
// # Bounds
//
// The size of a document is checked before it runs; see bound.go. A call has one
// document: an array of documents is refused.
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
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
)

//go:embed schema.graphql
var schemaText string

// Server answers GraphQL calls. Make one with New.
type Server struct {
	// MaxTime is how long a call may take. New sets it to 20 s. It must not be changed
	// after the first call.
	MaxTime time.Duration

	engine *app.Engine
	log    *slog.Logger
	// introspection reports whether introspection needs no credentials, which is for
	// development.
	introspection bool
	// operations are those of fields, by the names of their types and their own.
	operations map[string]*operation.Operation
	binding
}

// New returns a server. With introspection, callers without the API key may use
// introspection too. New fails if the resolvers or the
// operations of fields do not match the schema.
func New(engine *app.Engine, log *slog.Logger, introspection bool) (*Server, error) {
	schema, err := loadSchema(schemaText)
	if err != nil {
		return nil, err
	}
	s := &Server{MaxTime: defaultMaxTime, engine: engine, log: log, introspection: introspection}
	if s.operations, err = operationsOf(schema); err == nil {
		s.binding, err = bind(schema, &query{}, &mutation{})
	}
	return s, err
}

// Request is one GraphQL call.
type Request struct {
	// RequestID is that of the HTTP request, for the log.
	RequestID string
	// Caller is the authenticated caller.
	Caller base.Caller
	// Body is the JSON body, of at most wire.MaxBody bytes.
	Body []byte
	// Visit is the browser's request, or what a server forwards of it; see
	// rules.Identification.
	Visit link.Visit
	// IP is the address of the user's browser. It is empty if a server makes the call.
	IP string
	// Base is the origin of links to the service.
	Base string
	// AcceptLanguage is the header of this name.
	AcceptLanguage string
	// Remember sets a cookie that names a user whom the call identified without ids.
	// The caller is the one that IdentifyCookieUser returned. It may be nil.
	Remember func(base.Caller, core.UserID)
	// QueriesOnly refuses a mutation.
	QueriesOnly bool
	// StatusOfErrors gives an answer without data the status of its first error
	// instead of 200.
	StatusOfErrors bool
	// Attempt counts one attempt to guess a code or an id, and returns an error if
	// there were too many. A call without credentials was counted once before. It may
	// be nil.
	Attempt func() error
	// MayTry returns an error if there were too many attempts, so that codes must not
	// be looked up. It may be nil.
	MayTry func() error
}

// call is a running Request, which its resolvers share.
type call struct {
	*Server
	Request
	tenant core.TenantAlias
	budget *budget

	// attempts counts guesses; see attempt.
	attempts atomic.Int64

	programsMu sync.Mutex
	// allPrograms are the tenant's programs; nil before they were read.
	allPrograms *[]referral.Program
}

// member returns the caller, who holds an API key, as the use cases of members take it.
func (c *call) member() people.Caller { return c.Caller.Member(c.IP) }

// keyHolder returns the call of ctx, and an error unless it has the API key.
func keyHolder(ctx context.Context) (*call, error) {
	c := callOf(ctx)
	return c, c.Caller.MustHoldKey()
}

// attempt counts an attempt to guess of a caller without the API key. The first attempt
// of a call without credentials was counted with the call.
func (c *call) attempt() error {
	if c.Caller.Key || c.Attempt == nil || c.Caller.User == nil && c.attempts.Add(1) == 1 {
		return nil
	}
	return c.Attempt()
}

// mayTry refuses an identification that has codes if there were too many attempts,
// whether the codes are known or not.
func (c *call) mayTry(in rules.Identification) error {
	if c.MayTry == nil || !in.BringsCodes() {
		return nil
	}
	return c.MayTry()
}

// countUnknown counts the unknown codes of an identification. The identification is stored
// already, so only later attempts are refused.
func (c *call) countUnknown(done rules.Identified) {
	for range done.UnknownCodes {
		_ = c.attempt()
	}
}

// countInput counts an input of a caller without credentials as an attempt, since it may
// create a user or guess an id or a code.
func (c *call) countInput() error {
	if c.Caller.User != nil {
		return nil
	}
	return c.attempt()
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// Answer runs a call and returns the HTTP status and the JSON of the answer. It returns an
// error if the body is not a GraphQL call. Errors of the call itself are in the answer.
func (s *Server) Answer(ctx context.Context, r Request) (status int, body []byte, err error) {
	limits := s.boundsOf(r.Caller)
	if len(r.Body) > limits.body {
		return 0, nil, wire.TooLarge(limits.body)
	}
	q, err := wire.ParseGraphQL(r.Body)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.MaxTime)
	defer cancel()
	c := &call{Server: s, Request: r, tenant: r.Caller.Tenant.Alias}
	data, problems := s.answer(ctx, c, limits, q)
	status, body = wire.GraphQLAnswer(data, anyDone(data), inOrder(problems))
	if data == "" && (r.StatusOfErrors || isWrongMethod(problems[0].Err)) {
		_, status, _ = wire.Shown(problems[0].Err)
	}
	return status, body, nil
}

// errWrongMethod is the error of a mutation by GET, which a link or an image on any page
// could send.
var errWrongMethod = &core.Error{Code: core.CodeMethodNotAllowed, Message: "a mutation must be sent by POST; GET runs queries only"}

func isWrongMethod(err error) bool { return err == error(errWrongMethod) }

// answer runs a call. data is empty if no field was run.
func (s *Server) answer(ctx context.Context, c *call, limits bounds, q wire.GraphQLRequest) (data string, problems []wire.GraphQLError) {
	e, op, problems := s.prepare(c, limits, q)
	if len(problems) > 0 {
		return "", problems
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	defer cancel(nil)
	c.budget = newBudget(limits.answer, cancel)
	data = e.run(ctx, op)
	if context.Cause(ctx) == errAnswerTooLarge {
		return "", refused(c.budget.tooLarge())
	}
	return data, e.errors
}

// prepare parses and checks a call. After it, only the fields themselves can fail.
func (s *Server) prepare(c *call, limits bounds, q wire.GraphQLRequest) (*execution, *ast.OperationDefinition, []wire.GraphQLError) {
	d, err := parse(q.Query, limits)
	if err != nil {
		return nil, nil, refused(err)
	}
	if err := checkSize(d, limits); err != nil {
		return nil, nil, refused(err)
	}
	if problems := validate(s.schema, d); len(problems) > 0 {
		return nil, nil, problems
	}
	op, err := operationNamed(d, q.Operation)
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
	if err := s.allowed(e, op, limits); err != nil {
		return nil, nil, refused(err)
	}
	if err := e.permitted(op.SelectionSet, map[string]bool{}); err != nil {
		return nil, nil, refused(err)
	}
	return e, op, nil
}

// operationNamed returns the operation of a document that a call runs; name may be empty if
// the document has one operation.
func operationNamed(d *ast.QueryDocument, name string) (*ast.OperationDefinition, error) {
	if name == "" && len(d.Operations) > 1 {
		return nil, core.Invalid("operationName", "is required, since the document has several operations")
	}
	if op := d.Operations.ForName(name); op != nil {
		return op, nil
	}
	return nil, core.Invalid("operationName", "must be the name of an operation in the document, which has none named "+short(name))
}

// allowed refuses an operation that exceeds a bound, and introspection of a caller who may
// not use it.
func (s *Server) allowed(e *execution, op *ast.OperationDefinition, limits bounds) error {
	m := meter{document: e.document, inputs: e.inputs, fragments: map[string]measure{}}
	total := m.selections(op.SelectionSet)
	if m.introspects && !s.introspection && !e.Caller.Key {
		return core.Invalid("query", "must not ask for the schema (__schema, __type) without the API key; send the key, or read the documentation")
	}
	return total.within(limits)
}

// query has the resolvers of the fields of Query.
type query struct{}

// mutation has the resolvers of the fields of Mutation.
type mutation struct{}

// SDL is the schema in GraphQL's own language.
func SDL() string { return schemaText }
