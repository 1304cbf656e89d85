package stripe

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway"
	"kith/core/billing"
)

// absent is the rest of an id that no object has: a call that changes it has no effect,
// and says whether the key has the permission.
const absent = "kithabsent"

// attempts are calls that need the permissions of billing.StripePermissions and have no
// effect: they read a list, or change an object that does not exist (gateway 4.6.2).
var attempts = map[string]func(context.Context, *sdk.Client) error{
	"charge_write": func(ctx context.Context, api *sdk.Client) error {
		_, err := api.V1Refunds.Update(ctx, "re_"+absent, &sdk.RefundUpdateParams{Metadata: probe})
		return err
	},
	// The code that referred a customer is written into the customer's metadata, and
	// credit may be a balance of the customer.
	"customer_write": func(ctx context.Context, api *sdk.Client) error {
		_, err := api.V1Customers.Update(ctx, "cus_"+absent, &sdk.CustomerUpdateParams{Metadata: probe})
		return err
	},
	"dispute_read": func(ctx context.Context, api *sdk.Client) error {
		return first(ctx, api.V1Disputes.List(ctx, &sdk.DisputeListParams{ListParams: one()}))
	},
	"event_read": func(ctx context.Context, api *sdk.Client) error {
		return first(ctx, api.V1Events.List(ctx, &sdk.EventListParams{ListParams: one()}))
	},
	"payment_intent_read": func(ctx context.Context, api *sdk.Client) error {
		return first(ctx, api.V1PaymentIntents.List(ctx, &sdk.PaymentIntentListParams{ListParams: one()}))
	},
	"checkout_session_read": func(ctx context.Context, api *sdk.Client) error {
		return first(ctx, api.V1CheckoutSessions.List(ctx, &sdk.CheckoutSessionListParams{ListParams: one()}))
	},
	"coupon_write": func(ctx context.Context, api *sdk.Client) error {
		_, err := api.V1Coupons.Update(ctx, absent, &sdk.CouponUpdateParams{Metadata: probe})
		return err
	},
	"promotion_code_write": func(ctx context.Context, api *sdk.Client) error {
		_, err := api.V1PromotionCodes.Update(ctx, "promo_"+absent, &sdk.PromotionCodeUpdateParams{Metadata: probe})
		return err
	},
	"invoice_write": func(ctx context.Context, api *sdk.Client) error {
		_, err := api.V1Invoices.CreatePreview(ctx, &sdk.InvoiceCreatePreviewParams{Subscription: sdk.String("sub_" + absent)})
		return err
	},
	"subscription_write": func(ctx context.Context, api *sdk.Client) error {
		_, err := api.V1Subscriptions.Update(ctx, "sub_"+absent, &sdk.SubscriptionUpdateParams{Metadata: probe})
		return err
	},
	"webhook_write": func(ctx context.Context, api *sdk.Client) error {
		_, err := api.V1WebhookEndpoints.Update(ctx, "we_"+absent, &sdk.WebhookEndpointUpdateParams{Metadata: probe})
		return err
	},
}

// probe is what a call would change in an object that does not exist.
var probe = map[string]string{"kith": "check"}

// one returns the parameters of a list of which one object is read.
func one() sdk.ListParams { return sdk.ListParams{Limit: sdk.Int64(1), Single: true} }

func first[T any](ctx context.Context, list *sdk.V1List[T]) error {
	for _, err := range list.All(ctx) {
		return err
	}
	return list.Err()
}

// Check tests the key and each permission, and looks for the webhook endpoint.
func (g *adapter) Check(ctx context.Context) ([]billing.Check, error) {
	keys := billing.Check{Name: billing.CheckKeys, Label: "Stripe accepts the key", Help: "Stripe rejects the key: create another restricted key, and connect with it"}
	_, err := g.account(ctx)
	if gateway.Is(portError(err), gateway.Retry) {
		return nil, portError(err)
	}
	if status(err) == http.StatusUnauthorized {
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
			err := attempts[p.Name](ctx, g.api)
			if gateway.Is(portError(err), gateway.Retry) {
				failures[i] = portError(err)
			}
			checks[i] = billing.Check{
				Name: p.Name, Label: "Permission " + p.Label(), OK: status(err) != http.StatusForbidden,
				Help: "open the key in the Dashboard under Developers, API keys, and set " + p.Resource + " to " + p.Level + ". Kith " + p.Reason,
			}
		})
	}
	running.Wait()
	return checks, errors.Join(failures...)
}

// checkWebhook reports whether the webhook endpoint exists, is enabled and has all events.
func (g *adapter) checkWebhook(ctx context.Context, permissions []billing.Check) (billing.Check, error) {
	c := billing.Check{Name: billing.CheckWebhook, Label: "The webhook endpoint exists", Help: "the webhook endpoint is missing: connect again, so that Kith makes it"}
	switch {
	case g.c.Endpoint == "":
		c.OK = len(g.c.Keys) > 1
		c.Help = "give the key the permission Webhook Endpoints: Write, and connect again; or create an endpoint in the Dashboard, and connect with its signing secret"
		return c, nil
	case !billing.Passed(permissions, "webhook_write"):
		c.Help = "the endpoint cannot be read without the permission Webhook Endpoints: Write"
		return c, nil
	}
	e, err := g.api.V1WebhookEndpoints.Retrieve(ctx, g.c.Endpoint, nil)
	if err = portError(err); gateway.Is(err, gateway.Retry) {
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
		c.OK = true
	}
	return c, nil
}

