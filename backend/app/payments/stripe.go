package payments

import (
	"cmp"
	"context"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/billing"
	"kith/core/link"
)

// StripeSettings are what a person gives to connect Stripe.
type StripeSettings struct {
	// APIKey is a restricted key; empty keeps the stored one.
	APIKey string
	// Secrets are the signing secrets of webhook endpoints that the person has made. If
	// empty, Kith makes the endpoint. Unless Revoke is true, the stored secrets stay valid
	// behind them for billing.SecretOverlap, up to the limit of a connection.
	Secrets []string
	// Roll replaces the webhook endpoint that Kith has made, and so its secret. Unless Revoke
	// is true, the former secret stays valid for billing.SecretOverlap.
	Roll bool
	// Revoke ends the former secrets at once, as is needed when one leaked. It needs Roll or
	// Secrets.
	Revoke bool
	// Move moves the webhook endpoint to the URL of the call. Otherwise an endpoint that
	// Stripe has keeps its URL.
	Move                    bool
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
// It asks Stripe for the account of the key, makes the webhook endpoint, and deletes those
// that it has replaced. webhook is the URL of a first endpoint; see StripeSettings.Move for
// others. A person's own endpoint stays the only one unless s rolls the secret. What the
// key may not do is no error: see Verify. A tenant that is connected to another gateway or
// another account, or that another call connects meanwhile, is a conflict.
func (g *Gateways) ConnectStripe(ctx context.Context, tenant core.TenantAlias, s StripeSettings, webhook string) (billing.Connection, error) {
	before, known, err := g.connection(ctx, g.DB.Reads, tenant)
	if err != nil {
		return billing.Connection{}, err
	}
	if known && before.Kind != billing.Stripe {
		return billing.Connection{}, otherGateway(before.Kind)
	}
	if len(s.Secrets) > 0 || ownEndpoint(before) && !s.Roll {
		webhook = ""
	}
	c, err := s.connection(before, g.Now())
	if err != nil {
		return billing.Connection{}, err
	}
	c, webhook, err = g.prepare(ctx, tenant, c, before, webhook, s.Move)
	var stored billing.Connection
	if err == nil {
		stored, err = g.connect(ctx, tenant, func(stored billing.Connection) (billing.Connection, error) {
			if stored.Endpoint != before.Endpoint || !slices.EqualFunc(stored.Keys, before.Keys, func(a, b billing.Key) bool { return a.Public == b.Public }) {
				return c, &core.Error{Code: core.CodeConflict, Message: "the connection to Stripe was changed meanwhile; look at it, and connect again if you still need to"}
			}
			return c, nil
		})
	}
	if err != nil {
		g.undo(ctx, tenant, c, before)
		return billing.Connection{}, err
	}
	g.Wake()
	// A process that ends here leaves the former endpoint, whose events are signed by a
	// secret that is still known; the next connection deletes it.
	if g.Tidy(ctx, tenant, c, webhook, before.Endpoint) != nil {
		err = &core.Error{Code: core.CodeUnavailable, RS: "RS018", Message: "Stripe is connected, but did not delete the webhook endpoints that Kith has replaced; connect again with the same key, or delete them in the Dashboard under Developers, Webhooks"}
	}
	return stored, err
}

// ownEndpoint reports whether a person has made the webhook endpoint of a connection: it
// has a secret in use, and no endpoint that Kith made.
func ownEndpoint(c billing.Connection) bool {
	return c.Endpoint == "" && slices.ContainsFunc(c.Keys[min(1, len(c.Keys)):], func(k billing.Key) bool { return k.Until == 0 })
}

// WebhookURL returns the URL to which Stripe sends the webhooks of a connection. It is
// otherwise if Kith has made no endpoint, or if Stripe does not say its URL.
func (g *Gateways) WebhookURL(ctx context.Context, tenant core.TenantAlias, otherwise string) string {
	c, err := g.Open(ctx, tenant)
	if err == nil {
		var url string
		if url, err = g.registered(ctx, tenant, c, c.Endpoint, otherwise); err == nil {
			return url
		}
	}
	return otherwise
}

// registered returns the URL of an endpoint at Stripe, or otherwise if there is no such
// endpoint or the key of c may not read it.
func (g *Gateways) registered(ctx context.Context, tenant core.TenantAlias, c billing.Connection, endpoint, otherwise string) (string, error) {
	if endpoint == "" {
		return otherwise, nil
	}
	c.Endpoint = endpoint
	url, err := g.Registered(ctx, tenant, c)
	return cmp.Or(url, otherwise), err
}

// undo deletes the endpoint that was made for a connection that was not stored. The caller
// may have gone. An endpoint that stays, because Stripe does not answer, is deleted by the
// next connection.
func (g *Gateways) undo(ctx context.Context, tenant core.TenantAlias, c, before billing.Connection) {
	if c.Endpoint != "" && c.Endpoint != before.Endpoint {
		g.release(context.WithoutCancel(ctx), tenant, c)
	}
}

// prepare completes a connection by what Stripe knows of it, and returns the URL of its
// webhook endpoint: that of the endpoint which Stripe has, unless it moves or there is
// none; then webhook. before is the stored connection, or the zero Connection.
func (g *Gateways) prepare(ctx context.Context, tenant core.TenantAlias, c, before billing.Connection, webhook string, move bool) (_ billing.Connection, url string, err error) {
	live := base.Live(tenant)
	if c.Keys[0].Private == "" {
		return c, "", core.Invalid("apiKey", "is required: a restricted key of Stripe, which begins with rk_")
	}
	if _, err := billing.CheckStripeKey("apiKey", c.Keys[0].Private, live); err != nil {
		return c, "", err
	}
	c.MerchantID = "unknown" // until Stripe says it
	if err := c.Check(live); err != nil {
		return c, "", err
	}
	if webhook != "" && !move {
		if webhook, err = g.registered(ctx, tenant, c, before.Endpoint, webhook); err != nil {
			return c, "", err
		}
	}
	if err := checkWebhookURL(webhook, live, c.BaseURL != ""); err != nil {
		return c, "", err
	}
	c, err = g.Prepare(ctx, tenant, c, webhook)
	if c.Endpoint != "" && c.Endpoint != before.Endpoint {
		expire(c.Keys[min(2, len(c.Keys)):], g.Now())
	}
	if err == nil && before.MerchantID != "" && c.MerchantID != before.MerchantID {
		err = &core.Error{Code: core.CodeConflict, Field: "apiKey", Message: "is of the account " + c.MerchantID + ", and this tenant is connected to " + before.MerchantID + "; give a key of that account, or disconnect it first"}
	}
	return c, webhook, err
}

// checkWebhookURL returns an error if Stripe cannot reach a URL, or does not take it. A lab
// reaches each. Empty is no URL: no endpoint is made.
func checkWebhookURL(text string, live, lab bool) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return core.Invalid("publicUrl", "is needed, because Stripe calls it: set KITH_PUBLIC_URL to the origin at which visitors reach the service, such as https://go.example")
	case lab:
		return nil
	case local(u.Hostname()):
		return core.Invalid("publicUrl", "is "+u.Host+", which Stripe cannot reach: open the service by its public address, or set KITH_PUBLIC_URL")
	case live && u.Scheme != "https":
		return core.Invalid("publicUrl", "is "+u.Scheme+"://"+u.Host+", and Stripe sends live events by https only: set KITH_PUBLIC_URL to an origin that begins with https")
	}
	return nil
}

