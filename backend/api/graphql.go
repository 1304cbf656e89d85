package api

import (
	"cmp"
	"net/http"
	"sync/atomic"

	"kith/backend/graphql"
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
