package serve

import (
	"kith/core/auth"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// graphQL takes events in that a GraphQL call brings in its plain form, from a
// sender that the replica knows. The form, what is wrong with any other call, and
// another media type of the answer are for the backend.
func (r *request) graphQL(to route.Route) (abi.Response, error) {
	if wire.CheckJSONType(r.header("content-type")) != nil || wire.GraphQLType(r.headers("accept", ",")) != wire.JSONType {
		return abi.Response{}, errForward
	}
	plain, ok := wire.ParseGraphQLEvents(r.Body)
	if !ok {
		return abi.Response{}, errForward
	}
	to.Account, to.User = plain.Batch.Account, plain.Batch.User
	by, ok := r.maySend(to, auth.LogEventsQL)
	if !ok {
		return abi.Response{}, errForward
	}
	plain.Batch.Sender = by.key
	if err := r.takeIn(to.Tenant, by.Bearer, &plain.Batch); err != nil {
		if _, status, _ := wire.Shown(err); status >= 500 {
			r.logFault(err)
		}
		return jsonResponse(plain.Refused(err)), nil
	}
	return jsonResponse(plain.Answer()), nil
}
