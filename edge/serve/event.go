package serve

import (
	"slices"

	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/origin"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// events stores the events of a call, if it is valid, and the replica knows the user and
// permits the sender.
func (r *request) events(to route.Route) (abi.Response, error) {
	by, ok := r.maySend(to)
	if !ok {
		return abi.Response{}, errForward
	}
	if wire.CheckJSONType(r.header("content-type")) != nil {
		return abi.Response{}, errForward
	}
	batch, err := wire.ParseEvents(to.Account, to.User, r.Body)
	if err != nil || batch.KeyFrom(r.sent("idempotency-key")) != nil {
		return abi.Response{}, errForward
	}
	batch.Sender = by.key
	if err := r.storeEvents(to.Tenant, by.Bearer, &batch); err != nil {
		return abi.Response{}, err
	}
	return jsonResponse(200, wire.Events(batch)), nil
}

// storeEvents sets the ids and the time of the events of a call, and stores them.
func (r *request) storeEvents(tenant core.TenantAlias, by auth.Bearer, batch *event.Call) error {
	if batch.Trusted = by == auth.KeyHolder; !batch.Trusted {
		batch.OwnKey()
	}
	batch.Stamp(r.now, entropy())
	appended, err := r.appendIntake(tenant, *batch)
	if err != nil {
		return &core.Error{
			Code: core.CodeUnavailable, Message: "the events could not be stored; send them again, with the same idempotencyKey", Err: err,
		}
	}
	if !appended {
		return event.Duplicate(r.recorded(tenant, *batch))
	}
	return nil
}

// recorded returns the key of an event that was recorded in place of a call whose key was
// used; see event.Recorded. If there is one, or the replica does not know, the backend
// answers the call, because it records what it refuses.
func (r *request) recorded(tenant core.TenantAlias, b event.Call) (key string) {
	v, known := r.row(event.Recorded, abi.Text(string(tenant)), abi.Text(string(b.Account)), abi.Text(string(b.User)),
		abi.Text(string(b.Key)), abi.Text(string(wire.IntakeEvents(b))), abi.Int(int64(event.KeySince(b.Received))))
	if known {
		key = v[0].String()
	}
	r.refused = !known || key != ""
	return key
}

// maySend reports whether the replica knows the user and permits the call: by the
// tenant's secure mode, the role of the API key and the origin of the page. If not,
// the primary still may. by is the identity of the sender.
func (r *request) maySend(to route.Route) (by bearer, ok bool) {
	credentials, err := auth.ParseCredentials(r.header("authorization"), r.header(userTokenHeader))
	if err != nil {
		return by, false
	}
	from, ok := r.findSender(auth.TrackEvents, to.Tenant, to.Account, to.User, r.origin() != "")
	if !ok {
		return by, false
	}
	return r.admits(to, from, credentials)
}

// admits reports whether a request may make a call, and returns its identity.
func (r *request) admits(to route.Route, from sender, credentials auth.Credentials) (bearer, bool) {
	r.sites = &from.sites
	if r.origin() != "" && !origin.Allowed(r.origin(), from.sites) {
		return bearer{}, false
	}
	b := r.bearer(to, from, credentials)
	return b, from.mode.Admits(b.Bearer)
}

// bearer is the verified identity of a request.
type bearer struct {
	auth.Bearer
	// subject is that of the user's token; zero without a token.
	subject wire.Subject
	// key is the id of the API key; empty without a key.
	key string
}

// bearer returns the verified identity of a request. Credentials that cannot be
// verified count as those of another user, which no mode admits: the backend responds
// with the error.
func (r *request) bearer(to route.Route, from sender, credentials auth.Credentials) bearer {
	switch {
	case credentials == (auth.Credentials{}):
		return bearer{Bearer: auth.Anonymous}
	case credentials.Key != "":
		if key, ok := from.keys.Match(credentials.Key, r.now); ok && slices.Contains(auth.Senders(), key.Role) {
			return bearer{Bearer: auth.KeyHolder, key: key.ID()}
		}
	case credentials.Token != "":
		if subject, ok := r.verifyUser(to, from, credentials.Token); ok {
			return bearer{Bearer: auth.SameUser, subject: subject}
		}
	}
	return bearer{Bearer: auth.OtherUser}
}

// verifyUser returns the subject of a token; false if the token is invalid, or not of
// the user in the path.
func (r *request) verifyUser(to route.Route, from sender, token string) (wire.Subject, bool) {
	keys, err := r.keys()
	if err != nil {
		return wire.Subject{}, false
	}
	var secrets []string
	for _, k := range from.keys.Signing(from.apiKeyTokens, r.now) {
		secret, err := keys.Open(auth.KeyPlace(to.Tenant), k.Sealed)
		if err != nil {
			return wire.Subject{}, false
		}
		secrets = append(secrets, secret)
	}
	subject, err := wire.VerifyToken(to.Tenant, secrets, token, r.now, from.undated)
	return subject, err == nil && subject.Account == to.Account && subject.User == to.User
}

// appendIntake runs the statement that checks the idempotency key and stores the
// events; false means that the key was used within the last 24 hours.
func (r *request) appendIntake(tenant core.TenantAlias, b event.Call) (bool, error) {
	key, sender, trusted := abi.Null(), abi.Null(), int64(0)
	if b.Trusted {
		trusted = 1
	}
	if b.Key != "" {
		key = abi.Text(string(b.Key))
	}
	if b.Sender != "" {
		sender = abi.Text(b.Sender)
	}
	rows, err := r.execute(event.Append, abi.Text(string(tenant)), abi.Text(string(b.Account)), abi.Text(string(b.User)),
		key, abi.Text(string(wire.IntakeEvents(b))), abi.Int(int64(event.KeySince(b.Received))), abi.Int(int64(b.Received)), sender, abi.Int(trusted))
	return len(rows.Values) > 0, err
}

func entropy() (b [6]byte) {
	abi.Random(b[:])
	return b
}
