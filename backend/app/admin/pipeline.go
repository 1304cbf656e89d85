package admin

import (
	"context"
	"encoding/json"

	"kith/backend/app/base"
	"kith/backend/app/pipelines"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/pipeline"
	"kith/core/wire"
)

// Pipelines are the customer-data pipelines of a tenant.
type Pipelines struct {
	base *base.Base
	api  *pipelines.Pipelines
}

// Read returns how messages are read, and which secrets are valid.
func (ps *Pipelines) Read(ctx context.Context, c people.Caller) (s pipeline.Settings, secrets pipelines.Secrets, err error) {
	if err := operation.ReadIntegrations.Require(c); err != nil {
		return s, secrets, err
	}
	if s, err = ps.api.Settings(ctx, c.Tenant); err == nil {
		secrets, err = ps.api.Secrets(ctx, c.Tenant)
	}
	return s, secrets, err
}

// Change stores how messages are read; see pipelines.Pipelines.Change. It checks the
// settings as the API does.
func (ps *Pipelines) Change(ctx context.Context, c people.Caller, s pipeline.Settings) error {
	if err := operation.ChangePipeline.Require(c); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	if _, err := wire.ParsePipelineSettings(wire.PipelineSettings(s)); err != nil {
		return err
	}
	change := base.Change{Operation: operation.ChangePipeline, After: json.RawMessage(wire.PipelineSettings(s))}
	return ps.base.Act(ctx, c, change, func(ctx context.Context, change *base.Change) error {
		before, err := ps.api.Settings(ctx, c.Tenant)
		if err != nil {
			return err
		}
		change.Before = json.RawMessage(wire.PipelineSettings(before))
		_, err = ps.api.Change(ctx, c.Tenant, s)
		return err
	})
}

// RotateSecret makes a new secret and returns it with the time until which the one before
// is valid; see pipelines.Pipelines.RotateSecret. A secret sends what an API key with the
// role events does, so the role that makes keys makes it.
func (ps *Pipelines) RotateSecret(ctx context.Context, c people.Caller, overlap core.Time) (secret string, until core.Time, err error) {
	change := base.Change{Operation: operation.RotatePipelineSecret, After: auditedOverlap(overlap)}
	err = ps.base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		secret, until, err = ps.api.RotateSecret(ctx, c.Tenant, overlap)
		return err
	})
	return secret, until, err
}

// RemoveSecret makes all signatures invalid; see pipelines.Pipelines.RemoveSecret.
func (ps *Pipelines) RemoveSecret(ctx context.Context, c people.Caller) error {
	return ps.base.Act(ctx, c, base.Change{Operation: operation.RemovePipelineSecret}, func(ctx context.Context, _ *base.Change) error {
		return ps.api.RemoveSecret(ctx, c.Tenant)
	})
}
