package admin

import (
	"context"
	"encoding/json"

	"kith/backend/app/base"
	"kith/backend/app/orders"
	"kith/backend/app/programs"
	"kith/backend/app/rewards"
	"kith/backend/app/widgets"
	"kith/core"
	"kith/core/conversion"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// Programs are the programs of a tenant.
type Programs struct {
	base    *base.Base
	api     *programs.Programs
	orders  *orders.Orders
	tanks   *rewards.FuelTanks
	widgets *widgets.Widgets
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

// Try returns what an event would cause in a program, and why; see orders.Orders.Try.
func (ps *Programs) Try(ctx context.Context, c people.Caller, key core.ProgramKey, t wire.Trial) (conversion.Decision, []conversion.Step, error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return conversion.Decision{}, nil, err
	}
	return ps.orders.Try(ctx, c.Tenant, key, t)
}

// Tank returns the level of the fuel tank of one side of a program.
func (ps *Programs) Tank(ctx context.Context, c people.Caller, key core.ProgramKey, side referral.SideKey) (reward.Tank, error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return reward.Tank{}, err
	}
	return ps.tanks.Level(ctx, c.Tenant, key, side)
}

// Fill adds codes to a fuel tank and returns its new level; see rewards.FuelTanks.Fill. The
// audit log has the numbers of codes, and no code.
func (ps *Programs) Fill(ctx context.Context, c people.Caller, key core.ProgramKey, side referral.SideKey, codes []string) (tank reward.Tank, err error) {
	entry := base.Change{Action: people.TankFilled, Subject: string(key)}
	err = ps.base.Act(ctx, c, people.WritePrograms, entry, func(ctx context.Context, entry *base.Change) error {
		entry.After = map[string]any{"side": side, "codesSent": len(codes)}
		tank, err = ps.tanks.Fill(ctx, c.Tenant, key, side, codes)
		return err
	})
	return tank, err
}

// Preview returns a widget of a program as HTML, for an invented user; see
// widgets.Widgets.Preview.
func (ps *Programs) Preview(ctx context.Context, c people.Caller, p widgets.Preview) (string, error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return "", err
	}
	return ps.widgets.Preview(ctx, c.Tenant, p)
}

// Versions returns what a program was from each change on, the latest first. Members who
// may read the audit log see who made each change; see programs.Programs.Versions.
func (ps *Programs) Versions(ctx context.Context, c people.Caller, key core.ProgramKey) ([]wire.ProgramVersion, error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return nil, err
	}
	all, err := ps.api.Versions(ctx, c.Tenant, key)
	if !c.Role.Permits(people.ReadAudit) {
		for i := range all {
			all[i].By = ""
		}
	}
	return all, err
}
