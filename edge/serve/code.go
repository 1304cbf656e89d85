package serve

import (
	"strings"

	"kith/core/auth"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// userTokenHeader is a header for user tokens, in addition to Authorization
// (clients 2.2.3).
const userTokenHeader = "x-saasquatch-user-token" // #nosec G101 -- the name of a header

// code handles a code lookup with the API key, if the replica has the code.
func (r *request) code(to route.Route) (abi.Response, error) {
	credentials, err := auth.ParseCredentials(r.header("authorization"), r.header(userTokenHeader))
	if err != nil || credentials.Key == "" {
		return abi.Response{}, errForward
	}
	found, ok := r.lookUp(to.Tenant, to.Code, credentials.Key)
	if !ok {
		return abi.Response{}, errForward
	}
	return jsonResponse(200, wire.Code(found)), nil
}

// openCode handles a public code lookup, if the replica has the code. Requests from
// pages go to the backend, which knows all allowed origins.
func (r *request) openCode(to route.Route) (abi.Response, error) {
	if r.origin() != "" {
		return abi.Response{}, errForward
	}
	found, ok := r.lookUp(to.Tenant, to.Code, "")
	if !ok {
		return abi.Response{}, errForward
	}
	response := jsonResponse(200, wire.Code(found))
	if !strings.HasPrefix(string(to.Tenant), "test_") && r.counted() {
		// The host counts this lookup, because the backend does not see it.
		response.Headers = append(response.Headers, abi.Header{Name: auth.GuessesHeader, Value: "1"})
	}
	return response, nil
}
