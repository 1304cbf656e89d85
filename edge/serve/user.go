package serve

import (
	"cmp"

	"kith/core/auth"
	"kith/core/link"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// identify handles an identification that changes nothing, as pages send it on every
// load.
func (r *request) identify(to route.Route) (abi.Response, error) {
	info, ok := r.repeated(to)
	if !ok {
		return abi.Response{}, errForward
	}
	return jsonResponse(200, wire.User(info)), nil
}

// repeated returns the stored user if a request is a permitted identification that
// changes nothing. It returns false for requests that select fields of the response
// or have a code in a cookie, and for users with a reward or a block: the backend
// handles these.
func (r *request) repeated(to route.Route) (info wire.UserInfo, ok bool) {
	cookies := r.cookies()
	if r.query != "" || link.FindCookie(to.Tenant, cookies) != "" || link.FindSquatchCookie(cookies) != "" {
		return info, false
	}
	// Calls with the API key are forwarded: if a server sends two different updates
	// within the replica's lag, the second could look like a repetition of the state
	// before the first. Calls without a token are forwarded, because they may have a
	// checksum.
	credentials, err := auth.ParseCredentials(r.header("authorization"), r.header(userTokenHeader))
	if err != nil || credentials.Token == "" || wire.CheckJSONType(r.header("content-type")) != nil {
		return info, false
	}
	update, err := wire.ParseUser(to.Tenant, to.Account, to.User, r.Body)
	if err != nil || len(update.Claims) > 0 || len(update.Links) > 0 {
		return info, false
	}
	known, ok := r.findUser(to.Tenant, to.Account, to.User, r.origin() != "")
	if !ok || known.needsBackend {
		return info, false
	}
	by, ok := r.admits(to, known.sender, credentials)
	if !ok {
		return info, false
	}
	// Unsigned keys that are removed here were logged by the backend when it stored
	// the user.
	if update, _, err = wire.Vouched(update, by.subject, r.Body, known.payment); err != nil {
		return info, false
	}
	from := r.visitor()
	// Only the backend knows the default origin of share links.
	if known.shareOrigin == "" && !link.Loopback(from.host) {
		return info, false
	}
	known.Share = link.Share{Origin: cmp.Or(known.shareOrigin, from.scheme+"://"+from.host), Tenant: to.Tenant}
	return known.UserInfo, wire.Repeats(update, known.UserInfo, r.clientAddress())
}
