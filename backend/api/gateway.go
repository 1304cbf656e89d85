package api

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/gateway/braintree"
	"kith/backend/gateway/stripe"
	"kith/backend/guess"
	"kith/core"
	"kith/core/billing"
	"kith/core/operation"
	"kith/core/wire"
)

func (a *API) gatewayRoutes() routes {
	const braintree = tenantPath + "/gateway/braintree"
	challenges, failures := guess.New(challengesPerMinute, time.Now), guess.New(failuresPerMinute, time.Now)
	challenge := func(w http.ResponseWriter, r *http.Request) error { return a.challenge(w, r, challenges) }
	notification := func(w http.ResponseWriter, r *http.Request) error { return a.notification(w, r, failures) }
	return routes{
		braintree + "/connection":      {"PUT": a.keyed(operation.ConnectGateway, a.connect), "GET": a.keyed(operation.ReadIntegrations, a.connection), "DELETE": a.keyed(operation.DisconnectGateway, a.disconnect)},
		braintree + "/connection/test": {"POST": a.keyed(operation.TestGateway, a.testConnection)},
		braintree + "/webhook":         {"POST": notification, "GET": challenge},

		braintree + "/notifications":             {"GET": a.keyed(operation.ReadIntegrations, a.notifications)},
		braintree + "/notifications/{id}/replay": {"POST": a.keyed(operation.ReplayNotification, a.replayNotification)},
		braintree + "/operations":                {"GET": a.keyed(operation.ReadIntegrations, a.operations)},
		braintree + "/operations/retry":          {"POST": a.keyed(operation.RetryGateway, a.retryOperations)},
	}
}

// connect handles PUT /gateway/braintree/connection. It does not change a base URL that
// the operator set.
func (a *API) connect(c *call) ([]byte, error) {
	connection, err := decode(c, wire.ParseConnection)
	if err != nil {
		return nil, err
	}
	return encode(wire.Connection)(a.Engine.Gateways.Change(c.Context(), c.tenant, connection))
}

// connection handles GET /gateway/braintree/connection.
func (a *API) connection(c *call) ([]byte, error) {
	return encode(wire.Connection)(a.ofKind(c, billing.Braintree))
}

// disconnect handles DELETE /gateway/braintree/connection.
func (a *API) disconnect(c *call) ([]byte, error) {
	if _, err := a.ofKind(c, billing.Braintree); err != nil {
		return nil, err
	}
	return nil, a.Engine.Gateways.Disconnect(c.Context(), c.tenant)
}

// testConnection handles POST /gateway/braintree/connection/test.
func (a *API) testConnection(c *call) ([]byte, error) {
	if _, err := a.ofKind(c, billing.Braintree); err != nil {
		return nil, err
	}
	found, err := a.Engine.Gateways.Test(c.Context(), c.caller.Tenant)
	if err != nil {
		return nil, err
	}
	return wire.ConnectionTest(found.Keys, found.Discount, found.DiscountID), nil
}

// notifications handles GET /gateway/braintree/notifications.
func (a *API) notifications(c *call) ([]byte, error) {
	q := c.URL.Query()
	var f payments.NotificationFilter
	var err error
	if f.Problem, err = flag(c.Request, "problem", false); err != nil {
		return nil, err
	}
	if text := q.Get("before"); text != "" {
		if f.Before, err = notificationID("before", text); err != nil {
			return nil, err
		}
	}
	return encodeBoth(wire.GatewayNotifications)(a.Engine.Notifications.List(c.Context(), c.tenant, f))
}

// notificationID returns text as the number of a notification, or an error about field.
func notificationID(field, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, core.Invalid(field, "must be the id of a notification; take it from the list")
	}
	return id, nil
}

