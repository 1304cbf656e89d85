package api

import (
	"cmp"
	"net/http"

	"kith/backend/graphql"
)

func (a *API) graphQLRoutes() routes {
	return routes{tenantPath + "/graphql": {"POST": a.graphQL}}
}

// graphQL is POST /graphql. Anybody may ask; each field says what for.
func (a *API) graphQL(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.caller(r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	status, answer, err := a.GraphQL.Answer(r.Context(), graphql.Request{
		Caller: caller, Body: body, Cookie: cookies(r), IP: userIP(caller, r), Base: cmp.Or(a.origin(r), caller.Share("").Origin),
	})
	if err != nil {
		return err
	}
	writeJSON(w, status, answer)
	return nil
}
