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
	Base *base.Base
	API  *pipelines.Pipelines
}

// Change stores how messages are read; see pipelines.Pipelines.Change. It checks the
// settings as the API does. may, which may be nil, refuses the change by what is stored.
func (ps *Pipelines) Change(ctx context.Context, c people.Caller, s pipeline.Settings, may func(stored pipeline.Settings) error) error {
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
	return ps.Base.Act(ctx, c, change, func(ctx context.Context, change *base.Change) error {
		before, err := ps.API.Settings(ctx, c.Tenant)
		if err != nil {
			return err
		}
		if may != nil {
			if err := may(before); err != nil {
				return err
			}
		}
		change.Before = json.RawMessage(wire.PipelineSettings(before))
		_, err = ps.API.Change(ctx, c.Tenant, s)
		return err
	})
}

// RotateSecret makes a new secret and returns it with the time until which the one before
// is valid; see pipelines.Pipelines.RotateSecret. A secret sends what an API key with the
// role events does, so the role that makes keys makes it.
func (ps *Pipelines) RotateSecret(ctx context.Context, c people.Caller, overlap core.Time) (secret string, until core.Time, err error) {
	change := base.Change{Operation: operation.RotatePipelineSecret, After: auditedOverlap(overlap)}
	err = ps.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		secret, until, err = ps.API.RotateSecret(ctx, c.Tenant, overlap)
		return err
	})
	return secret, until, err
}

// RemoveSecret makes all signatures invalid; see pipelines.Pipelines.RemoveSecret.
func (ps *Pipelines) RemoveSecret(ctx context.Context, c people.Caller) error {
	return ps.Base.Act(ctx, c, base.Change{Operation: operation.RemovePipelineSecret}, func(ctx context.Context, _ *base.Change) error {
		return ps.API.RemoveSecret(ctx, c.Tenant)
	})
}
