// Package webhooks holds the use cases of webhooks: who is told of what happens to a
// tenant, how that is signed, and each attempt to deliver it. It makes no attempt
// itself.
package webhooks

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/webhook"
	"kith/core/wire"
)

// Subscriptions are the endpoints that a tenant's events are sent to.
type Subscriptions struct{ *base.Base }

// Subscribe has the tenant's events sent to an endpoint from now on. The answer
// has the secret that signs them when the subscription is new; subscribing
// again names it anew, keeps its secret, and enables an endpoint that was
// disabled. More than webhook.MaxSubscriptions are refused.
func (ss *Subscriptions) Subscribe(ctx context.Context, tenant core.TenantAlias, endpoint, name string) (s webhook.Subscription, err error) {
	to, err := webhook.ParseEndpoint("endpointUrl", endpoint, base.Live(tenant))
	if err != nil {
		return s, err
	}
	if err := webhook.CheckName("name", name); err != nil {
		return s, err
	}
	err = ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) error {
		s, err = ss.subscribe(ctx, tx, webhook.Line{Tenant: tenant, Endpoint: to}, name)
		return err
	})
	return s, err
}

func (ss *Subscriptions) subscribe(ctx context.Context, tx *store.Tx, line webhook.Line, name string) (webhook.Subscription, error) {
	secret, sealed, err := ss.newSecret(line)
	if err != nil {
		return webhook.Subscription{}, err
	}
	added, err := webhookdb.InsertSubscription(ctx, tx, line, name, sealed)
	if err != nil {
		return webhook.Subscription{}, err
	}
	if added {
		return webhook.Subscription{Endpoint: line.Endpoint, Name: name, Secret: secret, Created: tx.Now}, mayHaveMore(ctx, tx, line.Tenant)
	}
	if err := webhookdb.EnableSubscription(ctx, tx, line, name); err != nil {
		return webhook.Subscription{}, err
	}
	s, _, err := webhookdb.Subscription(ctx, tx.Reads, line)
	return s, err
}

// mayHaveMore refuses a tenant's last subscription when it is one too many.
func mayHaveMore(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	all, err := webhookdb.Subscriptions(ctx, tx.Reads, tenant)
	if err == nil && len(all) > webhook.MaxSubscriptions {
		err = core.Invalid("endpointUrl", "a tenant has at most 20 subscriptions; delete one first")
	}
	return err
}

// newSecret makes a secret for an endpoint.
func (ss *Subscriptions) newSecret(line webhook.Line) (secret, sealed string, err error) {
	var raw [webhook.SecretSize]byte
	ss.Entropy(raw[:])
	secret = webhook.NewSecret(raw)
	sealed, err = ss.Seal(base.EndpointPlace(line), secret)
	return secret, sealed, err
}

// List returns a tenant's subscriptions, without their secrets.
func (ss *Subscriptions) List(ctx context.Context, tenant core.TenantAlias) ([]webhook.Subscription, error) {
	return webhookdb.Subscriptions(ctx, ss.DB.Reads, tenant)
}

// Unsubscribe ends a subscription, and forgets what was sent and what waits for
// it. An unknown one is a not-found error.
func (ss *Subscriptions) Unsubscribe(ctx context.Context, tenant core.TenantAlias, endpoint string) error {
	line := webhook.Line{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	return ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) error {
		known, err := webhookdb.DeleteSubscription(ctx, tx, line)
		return mustBeKnown(known, err)
	})
}

// Test sends an event of the type test to one endpoint. An unknown
// one is a not-found error.
func (ss *Subscriptions) Test(ctx context.Context, tenant core.TenantAlias, endpoint string) error {
	line := webhook.Line{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	return ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) error {
		s, known, err := webhookdb.Subscription(ctx, tx.Reads, line)
		if err := mustBeKnown(known, err); err != nil {
			return err
		}
		place := webhook.Place{Tenant: tenant, Endpoint: s.Endpoint, Event: ss.IDAt(tx.Now)}
		return webhookdb.EmitTo(ctx, tx, place, webhook.Test, wire.WebhookTest(s))
	})
}

// RotateSecret gives an endpoint a new secret and returns it. What the endpoint
// is sent is signed by both for webhook.SecretOverlap. An unknown endpoint is a
// not-found error.
func (ss *Subscriptions) RotateSecret(ctx context.Context, tenant core.TenantAlias, endpoint string) (s webhook.Subscription, err error) {
	line := webhook.Line{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	secret, sealed, err := ss.newSecret(line)
	if err != nil {
		return s, err
	}
	err = ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) error {
		known, err := webhookdb.RotateSecret(ctx, tx, line, sealed, tx.Now+webhook.SecretOverlap)
		if err := mustBeKnown(known, err); err != nil {
			return err
		}
		s, _, err = webhookdb.Subscription(ctx, tx.Reads, line)
		s.Secret = secret
		return err
	})
	return s, err
}

func mustBeKnown(known bool, err error) error {
	if err == nil && !known {
		return core.NotFound("there is no subscription of this endpoint URL")
	}
	return err
}
