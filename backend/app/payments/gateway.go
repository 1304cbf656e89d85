// Package payments has the use cases of payment gateways: the connection to a tenant's
// gateway, the effects of notifications and subscriptions on accounts, and the discounts
// of accounts. It calls no gateway: workers do.
package payments

import (
	"context"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/billing"
)

// Gateways manages the connections of tenants to their payment gateways.
type Gateways struct {
	*base.Base
	// Wake is called after a task was stored for the worker that calls gateways. It
	// must not block, and must not be nil.
	Wake func()
	// Logged is called after events of payments were logged, to wake the worker that
	// processes them. It must not block, and must not be nil.
	Logged func()
	// Try asks a gateway for each thing that a connection needs there. It may be nil if
	// Test is not called.
	Try func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, discountID string) ([]billing.Check, error)
	// Prepare, Registered, Tidy, Release and SendTest call Stripe: Prepare completes a
	// connection by the account of its key and by a webhook endpoint at url, Registered
	// returns the URL of the endpoint, or "" if Stripe has none or does not show it to the
	// key, Tidy deletes other endpoints at url and the one with the id former, Release
	// deletes the endpoint, and SendTest causes a notification. They may be nil if no tenant
	// connects Stripe.
	Prepare    func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, url string) (billing.Connection, error)
	Registered func(ctx context.Context, tenant core.TenantAlias, c billing.Connection) (url string, err error)
	Tidy       func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, url, former string) error
	Release    func(ctx context.Context, tenant core.TenantAlias, c billing.Connection) error
	SendTest   func(ctx context.Context, tenant core.TenantAlias, c billing.Connection) error
	// StripeLab connects a test tenant to the Stripe lab that this process runs. It is zero if
	// the process runs none, as in production.
	StripeLab StripeSettings
	// FindCustomer asks a gateway whether it has a customer. It may be nil if
	// Discounts.Register is not called for a connected tenant.
	FindCustomer func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, customer core.PaymentProviderID) (known bool, err error)
}

// GatewayCheck is the result of testing a connection.
type GatewayCheck struct {
	// Keys is true if the gateway accepts the merchant id and the first key pair.
	// Discount is true if the merchant has the tenant's discount.
	Keys, Discount bool
	// DiscountID is the id of the tenant's discount.
	DiscountID string
	// Checks are all that the gateway was asked for.
	Checks []billing.Check
}

// Connect sets the connection of a tenant to its payment gateway, and returns it without
// private keys. An empty private key keeps the stored one. The Field of an error is the
// name of the field in the API.
func (g *Gateways) Connect(ctx context.Context, tenant core.TenantAlias, c billing.Connection) (billing.Connection, error) {
	return g.connect(ctx, tenant, func(billing.Connection) (billing.Connection, error) { return c, nil })
}

// Change is Connect for callers who may not choose the gateway's host: the base URL
// stays unchanged.
func (g *Gateways) Change(ctx context.Context, tenant core.TenantAlias, c billing.Connection) (billing.Connection, error) {
	return g.connect(ctx, tenant, func(stored billing.Connection) (billing.Connection, error) {
		c.BaseURL = stored.BaseURL
		return c, nil
	})
}

func (g *Gateways) connect(ctx context.Context, tenant core.TenantAlias, change func(stored billing.Connection) (billing.Connection, error)) (stored billing.Connection, err error) {
	stored, err = store.WriteValue(ctx, g.DB.Write, g.Now(), func(tx *store.Tx) (stored billing.Connection, err error) {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return stored, err
		}
		before, _, err := g.connection(ctx, tx.Reads, tenant)
		if err != nil {
			return stored, err
		}
		c, err := change(before)
		if err != nil {
			return stored, err
		}
		c = keepPrivate(c, before)
		if err := c.Check(base.Live(tenant)); err != nil {
			return stored, err
		}
		if err := checkKind(ctx, tx, tenant, c.Kind); err != nil {
			return stored, err
		}
		for i, k := range c.Keys {
			if c.Keys[i].Private, err = g.Seal(base.GatewayPlace(tenant, k.Public), k.Private); err != nil {
				return stored, err
			}
		}
		if err := billingdb.PutConnection(ctx, tx, tenant, c); err != nil {
			return stored, err
		}
		// What failed may have failed by the keys or settings that were replaced.
		for _, kind := range billing.Retried() {
			if _, err := billingdb.Retry(ctx, tx, tenant, kind, ""); err != nil {
				return stored, err
			}
		}
		stored, _, err = billingdb.Connection(ctx, tx.Reads, tenant)
		return stored, err
	})
	if err == nil {
		g.Wake()
	}
	return withoutPrivate(stored), err
}

