package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"kith/backend/gateway"
	"kith/core/billing"
)

// absent is the rest of an id that no object has: a call that changes it has no effect,
// and says whether the key has the permission.
const absent = "kithabsent"

// attempts are calls that need the permissions of billing.StripePermissions and have no
// effect: they read a list, or change an object that does not exist (gateway 4.6.2).
var attempts = map[string]call{
	"charge_write": change("refunds", "re_"+absent),
	// The code that referred a customer is written into the customer's metadata, and
	// credit may be a balance of the customer.
	"customer_write":        change("customers", "cus_"+absent),
	"dispute_read":          look("disputes"),
	"event_read":            look("events"),
	"payment_intent_read":   look("payment_intents"),
	"checkout_session_read": look("checkout", "sessions"),
	"coupon_write":          change("coupons", absent),
	"promotion_code_write":  change("promotion_codes", "promo_"+absent),
	"invoice_write":         {method: http.MethodPost, path: []string{"invoices", "create_preview"}, params: params{"subscription": {"sub_" + absent}}},
	"subscription_write":    change("subscriptions", "sub_"+absent),
	"webhook_write":         change("webhook_endpoints", "we_"+absent),
}

func look(path ...string) call {
	return call{method: http.MethodGet, path: path, params: params{"limit": {"1"}}}
}

func change(path ...string) call {
	return call{method: http.MethodPost, path: path, params: params{"metadata[kith]": {"check"}}}
}

// Check tests the key and each permission, and looks for the webhook endpoint.
func (g *adapter) Check(ctx context.Context) ([]billing.Check, error) {
	keys := billing.Check{Name: billing.CheckKeys, Label: "Stripe accepts the key", Help: "Stripe rejects the key: create another restricted key, and connect with it"}
	_, err := g.account(ctx)
	if gateway.Is(err, gateway.Retry) {
		return nil, err
	}
	if refused(err).status == http.StatusUnauthorized {
		return []billing.Check{keys}, nil
	}
	keys.OK = true
	permissions, err := g.checkPermissions(ctx)
	if err != nil {
		return nil, err
	}
	webhook, err := g.checkWebhook(ctx, permissions)
	return append(append([]billing.Check{keys}, permissions...), webhook), err
}

// checkPermissions makes a call for each permission, all at once.
func (g *adapter) checkPermissions(ctx context.Context) ([]billing.Check, error) {
	needed := billing.StripePermissions()
	checks, failures := make([]billing.Check, len(needed)), make([]error, len(needed))
	var running sync.WaitGroup
	for i, p := range needed {
		running.Go(func() {
			_, err := do[json.RawMessage](ctx, g.api, attempts[p.Name])
			if gateway.Is(err, gateway.Retry) {
				failures[i] = err
			}
			checks[i] = billing.Check{
				Name: p.Name, Label: "Permission " + p.Label(), OK: refused(err).status != http.StatusForbidden,
				Help: "open the key in the Dashboard under Developers, API keys, and set " + p.Resource + " to " + p.Level + ". Kith " + p.Reason,
			}
		})
	}
	running.Wait()
	return checks, errors.Join(failures...)
}

// checkWebhook reports whether the webhook endpoint exists, is enabled and has all events.
func (g *adapter) checkWebhook(ctx context.Context, permissions []billing.Check) (billing.Check, error) {
	c := billing.Check{Name: billing.CheckWebhook, Label: "The webhook endpoint exists", Help: "the webhook endpoint is missing: connect again with the public URL, so that Kith makes it"}
	switch {
	case g.c.Endpoint == "":
		if c.OK = len(g.c.Keys) > 1; c.OK {
			c.Found = "made by you, so Kith does not look for it"
		}
		c.Help = "give the key the permission Webhook Endpoints: Write, and connect again; or create an endpoint in the Dashboard, and connect with its signing secret"
		return c, nil
	case !billing.Passed(permissions, "webhook_write"):
		c.Help = "the endpoint cannot be read without the permission Webhook Endpoints: Write"
		return c, nil
	}
	e, err := get[endpoint](ctx, g.api, nil, "webhook_endpoints", g.c.Endpoint)
	if gateway.Is(err, gateway.Retry) {
		return c, err
	}
	if err != nil {
		return c, nil
	}
	missing := slices.ContainsFunc(Events(), func(event string) bool {
		return !slices.Contains(e.EnabledEvents, event) && !slices.Contains(e.EnabledEvents, "*")
	})
	switch {
	case e.Status != "enabled":
		c.Help = "the webhook endpoint is disabled: enable it in the Dashboard under Developers, Webhooks"
	case missing:
		c.Help = "the webhook endpoint does not have all events: connect again"
	default:
		c.OK, c.Found = true, e.URL
	}
	return c, nil
}

// accountText is the id of an account in the text of a refusal.
var accountText = regexp.MustCompile(`\bacct_[A-Za-z0-9]+\b`)