// local reports whether a host is this machine, or an address of a private network.
func local(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified()
	}
	return link.Loopback(host)
}

// ChangeStripe is ConnectStripe for callers who may not choose the gateway's host: the base
// URL stays unchanged. Only a tenant that is not connected may begin with that of StripeLab.
func (g *Gateways) ChangeStripe(ctx context.Context, tenant core.TenantAlias, s StripeSettings, webhook string) (billing.Connection, error) {
	before, known, err := g.connection(ctx, g.DB.Reads, tenant)
	if err != nil {
		return billing.Connection{}, err
	}
	switch {
	case known && before.Kind == billing.Stripe:
		s.BaseURL = before.BaseURL
	case s.BaseURL != g.StripeLab.BaseURL:
		s.BaseURL = ""
	}
	return g.ConnectStripe(ctx, tenant, s, webhook)
}

// connection returns the connection with the settings. before is the stored one, or the
// zero Connection.
func (s StripeSettings) connection(before billing.Connection, now core.Time) (billing.Connection, error) {
	c := billing.Connection{
		Kind: billing.Stripe, BaseURL: s.BaseURL, Endpoint: before.Endpoint,
		Credit: s.Credit, CountTax: s.CountTax, CountShipping: s.CountShipping,
	}
	key := billing.StripeKey(s.APIKey)
	if s.APIKey == "" && len(before.Keys) > 0 {
		key = before.Keys[0]
	}
	c.Keys = []billing.Key{key}
	if s.Roll && len(s.Secrets) > 0 {
		return c, core.Invalid("newSecret", "must not be given with signing secrets: it makes an endpoint with a secret of its own; give one of both")
	}
	if s.Revoke && !s.Roll && len(s.Secrets) == 0 {
		return c, core.Invalid("revokeSecrets", "needs another secret: newSecret or signingSecrets")
	}
	for _, secret := range s.Secrets {
		if err := billing.CheckStripeSecret("signingSecrets", secret); err != nil {
			return c, err
		}
		c.Keys = append(c.Keys, billing.StripeSecret(secret))
	}
	added, former := len(c.Keys), before.Keys
	if s.Revoke {
		former = nil
	}
	for i, k := range former {
		known := slices.ContainsFunc(c.Keys, func(have billing.Key) bool { return have.Public == k.Public })
		if i > 0 && !known && len(c.Keys) < billing.MaxKeys {
			c.Keys = append(c.Keys, k)
		}
	}
	if s.Roll || len(s.Secrets) > 0 {
		c.Endpoint = ""
		expire(c.Keys[added:], now)
	}
	return c, nil
}

