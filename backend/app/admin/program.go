package admin

import (
	"context"
	"encoding/json"

	"kith/backend/app/base"
	"kith/backend/app/programs"
	"kith/backend/app/rewards"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// Programs are the programs of a tenant.
type Programs struct {
	Base  *base.Base
	API   *programs.Programs
	Tanks *rewards.FuelTanks
}

// Create adds a program and returns it as stored; see programs.Programs.Create.
func (ps *Programs) Create(ctx context.Context, c people.Caller, p referral.Program) (stored referral.Program, err error) {
	if p.MoneyBack == referral.KeepMoneyBack {
		p.MoneyBack = referral.DefaultMoneyBack // as it is stored
	}
	change := base.Change{Operation: operation.CreateProgram, Subject: string(p.Key), After: json.RawMessage(wire.Program(p))}
	return base.ActValue(ctx, ps.Base, c, change, func(ctx context.Context, _ *base.Change) (referral.Program, error) {
		return ps.API.Create(ctx, c.Tenant, p)
	})
}

// Update changes a program and returns it as stored; see programs.Programs.Update.
func (ps *Programs) Update(ctx context.Context, c people.Caller, key core.ProgramKey, change func(*referral.Program) error) (stored referral.Program, err error) {
	entry := base.Change{Operation: operation.ChangeProgram, Subject: string(key)}
	return base.ActValue(ctx, ps.Base, c, entry, func(ctx context.Context, entry *base.Change) (referral.Program, error) {
		return ps.API.Update(ctx, c.Tenant, key, func(p *referral.Program) error {
			entry.Before = json.RawMessage(wire.Program(*p))
			before := p.MoneyBack
			if err := change(p); err != nil {
				return err
			}
			if p.MoneyBack == referral.KeepMoneyBack {
				p.MoneyBack = before
			}
			entry.After = json.RawMessage(wire.Program(*p))
			return nil
		})
	})
}

// Delete removes a program that nothing uses; see programs.Programs.Delete.
func (ps *Programs) Delete(ctx context.Context, c people.Caller, key core.ProgramKey) error {
	return ps.Base.Act(ctx, c, base.Change{Operation: operation.DeleteProgram, Subject: string(key)}, func(ctx context.Context, _ *base.Change) error {
		return ps.API.Delete(ctx, c.Tenant, key)
	})
}

// Fill adds codes to a fuel tank and returns its new level; see rewards.FuelTanks.Fill. The
// audit log has the numbers of codes, and no code.
func (ps *Programs) Fill(ctx context.Context, c people.Caller, key core.ProgramKey, side referral.SideKey, codes []string) (tank reward.Tank, err error) {
	entry := base.Change{Operation: operation.FillFuelTank, Subject: string(key)}
	return base.ActValue(ctx, ps.Base, c, entry, func(ctx context.Context, entry *base.Change) (reward.Tank, error) {
		entry.After = map[string]any{"side": side, "codesSent": len(codes)}
		return ps.Tanks.Fill(ctx, c.Tenant, key, side, codes)
	})
}

// Versions returns what a program was from each change on, the latest first. Members who
// may read the audit log see who made each change; see programs.Programs.Versions.
func (ps *Programs) Versions(ctx context.Context, c people.Caller, key core.ProgramKey) ([]wire.ProgramVersion, error) {
	if err := operation.ReadPrograms.Require(c); err != nil {
		return nil, err
	}
	all, err := ps.API.Versions(ctx, c.Tenant, key)
	if !operation.ReadAudit.Permits(c.Role) {
		for i := range all {
			all[i].By = ""
		}
	}
	return all, err
}