// keepPrivate returns c with the private keys of stored where c has an empty one.
func keepPrivate(c, stored billing.Connection) billing.Connection {
	keys := make([]billing.Key, len(c.Keys))
	for i, k := range c.Keys {
		for _, known := range stored.Keys {
			if k.Private == "" && known.Public == k.Public {
				k.Private = known.Private
			}
		}
		keys[i] = k
	}
	c.Keys = keys
	return c
}

func withoutPrivate(c billing.Connection) billing.Connection {
	for i := range c.Keys {
		c.Keys[i].Private = ""
	}
	return c
}

// Connection returns the connection of a tenant to its gateway, without private keys. A
// tenant without a connection is a not-found error.
func (g *Gateways) Connection(ctx context.Context, tenant core.TenantAlias) (billing.Connection, error) {
	c, known, err := billingdb.Connection(ctx, g.DB.Reads, tenant)
	if err == nil && !known {
		err = notConnected()
	}
	return withoutPrivate(c), err
}

func notConnected() *core.Error {
	return core.NotFound("this tenant has no payment gateway; connect it first")
}

// Open returns the connection of a tenant with its private keys, to verify notifications
// or to call the gateway. A tenant without a connection is a not-found error.
func (g *Gateways) Open(ctx context.Context, tenant core.TenantAlias) (billing.Connection, error) {
	c, known, err := g.connection(ctx, g.DB.Reads, tenant)
	if err == nil && !known {
		err = notConnected()
	}
	return c, err
}

func (g *Gateways) connection(ctx context.Context, r store.Reads, tenant core.TenantAlias) (c billing.Connection, known bool, err error) {
	c, known, err = billingdb.Connection(ctx, r, tenant)
	for i, k := range c.Keys {
		if err != nil {
			return c, known, err
		}
		c.Keys[i].Private, err = g.Keys.Open(base.GatewayPlace(tenant, k.Public), k.Private)
	}
	c.Keys = slices.DeleteFunc(c.Keys, func(k billing.Key) bool { return k.Until != 0 && k.Until <= g.Now() })
	return c, known, err
}

// Disconnect deletes the connection of a tenant to its gateway, with its keys. A tenant
// without a connection is a not-found error.
func (g *Gateways) Disconnect(ctx context.Context, tenant core.TenantAlias) error {
	before, _, err := g.connection(ctx, g.DB.Reads, tenant)
	if err != nil {
		return err
	}
	err = g.DB.Write(ctx, g.Now(), func(tx *store.Tx) error {
		known, err := billingdb.DeleteConnection(ctx, tx, tenant)
		if err == nil && !known {
			err = notConnected()
		}
		return err
	})
	if err == nil {
		g.release(ctx, tenant, before)
	}
	return err
}

// Test tests the connection of a tenant to its gateway. It is an error (RS018) if the
// gateway does not answer. If the gateway refuses the keys, the result says so.
func (g *Gateways) Test(ctx context.Context, tenant tenantdb.Tenant) (GatewayCheck, error) {
	c, err := g.Open(ctx, tenant.Alias)
	if err != nil {
		return GatewayCheck{}, err
	}
	found := GatewayCheck{DiscountID: tenant.DiscountID}
	found.Checks, err = g.Try(ctx, tenant.Alias, c, tenant.DiscountID)
	if err == nil && c.Kind == billing.Stripe {
		found.Checks = append(found.Checks, delivery(c))
	}
	found.Keys, found.Discount = billing.Passed(found.Checks, billing.CheckKeys), billing.Passed(found.Checks, billing.CheckDiscount)
	return found, err
}
