package api

import (
	"errors"
	"net/http"
	"time"

	"kith/backend/app/base"
	"kith/backend/guess"
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/operation"
	"kith/core/pipeline"
	"kith/core/wire"
)

func (a *API) eventRoutes() routes {
	return routes{
		userPath + "/events":           {"POST": a.userAt(operation.LogEvents, auth.TrackEvents, a.events)},
		tenantPath + "/events/refused": {"GET": a.keyed(operation.ReadReferrals, with((*call).page, a.refusedEvents))},
	}
}

// refusedEvents handles GET /events/refused.
func (a *API) refusedEvents(c *call, p base.Page) ([]byte, error) {
	return encodeBoth(wire.RefusedEvents)(a.Engine.Events.Refused(c.Context(), c.tenant, p))
}

// events handles POST of events of a user.
func (a *API) events(c *call) ([]byte, error) {
	in, err := decode(c, func(body []byte) (event.Call, error) { return wire.ParseEvents(c.account, c.user, body) })
	if err != nil {
		return nil, err
	}
	if err := in.KeyFrom(c.keyHeader()); err != nil {
		return nil, err
	}
	c.w.Header().Del(onceHeader)
	return encode(wire.Events)(a.Engine.Events.Log(c.Context(), c.caller, in))
}

func (a *API) pipelineRoutes() routes {
	const segment = tenantPath + "/integration/segment"
	failures := guess.New(failuresPerMinute, time.Now)
	return routes{
		segment:               {"POST": func(w http.ResponseWriter, r *http.Request) error { return a.messages(w, r, failures) }},
		segment + "/settings": {"GET": a.keyed(operation.ReadIntegrations, a.pipelineSettings), "PUT": a.keyed(operation.ChangePipeline, with(body(wire.ParsePipelineSettings), a.changePipeline))},
		segment + "/secret":   {"POST": a.keyed(operation.RotatePipelineSecret, a.rotatePipelineSecret), "DELETE": a.keyed(operation.RemovePipelineSecret, a.removePipelineSecret)},
	}
}

// signatureHeader has the signature of a body by Segment's webhook destination.
const signatureHeader = "X-Signature"

// messages handles POST /integration/segment. The status is 200 even if messages were
// refused: after most others the pipeline would repeat the call, with the same messages.
func (a *API) messages(w http.ResponseWriter, r *http.Request, failures *guess.Limiter) error {
	caller, body, err := a.pipelineCaller(w, r, failures)
	if err != nil {
		return err
	}
	results, err := a.Engine.Pipelines.Receive(r.Context(), caller.Tenant.Alias, body, caller.Share(a.origin(r)))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.PipelineReport(results))
	return nil
}

// pipelineCaller authenticates a pipeline, by its Authorization header or, without one,
// by its signature, and reads the body. A network that sent too many wrong signatures is
// refused before the body is read.
func (a *API) pipelineCaller(w http.ResponseWriter, r *http.Request, failures *guess.Limiter) (c base.Caller, body []byte, err error) {
	signature := r.Header.Get(signatureHeader)
	if signature == "" || r.Header.Get("Authorization") != "" {
		if c, err = a.keyHolder(w, r, operation.LogEvents); err != nil {
			return c, nil, err
		}
		body, err = readPipeline(w, r)
		return c, body, err
	}
	alias, err := core.ParseTenantAlias(r.PathValue("tenant"))
	if err != nil {
		return c, nil, err
	}
	if failures.Exhausted(seenAddress(r)) {
		return c, nil, rateLimited("too many calls with a wrong signature from this network; wait a minute")
	}
	if body, err = readPipeline(w, r); err != nil {
		return c, nil, err
	}
	c, err = a.Engine.Pipelines.Authenticate(r.Context(), alias, signature, body)
	var refused *core.Error
	if errors.As(err, &refused) && refused.Code == core.CodeUnauthenticated {
		failures.Count(seenAddress(r), 1)
	}
	return c, body, err
}

// readPipeline reads the body of a call of a pipeline.
func readPipeline(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := wire.CheckJSONType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	return readBody(w, r, pipeline.MaxBody)
}

// pipelineSettings handles GET /integration/segment/settings.
func (a *API) pipelineSettings(c *call) ([]byte, error) {
	return encode(wire.PipelineSettings)(a.Engine.Pipelines.Settings(c.Context(), c.tenant))
}

// changePipeline handles PUT /integration/segment/settings.
func (a *API) changePipeline(c *call, in pipeline.Settings) ([]byte, error) {
	return encode(wire.PipelineSettings)(in, a.Engine.Admin.Pipelines.Change(c.Context(), c.member(), in, nil))
}

// rotatePipelineSecret handles POST /integration/segment/secret.
func (a *API) rotatePipelineSecret(c *call) ([]byte, error) {
	overlap := core.Time(wire.DefaultOverlap)
	if c.ContentLength != 0 {
		var err error
		if overlap, err = decode(c, wire.ParseOverlap); err != nil {
			return nil, err
		}
	}
	return encodeBoth(wire.PipelineSecret)(a.Engine.Admin.Pipelines.RotateSecret(c.Context(), c.member(), overlap))
}

// removePipelineSecret handles DELETE /integration/segment/secret.
func (a *API) removePipelineSecret(c *call) ([]byte, error) {
	return nil, a.Engine.Admin.Pipelines.RemoveSecret(c.Context(), c.member())
}
