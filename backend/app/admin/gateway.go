package admin

import (
	"context"
	"encoding/json"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/app/tenants"
	"kith/core/billing"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/wire"
)

// Gateway is the connection of a tenant to its payment gateway.
type Gateway struct {
	Base          *base.Base
	Tenants       *tenants.Tenants
	API           *payments.Gateways
	Notifications *payments.Notifications
	Operations    *payments.Operations
}

// Connection returns the connection without private keys; known is false if the tenant has
// none.
func (g *Gateway) Connection(ctx context.Context, c people.Caller) (found billing.Connection, known bool, err error) {
	if err := operation.ReadIntegrations.Require(c); err != nil {
		return found, false, err
	}
	found, err = g.API.Connection(ctx, c.Tenant)
	if base.IsNotFound(err) {
		return found, false, nil
	}
	return found, err == nil, err
}

// Connect sets the connection, except for the URL of the gateway; see
// payments.Gateways.Change.
func (g *Gateway) Connect(ctx context.Context, c people.Caller, connection billing.Connection) error {
	change := base.Change{Operation: operation.ConnectGateway, Subject: connection.MerchantID, After: auditedConnection(connection)}
	return g.Base.Act(ctx, c, change, func(ctx context.Context, change *base.Change) error {
		if err := g.recordBefore(ctx, c, change); err != nil {
			return err
		}
		_, err := g.API.Change(ctx, c.Tenant, connection)
		return err
	})
}

// auditedConnection is a connection in the audit log, without private keys.
func auditedConnection(c billing.Connection) any {
	if len(c.Keys) == 0 {
		return nil
	}
	if c.Kind == billing.Stripe {
		return json.RawMessage(wire.StripeConnection(c, ""))
	}
	return json.RawMessage(wire.Connection(c))
}

// ConnectStripe connects Stripe, except for the URL of the gateway; see
// payments.Gateways.ChangeStripe. The audit log has what was asked for: the account is
// known to Stripe only.
func (g *Gateway) ConnectStripe(ctx context.Context, c people.Caller, s payments.StripeSettings, webhook string) error {
	change := base.Change{Operation: operation.ConnectGateway, Subject: "Stripe"}
	return g.Base.Act(ctx, c, change, func(ctx context.Context, change *base.Change) error {
		if err := g.recordBefore(ctx, c, change); err != nil {
			return err
		}
		asked := map[string]any{"creditForm": s.Credit, "taxIsRevenue": s.CountTax, "shippingIsRevenue": s.CountShipping, "newKey": s.APIKey != "", "newSecret": s.Roll, "revokeSecrets": s.Revoke}
		if s.APIKey != "" {
			asked["apiKey"] = billing.StripeKey(s.APIKey).Public
		}
		change.After = asked
		_, err := g.API.ChangeStripe(ctx, c.Tenant, s, webhook)
		return err
	})
}

// SendTest has the gateway send a notification, and waits for it; see
// payments.Gateways.Verify.
func (g *Gateway) SendTest(ctx context.Context, c people.Caller) error {
	if err := operation.TestGateway.Require(c); err != nil {
		return err
	}
	tenant, err := g.Tenants.ByAlias(ctx, c.Tenant)
	if err == nil {
		_, err = g.API.Verify(ctx, tenant, payments.DeliveryTime)
	}
	return err
}

// recordBefore sets Before of a change to the connection, if there is one.
func (g *Gateway) recordBefore(ctx context.Context, c people.Caller, change *base.Change) error {
	before, err := g.API.Connection(ctx, c.Tenant)
	if err == nil {
		change.Before = auditedConnection(before)
	}
	if base.IsNotFound(err) {
		return nil
	}
	return err
}

// Disconnect deletes the connection with its keys; see payments.Gateways.Disconnect.
func (g *Gateway) Disconnect(ctx context.Context, c people.Caller) error {
	return g.Base.Act(ctx, c, base.Change{Operation: operation.DisconnectGateway}, func(ctx context.Context, change *base.Change) error {
		if err := g.recordBefore(ctx, c, change); err != nil {
			return err
		}
		return g.API.Disconnect(ctx, c.Tenant)
	})
}

// Replay makes a worker process a notification again; see payments.Notifications.Replay.
func (g *Gateway) Replay(ctx context.Context, c people.Caller, seq int64) error {
	change := base.Change{Operation: operation.ReplayNotification, Subject: strconv.FormatInt(seq, 10)}
	return g.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		return g.Notifications.Replay(ctx, c.Tenant, seq)
	})
}

// Retry makes a worker try an operation now, or all that have failed, and returns their
// number; see payments.Operations.Retry.
func (g *Gateway) Retry(ctx context.Context, c people.Caller, kind billing.OperationKind, id string) (n int, err error) {
	change := base.Change{Operation: operation.RetryGateway, Subject: id}
	if id != "" {
		change.After = map[string]billing.OperationKind{"kind": kind}
	}
	return base.ActValue(ctx, g.Base, c, change, func(ctx context.Context, _ *base.Change) (int, error) {
		return g.Operations.Retry(ctx, c.Tenant, kind, id)
	})
}
