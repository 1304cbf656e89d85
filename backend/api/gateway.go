package api

import (
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
	const braintree, stripe = tenantPath + "/gateway/braintree", tenantPath + "/gateway/stripe"
	all := routes{
		braintree + "/connection":      {"PUT": a.keyed(operation.ConnectGateway, with(body(wire.ParseConnection), a.connect)), "GET": a.keyed(operation.ReadIntegrations, a.connection), "DELETE": a.keyed(operation.DisconnectGateway, a.disconnect(billing.Braintree))},
		braintree + "/connection/test": {"POST": a.keyed(operation.TestGateway, a.testConnection)},
		braintree + "/webhook":         {"POST": a.webhook(billing.Braintree, notification), "GET": a.challenge(guess.New(challengesPerMinute, time.Now))},

		stripe + "/connection":       {"PUT": a.keyed(operation.ConnectGateway, with(body(wire.ParseStripeSettings), a.connectStripe)), "GET": a.keyed(operation.ReadIntegrations, a.stripeConnection), "DELETE": a.keyed(operation.DisconnectGateway, a.disconnect(billing.Stripe))},
		stripe + "/connection/test":  {"POST": a.keyed(operation.TestGateway, a.testStripe)},
		stripe + "/webhook":          {"POST": a.webhook(billing.Stripe, a.stripeEvent)},
		stripe + "/promotion/{code}": {"PUT": a.keyed(operation.RequestPromotion, a.askForPromotion)},
	}
	for _, gateway := range []string{braintree, stripe} {
		all[gateway+"/notifications"] = methods{"GET": a.keyed(operation.ReadIntegrations, a.notifications)}
		all[gateway+"/notifications/{id}/replay"] = methods{"POST": a.keyed(operation.ReplayNotification, a.replayNotification)}
		all[gateway+"/operations"] = methods{"GET": a.keyed(operation.ReadIntegrations, a.operations)}
		all[gateway+"/operations/retry"] = methods{"POST": a.keyed(operation.RetryGateway, with(body(wire.ParseRetriedOperation), a.retryOperations))}
	}
	return all
}

// connect handles PUT /gateway/braintree/connection. It does not change a base URL that
// the operator set.
func (a *API) connect(c *call, connection billing.Connection) ([]byte, error) {
	return encode(wire.Connection)(a.Engine.Gateways.Change(c.Context(), c.tenant, connection))
}

// connection handles GET /gateway/braintree/connection.
func (a *API) connection(c *call) ([]byte, error) {
	return encode(wire.Connection)(a.ofKind(c, billing.Braintree))
}

