package api

import (
	"errors"
	"net/http"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/gateway/stripe"
	"kith/backend/guess"
	"kith/core"
	"kith/core/billing"
	"kith/core/wire"
)

func (a *API) stripeRoutes() routes {
	const path = tenantPath + "/gateway/stripe"
	failures := guess.New(failuresPerMinute, time.Now)
	webhook := func(w http.ResponseWriter, r *http.Request) error { return a.stripeWebhook(w, r, failures) }
	return routes{
		path + "/connection":       {"PUT": a.keyed(a.connectStripe), "GET": a.keyed(a.stripeConnection), "DELETE": a.keyed(a.disconnectStripe)},
		path + "/connection/test":  {"POST": a.keyed(a.testStripe)},
		path + "/webhook":          {"POST": webhook},
		path + "/promotion/{code}": {"PUT": a.keyed(a.askForPromotion)},

		path + "/notifications":             {"GET": a.keyed(a.notifications)},
		path + "/notifications/{id}/replay": {"POST": a.keyed(a.replayNotification)},
		path + "/operations":                {"GET": a.keyed(a.operations)},
		path + "/operations/retry":          {"POST": a.keyed(a.retryOperations)},
	}
}

// webhookURL returns the URL to which Stripe sends a tenant's webhooks.
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
		APIKey: in.APIKey, Secrets: in.Secrets, Credit: in.Credit, CountTax: in.CountTax, CountShipping: in.CountShipping,
	}, a.webhookURL(c))
	if err != nil {
		return nil, err
	}
	return wire.StripeConnection(connection, a.webhookURL(c)), nil
}

// stripeConnection handles GET /gateway/stripe/connection.
func (a *API) stripeConnection(c *call) ([]byte, error) {
	connection, err := a.ofKind(c, billing.Stripe)
	if err != nil {
		return nil, err
	}
	return wire.StripeConnection(connection, a.webhookURL(c)), nil
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
	code, err := core.ParseReferralCode("code", c.PathValue("code"))
	if err != nil {
		return nil, err
	}
	p, err := a.Engine.Promotions.Ask(c.Context(), c.tenant, code)
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
