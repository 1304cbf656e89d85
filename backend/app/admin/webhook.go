package admin

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/app/webhooks"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/webhook"
)

// Webhooks are the endpoints that get the events of a tenant, and their deliveries.
type Webhooks struct {
	Base       *base.Base
	API        *webhooks.Subscriptions
	Deliveries *webhooks.Deliveries
}

// Webhook is a subscription with the number of its failed deliveries.
type Webhook struct {
	webhook.Subscription
	// Failed is at most webhook.MaxFailedShown.
	Failed int
	// Barred is true if all deliveries fail; see webhook.Endpoint.Barred.
	Barred bool
}

// List returns the subscriptions of the tenant, the oldest first.
func (ws *Webhooks) List(ctx context.Context, c people.Caller) ([]Webhook, error) {
	if err := operation.ReadIntegrations.Require(c); err != nil {
		return nil, err
	}
	all, err := ws.API.List(ctx, c.Tenant)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	failed, err := ws.Deliveries.CountFailed(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	barred, err := ws.Deliveries.Barred(ctx, c.Tenant, all)
	listed := make([]Webhook, len(all))
	for i, s := range all {
		listed[i] = Webhook{s, failed[s.Endpoint], barred[s.Endpoint]}
	}
	return listed, err
}

// Subscribe subscribes an endpoint, or changes its subscription, which is the result; see
// webhooks.Subscriptions.Subscribe.
func (ws *Webhooks) Subscribe(ctx context.Context, c people.Caller, in webhook.Request) (s webhook.Subscription, err error) {
	change := base.Change{Operation: operation.SubscribeWebhook, Subject: in.Endpoint, After: auditedWebhook(in.Name, in.Types)}
	return base.ActValue(ctx, ws.Base, c, change, func(ctx context.Context, change *base.Change) (webhook.Subscription, error) {
		if err := ws.recordBefore(ctx, c, change); err != nil {
			return s, err
		}
		return ws.API.Subscribe(ctx, c.Tenant, in)
	})
}

// auditedWebhook is a subscription in the audit log. No types mean all.
func auditedWebhook(name string, types []webhook.Type) any {
	return map[string]any{"name": name, "eventTypes": types}
}

// recordBefore sets Before of a change to the subscription that it is about, if there is
// one.
func (ws *Webhooks) recordBefore(ctx context.Context, c people.Caller, change *base.Change) error {
	all, err := ws.API.List(ctx, c.Tenant)
	for _, s := range all {
		if string(s.Endpoint) == change.Subject {
			change.Before = auditedWebhook(s.Name, s.Types)
		}
	}
	return err
}

// Unsubscribe removes a subscription with its deliveries; see
// webhooks.Subscriptions.Unsubscribe.
func (ws *Webhooks) Unsubscribe(ctx context.Context, c people.Caller, endpoint webhook.Endpoint) error {
	change := base.Change{Operation: operation.UnsubscribeWebhook, Subject: string(endpoint)}
	return ws.Base.Act(ctx, c, change, func(ctx context.Context, change *base.Change) error {
		if err := ws.recordBefore(ctx, c, change); err != nil {
			return err
		}
		return ws.API.Unsubscribe(ctx, c.Tenant, string(endpoint))
	})
}

// RotateSecret gives an endpoint a new secret and returns the subscription with it; see
// webhooks.Subscriptions.RotateSecret.
func (ws *Webhooks) RotateSecret(ctx context.Context, c people.Caller, endpoint webhook.Endpoint) (s webhook.Subscription, err error) {
	change := base.Change{Operation: operation.RotateWebhookSecret, Subject: string(endpoint), After: auditedOverlap(webhook.SecretOverlap)}
	return base.ActValue(ctx, ws.Base, c, change, func(ctx context.Context, _ *base.Change) (webhook.Subscription, error) {
		return ws.API.RotateSecret(ctx, c.Tenant, string(endpoint))
	})
}

// Test queues a test event for an endpoint and returns the event's id.
func (ws *Webhooks) Test(ctx context.Context, c people.Caller, endpoint webhook.Endpoint) (event string, err error) {
	change := base.Change{Operation: operation.TestWebhook, Subject: string(endpoint)}
	return base.ActValue(ctx, ws.Base, c, change, func(ctx context.Context, _ *base.Change) (string, error) {
		return ws.API.Test(ctx, c.Tenant, string(endpoint))
	})
}

// Delivery is a delivery with what it sends; see webhooks.Deliveries.Payload.
type Delivery struct {
	webhook.Delivery
	Body   []byte
	Erased bool
}

// Delivery returns a delivery with its attempts, or a not-found error.
func (ws *Webhooks) Delivery(ctx context.Context, c people.Caller, endpoint webhook.Endpoint, event string) (d Delivery, err error) {
	if err := operation.ReadIntegrations.Require(c); err != nil {
		return d, err
	}
	key := webhook.DeliveryKey{Tenant: c.Tenant, Endpoint: endpoint, Event: event}
	if d.Delivery, err = ws.Deliveries.Find(ctx, key); err == nil {
		d.Body, d.Erased, err = ws.Deliveries.Payload(ctx, key)
	}
	return d, err
}

// Replay queues an event for an endpoint again; see webhooks.Deliveries.Replay.
func (ws *Webhooks) Replay(ctx context.Context, c people.Caller, endpoint webhook.Endpoint, event string) error {
	change := base.Change{Operation: operation.ReplayWebhook, Subject: string(endpoint), After: map[string]string{"event": event}}
	return ws.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		return ws.Deliveries.Replay(ctx, webhook.DeliveryKey{Tenant: c.Tenant, Endpoint: endpoint, Event: event})
	})
}

// ReplayFailed queues all events since a time again whose last attempt at an endpoint failed,
// and returns their number.
func (ws *Webhooks) ReplayFailed(ctx context.Context, c people.Caller, endpoint webhook.Endpoint, since core.Time) (n int, err error) {
	after := map[string]any{"events": "all that failed"}
	if since != 0 {
		after["since"] = since
	}
	change := base.Change{Operation: operation.ReplayWebhook, Subject: string(endpoint), After: after}
	return base.ActValue(ctx, ws.Base, c, change, func(ctx context.Context, _ *base.Change) (int, error) {
		return ws.Deliveries.ReplayFailed(ctx, webhook.Queue{Tenant: c.Tenant, Endpoint: endpoint}, since)
	})
}
