package tabledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// EraseTenant takes a tenant away, and nothing of what it has: it is unknown
// from then on. False means that there is none.
func EraseTenant(ctx context.Context, p *store.Primary, now core.Time, tenant core.TenantAlias) (was bool, err error) {
	err = p.WriteWithoutForeignKeys(ctx, now, func(tx *store.Tx) error {
		was, err = tx.Changed(ctx, "erase tenant", `DELETE FROM tenant WHERE alias = ?`, string(tenant))
		return err
	})
	return was, err
}

// EraseRows removes up to limit rows of a table that are of a tenant who was
// erased, and returns how many they were. In a file nothing of them remains
// where they were.
func EraseRows(ctx context.Context, p *store.Primary, now core.Time, t Table, tenant core.TenantAlias, limit int) (n int, err error) {
	err = p.WriteWithoutForeignKeys(ctx, now, func(tx *store.Tx) error {
		if p.Embedded() {
			if err := tx.Exec(ctx, "erase rows", `PRAGMA secure_delete = ON`); err != nil {
				return err
			}
		}
		n, err = tx.Count(ctx, "erase rows of "+t.Name, `DELETE FROM `+quoted(t.Name)+` WHERE (`+t.quotedKey()+`) IN (
			SELECT `+t.quotedKey()+` FROM `+quoted(t.Name)+` WHERE `+quoted(t.Tenant)+` = ? LIMIT ?)`, string(tenant), limit)
		return err
	})
	return n, err
}
