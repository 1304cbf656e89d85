package app

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/core"
	"kith/core/webhook"
	"kith/core/wire"
)

// Subscribe has the tenant's events sent to an endpoint from now on. The answer
// has the secret that signs them when the subscription is new; subscribing
// again names it anew, keeps its secret, and enables an endpoint that was
// disabled. More than webhook.MaxSubscriptions are refused.
func (e *Engine) Subscribe(ctx context.Context, tenant core.TenantAlias, endpoint, name string) (s webhook.Subscription, err error) {
	to, err := webhook.ParseEndpoint("endpointUrl", endpoint, base.Live(tenant))
	if err != nil {
		return s, err
	}
	if err := webhook.CheckName("name", name); err != nil {
		return s, err
	}
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		s, err = e.subscribe(ctx, tx, webhook.Line{Tenant: tenant, Endpoint: to}, name)
		return err
	})
	return s, err
}

func (e *Engine) subscribe(ctx context.Context, tx *store.Tx, line webhook.Line, name string) (webhook.Subscription, error) {
	secret, sealed, err := e.newSecret(line)
	if err != nil {
		return webhook.Subscription{}, err
	}
	added, err := tx.InsertWebhookSubscription(ctx, line, name, sealed)
	if err != nil {
		return webhook.Subscription{}, err
	}
	if added {
		return webhook.Subscription{Endpoint: line.Endpoint, Name: name, Secret: secret, Created: tx.Now}, mayHaveMore(ctx, tx, line.Tenant)
	}
	if err := tx.RenewWebhookSubscription(ctx, line, name); err != nil {
		return webhook.Subscription{}, err
	}
	s, _, err := tx.WebhookSubscription(ctx, line)
	return s, err
}

// mayHaveMore refuses a tenant's last subscription when it is one too many.
func mayHaveMore(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	all, err := tx.WebhookSubscriptions(ctx, tenant)
	if err == nil && len(all) > webhook.MaxSubscriptions {
		err = core.Invalid("endpointUrl", "a tenant has at most 20 subscriptions; delete one first")
	}
	return err
}

// newSecret makes a secret for an endpoint.
func (e *Engine) newSecret(line webhook.Line) (secret, sealed string, err error) {
	var raw [webhook.SecretSize]byte
	e.Entropy(raw[:])
	secret = webhook.NewSecret(raw)
	sealed, err = e.Seal(base.EndpointPlace(line), secret)
	return secret, sealed, err
}

// Subscriptions returns a tenant's subscriptions, without their secrets.
func (e *Engine) Subscriptions(ctx context.Context, tenant core.TenantAlias) ([]webhook.Subscription, error) {
	return e.DB.WebhookSubscriptions(ctx, tenant)
}

// Unsubscribe ends a subscription, and forgets what was sent and what waits for
// it. An unknown one is a not-found error.
func (e *Engine) Unsubscribe(ctx context.Context, tenant core.TenantAlias, endpoint string) error {
	line := webhook.Line{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		known, err := tx.DeleteWebhookSubscription(ctx, line)
		return mustBeKnown(known, err)
	})
}

// TestSubscription sends an event of the type test to one endpoint. An unknown
// one is a not-found error.
func (e *Engine) TestSubscription(ctx context.Context, tenant core.TenantAlias, endpoint string) error {
	line := webhook.Line{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		s, known, err := tx.WebhookSubscription(ctx, line)
		if err := mustBeKnown(known, err); err != nil {
			return err
		}
		place := webhook.Place{Tenant: tenant, Endpoint: s.Endpoint, Event: e.IDAt(tx.Now)}
		return tx.EmitWebhookTo(ctx, place, webhook.Test, wire.WebhookTest(s))
	})
}

// RotateSecret gives an endpoint a new secret and returns it. What the endpoint
// is sent is signed by both for webhook.SecretOverlap. An unknown endpoint is a
// not-found error.
func (e *Engine) RotateSecret(ctx context.Context, tenant core.TenantAlias, endpoint string) (s webhook.Subscription, err error) {
	line := webhook.Line{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	secret, sealed, err := e.newSecret(line)
	if err != nil {
		return s, err
	}
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		known, err := tx.RotateWebhookSecret(ctx, line, sealed, tx.Now+webhook.SecretOverlap)
		if err := mustBeKnown(known, err); err != nil {
			return err
		}
		s, _, err = tx.WebhookSubscription(ctx, line)
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

// Deliveries returns a page of what was sent to an endpoint within the last
// webhook.Kept or waits for it, the newest first, and how many there are in
// all. A state that is not empty narrows them; an unknown endpoint is a
// not-found error.
func (e *Engine) Deliveries(ctx context.Context, line webhook.Line, state webhook.State, p base.Page) ([]webhook.Delivery, int, error) {
	_, known, err := e.DB.WebhookSubscription(ctx, line)
	if err := mustBeKnown(known, err); err != nil {
		return nil, 0, err
	}
	return e.DB.WebhookDeliveries(ctx, line, state, p.Limit, p.Offset)
}

// Replay sends an event to an endpoint again, whether it had arrived or not;
// one that is being sent is left alone. An unknown one is a not-found error.
func (e *Engine) Replay(ctx context.Context, p webhook.Place) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		known, err := tx.WebhookKnown(ctx, p)
		if err != nil {
			return err
		}
		if !known {
			return core.NotFound("this event was not sent to this endpoint within the last 30 days")
		}
		_, err = tx.ReplayWebhook(ctx, p)
		return err
	})
}

// ReplayFailed sends the events to an endpoint again whose delivery failed and
// that happened at a time or later. It returns how many they are; an unknown
// endpoint is a not-found error.
func (e *Engine) ReplayFailed(ctx context.Context, line webhook.Line, since core.Time) (n int, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		_, known, err := tx.WebhookSubscription(ctx, line)
		if err := mustBeKnown(known, err); err != nil {
			return err
		}
		n, err = tx.ReplayWebhooks(ctx, line, since)
		return err
	})
	return n, err
}
