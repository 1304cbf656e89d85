package tabledb

import (
	"context"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
)

// EraseTenant deletes the row of the tenant of a run, but no other rows of it: from then on
// the tenant is unknown. It returns false if there is no such tenant.
func EraseTenant(ctx context.Context, p *store.Primary, now core.Time, run Run) (bool, error) {
	return store.WriteValue(ctx, p.WriteWithoutForeignKeys, now, func(tx *store.Tx) (bool, error) {
		if err := run.Begin(ctx, tx); err != nil {
			return false, err
		}
		return tx.Changed(ctx, "erase tenant", `DELETE FROM tenant WHERE alias = ?`, string(run.Tenant))
	})
}

// EraseRows deletes up to limit rows of a table that belong to the erased tenant of a run,
// and returns how many it deleted. In a file their bytes are overwritten.
func EraseRows(ctx context.Context, p *store.Primary, now core.Time, t Table, run Run, limit int) (int, error) {
	return store.WriteValue(ctx, p.WriteWithoutForeignKeys, now, func(tx *store.Tx) (int, error) {
		if err := run.Check(ctx, tx); err != nil {
			return 0, err
		}
		if p.Embedded() {
			if err := tx.Exec(ctx, "erase rows", `PRAGMA secure_delete = ON`); err != nil {
				return 0, err
			}
		}
		if t.Name == users {
			if err := userdb.MergeIndex(ctx, tx, limit); err != nil {
				return 0, err
			}
		}
		return tx.Count(ctx, "erase rows of "+t.Name, `DELETE FROM `+quoted(t.Name)+` WHERE (`+t.quotedKey()+`) IN (
			SELECT `+t.quotedKey()+` FROM `+quoted(t.Name)+` WHERE `+quoted(t.Tenant)+` = ? LIMIT ?)`, string(run.Tenant), limit)
	})
}
