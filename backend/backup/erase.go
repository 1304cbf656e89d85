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
// continues the erasure; if another call or a restore of the tenant begins, this one returns
// an error of the code conflict. erased is called with each table and the number of erased
// rows. A tenant without any row is not found.
func Erase(ctx context.Context, db *store.Primary, files file.Store, now func() core.Time, tenant core.TenantAlias, erased func(table string, n int)) error {
	run := tabledb.NewRun(tenant)
	was, err := tabledb.EraseTenant(ctx, db, now(), run)
	if err != nil {
		return err
	}
	rest, err := tabledb.HasRows(ctx, db.Reads, tenant)
	known := was || rest
	// A running call may have written rows into tables that were already erased.
	for err == nil && rest {
		if err = EraseRows(ctx, db, files, now, run, erased); err == nil {
			rest, err = tabledb.HasRows(ctx, db.Reads, tenant)
		}
	}
	if err == nil {
		err = db.Write(ctx, now(), func(tx *store.Tx) error { return run.End(ctx, tx) })
	}
	if err == nil && !known {
		err = core.UnknownTenant()
	}
	if err != nil {
		return err
	}
	return db.Checkpoint(ctx)
}

// EraseRows removes the remaining rows and files of the tenant of a run. The tenant's own
// row must be absent.
func EraseRows(ctx context.Context, db *store.Primary, files file.Store, now func() core.Time, run tabledb.Run, erased func(table string, n int)) error {
	all, err := tabledb.Tables(ctx, db.Reads)
	if err != nil {
		return err
	}
	// A file is removed before its row, so that no file is left without a row.
	kept, err := jobdb.Files(ctx, db.Reads, run.Tenant)
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
			n, err := tabledb.EraseRows(ctx, db, now(), t, run, eraseBatch)
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