// disconnect handles DELETE of the connection to a gateway.
func (a *API) disconnect(kind billing.Kind) action {
	return func(c *call) ([]byte, error) {
		if _, err := a.ofKind(c, kind); err != nil {
			return nil, err
		}
		return nil, a.Engine.Gateways.Disconnect(c.Context(), c.tenant)
	}
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
func (a *API) retryOperations(c *call, in wire.RetriedOperation) ([]byte, error) {
	return encode(wire.RetriedOperations)(a.Engine.Operations.Retry(c.Context(), c.tenant, in.Kind, in.ID))
}

// maxNotification is the largest body of a notification, in bytes: a form with the
// payload, in which each byte may be percent-encoded, and the signature.
const maxNotification = 1 << 20

// webhook returns the handler of the notifications that a gateway sends. It stores every kind
// of notification once by its key, and answers 200: after any other status the gateway repeats
// the notification for a day. read returns errNotSigned without a valid signature. A network that
// sent too many of those is refused before the body is read.
func (a *API) webhook(kind billing.Kind, read notificationReader) handler {
	failures := guess.New(failuresPerMinute, time.Now)
	return func(w http.ResponseWriter, r *http.Request) error {
		if failures.Exhausted(seenAddress(r)) {
			return rateLimited("too many unsigned notifications from this network; wait a minute")
		}
		tenant, c, err := a.openGateway(r, kind)
		if err != nil {
			return err
		}
		key, payload, err := read(w, r, tenant, c)
		if err != nil {
			if err == error(errNotSigned) {
				failures.Count(seenAddress(r), 1)
			}
			return err
		}
		if err := a.Engine.Notifications.Add(r.Context(), tenant, kind, key, payload); err != nil {
			return err
		}
		writeText(w, "")
		return nil
	}
}

// notificationReader reads a notification in the body of a request and verifies its signature.
type notificationReader func(http.ResponseWriter, *http.Request, core.TenantAlias, billing.Connection) (key, payload string, err error)

// notification reads POST /gateway/braintree/webhook (gateway 1.1).
func notification(w http.ResponseWriter, r *http.Request, _ core.TenantAlias, c billing.Connection) (key, payload string, err error) {
	form, err := readForm(w, r)
	if err != nil {
		return "", "", err
	}
	payload = form.Get("bt_payload")
	if gatewayKeys(c).Verify(form.Get("bt_signature"), payload) != nil {
		return "", "", errNotSigned
	}
	return payload, payload, nil
}

// challenge returns the handler of GET /gateway/braintree/webhook. The answer proves to the
// gateway that the URL belongs to the tenant (gateway 1.4.1).
func (a *API) challenge(limit *guess.Limiter) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		_, c, err := a.openGateway(r, billing.Braintree)
		if err != nil {
			return err
		}
		if limit.Count(seenAddress(r), 1) {
			return rateLimited("too many challenges; wait a minute")
		}
		answer, err := gatewayKeys(c).AnswerChallenge(r.URL.Query().Get("bt_challenge"))
		if err != nil {
			return core.Invalid("bt_challenge", "must be 20 to 32 characters of a-f and 0-9")
		}
		writeText(w, answer)
		return nil
	}
}

// challengesPerMinute is how many challenges of one network are answered in a minute.
// The gateway sends one when a person registers the webhook.
const challengesPerMinute = 30

// failuresPerMinute is how many notifications of one network in a minute may lack a
// valid signature. The gateway sends some after a key was replaced.
const failuresPerMinute = 30

var errNotSigned = &core.Error{Code: core.CodeUnauthenticated, Message: "the notification is not signed with a key of this tenant's gateway"}

// openGateway returns the tenant in a request's path and its connection to a gateway. A tenant
// without that gateway gets the error of a wrong signature, so that a stranger cannot distinguish
// the two.
func (a *API) openGateway(r *http.Request, kind billing.Kind) (tenant core.TenantAlias, c billing.Connection, err error) {
	if tenant, err = core.ParseTenantAlias(r.PathValue("tenant")); err != nil {
		return "", c, err
	}
	c, err = a.Engine.Gateways.Open(r.Context(), tenant)
	if base.IsNotFound(err) || err == nil && c.Kind != kind {
		err = errNotSigned
	}
	return tenant, c, err
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
	writeAs(w, "text/plain; charset=utf-8", http.StatusOK, []byte(text))
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
func (a *API) connectStripe(c *call, in wire.StripeSettings) ([]byte, error) {
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

// stripeEvent reads POST /gateway/stripe/webhook (gateway 4.2). The first key of a connection is
// the one with which Kith calls Stripe, the others sign events.
func (a *API) stripeEvent(w http.ResponseWriter, r *http.Request, tenant core.TenantAlias, c billing.Connection) (id, payload string, err error) {
	body, err := readBody(w, r, stripe.MaxPayload)
	if err != nil {
		return "", "", err
	}
	var secrets []string
	for _, k := range c.Keys[min(1, len(c.Keys)):] {
		secrets = append(secrets, k.Private)
	}
	if stripe.Verify(secrets, r.Header.Get("Stripe-Signature"), body, time.UnixMilli(int64(a.Engine.Now()))) != nil {
		return "", "", errNotSigned
	}
	event, err := stripe.ParseEvent(body)
	if err != nil {
		return "", "", core.Invalid("", "the body must be an event of Stripe")
	}
	if event.Livemode != base.Live(tenant) {
		return "", "", core.Invalid("livemode", "must be that of the tenant: a live tenant takes live events, a test tenant test events")
	}
	return event.ID, string(body), nil
}
