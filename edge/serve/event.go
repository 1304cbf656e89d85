package serve

import (
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// events takes events in from a sender that the replica knows.
func (r *request) events(to route.Route) (abi.Response, error) {
	if !r.maySend(to) {
		return abi.Response{}, errForward
	}
	if err := wire.CheckJSONType(r.header("content-type")); err != nil {
		return abi.Response{}, err
	}
	batch, err := wire.ParseEvents(to.Account, to.User, r.Body)
	if err != nil {
		return abi.Response{}, err
	}
	batch.Stamp(r.now, entropy)
	appended, err := appendIntake(to.Tenant, batch)
	if err != nil {
		return abi.Response{}, &core.Error{
			Code: core.CodeUnavailable, Message: "the events could not be stored; send them again, with the same idempotencyKey", Err: err,
		}
	}
	if !appended {
		return abi.Response{}, event.Duplicate()
	}
	return jsonResponse(200, wire.Events(batch)), nil
}

// maySend reports whether the replica knows the user, and the request bears the
// tenant's API key or that user's token.
func (r *request) maySend(to route.Route) bool {
	credentials, err := auth.ParseCredentials(r.header("authorization"), r.header(userTokenHeader))
	if err != nil || credentials == (auth.Credentials{}) {
		return false
	}
	hash, sealed, ok := findSender(to.Tenant, to.Account, to.User)
	if !ok {
		return false
	}
	if credentials.Key != "" {
		return auth.KeyMatches(hash, credentials.Key)
	}
	keys, err := r.keys()
	if err != nil {
		return false
	}
	key, err := keys.Open(auth.KeyPlace(to.Tenant), sealed)
	if err != nil {
		return false
	}
	subject, err := wire.VerifyToken(to.Tenant, key, credentials.Token, r.now)
	return err == nil && subject.Account == to.Account && subject.User == to.User
}

// appendIntake runs the one statement that decides about idempotency; false
// means that the key was used within the last 24 hours.
func appendIntake(tenant core.TenantAlias, b event.Batch) (bool, error) {
	key := abi.Null()
	if b.Key != "" {
		key = abi.Text(string(b.Key))
	}
	rows, err := query(event.Append, abi.Text(string(tenant)), abi.Text(string(b.Account)), abi.Text(string(b.User)),
		key, abi.Text(string(wire.IntakeEvents(b))), abi.Int(int64(event.KeySince(b.Received))), abi.Int(int64(b.Received)))
	return len(rows.Values) > 0, err
}

func entropy() (b [6]byte) {
	abi.Random(b[:])
	return b
}
