package serve

import (
	"cmp"

	"kith/core/auth"
	"kith/core/link"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// identify answers an identification that tells the replica nothing new of a
// user: what a page sends on every load.
func (r *request) identify(to route.Route) (abi.Response, error) {
	info, ok := r.repeated(to)
	if !ok {
		return abi.Response{}, errForward
	}
	return jsonResponse(200, wire.User(info)), nil
}

// repeated returns what is stored when a request is an identification that may
// be made and repeats it. Whoever asks for some keys of the answer only, brings
// a code in a cookie, or is told of a reward or a block, asks the backend.
func (r *request) repeated(to route.Route) (info wire.UserInfo, ok bool) {
	cookies := r.cookies()
	if r.query != "" || link.FindCookie(to.Tenant, cookies) != "" || link.FindSquatchCookie(cookies) != "" {
		return info, false
	}
	// A server that sends one thing and then another within the replica's lag
	// would have the second taken for a repeat of what was before the first; a
	// call without a token may bear a checksum.
	credentials, err := auth.ParseCredentials(r.header("authorization"), r.header(userTokenHeader))
	if err != nil || credentials.Token == "" || wire.CheckJSONType(r.header("content-type")) != nil {
		return info, false
	}
	update, err := wire.ParseUser(to.Tenant, to.Account, to.User, r.Body)
	if err != nil || len(update.Claims) > 0 || len(update.Links) > 0 {
		return info, false
	}
	known, ok := r.findUser(to.Tenant, to.Account, to.User, r.origin() != "")
	if !ok || known.moves {
		return info, false
	}
	by, ok := r.admits(to, auth.Identify, known.sender, credentials)
	if !ok {
		return info, false
	}
	// What is left out the backend has in its log, once for a user who tells nothing
	// else that is new.
	if update, _, err = wire.Vouched(update, by.subject, r.Body, known.payment); err != nil {
		return info, false
	}
	from := r.visitor()
	// Where links begin that the tenant does not say, the backend knows.
	if known.shareOrigin == "" && !link.Loopback(from.host) {
		return info, false
	}
	known.Share = link.Share{Origin: cmp.Or(known.shareOrigin, from.scheme+"://"+from.host), Tenant: to.Tenant}
	return known.UserInfo, wire.Repeats(update, known.UserInfo, from.address)
}
