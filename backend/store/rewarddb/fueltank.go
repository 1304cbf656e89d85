package rewarddb

import (
	"context"
	"encoding/json"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

var tankColumns = store.Selection[reward.Tank]{
	store.Col(`count(*) - count(reward_id)`, func(t *reward.Tank) any { return &t.Available }),
	store.Col(`count(reward_id)`, func(t *reward.Tank) any { return &t.Given }),
	store.Col(`(SELECT count(*) FROM fuel_due WHERE tenant = ?1 AND program = ?2 AND key = ?3)`, func(t *reward.Tank) any { return &t.Due }),
}

// FuelTank returns how many codes the fuel tank of a side of a program has.
func FuelTank(ctx context.Context, r store.Reads, tenant core.TenantAlias, program core.ProgramKey, side referral.SideKey) (t reward.Tank, err error) {
	err = tankColumns.Scan(r.QueryRowContext(ctx, `SELECT `+tankColumns.SQL()+`
		FROM fuel_tank WHERE tenant = ?1 AND program = ?2 AND key = ?3`, string(tenant), string(program), string(side)), &t)
	if err != nil {
		return t, fmt.Errorf("store: fuel tank: %w", err)
	}
	return t, nil
}

// AddFuelCodes adds codes to a fuel tank, and skips those that it has or had.
func AddFuelCodes(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, program core.ProgramKey, side referral.SideKey, codes []string) error {
	list, err := json.Marshal(codes)
	if err != nil {
		return err
	}
	// Without WHERE true, SQLite would parse ON as part of a join.
	return tx.Exec(ctx, "add fuel codes", `INSERT INTO fuel_tank (tenant, program, key, code, created_at)
		SELECT ?1, ?2, ?3, value, ?4 FROM json_each(?5) WHERE true ORDER BY json_each.key
		ON CONFLICT (tenant, program, key, code) DO NOTHING`,
		string(tenant), string(program), string(side), int64(tx.Now), string(list))
}

// UseFuelCode records the reward that a code was given as.
func UseFuelCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, number int64, rewardID string) error {
	return tx.Exec(ctx, "use fuel code", `UPDATE fuel_tank SET reward_id = ? WHERE +tenant = ? AND seq = ?`, rewardID, string(tenant), number)
}

// PutFuelDue records that a side of a referral has earned a code while the tank was
// empty.
func PutFuelDue(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, program core.ProgramKey, side referral.SideKey, referralID string) error {
	return tx.Exec(ctx, "put fuel due", `INSERT INTO fuel_due (tenant, program, key, referral_id, created_at)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, referral_id, key) DO NOTHING`,
		string(tenant), string(program), string(side), referralID, int64(tx.Now))
}

// TakeFuelDues removes up to limit referrals from those that wait for a code, and
// returns their ids, oldest first.
func TakeFuelDues(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, program core.ProgramKey, side referral.SideKey, limit int64) ([]string, error) {
	ids, err := store.List[string](ctx, tx.Reads, "fuel dues", `SELECT referral_id FROM fuel_due
		WHERE tenant = ? AND program = ? AND key = ? ORDER BY seq LIMIT ?`,
		string(tenant), string(program), string(side), limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	return ids, tx.Exec(ctx, "delete fuel dues", `DELETE FROM fuel_due
		WHERE tenant = ? AND key = ? AND referral_id IN (SELECT value FROM json_each(?))`, string(tenant), string(side), string(list))
}

// FuelDuesOf returns the sides of a referral whose reward waits for a code of a fuel tank.
func FuelDuesOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, referralID string) ([]referral.SideKey, error) {
	return store.List[referral.SideKey](ctx, r, "fuel dues of a referral", `SELECT key FROM fuel_due WHERE tenant = ? AND referral_id = ?`, string(tenant), referralID)
}
