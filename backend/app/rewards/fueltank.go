package rewards

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
)

// FuelTanks manages fuel tanks: the stocks of codes that programs give as rewards. Each
// side of a program, referrer and referred, has its own.
type FuelTanks struct{ *base.Base }

// Level returns the numbers of codes in the fuel tank of one side of a program. An
// unknown program is a not-found error.
func (ft *FuelTanks) Level(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey, side referral.SideKey) (reward.Tank, error) {
	if _, err := programdb.ByKey(ctx, ft.DB.Reads, tenant, key); err != nil {
		return reward.Tank{}, err
	}
	return rewarddb.FuelTank(ctx, ft.DB.Reads, tenant, key, side)
}

// Fill adds codes to the fuel tank of one side of a program, and returns its new level.
// It takes 1 to reward.MaxTankCodes codes. Codes that the tank has or had are skipped.
// Rewards that wait for a code get one at once. It is a conflict if that side of the
// program does not offer FUELTANK rewards.
func (ft *FuelTanks) Fill(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey, side referral.SideKey, codes []string) (tank reward.Tank, err error) {
	if len(codes) == 0 || len(codes) > reward.MaxTankCodes {
		return tank, core.Invalid("codes", "must have 1 to "+strconv.Itoa(reward.MaxTankCodes)+" elements")
	}
	return store.WriteValue(ctx, ft.DB.Write, ft.Now(), func(tx *store.Tx) (tank reward.Tank, err error) {
		program, err := programdb.ByKey(ctx, tx.Reads, tenant, key)
		if err != nil {
			return tank, err
		}
		if program.Offer(side).Kind != reward.FuelTank {
			return tank, &core.Error{Code: core.CodeConflict, Message: "the " + string(side) + " does not earn a FUELTANK reward in this program"}
		}
		if err := rewarddb.AddFuelCodes(ctx, tx, tenant, key, side, codes); err != nil {
			return tank, err
		}
		if tank, err = rewarddb.FuelTank(ctx, tx.Reads, tenant, key, side); err != nil {
			return tank, err
		}
		if tank.Available > reward.MaxTank {
			return tank, core.Invalid("codes", "the tank would have more than "+strconv.Itoa(reward.MaxTank)+" codes")
		}
		if err := ft.giveDue(ctx, tx, tenant, program, side, tank.Available); err != nil {
			return tank, err
		}
		return rewarddb.FuelTank(ctx, tx.Reads, tenant, key, side)
	})
}

// GiveReplacement gives the rewards that wait for a code of a fuel tank, if the program
// no longer offers FUELTANK rewards: they become what the program offers now.
func (ft *FuelTanks) GiveReplacement(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, program referral.Program) error {
	for _, side := range []referral.SideKey{referral.ReferrerSide, referral.ReferredSide} {
		if program.Offer(side).Kind == reward.FuelTank {
			continue
		}
		tank, err := rewarddb.FuelTank(ctx, tx.Reads, tenant, program.Key, side)
		if err == nil && tank.Due > 0 {
			err = ft.giveDue(ctx, tx, tenant, program, side, tank.Due)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveDue gives up to limit rewards that waited for a code. The limits of the program
// are not applied again: they were applied when the rewards were earned.
func (ft *FuelTanks) giveDue(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, program referral.Program, side referral.SideKey, limit int64) error {
	due, err := rewarddb.TakeFuelDues(ctx, tx, tenant, program.Key, side, limit)
	if err != nil {
		return err
	}
	u := ft.Unit(tx, tenant)
	for _, id := range due {
		if err := u.Decide(ctx, func(s *state.State) error { return ft.Rules().GiveDue(s, program, side, id) }); err != nil {
			return err
		}
	}
	return u.Save(ctx)
}
