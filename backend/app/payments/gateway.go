// Package payments holds the use cases of payment gateways: how a tenant's gateway is
// reached, what its notifications and subscriptions mean for accounts, and what
// accounts pay less for it. It calls no gateway itself.
package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/billing"
)

// Gateways are how the payment gateways of tenants are reached.
type Gateways struct {
	*base.Base
	// Wake is called after something was stored for the worker that calls gateways;
	// nil: it is done at the next tick. It must not block.
	Wake func()
	// Try asks a gateway whether it takes a connection's keys and whether the merchant
	// has a discount. A program that tests no connection needs none.
	Try func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, discountID string) (keys, discount bool, err error)
	// FindCustomer asks a gateway whether it has a customer. A program that
	// registers no discount of a connected tenant needs none.
	FindCustomer func(ctx context.Context, tenant core.TenantAlias, c billing.Connection, customer core.PaymentProviderID) (known bool, err error)
}

func (g *Gateways) wake() {
	if g.Wake != nil {
		g.Wake()
	}
}

// GatewayCheck is what trying a connection found.
type GatewayCheck struct {
	// Keys is true when the gateway takes the merchant id and the first key
	// pair, Discount when the merchant has the tenant's discount.
	Keys, Discount bool
	// DiscountID is the tenant's discount.
	DiscountID string
}

// Connect sets how a tenant's payment gateway is reached. A private key that is
// empty stays what it is; the error names the field as the API does.
func (g *Gateways) Connect(ctx context.Context, tenant core.TenantAlias, c billing.Connection) (billing.Connection, error) {
	return g.connect(ctx, tenant, func(billing.Connection) billing.Connection { return c })
}

// Change is Connect for who may not choose the host: the base URL
// stays what it is.
func (g *Gateways) Change(ctx context.Context, tenant core.TenantAlias, c billing.Connection) (billing.Connection, error) {
	return g.connect(ctx, tenant, func(have billing.Connection) billing.Connection {
		c.BaseURL = have.BaseURL
		return c
	})
}

func (g *Gateways) connect(ctx context.Context, tenant core.TenantAlias, change func(have billing.Connection) billing.Connection) (stored billing.Connection, err error) {
	err = g.DB.Write(ctx, g.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		have, _, err := g.connection(ctx, tx.Reads, tenant)
		if err != nil {
			return err
		}
		c := keepPrivate(change(have), have)
		if err := c.Check(base.Live(tenant)); err != nil {
			return err
		}
		for i, k := range c.Keys {
			if c.Keys[i].Private, err = g.Seal(base.GatewayPlace(tenant, k.Public), k.Private); err != nil {
				return err
			}
		}
		if err := billingdb.PutConnection(ctx, tx, tenant, c); err != nil {
			return err
		}
		stored, _, err = billingdb.Connection(ctx, tx.Reads, tenant)
		return err
	})
	return withoutPrivate(stored), err
}

// keepPrivate returns the settings with the private keys that were not given.
func keepPrivate(c, have billing.Connection) billing.Connection {
	keys := make([]billing.Key, len(c.Keys))
	for i, k := range c.Keys {
		for _, known := range have.Keys {
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

// Connection returns how a tenant's gateway is reached, without its private
// keys. A tenant that is not connected is a not-found error.
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

// Open returns a connection with its private keys, for who verifies
// or makes calls. A tenant that is not connected is a not-found error.
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
	return c, known, err
}

// Disconnect forgets how a tenant's gateway is reached, with its keys. A tenant
// that is not connected is a not-found error.
func (g *Gateways) Disconnect(ctx context.Context, tenant core.TenantAlias) error {
	return g.DB.Write(ctx, g.Now(), func(tx *store.Tx) error {
		known, err := billingdb.DeleteConnection(ctx, tx, tenant)
		if err == nil && !known {
			err = notConnected()
		}
		return err
	})
}

// Test tries a tenant's connection. That the gateway does not answer
// is an error (RS018); what it answers is not.
func (g *Gateways) Test(ctx context.Context, tenant tenantdb.Tenant) (GatewayCheck, error) {
	c, err := g.Open(ctx, tenant.Alias)
	if err != nil {
		return GatewayCheck{}, err
	}
	found := GatewayCheck{DiscountID: tenant.DiscountID}
	found.Keys, found.Discount, err = g.Try(ctx, tenant.Alias, c, tenant.DiscountID)
	return found, err
}
