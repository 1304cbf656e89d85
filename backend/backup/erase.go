package backup

import (
	"context"

	"kith/backend/file"
	"kith/backend/store"
	"kith/core"
)

// eraseBatch is how many rows are erased in one transaction: it holds the write
// lock.
const eraseBatch = 2000

// Erase removes a tenant with all that it has, rows and files, in bounded
// batches. The tenant is unknown from the first of them on. An erasure that was
// killed goes on where it was when it is called again. erased is told how many
// rows of which table went. A tenant of whom there is nothing is not found.
func Erase(ctx context.Context, db *store.Primary, files file.Store, now func() core.Time, tenant core.TenantAlias, erased func(table string, n int)) error {
	was, err := db.EraseTenant(ctx, now(), tenant)
	if err != nil {
		return err
	}
	rest, err := db.HasRows(ctx, tenant)
	if err == nil && !was && !rest {
		err = core.UnknownTenant()
	}
	// A call that was under way may have written behind what was erased.
	for err == nil && rest {
		if err = EraseRows(ctx, db, files, now, tenant, erased); err == nil {
			rest, err = db.HasRows(ctx, tenant)
		}
	}
	if err != nil {
		return err
	}
	return db.Checkpoint(ctx)
}

// EraseRows removes what is left of a tenant who is not there.
func EraseRows(ctx context.Context, db *store.Primary, files file.Store, now func() core.Time, tenant core.TenantAlias, erased func(table string, n int)) error {
	all, err := db.Tables(ctx)
	if err != nil {
		return err
	}
	// A file goes before its row, so that none is forgotten.
	kept, err := db.Files(ctx, tenant)
	if err != nil {
		return err
	}
	for _, f := range kept {
		if err := files.Remove(ctx, f.Ref); err != nil {
			return err
		}
	}
	for _, t := range all {
		if t.Tenant == "" || t.Name == tenantTable {
			continue
		}
		for {
			n, err := db.EraseRows(ctx, now(), t, tenant, eraseBatch)
			if err != nil {
				return err
			}
			if n > 0 && erased != nil {
				erased(t.Name, n)
			}
			if n < eraseBatch {
				break
			}
		}
	}
	return nil
}
