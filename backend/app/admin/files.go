package admin

import (
	"context"
	"io"
	"slices"
	"strings"

	"kith/backend/app/base"
	"kith/backend/app/jobs"
	"kith/backend/app/sshkey"
	"kith/backend/app/tenants"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/wire"
)

// Files are the files that a tenant imports and exports, and the jobs that do so.
type Files struct {
	Base *base.Base
	Jobs *jobs.Jobs
}

// Check reads a file as its import would, counts the rows that would be rejected, and
// returns the first problems; see jobs.Jobs.Check, and Propose if columns is nil.
func (fs *Files) Check(ctx context.Context, c people.Caller, t job.Type, ref core.FileRef, columns importfile.Mapping) (jobs.Checked, error) {
	if err := operation.ReadImports.Require(c); err != nil {
		return jobs.Checked{}, err
	}
	const shown = 20
	if columns == nil {
		return fs.Jobs.Propose(ctx, c.Tenant, t, ref, shown)
	}
	return fs.Jobs.Check(ctx, c.Tenant, t, ref, columns, shown)
}

// Import starts the import of a file; see jobs.Jobs.Create. The columns that its params choose
// are the proposal for the next file with the same header.
func (fs *Files) Import(ctx context.Context, c people.Caller, in job.Input) (job.Job, error) {
	if err := operation.StartImport.Require(c); err != nil {
		return job.Job{}, err
	}
	p, err := wire.ParseJobParams(in.Type, in.Params)
	if err == nil && p.Columns != nil {
		err = fs.Jobs.Remember(ctx, c.Tenant, in.Type, in.File, p.Columns)
	}
	if err != nil {
		return job.Job{}, err
	}
	return fs.start(ctx, c, operation.StartImport, in)
}

// Export starts an export; see jobs.Jobs.Create.
func (fs *Files) Export(ctx context.Context, c people.Caller, in job.Input) (job.Job, error) {
	return fs.start(ctx, c, operation.StartExport, in)
}

func (fs *Files) start(ctx context.Context, c people.Caller, op *operation.Operation, in job.Input) (made job.Job, err error) {
	in.Requester = c.Email
	change := base.Change{Operation: op, Subject: subject(in), After: map[string]string{"type": string(in.Type), "params": in.Params}}
	return base.ActValue(ctx, fs.Base, c, change, func(ctx context.Context, _ *base.Change) (job.Job, error) {
		if in.Type.Import() != (op == operation.StartImport) {
			return made, core.Invalid("type", "is not a type of this kind; choose one of the list")
		}
		return fs.Jobs.Create(ctx, c.Tenant, in)
	})
}

// subject names a job in the audit log: by its name, or else by what it does.
func subject(in job.Input) string {
	if in.Name != "" {
		return in.Name
	}
	return strings.ToLower(in.Type.Task())
}

// List returns a page of the imports and exports that match a filter, the newest first, and
// their total number. Exports are left out for a role that may not run them.
func (fs *Files) List(ctx context.Context, c people.Caller, f job.Filter) ([]job.Job, int, error) {
	if err := operation.ReadImports.Require(c); err != nil {
		return nil, 0, err
	}
	if !operation.ReadExports.Permits(c.Role) {
		f.Operation = job.Mutation
	}
	return fs.Jobs.List(ctx, c.Tenant, f)
}

// Job returns an import or an export, or a not-found error.
func (fs *Files) Job(ctx context.Context, c people.Caller, id string) (job.Job, error) {
	if err := operation.ReadImports.Require(c); err != nil {
		return job.Job{}, err
	}
	j, err := fs.Jobs.ByID(ctx, c.Tenant, id)
	if err == nil && !j.Type.Import() {
		err = operation.ReadExports.Require(c)
	}
	return j, err
}

