package admin

import (
	"context"
	"encoding/json"

	"kith/backend/app/base"
	"kith/backend/app/programs"
	"kith/core"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/wire"
)

// Programs are the programs of a tenant.
type Programs struct {
	base *base.Base
	api  *programs.Programs
}

// List returns the programs in the order of their creation.
func (ps *Programs) List(ctx context.Context, c people.Caller) ([]referral.Program, error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return nil, err
	}
	return ps.api.List(ctx, c.Tenant)
}

// ByKey returns a program, or a not-found error.
func (ps *Programs) ByKey(ctx context.Context, c people.Caller, key core.ProgramKey) (referral.Program, error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return referral.Program{}, err
	}
	return ps.api.ByKey(ctx, c.Tenant, key)
}

// Create adds a program and returns it as stored; see programs.Programs.Create.
func (ps *Programs) Create(ctx context.Context, c people.Caller, p referral.Program) (stored referral.Program, err error) {
	change := base.Change{Action: people.ProgramCreated, Subject: string(p.Key), After: json.RawMessage(wire.Program(p))}
	err = ps.base.Act(ctx, c, people.WritePrograms, change, func(ctx context.Context, _ *base.Change) error {
		stored, err = ps.api.Create(ctx, c.Tenant, p)
		return err
	})
	return stored, err
}

// Update changes a program and returns it as stored; see programs.Programs.Update.
func (ps *Programs) Update(ctx context.Context, c people.Caller, key core.ProgramKey, change func(*referral.Program) error) (stored referral.Program, err error) {
	entry := base.Change{Action: people.ProgramChanged, Subject: string(key)}
	err = ps.base.Act(ctx, c, people.WritePrograms, entry, func(ctx context.Context, entry *base.Change) error {
		stored, err = ps.api.Update(ctx, c.Tenant, key, func(p *referral.Program) error {
			entry.Before = json.RawMessage(wire.Program(*p))
			if err := change(p); err != nil {
				return err
			}
			entry.After = json.RawMessage(wire.Program(*p))
			return nil
		})
		return err
	})
	return stored, err
}

// Delete removes a program that nothing uses; see programs.Programs.Delete.
func (ps *Programs) Delete(ctx context.Context, c people.Caller, key core.ProgramKey) error {
	return ps.base.Act(ctx, c, people.WritePrograms, base.Change{Action: people.ProgramDeleted, Subject: string(key)}, func(ctx context.Context, _ *base.Change) error {
		return ps.api.Delete(ctx, c.Tenant, key)
	})
}
