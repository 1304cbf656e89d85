// Package webhooks has the use cases of webhooks: the subscriptions of endpoints to a
// tenant's events, the keys that sign the events, and the attempts to deliver them. It
// sends nothing itself: workers do.
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

// Subscriptions manages the endpoints to which a tenant's events are sent.
type Subscriptions struct{ *base.Base }

// Subscribe subscribes an endpoint to later events of a tenant. If the subscription is
// new, the result has the secret that signs the events. If it exists, Subscribe changes
// its name unless that is empty, and its types unless they are nil, keeps its secret, and
// enables it if it was disabled. A tenant has at most webhook.MaxSubscriptions; disabled
// ones are removed to make room, the oldest first.
func (ss *Subscriptions) Subscribe(ctx context.Context, tenant core.TenantAlias, in webhook.Request) (s webhook.Subscription, err error) {
	to, err := webhook.ParseEndpoint("endpointUrl", in.Endpoint, base.Live(tenant))
	if err != nil {
		return s, err
	}
	if err := webhook.CheckName("name", in.Name); err != nil {
		return s, err
	}
	return store.WriteValue(ctx, ss.DB.Write, ss.Now(), func(tx *store.Tx) (webhook.Subscription, error) {
		return ss.subscribe(ctx, tx, webhook.Queue{Tenant: tenant, Endpoint: to}, in)
	})
}

func (ss *Subscriptions) subscribe(ctx context.Context, tx *store.Tx, queue webhook.Queue, in webhook.Request) (webhook.Subscription, error) {
	secret, sealed, err := ss.newSecret(queue)
	if err != nil {
		return webhook.Subscription{}, err
	}
	added, err := webhookdb.InsertSubscription(ctx, tx, queue, in.Name, in.Types, sealed)
	if err != nil {
		return webhook.Subscription{}, err
	}
	if added {
		if err := makeRoom(ctx, tx, queue.Tenant); err != nil {
			return webhook.Subscription{}, err
		}
	} else if err := webhookdb.EnableSubscription(ctx, tx, queue, in.Name, in.Types); err != nil {
		return webhook.Subscription{}, err
	}
	s, _, err := webhookdb.Subscription(ctx, tx.Reads, queue)
	if added {
		s.Secret = secret
	}
	return s, err
}

// makeRoom removes the subscription that was disabled first if a tenant has more than
// webhook.MaxSubscriptions, and returns an error if none is disabled: tools that
// subscribe a new URL for each workflow answer 410 at the old ones.
func makeRoom(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	all, err := webhookdb.Subscriptions(ctx, tx.Reads, tenant)
	if err != nil || len(all) <= webhook.MaxSubscriptions {
		return err
	}
	var oldest webhook.Subscription
	for _, s := range all {
		if s.Disabled != 0 && (oldest.Disabled == 0 || s.Disabled < oldest.Disabled) {
			oldest = s
		}
	}
	if oldest.Disabled == 0 {
		return core.Invalid("endpointUrl", "a tenant has at most 20 subscriptions; delete one first")
	}
	_, err = webhookdb.DeleteSubscription(ctx, tx, webhook.Queue{Tenant: tenant, Endpoint: oldest.Endpoint})
	return err
}

// newSecret makes a secret for an endpoint, and seals it.
func (ss *Subscriptions) newSecret(queue webhook.Queue) (secret, sealed string, err error) {
	var raw [webhook.SecretSize]byte
	ss.Entropy(raw[:])
	secret = webhook.NewSecret(raw)
	sealed, err = ss.Seal(base.EndpointPlace(queue), secret)
	return secret, sealed, err
}

// List returns a tenant's subscriptions, without their secrets.
func (ss *Subscriptions) List(ctx context.Context, tenant core.TenantAlias) ([]webhook.Subscription, error) {
	return webhookdb.Subscriptions(ctx, ss.DB.Reads, tenant)
}

// Unsubscribe removes a subscription with its deliveries, also those that wait. An
// unknown endpoint is a not-found error.
func (ss *Subscriptions) Unsubscribe(ctx context.Context, tenant core.TenantAlias, endpoint string) error {
	queue := webhook.Queue{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	return ss.DB.Write(ctx, ss.Now(), func(tx *store.Tx) error {
		known, err := webhookdb.DeleteSubscription(ctx, tx, queue)
		return mustBeKnown(known, err)
	})
}

// Test queues an event of type webhook.Test for one endpoint, and returns the event's id.
// An unknown endpoint is a not-found error.
func (ss *Subscriptions) Test(ctx context.Context, tenant core.TenantAlias, endpoint string) (event string, err error) {
	queue := webhook.Queue{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	return store.WriteValue(ctx, ss.DB.Write, ss.Now(), func(tx *store.Tx) (event string, err error) {
		s, known, err := webhookdb.Subscription(ctx, tx.Reads, queue)
		if err := mustBeKnown(known, err); err != nil {
			return event, err
		}
		event = ss.IDAt(tx.Now)
		place := webhook.DeliveryKey{Tenant: tenant, Endpoint: s.Endpoint, Event: event}
		return event, webhookdb.EmitTo(ctx, tx, place, webhook.Test, wire.WebhookTest(s))
	})
}

// RotateSecret gives an endpoint a new secret and returns the subscription with it. For
// webhook.SecretOverlap, events are signed by the new and the old secret. An unknown
// endpoint is a not-found error.
func (ss *Subscriptions) RotateSecret(ctx context.Context, tenant core.TenantAlias, endpoint string) (s webhook.Subscription, err error) {
	queue := webhook.Queue{Tenant: tenant, Endpoint: webhook.Endpoint(endpoint)}
	secret, sealed, err := ss.newSecret(queue)
	if err != nil {
		return s, err
	}
	return store.WriteValue(ctx, ss.DB.Write, ss.Now(), func(tx *store.Tx) (s webhook.Subscription, err error) {
		known, err := webhookdb.RotateSecret(ctx, tx, queue, sealed, tx.Now+webhook.SecretOverlap)
		if err := mustBeKnown(known, err); err != nil {
			return s, err
		}
		s, _, err = webhookdb.Subscription(ctx, tx.Reads, queue)
		s.Secret = secret
		return s, err
	})
}

func mustBeKnown(known bool, err error) error {
	if err == nil && !known {
		return core.NotFound("there is no subscription of this endpoint URL")
	}
	return err
}