// replayNotification handles POST /gateway/braintree/notifications/{id}/replay.
func (a *API) replayNotification(c *call) ([]byte, error) {
	id, err := notificationID("id", c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return nil, a.Engine.Notifications.Replay(c.Context(), c.tenant, id)
}

// operations handles GET /gateway/braintree/operations.
func (a *API) operations(c *call) ([]byte, error) {
	return encode(wire.GatewayOperations)(a.Engine.Operations.List(c.Context(), c.tenant))
}

// retryOperations handles POST /gateway/braintree/operations/retry.
func (a *API) retryOperations(c *call) ([]byte, error) {
	in, err := decode(c, wire.ParseRetriedOperation)
	if err != nil {
		return nil, err
	}
	return encode(wire.RetriedOperations)(a.Engine.Operations.Retry(c.Context(), c.tenant, in.Kind, in.ID))
}

// maxNotification is the largest body of a notification, in bytes: a form with the
// payload, in which each byte may be percent-encoded, and the signature.
const maxNotification = 1 << 20

// notification handles POST /gateway/braintree/webhook, a notification of the gateway
// (gateway 1.1). It stores every kind of notification and answers 200: after any other
// status the gateway repeats the notification for a day. A network that sent too many
// notifications without a valid signature is refused before the body is read.
func (a *API) notification(w http.ResponseWriter, r *http.Request, failures *guess.Limiter) error {
	if failures.Exhausted(seenAddress(r)) {
		return &core.Error{Code: core.CodeRateLimited, RS: "RS033", Message: "too many unsigned notifications from this network; wait a minute"}
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
	if err := a.Engine.Notifications.Add(r.Context(), tenant, billing.Braintree, payload, payload); err != nil {
		return err
	}
	writeText(w, "")
	return nil
}

// challenge handles GET /gateway/braintree/webhook. The answer proves to the gateway that
// the URL belongs to the tenant (gateway 1.4.1).
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
		return core.Invalid("bt_challenge", "must be 20 to 32 characters of a-f and 0-9")
	}
	writeText(w, answer)
	return nil
}

// challengesPerMinute is how many challenges of one network are answered in a minute.
// The gateway sends one when a person registers the webhook.
const challengesPerMinute = 30

// failuresPerMinute is how many notifications of one network in a minute may lack a
// valid signature. The gateway sends some after a key was replaced.
const failuresPerMinute = 30

func notSigned() error {
	return &core.Error{Code: core.CodeUnauthenticated, Message: "the notification is not signed with a key of this tenant's gateway"}
}

// gatewayKeys returns the gateway keys of the tenant in a request's path. A tenant
// without a gateway gets the error of a wrong signature, so that a stranger cannot
// distinguish the two.
func (a *API) gatewayKeys(r *http.Request) (core.TenantAlias, braintree.Keys, error) {
	tenant, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return "", nil, err
	}
	c, err := a.Engine.Gateways.Open(r.Context(), tenant)
	var known *core.Error
	if errors.As(err, &known) && known.Code == core.CodeNotFound || err == nil && c.Kind != billing.Braintree {
		err = notSigned()
	}
	return tenant, gatewayKeys(c), err
}

// gatewayKeys converts the keys of a connection.
func gatewayKeys(c billing.Connection) braintree.Keys {
	keys := make(braintree.Keys, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = braintree.Key{Public: k.Public, Private: k.Private}
	}
	return keys
}

// readForm reads a body that is a form, of at most maxNotification bytes.
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

func (a *API) stripeRoutes() routes {
	const path = tenantPath + "/gateway/stripe"
	failures := guess.New(failuresPerMinute, time.Now)
	webhook := func(w http.ResponseWriter, r *http.Request) error { return a.stripeWebhook(w, r, failures) }
	return routes{
		path + "/connection":       {"PUT": a.keyed(operation.ConnectGateway, a.connectStripe), "GET": a.keyed(operation.ReadIntegrations, a.stripeConnection), "DELETE": a.keyed(operation.DisconnectGateway, a.disconnectStripe)},
		path + "/connection/test":  {"POST": a.keyed(operation.TestGateway, a.testStripe)},
		path + "/webhook":          {"POST": webhook},
		path + "/promotion/{code}": {"PUT": a.keyed(operation.RequestPromotion, a.askForPromotion)},

		path + "/notifications":             {"GET": a.keyed(operation.ReadIntegrations, a.notifications)},
		path + "/notifications/{id}/replay": {"POST": a.keyed(operation.ReplayNotification, a.replayNotification)},
		path + "/operations":                {"GET": a.keyed(operation.ReadIntegrations, a.operations)},
		path + "/operations/retry":          {"POST": a.keyed(operation.RetryGateway, a.retryOperations)},
	}
}

// webhookURL returns the URL at which Stripe reaches a tenant's webhook, if it has no
// webhook endpoint yet.
func (a *API) webhookURL(c *call) string {
	origin := a.origin(c.Request)
	if origin == "" {
		origin = c.caller.Share("").Origin
	}
	return origin + payments.StripeWebhook(c.tenant)
}

// connectStripe handles PUT /gateway/stripe/connection. It does not change a base URL that
// the operator set.
func (a *API) connectStripe(c *call) ([]byte, error) {
	in, err := decode(c, wire.ParseStripeSettings)
	if err != nil {
		return nil, err
	}
	connection, err := a.Engine.Gateways.ChangeStripe(c.Context(), c.tenant, payments.StripeSettings{
		APIKey: in.APIKey, Secrets: in.Secrets, Roll: in.Roll, Revoke: in.Revoke, Credit: in.Credit, CountTax: in.CountTax, CountShipping: in.CountShipping,
	}, a.webhookURL(c))
	if err != nil {
		return nil, err
	}
	return a.showStripe(c, connection), nil
}

