package backup

import (
	"context"

	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/tabledb"
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
	was, err := tabledb.EraseTenant(ctx, db, now(), tenant)
	if err != nil {
		return err
	}
	rest, err := tabledb.HasRows(ctx, db.Reads, tenant)
	if err == nil && !was && !rest {
		err = core.UnknownTenant()
	}
	// A call that was under way may have written behind what was erased.
	for err == nil && rest {
		if err = EraseRows(ctx, db, files, now, tenant, erased); err == nil {
			rest, err = tabledb.HasRows(ctx, db.Reads, tenant)
		}
	}
	if err != nil {
		return err
	}
	return db.Checkpoint(ctx)
}

// EraseRows removes what is left of a tenant who is not there.
func EraseRows(ctx context.Context, db *store.Primary, files file.Store, now func() core.Time, tenant core.TenantAlias, erased func(table string, n int)) error {
	all, err := tabledb.Tables(ctx, db.Reads)
	if err != nil {
		return err
	}
	// A file goes before its row, so that none is forgotten.
	kept, err := jobdb.Files(ctx, db.Reads, tenant)
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
			n, err := tabledb.EraseRows(ctx, db, now(), t, tenant, eraseBatch)
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
