package api

import (
	"net/http"

	"kith/backend/app/base"
	"kith/core/operation"
	"kith/core/webhook"
	"kith/core/wire"
)

func (a *API) subscriptionRoutes() routes {
	const one = tenantPath + "/subscription/{endpointUrl}"
	return routes{
		tenantPath + "/subscription":        {"POST": a.keyed(operation.SubscribeWebhook, created(with(body(wire.ParseWebhookSubscription), a.subscribe))), "GET": a.keyed(operation.ReadIntegrations, a.subscriptions)},
		tenantPath + "/subscription/sample": {"GET": a.keyed(operation.ReadIntegrations, a.sampleEvents)},
		one:                                 {"DELETE": a.keyed(operation.UnsubscribeWebhook, a.unsubscribe)},
		one + "/test":                       {"POST": a.keyed(operation.TestWebhook, a.testSubscription)},
		one + "/secret":                     {"POST": a.keyed(operation.RotateWebhookSecret, a.rotateSecret)},
		one + "/deliveries":                 {"GET": a.keyed(operation.ReadIntegrations, with((*call).page, a.deliveries))},
		one + "/replay":                     {"POST": a.keyed(operation.ReplayWebhook, with(body(wire.ParseReplay), a.replay))},
		"/.well-known/jwks.json":            {"GET": a.keySet},
	}
}

// subscribe handles POST /subscription.
func (a *API) subscribe(c *call, in webhook.Request) ([]byte, error) {
	return encode(wire.WebhookSubscription)(a.Engine.Admin.Webhooks.Subscribe(c.Context(), c.member(), in))
}

// subscriptions handles GET /subscription.
func (a *API) subscriptions(c *call) ([]byte, error) {
	return encode(wire.WebhookSubscriptions)(a.Engine.Webhooks.List(c.Context(), c.tenant))
}

// sampleEvents handles GET /subscription/sample.
func (a *API) sampleEvents(c *call) ([]byte, error) {
	types := webhook.Types()
	if text := c.URL.Query().Get("type"); text != "" {
		t, err := webhook.ParseType("type", text)
		if err != nil {
			return nil, err
		}
		types = []webhook.Type{t}
	}
	return wire.WebhookSamples(a.Engine.Webhooks.Samples(c.tenant, c.caller.Share(a.origin(c.Request)), types...)), nil
}

// endpoint returns the endpoint's URL, which is one percent-encoded segment of the path.
func (c *call) endpoint() webhook.Endpoint { return webhook.Endpoint(c.PathValue("endpointUrl")) }

// queue identifies the deliveries of the endpoint in the path of a call.
func (c *call) queue() webhook.Queue {
	return webhook.Queue{Tenant: c.tenant, Endpoint: c.endpoint()}
}

// unsubscribe handles DELETE /subscription/{endpointUrl}.
func (a *API) unsubscribe(c *call) ([]byte, error) {
	return nil, a.Engine.Admin.Webhooks.Unsubscribe(c.Context(), c.member(), c.endpoint())
}

// testSubscription handles POST /subscription/{endpointUrl}/test.
func (a *API) testSubscription(c *call) ([]byte, error) {
	_, err := a.Engine.Admin.Webhooks.Test(c.Context(), c.member(), c.endpoint())
	return nil, err
}

// rotateSecret handles POST /subscription/{endpointUrl}/secret.
func (a *API) rotateSecret(c *call) ([]byte, error) {
	return encode(wire.WebhookSubscription)(a.Engine.Admin.Webhooks.RotateSecret(c.Context(), c.member(), c.endpoint()))
}

// deliveries handles GET /subscription/{endpointUrl}/deliveries.
func (a *API) deliveries(c *call, p base.Page) ([]byte, error) {
	var state webhook.State
	if text := c.URL.Query().Get("state"); text != "" {
		var err error
		if state, err = webhook.ParseState("state", text); err != nil {
			return nil, err
		}
	}
	return encodeBoth(wire.Deliveries)(a.Engine.Deliveries.List(c.Context(), c.queue(), state, p))
}

// replay handles POST /subscription/{endpointUrl}/replay.
func (a *API) replay(c *call, in wire.Replay) ([]byte, error) {
	if in.Event == "" {
		return encode(wire.Replayed)(a.Engine.Admin.Webhooks.ReplayFailed(c.Context(), c.member(), c.endpoint(), in.Since))
	}
	return wire.Replayed(1), a.Engine.Admin.Webhooks.Replay(c.Context(), c.member(), c.endpoint(), in.Event)
}

// keySet handles GET /.well-known/jwks.json. The keys are public and the same for all
// tenants.
func (a *API) keySet(w http.ResponseWriter, r *http.Request) error {
	keys, err := a.Engine.SigningKeys.Public(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.KeySet(keys))
	return nil
}
