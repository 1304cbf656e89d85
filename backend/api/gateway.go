package api

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"kith/backend/gateway"
	"kith/backend/guess"
	"kith/core"
	"kith/core/billing"
	"kith/core/wire"
)

func (a *API) gatewayRoutes() routes {
	const braintree = tenantPath + "/gateway/braintree"
	challenges, failures := guess.New(challengesPerMinute, time.Now), guess.New(failuresPerMinute, time.Now)
	challenge := func(w http.ResponseWriter, r *http.Request) error { return a.challenge(w, r, challenges) }
	notification := func(w http.ResponseWriter, r *http.Request) error { return a.notification(w, r, failures) }
	return routes{
		braintree + "/connection":      {"PUT": a.keyed(a.connect), "GET": a.keyed(a.connection), "DELETE": a.keyed(a.disconnect)},
		braintree + "/connection/test": {"POST": a.keyed(a.testConnection)},
		braintree + "/webhook":         {"POST": notification, "GET": challenge},
	}
}

// connect is PUT /gateway/braintree/connection. A base URL that the operator has
// set stays.
func (a *API) connect(c *call) ([]byte, error) {
	connection, err := decode(c, wire.ParseConnection)
	if err != nil {
		return nil, err
	}
	return encode(wire.Connection)(a.Engine.Gateways.Change(c.Context(), c.tenant, connection))
}

// connection is GET /gateway/braintree/connection.
func (a *API) connection(c *call) ([]byte, error) {
	return encode(wire.Connection)(a.Engine.Gateways.Connection(c.Context(), c.tenant))
}

// disconnect is DELETE /gateway/braintree/connection.
func (a *API) disconnect(c *call) ([]byte, error) {
	return nil, a.Engine.Gateways.Disconnect(c.Context(), c.tenant)
}

// testConnection is POST /gateway/braintree/connection/test.
func (a *API) testConnection(c *call) ([]byte, error) {
	found, err := a.Engine.Gateways.Test(c.Context(), c.caller.Tenant)
	if err != nil {
		return nil, err
	}
	return wire.ConnectionTest(found.Keys, found.Discount, found.DiscountID), nil
}

// maxNotification bounds the form of a notification: its payload, with every
// byte escaped at worst, and its signature.
const maxNotification = 1 << 20

// notification is POST /gateway/braintree/webhook: what the gateway sends
// (gateway 1.1). It is stored and answered, whatever it is about:
// anything but 200 would have the gateway send it again for a day. A network that
// sent too many that were not signed is refused before its body is read.
func (a *API) notification(w http.ResponseWriter, r *http.Request, failures *guess.Limiter) error {
	if failures.Exhausted(seenAddress(r)) {
		return &core.Error{Code: core.CodeRateLimited, RS: "RS033", Message: "too many notifications from this network that were not signed; wait a minute"}
	}
	tenant, keys, err := a.gatewayKeys(r)
	if err != nil {
		return err
	}
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	payload := form.Get("bt_payload")
	if keys.Verify(form.Get("bt_signature"), payload) != nil {
		failures.Count(seenAddress(r), 1)
		return notSigned()
	}
	if err := a.Engine.Notifications.Add(r.Context(), tenant, payload); err != nil {
		return err
	}
	writeText(w, "")
	return nil
}

// challenge is GET /gateway/braintree/webhook: by the answer the gateway knows
// that the address is the tenant's (gateway 1.4.1).
func (a *API) challenge(w http.ResponseWriter, r *http.Request, limit *guess.Limiter) error {
	_, keys, err := a.gatewayKeys(r)
	if err != nil {
		return err
	}
	if limit.Count(seenAddress(r), 1) {
		return &core.Error{Code: core.CodeRateLimited, RS: "RS033", Message: "too many challenges; wait a minute"}
	}
	answer, err := keys.AnswerChallenge(r.URL.Query().Get("bt_challenge"))
	if err != nil {
		return core.Invalid("bt_challenge", "must be 20 to 32 of a-f 0-9")
	}
	writeText(w, answer)
	return nil
}

// challengesPerMinute bounds what a network may have signed: the gateway asks when a
// person registers the webhook.
const challengesPerMinute = 30

// failuresPerMinute bounds the notifications of one network that are not signed: a
// key that was replaced makes some.
const failuresPerMinute = 30

func notSigned() error {
	return &core.Error{Code: core.CodeUnauthenticated, Message: "the notification is not signed with a key of this tenant's gateway"}
}

// gatewayKeys are the keys of the tenant in a request's path. To who has none of
// them, a tenant that is not connected looks like a wrong signature.
func (a *API) gatewayKeys(r *http.Request) (core.TenantAlias, gateway.Keys, error) {
	tenant, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return "", nil, err
	}
	c, err := a.Engine.Gateways.Open(r.Context(), tenant)
	var known *core.Error
	if errors.As(err, &known) && known.Code == core.CodeNotFound {
		err = notSigned()
	}
	return tenant, gatewayKeys(c), err
}

func gatewayKeys(c billing.Connection) gateway.Keys {
	keys := make(gateway.Keys, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = gateway.Key{Public: k.Public, Private: k.Private}
	}
	return keys
}

// readForm reads a body that is a form, up to the bound of notifications.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	body, err := readBody(w, r, maxNotification)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, core.Invalid("", "the body must be a form: application/x-www-form-urlencoded")
	}
	return form, nil
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", wire.CacheControl)
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, text) // #nosec G705 -- plain text, and named so
}
