package rewarddb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/analytics"
)

var tankLevelColumns = store.Selection[analytics.TankLevel]{
	store.Col(`r.program`, func(t *analytics.TankLevel) any { return &t.Program }),
	store.Col(`program.name`, func(t *analytics.TankLevel) any { return &t.ProgramName }),
	store.Col(`r.key`, func(t *analytics.TankLevel) any { return &t.Side }),
	store.Col(`(SELECT count(*) FROM (SELECT 1 FROM fuel_tank f WHERE f.tenant = ?1 AND f.program = r.program AND f.key = r.key AND f.reward_id IS NULL LIMIT ?2))`,
		func(t *analytics.TankLevel) any { return &t.Available }),
	store.Col(`(SELECT count(*) FROM (SELECT 1 FROM fuel_due d WHERE d.tenant = ?1 AND d.program = r.program AND d.key = r.key LIMIT ?3))`,
		func(t *analytics.TankLevel) any { return &t.Due }),
}

// TankLevels returns the fuel tanks that the programs of a tenant use, those of the oldest
// program first. It counts available codes to enough, and rewards that wait to most.
func TankLevels(ctx context.Context, r store.Reads, tenant core.TenantAlias, enough, most int) ([]analytics.TankLevel, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+tankLevelColumns.SQL()+`
		FROM program CROSS JOIN program_reward r ON r.tenant = ?1 AND r.program = program.key
		WHERE program.tenant = ?1 AND r.kind = 'FUELTANK' ORDER BY program.created_at, program.key, r.key DESC`, string(tenant), enough, most)
	return tankLevelColumns.All(rows, err, "fuel tanks")
}
