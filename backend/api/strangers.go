package api

import (
	"context"
	"runtime"
	"time"

	"kith/backend/app"
	"kith/core"
)

// strangerCalls has an element for each GraphQL call without credentials that runs, and
// after it for as long again as the call took. A call may ask for so much that it keeps
// a processor busy; in this way all of them together have a quarter of the processors'
// time.
var strangerCalls = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// strangersWait bounds how long such a call waits for its turn.
const strangersWait = 5 * time.Second

// strangersTurn waits until a GraphQL call may run. The caller must call leave when
// it has run.
func strangersTurn(ctx context.Context, c app.Caller) (leave func(), err error) {
	if c.Key || c.User != nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, strangersWait)
	defer cancel()
	select {
	case strangerCalls <- struct{}{}:
		began := time.Now()
		return func() { time.AfterFunc(time.Since(began), func() { <-strangerCalls }) }, nil
	case <-ctx.Done():
		return nil, &core.Error{Code: core.CodeUnavailable, Message: "too many GraphQL calls without credentials at once; try again, or send a user token"}
	}
}