// account returns the id of the account that the key belongs to. A key without the
// permission to read the account learns the id from the refusal.
func (g *adapter) account(ctx context.Context) (string, error) {
	a, err := get[identified](ctx, g.api, nil, "account")
	e := refused(err)
	if id := accountText.FindString(e.Message); id != "" && e.status == http.StatusForbidden {
		return id, nil
	}
	return a.ID, err
}

// tenantKey is the metadata of a webhook endpoint that Kith made: the tenant.
const tenantKey = "kith_tenant"

// Connect returns the connection with the account of its key, and with a webhook endpoint
// at the URL, unless that is empty. It keeps the endpoint of the connection if that has the
// URL and the connection has its secret. A new endpoint has a new secret, which becomes the
// first; the former ones follow it, up to billing.MaxKeys. Without the permission to make
// an endpoint, it makes none: Check says which permission is missing.
func (g *adapter) Connect(ctx context.Context, url string) (billing.Connection, error) {
	c := g.c
	id, err := g.account(ctx)
	if err != nil {
		return c, err
	}
	c.MerchantID = id
	if url == "" {
		return c, nil
	}
	if kept, err := g.keepEndpoint(ctx, url); kept || gateway.Is(err, gateway.SetUp) {
		return c, nil
	} else if err != nil {
		return c, err
	}
	made, err := post[endpoint](ctx, g.api, each(params{
		"url": {url}, "api_version": {APIVersion}, "description": {"Kith"}, "metadata[" + tenantKey + "]": {string(g.tenant)},
	}, "enabled_events", Events()...), "webhook_endpoints")
	switch {
	case gateway.Is(err, gateway.SetUp):
		return c, nil
	case err != nil:
		return c, err
	case made.Secret == "":
		return c, lost(errors.New("the new webhook endpoint has no secret"))
	}
	c.Endpoint, c.Keys = made.ID, slices.Insert(slices.Clone(c.Keys), 1, billing.StripeSecret(made.Secret))
	c.Keys = c.Keys[:min(len(c.Keys), billing.MaxKeys)]
	return c, nil
}

// WebhookURL returns the URL of the connection's endpoint.
func (g *adapter) WebhookURL(ctx context.Context) (string, error) {
	e, err := get[endpoint](ctx, g.api, nil, "webhook_endpoints", g.c.Endpoint)
	if gateway.Is(err, gateway.Missing) || gateway.Is(err, gateway.SetUp) {
		return "", nil
	}
	return e.URL, err
}

// keepEndpoint enables the endpoint of the connection with all events, and reports whether
// it has the URL and the version of the API.
func (g *adapter) keepEndpoint(ctx context.Context, url string) (kept bool, err error) {
	if g.c.Endpoint == "" || len(g.c.Keys) < 2 {
		return false, nil
	}
	e, err := get[endpoint](ctx, g.api, nil, "webhook_endpoints", g.c.Endpoint)
	if gateway.Is(err, gateway.Missing) {
		return false, nil
	}
	if err != nil || e.URL != url || e.APIVersion != APIVersion {
		return false, err
	}
	_, err = post[endpoint](ctx, g.api, each(params{"disabled": {"false"}}, "enabled_events", Events()...), "webhook_endpoints", e.ID)
	return err == nil, err
}

// Tidy deletes the webhook endpoint with the id former, and those that Kith made for the
// tenant at the URL before that of the connection: their secrets were replaced, or are not
// known because a call was interrupted. Newer ones are of connections that are made
// meanwhile. Endpoints of others, also of another service of Kith at another URL, stay.
func (g *adapter) Tidy(ctx context.Context, url, former string) error {
	endpoints, err := list[endpoint](ctx, g.api, page(), "webhook_endpoints")
	if gateway.Is(err, gateway.SetUp) {
		return nil
	}
	older := false // the list begins with the newest
	for _, e := range endpoints {
		if e.ID == g.c.Endpoint {
			older = true
			continue
		}
		if e.Metadata[tenantKey] != string(g.tenant) || e.ID != former && (e.URL != url || !older) {
			continue
		}
		if err := remove(ctx, g.api, "webhook_endpoints", e.ID); err != nil && !gateway.Is(err, gateway.Missing) {
			return err
		}
	}
	return err
}

// Disconnect deletes the webhook endpoint that Connect made.
func (g *adapter) Disconnect(ctx context.Context) error {
	if g.c.Endpoint == "" {
		return nil
	}
	err := remove(ctx, g.api, "webhook_endpoints", g.c.Endpoint)
	if gateway.Is(err, gateway.Missing) {
		return nil
	}
	return err
}

// SendTest causes an event at Stripe that Kith subscribes to, without an effect on
// customers: it makes a coupon that no code names, and deletes it.
func (g *adapter) SendTest(ctx context.Context) error {
	id := checkCoupon + strconv.FormatInt(time.Now().UnixNano(), 36)
	_, err := post[identified](ctx, g.api, params{
		"id": {id}, "percent_off": {"1"}, "duration": {"once"}, "max_redemptions": {"1"}, "name": {"Kith: test of the webhook"},
	}, "coupons")
	if err == nil {
		err = remove(ctx, g.api, "coupons", id)
	}
	return err
}
