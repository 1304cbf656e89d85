package jobs

import (
	"cmp"
	"context"
	"strings"
	"time"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/jobdb"
	"kith/backend/store/tenantdb"
	"kith/backend/xlsx"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

const (
	// exportPage is the number of rows of an export that are in memory at a time.
	exportPage = 2000
	// smallExport is the number of rows up to which an export runs within the call that
	// creates it: a client that polls then finds it complete at once (clients 7.3.2).
	smallExport = 5000
)

// Export returns a job that is an export, or a not-found error.
func (js *Jobs) Export(ctx context.Context, tenant core.TenantAlias, id string) (job.Job, error) {
	j, err := js.ByID(ctx, tenant, id)
	if err == nil && j.Type.Import() || base.IsNotFound(err) {
		return job.Job{}, core.NotFound("there is no such export")
	}
	return j, err
}

// Exports returns a page of the tenant's exports, the newest first, and their total
// number.
func (js *Jobs) Exports(ctx context.Context, tenant core.TenantAlias, p base.Page) ([]job.Job, int, error) {
	return jobdb.Jobs(ctx, js.DB.Lists, tenant, job.Filter{Operation: job.Query, Limit: p.Limit, Offset: p.Offset})
}

// small reports whether a job is small enough to run within the call that creates it.
func (js *Jobs) small(ctx context.Context, tenant core.TenantAlias, in job.Input) (bool, error) {
	p, err := wire.ParseJobParams(in.Type, in.Params)
	if err != nil {
		return false, err
	}
	if _, err := base.ParseZone("params.timeZone", p.Zone); err != nil {
		return false, err
	}
	if in.Type.Import() {
		f, err := js.upload(ctx, tenant, in.File)
		return f.Size <= smallImport && !strings.HasSuffix(string(in.File), importfile.GzipEnding), err
	}
	rows, err := jobdb.ExportCount(ctx, js.DB.Reads, tenant, in.Type, p, smallExport+1)
	return rows <= smallExport, err
}

// export runs a leased export: it writes the file of the job. If the tenant has no room for
// the file, the job is aborted.
func (js *Jobs) export(ctx context.Context, l *jobdb.Lease) (err error) {
	defer func() { err = fatal(err) }()
	p, err := wire.ParseJobParams(l.Type, l.Params)
	if err != nil {
		return aborted{err.Error()}
	}
	p.At = js.Now()
	tenant, err := tenantdb.Find(ctx, js.DB.Reads, l.Tenant)
	if err != nil {
		return err
	}
	name := strings.ToLower(l.Type.Task())
	f, err := js.Files.createFile(ctx, l.Tenant, exportKind, name, l.Format.Extension(), 0)
	if err != nil {
		return err
	}
	defer f.Abort()
	zone, err := base.ParseZone("params.timeZone", cmp.Or(p.Zone, tenant.TimeZone))
	if err != nil {
		return err
	}
	file := exportfile.Form{
		Format: l.Format, Dates: cmp.Or(p.Dates, tenant.ExportDates), Zone: zone, Share: js.Share(tenant),
	}.File(l.Type)
	var types []exportfile.Cell
	if file.ForPeople() {
		types = file.Cells()
	}
	rows, err := xlsx.New(l.Format, f, file.Header(), types...)
	if err != nil {
		return err
	}
	if l.Type == job.UserEvent {
		if err := js.processIntake(ctx, *l); err != nil {
			return err
		}
	}
	if err := js.exportRows(ctx, l, p, file, rows); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	l.Result = f.ref
	return f.Close()
}

// processIntake stores the events that were accepted before an export of events begins, which
// is otherwise done within a second by a worker. It renews the lease between batches.
func (js *Jobs) processIntake(ctx context.Context, l jobdb.Lease) error {
	for {
		done, err := store.WriteValue(ctx, js.DB.Write, js.Now(), func(tx *store.Tx) (eventdb.Processed, error) {
			return eventdb.ProcessIntake(ctx, tx, exportPage/4)
		})
		if err != nil || !done.Left {
			return err
		}
		if err := js.renew(ctx, l); err != nil {
			return err
		}
	}
}

// exportRows writes all rows as of one moment, and renews the lease between pages.
func (js *Jobs) exportRows(ctx context.Context, l *jobdb.Lease, p job.Params, file exportfile.File, to xlsx.Writer) error {
	l.Stats = job.Stats{}
	return js.DB.Snapshot(ctx, func(r store.Reads) error {
		// With their number, the page of the export shows how many are left.
		total, err := jobdb.ExportCount(ctx, r, l.Tenant, l.Type, p, jobdb.AllRows)
		if err != nil {
			return err
		}
		l.Total = int64(total)
		renewed := time.Now()
		if total > smallExport {
			if err := js.renew(ctx, *l); err != nil {
				return err
			}
		}
		var after []string
		for {
			page, last, err := jobdb.ExportPage(ctx, r, l.Tenant, l.Type, p, after, exportPage)
			if err != nil {
				return err
			}
			for _, row := range page {
				if err := to.Write(file.Row(row)); err != nil {
					return err
				}
			}
			l.Stats.Processed += int64(len(page))
			if len(page) < exportPage {
				return nil
			}
			after = last
			if time.Since(renewed) > renewEvery {
				if err := js.renew(ctx, *l); err != nil {
					return err
				}
				renewed = time.Now()
			}
		}
	})
}
