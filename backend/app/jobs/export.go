package jobs

import (
	"cmp"
	"context"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store"
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
	// exportPage is how many rows of an export are in memory at a time.
	exportPage = 2000
	// smallExport is how many rows an export may have that is done at once: a
	// client that polls finds it complete at the first look (clients 7.3.2).
	smallExport = 5000
)

// CreateExport adds a REST export (clients 1.9.1).
func (js *Jobs) CreateExport(ctx context.Context, tenant core.TenantAlias, in job.Input) (job.Job, error) {
	return js.Create(ctx, tenant, in)
}

// Export returns a REST export, or a not-found error.
func (js *Jobs) Export(ctx context.Context, tenant core.TenantAlias, id string) (job.Job, error) {
	j, err := js.ByID(ctx, tenant, id)
	if err == nil && j.Type.Import() || base.IsNotFound(err) {
		return job.Job{}, core.NotFound("there is no such export")
	}
	return j, err
}

// Exports returns a page of the tenant's exports, the newest first, and how many
// there are in all.
func (js *Jobs) Exports(ctx context.Context, tenant core.TenantAlias, p base.Page) ([]job.Job, int, error) {
	return jobdb.Jobs(ctx, js.DB.Reads, tenant, job.Filter{Operation: job.Query, Limit: p.Limit, Offset: p.Offset})
}

// small reports whether a job is to be done within the call that creates it.
func (js *Jobs) small(ctx context.Context, tenant core.TenantAlias, in job.Input) (bool, error) {
	p, err := wire.ParseJobParams(in.Type, in.Params)
	if err != nil {
		return false, err
	}
	if in.Type.Import() {
		size, err := js.upload(ctx, tenant, in.File)
		return size <= smallImport && !strings.HasSuffix(string(in.File), importfile.GzipEnding), err
	}
	rows, err := jobdb.ExportCount(ctx, js.DB.Reads, tenant, in.Type, p, smallExport+1)
	return rows <= smallExport, err
}

// export writes the file of a claimed job.
func (js *Jobs) export(ctx context.Context, c *jobdb.Lease) (err error) {
	p, err := wire.ParseJobParams(c.Type, c.Params)
	if err != nil {
		return aborted{err.Error()}
	}
	p.At = js.Now()
	tenant, err := tenantdb.Find(ctx, js.DB.Reads, c.Tenant)
	if err != nil {
		return err
	}
	base := strings.ToLower(c.Type.Task())
	f, err := js.Files.createFile(ctx, c.Tenant, core.ExportFolder, base, c.Format.Extension())
	if err != nil {
		return err
	}
	defer f.Abort()
	rows, err := xlsx.New(c.Format, f, exportfile.Header(c.Type))
	if err != nil {
		return err
	}
	form := exportfile.Form{
		Format: c.Format, Dates: cmp.Or(p.Dates, tenant.ExportDates),
		Share: js.Share(tenant),
	}
	if err := js.exportRows(ctx, c, p, form, rows); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	c.Result = f.ref
	return f.Close()
}

// exportRows writes all rows, as they were at one moment. Between pages it shows
// that it is alive.
func (js *Jobs) exportRows(ctx context.Context, c *jobdb.Lease, p job.Params, form exportfile.Form, to xlsx.Writer) error {
	c.Stats = job.Stats{}
	kept := js.Now()
	return js.DB.Snapshot(ctx, func(r store.Reads) error {
		var behind []string
		for {
			page, last, err := jobdb.ExportPage(ctx, r, c.Tenant, c.Type, p, behind, exportPage)
			if err != nil {
				return err
			}
			for _, row := range page {
				if err := to.Write(form.Row(c.Type, row)); err != nil {
					return err
				}
			}
			c.Stats.Processed += int64(len(page))
			if len(page) < exportPage {
				return nil
			}
			behind = last
			if now := js.Now(); now-kept > js.lease()/4 {
				if err := js.keep(ctx, *c); err != nil {
					return err
				}
				kept = now
			}
		}
	})
}