// showStripe returns a connection to Stripe as JSON, with the URL that is registered there.
func (a *API) showStripe(c *call, connection billing.Connection) []byte {
	return wire.StripeConnection(connection, a.Engine.Gateways.WebhookURL(c.Context(), c.tenant, a.webhookURL(c)))
}

// stripeConnection handles GET /gateway/stripe/connection.
func (a *API) stripeConnection(c *call) ([]byte, error) {
	connection, err := a.ofKind(c, billing.Stripe)
	if err != nil {
		return nil, err
	}
	return a.showStripe(c, connection), nil
}

// ofKind returns the connection of the caller's tenant, or a not-found error if it is to
// another gateway.
func (a *API) ofKind(c *call, kind billing.Kind) (billing.Connection, error) {
	connection, err := a.Engine.Gateways.Connection(c.Context(), c.tenant)
	if err == nil && connection.Kind != kind {
		err = core.NotFound("this tenant is connected to " + string(connection.Kind) + ", not to " + string(kind))
	}
	return connection, err
}

// disconnectStripe handles DELETE /gateway/stripe/connection.
func (a *API) disconnectStripe(c *call) ([]byte, error) {
	if _, err := a.ofKind(c, billing.Stripe); err != nil {
		return nil, err
	}
	return nil, a.Engine.Gateways.Disconnect(c.Context(), c.tenant)
}

// testStripe handles POST /gateway/stripe/connection/test.
func (a *API) testStripe(c *call) ([]byte, error) {
	if _, err := a.ofKind(c, billing.Stripe); err != nil {
		return nil, err
	}
	found, err := a.Engine.Gateways.Verify(c.Context(), c.caller.Tenant, payments.DeliveryTime)
	if err != nil {
		return nil, err
	}
	return wire.ConnectionChecks(found.Checks), nil
}

// askForPromotion handles PUT /gateway/stripe/promotion/{code}.
func (a *API) askForPromotion(c *call) ([]byte, error) {
	p, err := a.Engine.Promotions.Ask(c.Context(), c.tenant, codeOf(c))
	if err != nil {
		return nil, err
	}
	return wire.PromotionCode(p.Code, p.ID, p.Coupon, p.Problem), nil
}

// stripeWebhook handles POST /gateway/stripe/webhook (gateway 4.2). It stores an event
// once by its id, of any type, and answers 200. A network that sent too many events
// without a valid signature is refused before the body is read.
func (a *API) stripeWebhook(w http.ResponseWriter, r *http.Request, failures *guess.Limiter) error {
	if failures.Exhausted(seenAddress(r)) {
		return &core.Error{Code: core.CodeRateLimited, RS: "RS033", Message: "too many unsigned notifications from this network; wait a minute"}
	}
	tenant, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return err
	}
	secrets, err := a.stripeSecrets(r, tenant)
	if err != nil {
		return err
	}
	body, err := readBody(w, r, stripe.MaxPayload)
	if err != nil {
		return err
	}
	if err := stripe.Verify(secrets, r.Header.Get("Stripe-Signature"), body, time.UnixMilli(int64(a.Engine.Now()))); err != nil {
		failures.Count(seenAddress(r), 1)
		return notSigned()
	}
	event, err := stripe.ParseEvent(body)
	if err != nil {
		return core.Invalid("", "the body must be an event of Stripe")
	}
	if event.Livemode != base.Live(tenant) {
		return core.Invalid("livemode", "must be that of the tenant: a live tenant takes live events, a test tenant test events")
	}
	if err := a.Engine.Notifications.Add(r.Context(), tenant, billing.Stripe, event.ID, string(body)); err != nil {
		return err
	}
	writeText(w, "")
	return nil
}

// stripeSecrets returns the secrets that verify a tenant's webhooks. A tenant without
// Stripe gets the error of a wrong signature, so that a stranger cannot distinguish the two.
func (a *API) stripeSecrets(r *http.Request, tenant core.TenantAlias) (secrets []string, err error) {
	c, err := a.Engine.Gateways.Open(r.Context(), tenant)
	var known *core.Error
	if errors.As(err, &known) && known.Code == core.CodeNotFound || err == nil && c.Kind != billing.Stripe {
		return nil, notSigned()
	}
	for _, k := range c.Keys[min(1, len(c.Keys)):] {
		secrets = append(secrets, k.Private)
	}
	return secrets, err
}
