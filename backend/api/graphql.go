package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"kith/backend/app/base"
	"kith/backend/graphql"
	"kith/core"
	"kith/core/operation"
	"kith/core/wire"
)

func (a *API) graphQLRoutes() routes {
	return routes{tenantPath + "/graphql": {"GET": a.graphQLByGet, "POST": a.graphQL}}
}

// graphQL handles POST /graphql. Any client may call it; each field checks its caller.
func (a *API) graphQL(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.maybeAnonymous(w, r, operation.CallGraphQL)
	if err != nil {
		return err
	}
	// Without a type, a page of any site could send the cookie of a cookie user: browsers ask
	// for no permission then.
	if r.Header.Get("Origin") != "" && r.Header.Get("Content-Type") == "" {
		return wire.CheckJSONType("none")
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	return a.answerGraphQL(w, r, graphql.Request{Caller: caller, Body: body})
}

// graphQLByGet handles GET /graphql?query=.
func (a *API) graphQLByGet(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.maybeAnonymous(w, r, operation.CallGraphQL)
	if err != nil {
		return err
	}
	body, err := graphQLBody(r.URL.RawQuery)
	if err != nil {
		return err
	}
	return a.answerGraphQL(w, r, graphql.Request{Caller: caller, Body: body, QueriesOnly: true})
}

// graphQLBody returns the JSON body of the POST that is equivalent to a GET with this
// query string. It ignores unknown parameters.
func graphQLBody(query string) ([]byte, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, core.Invalid("", "the URL's query cannot be read; percent-encode its values")
	}
	body := map[string]json.RawMessage{}
	for _, name := range []string{"query", "operationName", "variables", "extensions"} {
		given := values[name]
		if len(given) > 1 {
			return nil, core.Invalid(name, "is given twice; give it once")
		}
		if len(given) == 0 || given[0] == "" {
			continue
		}
		value := []byte(given[0])
		if name == "query" || name == "operationName" {
			// A string always has a JSON form.
			value, _ = json.Marshal(given[0])
		} else if !json.Valid(value) {
			return nil, core.Invalid(name, `must be JSON, such as {"id":"1"}`)
		}
		body[name] = value
	}
	return json.Marshal(body)
}

// answerGraphQL runs a call and writes its answer in the media type that the client
// prefers.
func (a *API) answerGraphQL(w http.ResponseWriter, r *http.Request, call graphql.Request) error {
	release, err := anonymousSlot(r.Context(), seenAddress(r), call.Caller)
	if err != nil {
		return err
	}
	defer release()
	var attempts atomic.Int64
	kind := wire.GraphQLType(strings.Join(r.Header.Values("Accept"), ","))
	call.StatusOfErrors = kind == wire.GraphQLResponseType
	call.Visit, call.IP, call.Base = a.visit(r), userIP(call.Caller, r), cmp.Or(a.origin(r), call.Caller.Share("").Origin)
	call.RequestID, call.AcceptLanguage = r.Header.Get(core.RequestIDHeader), r.Header.Get("Accept-Language")
	call.Attempt = func() error { return a.guesses().inCall(call.Caller, r, &attempts) }
	call.MayTry = func() error { return a.guesses().mayTry(w, r, call.Caller) }
	call.Remember = func(c base.Caller, id core.UserID) { a.remember(w, r, c, id) }
	status, answer, err := a.GraphQL.Answer(r.Context(), call)
	if err != nil {
		return err
	}
	reportAttempts(w, r, int(attempts.Load()))
	a.forgetRefused(w, r, call.Caller)
	if status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	explainStatus(w, r, status)
	writeAs(w, kind, status, answer)
	return nil
}
