package stripe

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway"
	"kith/core/billing"
)

// absent is the rest of an id that no object has: a call that changes it has no effect,
// and says whether the key has the permission.
const absent = "kithabsent"

// permission is one that the key needs: its name in the Dashboard and its value there.
// try makes a call that needs it.
type permission struct {
	name, label string
	try         func(context.Context, *adapter) error
}

// permissions are those that the key needs (gateway 4.6.2).
func (g *adapter) permissions() []permission {
	one := func(n int) sdk.ListParams { return sdk.ListParams{Limit: sdk.Int64(int64(n)), Single: true} }
	needed := []permission{
		{"customer_read", "Customers: Read", func(ctx context.Context, g *adapter) error {
			return first(ctx, g.api.V1Customers.List(ctx, &sdk.CustomerListParams{ListParams: one(1)}))
		}},
		{"checkout_session_read", "Checkout Sessions: Read", func(ctx context.Context, g *adapter) error {
			return first(ctx, g.api.V1CheckoutSessions.List(ctx, &sdk.CheckoutSessionListParams{ListParams: one(1)}))
		}},
		{"payment_intent_read", "PaymentIntents: Read", func(ctx context.Context, g *adapter) error {
			return first(ctx, g.api.V1PaymentIntents.List(ctx, &sdk.PaymentIntentListParams{ListParams: one(1)}))
		}},
		{"dispute_read", "Disputes: Read", func(ctx context.Context, g *adapter) error {
			return first(ctx, g.api.V1Disputes.List(ctx, &sdk.DisputeListParams{ListParams: one(1)}))
		}},
		{"event_read", "Events: Read", func(ctx context.Context, g *adapter) error {
			return first(ctx, g.api.V1Events.List(ctx, &sdk.EventListParams{ListParams: one(1)}))
		}},
		{"charge_write", "Charges and Refunds: Write", func(ctx context.Context, g *adapter) error {
			_, err := g.api.V1Refunds.Update(ctx, "re_"+absent, &sdk.RefundUpdateParams{Metadata: map[string]string{"kith": "check"}})
			return err
		}},
		{"invoice_write", "Invoices: Write", func(ctx context.Context, g *adapter) error {
			_, err := g.api.V1Invoices.CreatePreview(ctx, &sdk.InvoiceCreatePreviewParams{Subscription: sdk.String("sub_" + absent)})
			return err
		}},
		{"subscription_write", "Subscriptions: Write", func(ctx context.Context, g *adapter) error {
			_, err := g.api.V1Subscriptions.Update(ctx, "sub_"+absent, &sdk.SubscriptionUpdateParams{Metadata: map[string]string{"kith": "check"}})
			return err
		}},
		{"coupon_write", "Coupons: Write", func(ctx context.Context, g *adapter) error {
			_, err := g.api.V1Coupons.Update(ctx, absent, &sdk.CouponUpdateParams{Metadata: map[string]string{"kith": "check"}})
			return err
		}},
		{"promotion_code_write", "Promotion Codes: Write", func(ctx context.Context, g *adapter) error {
			_, err := g.api.V1PromotionCodes.Update(ctx, "promo_"+absent, &sdk.PromotionCodeUpdateParams{Metadata: map[string]string{"kith": "check"}})
			return err
		}},
		{"webhook_write", "Webhook Endpoints: Write", func(ctx context.Context, g *adapter) error {
			_, err := g.api.V1WebhookEndpoints.Update(ctx, "we_"+absent, &sdk.WebhookEndpointUpdateParams{Metadata: map[string]string{"kith": "check"}})
			return err
		}},
	}
	// The code that referred a customer is written into the customer's metadata, and
	// credit may be a balance of the customer.
	needed[0].name, needed[0].label = "customer_write", "Customers: Write"
	needed[0].try = func(ctx context.Context, g *adapter) error {
		_, err := g.api.V1Customers.Update(ctx, "cus_"+absent, &sdk.CustomerUpdateParams{Metadata: map[string]string{"kith": "check"}})
		return err
	}
	return needed
}

func first[T any](ctx context.Context, list *sdk.V1List[T]) error {
	for _, err := range list.All(ctx) {
		return err
	}
	return list.Err()
}

// rak is a permission in the text of a refusal.
var rak = regexp.MustCompile(`rak_([a-z_]+)`)

