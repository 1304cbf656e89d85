package serve

import (
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// graphQL stores the events of a GraphQL call in the plain form, if the replica knows
// the user and permits the sender. Other calls, and calls for another media type of
// the response, are forwarded.
func (r *request) graphQL(to route.Route) (abi.Response, error) {
	if wire.CheckJSONType(r.header("content-type")) != nil || wire.GraphQLType(r.headers("accept", ",")) != wire.JSONType {
		return abi.Response{}, errForward
	}
	plain, ok := wire.ParseGraphQLEvents(r.Body)
	if !ok {
		return abi.Response{}, errForward
	}
	to.Account, to.User = plain.Call.Account, plain.Call.User
	by, ok := r.maySend(to)
	if !ok {
		return abi.Response{}, errForward
	}
	plain.Call.Sender = by.key
	if err := r.storeEvents(to.Tenant, by.Bearer, &plain.Call); err != nil {
		if _, status, _ := wire.Shown(err); status >= 500 {
			r.logError(err)
		}
		return withRetryAfter(jsonResponse(plain.Refused(err))), nil
	}
	return jsonResponse(plain.Answer()), nil
}
