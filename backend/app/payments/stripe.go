package payments

import (
	"context"
	"slices"
	"time"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// StripeSettings are what a person gives to connect Stripe.
type StripeSettings struct {
	// APIKey is a restricted key; empty keeps the stored one.
	APIKey string
	// Secrets are signing secrets of webhooks. The stored ones stay valid behind them, up
	// to the limit of a connection. They may be empty: Kith makes the webhook endpoint.
	Secrets                 []string
	Credit                  billing.CreditForm
	CountTax, CountShipping bool
	// BaseURL replaces Stripe's host, for a test tenant only; see ChangeStripe.
	BaseURL string
}

// StripeWebhook returns the path at which Stripe's notifications for a tenant arrive.
func StripeWebhook(tenant core.TenantAlias) string {
	return "/api/v1/" + string(tenant) + "/gateway/stripe/webhook"
}

// ConnectStripe connects a tenant to Stripe, and returns the connection without secrets.
// It asks Stripe for the account of the key, and makes the webhook endpoint at webhook, the
// URL of StripeWebhook. What the key may not do is no error: see Test. A tenant that is
// connected to another gateway is a conflict.
func (g *Gateways) ConnectStripe(ctx context.Context, tenant core.TenantAlias, s StripeSettings, webhook string) (billing.Connection, error) {
	before, known, err := g.connection(ctx, g.DB.Reads, tenant)
	if err != nil {
		return billing.Connection{}, err
	}
	if known && before.Kind != billing.Stripe {
		return billing.Connection{}, otherGateway(before.Kind)
	}
	c := s.connection(before)
	live := base.Live(tenant)
	if c.Keys[0].Private == "" {
		return billing.Connection{}, core.Invalid("apiKey", "is required")
	}
	if _, err := billing.CheckStripeKey("apiKey", c.Keys[0].Private, live); err != nil {
		return billing.Connection{}, err
	}
	c.MerchantID = "unknown" // until Stripe says it
	if err := c.Check(live); err != nil {
		return billing.Connection{}, err
	}
	if c, err = g.Prepare(ctx, tenant, c, webhook); err != nil {
		return billing.Connection{}, err
	}
	stored, err := g.connect(ctx, tenant, func(billing.Connection) billing.Connection { return c })
	if err == nil {
		g.wake()
	}
	return stored, err
}

// ChangeStripe is ConnectStripe for callers who may not choose the gateway's host: the base
// URL stays unchanged.
func (g *Gateways) ChangeStripe(ctx context.Context, tenant core.TenantAlias, s StripeSettings, webhook string) (billing.Connection, error) {
	before, known, err := g.connection(ctx, g.DB.Reads, tenant)
	if err != nil {
		return billing.Connection{}, err
	}
	if s.BaseURL = ""; known && before.Kind == billing.Stripe {
		s.BaseURL = before.BaseURL
	}
	return g.ConnectStripe(ctx, tenant, s, webhook)
}

// connection returns the connection with the settings. before is the stored one, or the
// zero Connection.
func (s StripeSettings) connection(before billing.Connection) billing.Connection {
	c := billing.Connection{
		Kind: billing.Stripe, BaseURL: s.BaseURL, Endpoint: before.Endpoint,
		Credit: s.Credit, CountTax: s.CountTax, CountShipping: s.CountShipping,
	}
	key := billing.StripeKey(s.APIKey)
	if s.APIKey == "" && len(before.Keys) > 0 {
		key = before.Keys[0]
	}
	c.Keys = []billing.Key{key}
	for _, secret := range s.Secrets {
		c.Keys = append(c.Keys, billing.StripeSecret(secret))
	}
	for i, k := range before.Keys {
		known := slices.ContainsFunc(c.Keys, func(have billing.Key) bool { return have.Public == k.Public })
		if i > 0 && !known && len(c.Keys) < billing.MaxKeys {
			c.Keys = append(c.Keys, k)
		}
	}
	return c
}

func otherGateway(kind billing.Kind) *core.Error {
	return &core.Error{Code: core.CodeConflict, Message: "this tenant is connected to " + string(kind) + "; disconnect it first"}
}

// deliveryTries is how often Test looks for the notification that it caused, and
// deliveryPause is the pause between two looks.
const (
	deliveryTries = 40
	deliveryPause = 250 * time.Millisecond
)

// delivered causes a notification at the gateway, and returns whether it has arrived.
func (g *Gateways) delivered(ctx context.Context, tenant core.TenantAlias, c billing.Connection) (billing.Check, error) {
	check := billing.Check{Name: billing.CheckDelivery, Help: "no notification arrived within 10 seconds: Stripe must reach the URL of the webhook endpoint"}
	if g.SendTest == nil {
		return check, nil
	}
	if err := g.SendTest(ctx, tenant, c); err != nil {
		check.Help = "Stripe refused to send a test: " + err.Error()
		return check, nil
	}
	for range deliveryTries {
		now, _, err := billingdb.Connection(ctx, g.DB.Reads, tenant)
		if err != nil {
			return check, err
		}
		if now.Checked != c.Checked {
			check.OK = true
			return check, nil
		}
		select {
		case <-ctx.Done():
			return check, ctx.Err()
		case <-time.After(deliveryPause):
		}
	}
	return check, nil
}

// release has a gateway send no further notifications for a connection that was deleted.
func (g *Gateways) release(ctx context.Context, tenant core.TenantAlias, c billing.Connection) {
	if c.Kind == billing.Stripe && g.Release != nil {
		// The connection is gone either way: a notification that still arrives is refused.
		_ = g.Release(ctx, tenant, c)
	}
}

// checkKind returns a conflict if the tenant has a connection to a gateway of another kind.
func checkKind(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, kind billing.Kind) error {
	before, known, err := billingdb.Connection(ctx, tx.Reads, tenant)
	if err == nil && known && before.Kind != kind {
		err = otherGateway(before.Kind)
	}
	return err
}