// Download finds a file of an import or an export; see jobs.Jobs.Download. The audit log has
// an entry for each download, because most files have data of users.
func (fs *Files) Download(ctx context.Context, c people.Caller, id string, which job.Attachment) (d jobs.Download, err error) {
	j, err := fs.Job(ctx, c, id)
	if err != nil {
		return d, err
	}
	change := base.Change{Operation: operation.DownloadFile, Subject: subject(j.Input), After: map[string]string{"type": string(j.Type), "file": string(which)}}
	return base.ActValue(ctx, fs.Base, c, change, func(ctx context.Context, _ *base.Change) (jobs.Download, error) {
		return fs.Jobs.Download(ctx, c.Tenant, id, which)
	})
}

// WriteRejected writes the rejected rows of an import, to be corrected; see
// jobs.Jobs.WriteRejected. The audit log has an entry for it, as for Download.
func (fs *Files) WriteRejected(ctx context.Context, c people.Caller, id string, out io.Writer) error {
	j, err := fs.Job(ctx, c, id)
	if err != nil {
		return err
	}
	change := base.Change{Operation: operation.DownloadFile, Subject: subject(j.Input), After: map[string]string{"type": string(j.Type), "file": "rejected"}}
	return fs.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		return fs.Jobs.WriteRejected(ctx, c.Tenant, id, out)
	})
}

// Stop ends an import that waits or runs; see jobs.Jobs.Stop. One that has ended is not changed,
// and the audit log has no entry for it.
func (fs *Files) Stop(ctx context.Context, c people.Caller, id string) error {
	j, err := fs.Job(ctx, c, id)
	if err != nil || j.Status != job.Pending {
		return err
	}
	change := base.Change{Operation: operation.StopImport, Subject: subject(j.Input), After: map[string]any{"type": string(j.Type), "processed": j.Stats.Processed}}
	return fs.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		_, err := fs.Jobs.Stop(ctx, c.Tenant, id, c.Email)
		return err
	})
}

// Remove removes an import or an export, with the files that it wrote. One that is running
// stops; the rows that it has imported stay.
func (fs *Files) Remove(ctx context.Context, c people.Caller, id string) error {
	j, err := fs.Job(ctx, c, id)
	if err != nil {
		return err
	}
	change := base.Change{Operation: operation.RemoveJob, Subject: subject(j.Input), Before: map[string]any{
		"type": string(j.Type), "status": string(j.Status), "processed": j.Stats.Processed,
	}}
	return fs.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		_, err := fs.Jobs.Delete(ctx, c.Tenant, id)
		return err
	})
}

// SFTPKeys are the public keys of the clients that may send files of a tenant.
type SFTPKeys struct {
	Base *base.Base
	API  *tenants.SFTPKeys
}

// Add allows a public key, as ssh-keygen writes it, to send files, and returns it.
func (sk *SFTPKeys) Add(ctx context.Context, c people.Caller, text string) (key tenantdb.SFTPKey, err error) {
	change := base.Change{Operation: operation.AddSFTPKey}
	err = sk.Base.Act(ctx, c, change, func(ctx context.Context, change *base.Change) error {
		if key, err = sshkey.Parse([]byte(text)); err != nil {
			return err
		}
		change.Subject, change.After = key.Fingerprint, map[string]string{"type": key.Type, "note": key.Note}
		known, err := sk.API.Known(ctx, c.Tenant, key.Fingerprint)
		if err == nil && known {
			err = &core.Error{Code: core.CodeConflict, Field: "key", Message: "may send files already; nothing has changed"}
		}
		if err == nil {
			_, err = sk.API.Add(ctx, c.Tenant, key)
		}
		return err
	})
	if err != nil {
		return key, err
	}
	// As it is stored, with its time.
	all, err := sk.API.List(ctx, c.Tenant)
	if i := slices.IndexFunc(all, func(k tenantdb.SFTPKey) bool { return k.Fingerprint == key.Fingerprint }); i >= 0 {
		key = all[i]
	}
	return key, err
}

// Remove removes a key by its fingerprint, and closes its open sessions.
func (sk *SFTPKeys) Remove(ctx context.Context, c people.Caller, fingerprint string) error {
	change := base.Change{Operation: operation.RemoveSFTPKey, Subject: fingerprint}
	return sk.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		return sk.API.Remove(ctx, c.Tenant, fingerprint)
	})
}
