package serve

import (
	"kith/core/auth"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// userTokenHeader carries a user token beside Authorization (reference, 2.2).
const userTokenHeader = "x-saasquatch-user-token"

// code answers a look-up that the replica knows, to a holder of the API key.
func (r *request) code(to route.Route) (abi.Response, error) {
	credentials, err := auth.ParseCredentials(r.header("authorization"), r.header(userTokenHeader))
	if err != nil || credentials.Key == "" {
		return abi.Response{}, errForward
	}
	info, keyHash, ok := findCode(to.Tenant, to.Code)
	if !ok || !auth.KeyMatches(keyHash, credentials.Key) {
		return abi.Response{}, errForward
	}
	return jsonResponse(200, wire.Code(info)), nil
}
