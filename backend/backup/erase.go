package backup

import (
	"context"
	"time"

	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/tabledb"
	"kith/core"
)

// commandPause is how long a command that works beside servers on one database file lets pass
// between two transactions: other processes can only poll the write lock, a few times in a second
// that a call waits for it.
const commandPause = 15 * time.Millisecond

// newSizer returns the sizer of the transactions of a command beside servers.
func newSizer(db *store.Primary) *store.BatchSizer {
	sizer := store.NewBatchSizer(db.Embedded(), 0)
	if sizer.Pause > 0 {
		sizer.Pause = commandPause
	}
	return sizer
}

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
		sizer := newSizer(db) // a row of one table takes many times as long as one of another
		for {
			size, begun := sizer.Size(), time.Now()
			n, err := tabledb.EraseRows(ctx, db, now(), t, run, size)
			if err != nil {
				return err
			}
			if n > 0 && erased != nil {
				erased(t.Name, n)
			}
			if n < size {
				break
			}
			sizer.Took(n, time.Since(begun))
			time.Sleep(sizer.Pause)
		}
	}
	return nil
}