// Check tests the key and each permission, and looks for the webhook endpoint.
func (g *adapter) Check(ctx context.Context) ([]billing.Check, error) {
	keys := billing.Check{Name: billing.CheckKeys, Help: "Stripe rejects the key: create another restricted key, and connect with it"}
	_, err := g.account(ctx)
	refusal := portError(err)
	if gateway.Is(refusal, gateway.Retry) {
		return nil, refusal
	}
	if status(err) == http.StatusUnauthorized {
		return []billing.Check{keys}, nil
	}
	keys.OK = true
	checks := []billing.Check{keys}
	for _, p := range g.permissions() {
		err := p.try(ctx, g)
		if gateway.Is(portError(err), gateway.Retry) {
			return nil, portError(err)
		}
		c := billing.Check{Name: p.name, OK: status(err) != http.StatusForbidden, Help: "give the key the permission " + p.label}
		if found := rak.FindStringSubmatch(errorText(err)); !c.OK && found != nil {
			c.Name = found[1]
		}
		checks = append(checks, c)
	}
	webhook, err := g.checkWebhook(ctx)
	return append(checks, webhook), err
}

// checkWebhook reports whether the webhook endpoint exists, is enabled and has all events.
func (g *adapter) checkWebhook(ctx context.Context) (billing.Check, error) {
	c := billing.Check{Name: billing.CheckWebhook, Help: "the webhook endpoint is missing: connect again, so that Kith makes it"}
	if g.c.Endpoint == "" {
		c.OK = len(g.c.Keys) > 1
		c.Help = "create a webhook endpoint in the Dashboard, and connect with its signing secret; or give the key the permission Webhook Endpoints: Write, and connect again"
		return c, nil
	}
	e, err := g.api.V1WebhookEndpoints.Retrieve(ctx, g.c.Endpoint, nil)
	if err = portError(err); err != nil {
		if gateway.Is(err, gateway.Retry) {
			return c, err
		}
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

// account returns the id of the account that the key belongs to.
func (g *adapter) account(ctx context.Context) (string, error) {
	a, err := g.api.V1Accounts.Retrieve(ctx, nil)
	if err != nil {
		return "", err
	}
	return a.ID, nil
}

// Connect returns the connection with the account of its key, and with a webhook endpoint
// at the URL. It keeps the endpoint of the connection if that has the URL; the secret of a
// new one is the first. Endpoints that an interrupted call has left are deleted.
func (g *adapter) Connect(ctx context.Context, url string) (billing.Connection, error) {
	c := g.c
	id, err := g.account(ctx)
	if err != nil {
		return c, portError(err)
	}
	c.MerchantID = id
	endpoints, err := all(ctx, g.api.V1WebhookEndpoints.List(ctx, &sdk.WebhookEndpointListParams{ListParams: page()}))
	if gateway.Is(err, gateway.SetUp) {
		return c, nil // a check says which permission is missing
	}
	if err != nil {
		return c, err
	}
	kept := ""
	for _, e := range endpoints {
		if e.ID == c.Endpoint && e.URL == url && len(c.Keys) > 1 {
			kept = e.ID
		}
	}
	if kept != "" {
		_, err := g.api.V1WebhookEndpoints.Update(ctx, kept, &sdk.WebhookEndpointUpdateParams{EnabledEvents: sdk.StringSlice(Events()), Disabled: sdk.Bool(false)})
		return c, portError(err)
	}
	made, err := g.api.V1WebhookEndpoints.Create(ctx, &sdk.WebhookEndpointCreateParams{
		URL: sdk.String(url), EnabledEvents: sdk.StringSlice(Events()), APIVersion: sdk.String(APIVersion),
		Description: sdk.String("Kith"), Metadata: map[string]string{"kith_tenant": string(g.tenant)},
	})
	if err = portError(err); gateway.Is(err, gateway.SetUp) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Endpoint, c.Keys = made.ID, []billing.Key{c.Keys[0], billing.StripeSecret(made.Secret)}
	for _, e := range endpoints {
		// Its secret is not known, or it has the URL of before. An endpoint at another URL
		// may be that of another installation.
		if e.Metadata["kith_tenant"] == string(g.tenant) && (e.URL == url || e.ID == g.c.Endpoint) {
			if _, err := g.api.V1WebhookEndpoints.Delete(ctx, e.ID, nil); err != nil && !gateway.Is(portError(err), gateway.Missing) {
				return c, portError(err)
			}
		}
	}
	return c, nil
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
// customers: it makes a coupon that nobody can use, and deletes it.
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