// expire makes signing secrets invalid after billing.SecretOverlap, unless they are sooner.
func expire(secrets []billing.Key, now core.Time) {
	for i := range secrets {
		if secrets[i].Until == 0 {
			secrets[i].Until = now + billing.SecretOverlap
		}
	}
}

func otherGateway(kind billing.Kind) *core.Error {
	return &core.Error{Code: core.CodeConflict, Message: "this tenant is connected to " + string(kind) + "; disconnect it first"}
}

// DeliveryTime is how long callers who wait for an answer give a test to arrive.
const DeliveryTime = 10 * core.Second

// deliveryPause is the pause between two looks whether a test has arrived.
const deliveryPause = 250 * time.Millisecond

// Verify has the gateway send a notification, waits for it, and then tests the connection;
// see Test. The kinds of gateways that send none on demand are only tested.
func (g *Gateways) Verify(ctx context.Context, tenant tenantdb.Tenant, wait core.Time) (GatewayCheck, error) {
	c, err := g.Open(ctx, tenant.Alias)
	if err == nil && c.Kind == billing.Stripe && len(c.Keys) > 1 {
		err = g.deliver(ctx, tenant.Alias, c, wait)
	}
	if err != nil {
		return GatewayCheck{}, err
	}
	return g.Test(ctx, tenant)
}

// deliver causes a notification, and waits until it has arrived. That it does not arrive,
// or that the key may not cause it, is no error: a test shows both.
func (g *Gateways) deliver(ctx context.Context, tenant core.TenantAlias, c billing.Connection, wait core.Time) error {
	if err := g.DB.Write(ctx, g.Now(), func(tx *store.Tx) error { return billingdb.ForgetCheck(ctx, tx, tenant) }); err != nil {
		return err
	}
	if err := g.SendTest(ctx, tenant, c); err != nil {
		if base.HasCode(err, core.CodeUnavailable) {
			return err
		}
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Millisecond)
	defer cancel()
	look := time.NewTicker(deliveryPause)
	defer look.Stop()
	for {
		now, _, err := billingdb.Connection(ctx, g.DB.Reads, tenant)
		if err != nil || now.Checked != 0 {
			return err
		}
		select {
		case <-waiting.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
}

// delivery is the check whether a notification has arrived by a connection.
func delivery(c billing.Connection) billing.Check {
	return billing.Check{
		Name: billing.CheckDelivery, Label: "An event has arrived by the webhook", OK: c.Checked != 0,
		Help: "no test event has arrived: Stripe must reach the URL of the webhook from the internet. Look at its answers in the Dashboard under Developers, Webhooks, and send another test event",
	}
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
