package tabledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// EraseTenant deletes the row of a tenant, but no other rows of it: from then on the
// tenant is unknown. It returns false if there is no such tenant.
func EraseTenant(ctx context.Context, p *store.Primary, now core.Time, tenant core.TenantAlias) (bool, error) {
	return store.WriteValue(ctx, p.WriteWithoutForeignKeys, now, func(tx *store.Tx) (bool, error) {
		return tx.Changed(ctx, "erase tenant", `DELETE FROM tenant WHERE alias = ?`, string(tenant))
	})
}

// EraseRows deletes up to limit rows of a table that belong to an erased tenant, and
// returns how many it deleted. In a file their bytes are overwritten.
func EraseRows(ctx context.Context, p *store.Primary, now core.Time, t Table, tenant core.TenantAlias, limit int) (int, error) {
	return store.WriteValue(ctx, p.WriteWithoutForeignKeys, now, func(tx *store.Tx) (int, error) {
		if p.Embedded() {
			if err := tx.Exec(ctx, "erase rows", `PRAGMA secure_delete = ON`); err != nil {
				return 0, err
			}
		}
		return tx.Count(ctx, "erase rows of "+t.Name, `DELETE FROM `+quoted(t.Name)+` WHERE (`+t.quotedKey()+`) IN (
			SELECT `+t.quotedKey()+` FROM `+quoted(t.Name)+` WHERE `+quoted(t.Tenant)+` = ? LIMIT ?)`, string(tenant), limit)
	})
}
