package backup

import (
	"context"

	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/tabledb"
	"kith/core"
)

// eraseBatch is the number of rows that are erased in one transaction. Other writes
// wait while it runs.
const eraseBatch = 2000

// Erase removes a tenant with all its rows and files, in bounded batches. After the
// first batch the tenant is unknown. If the process is killed, calling Erase again
// continues the erasure. erased is called with each table and the number of erased
// rows. A tenant without any row is not found.
func Erase(ctx context.Context, db *store.Primary, files file.Store, now func() core.Time, tenant core.TenantAlias, erased func(table string, n int)) error {
	was, err := tabledb.EraseTenant(ctx, db, now(), tenant)
	if err != nil {
		return err
	}
	rest, err := tabledb.HasRows(ctx, db.Reads, tenant)
	if err == nil && !was && !rest {
		err = core.UnknownTenant()
	}
	// A running call may have written rows into tables that were already erased.
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

// EraseRows removes the remaining rows and files of a tenant that was deleted.
func EraseRows(ctx context.Context, db *store.Primary, files file.Store, now func() core.Time, tenant core.TenantAlias, erased func(table string, n int)) error {
	all, err := tabledb.Tables(ctx, db.Reads)
	if err != nil {
		return err
	}
	// A file is removed before its row, so that no file is left without a row.
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