func status(err error) int {
	var refused *sdk.Error
	if err == nil || !errors.As(err, &refused) {
		return 0
	}
	return refused.HTTPStatusCode
}

func errorText(err error) string {
	var refused *sdk.Error
	if err == nil || !errors.As(err, &refused) {
		return ""
	}
	return refused.Msg
}

// accountText is the id of an account in the text of a refusal.
var accountText = regexp.MustCompile(`\bacct_[A-Za-z0-9]+\b`)

// account returns the id of the account that the key belongs to. A key without the
// permission to read the account learns the id from the refusal.
func (g *adapter) account(ctx context.Context) (string, error) {
	a, err := g.api.V1Accounts.Retrieve(ctx, nil)
	if id := accountText.FindString(errorText(err)); id != "" && status(err) == http.StatusForbidden {
		return id, nil
	}
	if err != nil {
		return "", err
	}
	return a.ID, nil
}

// tenantKey is the metadata of a webhook endpoint that Kith made: the tenant.
const tenantKey = "kith_tenant"

// Connect returns the connection with the account of its key, and with a webhook endpoint
// at the URL, unless that is empty. It keeps the endpoint of the connection if that has the
// URL and the connection has its secret. A new endpoint has a new secret, which becomes the
// first; the former ones follow it. Without the permission to make an endpoint, it makes
// none: Check says which permission is missing.
func (g *adapter) Connect(ctx context.Context, url string) (billing.Connection, error) {
	c := g.c
	id, err := g.account(ctx)
	if err != nil {
		return c, portError(err)
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
	made, err := g.api.V1WebhookEndpoints.Create(ctx, &sdk.WebhookEndpointCreateParams{
		URL: sdk.String(url), EnabledEvents: sdk.StringSlice(Events()), APIVersion: sdk.String(APIVersion),
		Description: sdk.String("Kith"), Metadata: map[string]string{tenantKey: string(g.tenant)},
	})
	if err = portError(err); gateway.Is(err, gateway.SetUp) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Endpoint, c.Keys = made.ID, slices.Insert(slices.Clone(c.Keys), 1, billing.StripeSecret(made.Secret))
	return c, nil
}

// keepEndpoint enables the endpoint of the connection with all events, and reports whether
// it has the URL and the version of the API.
func (g *adapter) keepEndpoint(ctx context.Context, url string) (kept bool, err error) {
	if g.c.Endpoint == "" || len(g.c.Keys) < 2 {
		return false, nil
	}
	e, err := g.api.V1WebhookEndpoints.Retrieve(ctx, g.c.Endpoint, nil)
	if err = portError(err); gateway.Is(err, gateway.Missing) {
		return false, nil
	}
	if err != nil || e.URL != url || e.APIVersion != APIVersion {
		return false, err
	}
	_, err = g.api.V1WebhookEndpoints.Update(ctx, e.ID, &sdk.WebhookEndpointUpdateParams{EnabledEvents: sdk.StringSlice(Events()), Disabled: sdk.Bool(false)})
	return err == nil, portError(err)
}

// Tidy deletes the webhook endpoints that Kith made for the tenant at the URL, or with the
// id former, except for that of the connection: their secrets were replaced, or are not
// known because a call was interrupted. Endpoints of others, also of another service of
// Kith at another URL, stay.
func (g *adapter) Tidy(ctx context.Context, url, former string) error {
	endpoints, err := all(ctx, g.api.V1WebhookEndpoints.List(ctx, &sdk.WebhookEndpointListParams{ListParams: page()}))
	if gateway.Is(err, gateway.SetUp) {
		return nil
	}
	for _, e := range endpoints {
		if e.ID == g.c.Endpoint || e.Metadata[tenantKey] != string(g.tenant) || e.URL != url && e.ID != former {
			continue
		}
		if _, err := g.api.V1WebhookEndpoints.Delete(ctx, e.ID, nil); err != nil && !gateway.Is(portError(err), gateway.Missing) {
			return portError(err)
		}
	}
	return err
}

// Disconnect deletes the webhook endpoint that Connect made.
func (g *adapter) Disconnect(ctx context.Context) error {
	if g.c.Endpoint == "" {
		return nil
	}
	_, err := g.api.V1WebhookEndpoints.Delete(ctx, g.c.Endpoint, nil)
	if err = portError(err); gateway.Is(err, gateway.Missing) {
		return nil
	}
	return err
}

// SendTest causes an event at Stripe that Kith subscribes to, without an effect on
// customers: it makes a coupon that no code names, and deletes it.
func (g *adapter) SendTest(ctx context.Context) error {
	id := checkCoupon + strconv.FormatInt(time.Now().UnixNano(), 36)
	_, err := g.api.V1Coupons.Create(ctx, &sdk.CouponCreateParams{
		ID: sdk.String(id), PercentOff: sdk.Float64(1), Duration: sdk.String(string(sdk.CouponDurationOnce)), MaxRedemptions: sdk.Int64(1), Name: sdk.String("Kith: test of the webhook"),
	})
	if err == nil {
		_, err = g.api.V1Coupons.Delete(ctx, id, nil)
	}
	return portError(err)
}
