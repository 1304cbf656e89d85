package api

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"kith/backend/graphql"
	"kith/backend/program"
	"kith/core"
)

func (a *API) graphQLRoutes() routes {
	return routes{tenantPath + "/graphql": {"POST": a.graphQL}}
}

// graphQL is POST /graphql. Anybody may ask; each field says what for.
func (a *API) graphQL(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.caller(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	leave, err := strangersTurn(r.Context(), caller)
	if err != nil {
		return err
	}
	defer leave()
	var attempts atomic.Int64
	status, answer, err := a.GraphQL.Answer(r.Context(), graphql.Request{
		Caller: caller, Body: body, Cookie: cookies(r), IP: userIP(caller, r), Base: cmp.Or(a.origin(r), caller.Share("").Origin),
		Attempt: func() error { return a.guesses().inCall(caller, r, &attempts) },
	})
	if err != nil {
		return err
	}
	reportAttempts(w, r, int(attempts.Load()))
	writeJSON(w, status, answer)
	return nil
}

// strangerCalls has an element for each GraphQL call without credentials that runs.
// A call may ask for so much that it keeps a processor busy; others have the rest.
var strangerCalls = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// strangersWait bounds how long such a call waits for its turn.
const strangersWait = 5 * time.Second

// strangersTurn waits until a GraphQL call may run. The caller must call leave when
// it has run.
func strangersTurn(ctx context.Context, c program.Caller) (leave func(), err error) {
	if c.Key || c.User != nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, strangersWait)
	defer cancel()
	select {
	case strangerCalls <- struct{}{}:
		return func() { <-strangerCalls }, nil
	case <-ctx.Done():
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many GraphQL calls without credentials at once; try again, or send a user token"}
	}
}
