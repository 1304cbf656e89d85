package api

import (
	"net/http"

	"kith/core/webhook"
	"kith/core/wire"
)

func (a *API) subscriptionRoutes() routes {
	const one = tenantPath + "/subscription/{endpointUrl}"
	return routes{
		tenantPath + "/subscription": {"POST": a.subscribe, "GET": a.subscriptions},
		one:                          {"DELETE": a.unsubscribe},
		one + "/test":                {"POST": a.testSubscription},
		one + "/secret":              {"POST": a.rotateSecret},
		one + "/deliveries":          {"GET": a.deliveries},
		one + "/replay":              {"POST": a.replay},
		"/.well-known/jwks.json":     {"GET": a.keySet},
	}
}

// subscribe is POST /subscription.
func (a *API) subscribe(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	endpoint, name, err := wire.ParseWebhookSubscription(body)
	if err != nil {
		return err
	}
	made, err := a.Engine.Subscribe(r.Context(), caller.Tenant.Alias, endpoint, name)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.WebhookSubscription(made))
	return nil
}

// subscriptions is GET /subscription.
func (a *API) subscriptions(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	all, err := a.Engine.Subscriptions(r.Context(), caller.Tenant.Alias)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.WebhookSubscriptions(all))
	return nil
}

// line authenticates a request about the endpoint in its path, which is
// percent-encoded as a whole.
func (a *API) line(w http.ResponseWriter, r *http.Request) (webhook.Line, error) {
	caller, err := a.keyHolder(w, r)
	return webhook.Line{Tenant: caller.Tenant.Alias, Endpoint: webhook.Endpoint(r.PathValue("endpointUrl"))}, err
}

// unsubscribe is DELETE /subscription/{endpointUrl}.
func (a *API) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	line, err := a.line(w, r)
	if err != nil {
		return err
	}
	if err := a.Engine.Unsubscribe(r.Context(), line.Tenant, string(line.Endpoint)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// testSubscription is POST /subscription/{endpointUrl}/test.
func (a *API) testSubscription(w http.ResponseWriter, r *http.Request) error {
	line, err := a.line(w, r)
	if err != nil {
		return err
	}
	if err := a.Engine.TestSubscription(r.Context(), line.Tenant, string(line.Endpoint)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// rotateSecret is POST /subscription/{endpointUrl}/secret.
func (a *API) rotateSecret(w http.ResponseWriter, r *http.Request) error {
	line, err := a.line(w, r)
	if err != nil {
		return err
	}
	made, err := a.Engine.RotateSecret(r.Context(), line.Tenant, string(line.Endpoint))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.WebhookSubscription(made))
	return nil
}

// deliveries is GET /subscription/{endpointUrl}/deliveries.
func (a *API) deliveries(w http.ResponseWriter, r *http.Request) error {
	line, err := a.line(w, r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	p, err := page(q)
	if err != nil {
		return err
	}
	var state webhook.State
	if text := q.Get("state"); text != "" {
		if state, err = webhook.ParseState("state", text); err != nil {
			return err
		}
	}
	found, total, err := a.Engine.Deliveries(r.Context(), line, state, p)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Deliveries(found, total))
	return nil
}

// replay is POST /subscription/{endpointUrl}/replay.
func (a *API) replay(w http.ResponseWriter, r *http.Request) error {
	line, err := a.line(w, r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	what, err := wire.ParseReplay(body)
	if err != nil {
		return err
	}
	n := 1
	if what.Event != "" {
		err = a.Engine.Replay(r.Context(), webhook.Place{Tenant: line.Tenant, Endpoint: line.Endpoint, Event: what.Event})
	} else {
		n, err = a.Engine.ReplayFailed(r.Context(), line, what.Since)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Replayed(n))
	return nil
}

// keySet is GET /.well-known/jwks.json: the same for all tenants, and anybody's
// to read.
func (a *API) keySet(w http.ResponseWriter, r *http.Request) error {
	keys, err := a.Engine.PublicKeys(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.KeySet(keys))
	return nil
}
