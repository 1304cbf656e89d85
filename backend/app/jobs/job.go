// Package jobs has the use cases of jobs: uploading, validating and importing files,
// exporting rows, and downloading the files of jobs.
//
// A worker leases a job, and renews the lease while it works. If its process stops, the
// lease is released (package leases), another worker continues the job, and nothing that
// the first one does from then on is stored. Of an import, source.go reads the file, rows.go parses its rows, import.go
// applies them in batches, and chunk.go and chunkfile.go make its result files.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/rewards"
	"kith/backend/app/users"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/job"
	"kith/core/operation"
	"kith/core/webhook"
	"kith/core/wire"
)

// Jobs creates and runs jobs.
type Jobs struct {
	*base.Base
	Files       *Files
	Erasures    *users.Erasures
	Redemptions *rewards.Redemptions
	// Wake is called after a job was created, to wake the workers that run jobs. It
	// must not block, and must not be nil.
	Wake func()
	// Logged is called after rows of an import were applied, to wake the worker that
	// processes the events among them. It must not block, and must not be nil.
	Logged func()
	// RetryAfter is how long a job waits that has failed, before it is run again. Zero
	// means DefaultRetry.
	RetryAfter time.Duration
	// CallTime is how long a call runs a small job that it creates; after that, the
	// workers run it. Zero means DefaultCallTime.
	CallTime time.Duration
	// BatchTime is how long a batch of an import should take. Zero means 45 ms on a file and
	// 200 ms on a server.
	BatchTime time.Duration

	// batching is locked during a batch and the pause after it: batches of another import would
	// fill the pause, in which other processes can get the lock of the file.
	batching sync.Mutex

	failed failures
}

// DefaultRetry is the default of Jobs.RetryAfter.
const DefaultRetry = 15 * time.Second

// renewEvery is the interval at which a worker renews the lease of its job.
const renewEvery = 2 * time.Second

// maxTries is the number of attempts without progress after which a job is aborted. A job
// may crash its worker each time.
const maxTries = 5

// DefaultCallTime is the default of Jobs.CallTime.
const DefaultCallTime = 10 * time.Second

// releaseTimeout bounds the time that a stopped worker takes to release its job, or to
// delete the chunks of a job that has ended.
const releaseTimeout = 5 * time.Second

// ErrLeaseLost means that the lease of a job was released and another worker has the job,
// or that the job was deleted. Nothing that the worker did since then was stored. It is
// not a failure of the job.
var ErrLeaseLost = errors.New("app: another worker has the job, or the job was deleted")

// aborted is an error that no further attempt can solve: it ends the job, with reason as
// its message.
type aborted struct{ reason string }

func (a aborted) Error() string { return a.reason }

// Create creates a job (spec 4.1.3). A small job runs before Create returns, for CallTime
// at most; others wait for a worker. An unknown file of an import is a not-found error
// about "fileRef". If the job in.Once was created before, it is a conflict.
func (js *Jobs) Create(ctx context.Context, tenant core.TenantAlias, in job.Input) (job.Job, error) {
	once := in.Once
	if in.Once = ""; once != "" && !core.ValidID(once) {
		return job.Job{}, core.Invalid("once", "is not an id; open the page again")
	}
	small, err := js.small(ctx, tenant, in)
	if err != nil {
		return job.Job{}, err
	}
	type created struct {
		job.Job
		lease jobdb.Lease
	}
	made, err := store.WriteValue(ctx, js.DB.Write, js.Now(), func(tx *store.Tx) (made created, err error) {
		made.Job = job.Job{ID: cmp.Or(once, js.IDAt(tx.Now)), Input: in, Status: job.Pending, Created: tx.Now}
		if once != "" {
			before, ok, err := jobdb.Job(ctx, tx.Reads, tenant, once)
			if err == nil && ok {
				err = &core.Error{
					Code: core.CodeConflict, Field: "once", Message: "this job was created before; open the page again to create another one",
					Differs: before.Input != in,
				}
			}
			if err != nil {
				return made, err
			}
		}
		err = jobdb.InsertJob(ctx, tx, tenant, made.Job)
		if err == nil && in.Type.Import() {
			err = jobdb.ExtendFile(ctx, tx, tenant, in.File, tx.Now+job.Life)
		}
		if err != nil {
			return made, err
		}
		if small {
			token, err := js.Lease(ctx, tx)
			if err != nil {
				return made, err
			}
			if made.lease, _, err = jobdb.LeaseJob(ctx, tx, tenant, made.ID, token); err != nil {
				return made, err
			}
		}
		if in.Type.Import() {
			return made, nil
		}
		return made, js.Emit(ctx, tx, tenant, webhook.ExportCreated, wire.JobEvent(made.Job))
	})
	if err != nil {
		return job.Job{}, err
	}
	if small && js.workNow(ctx, made.lease) {
		return js.ByID(ctx, tenant, made.ID)
	}
	js.Wake()
	return made.Job, nil
}

// workNow runs a job within a call, and reports whether it ended. If it did not, the
// workers run it again, and log its error.
func (js *Jobs) workNow(ctx context.Context, l jobdb.Lease) bool {
	// The job continues even if the caller disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(js.CallTime, DefaultCallTime))
	defer cancel()
	err := js.work(ctx, l)
	if err != nil {
		js.failed.report(l.ID, full(err))
		js.release(ctx, l)
	}
	return err == nil
}

// ByID returns a job, or a not-found error.
func (js *Jobs) ByID(ctx context.Context, tenant core.TenantAlias, id string) (job.Job, error) {
	j, err := find(ctx, js.DB.Reads, tenant, id)
	js.failed.describe(&j)
	return j, err
}

// find returns a job as stored, or a not-found error.
func find(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (job.Job, error) {
	j, ok, err := jobdb.Job(ctx, r, tenant, id)
	if err == nil && !ok {
		err = core.NotFound("there is no such job")
	}
	return j, err
}

// ByIDFor is ByID for a caller. If the role of the caller's key does not permit reading
// exports, an export is not found.
func (js *Jobs) ByIDFor(ctx context.Context, c base.Caller, id string) (job.Job, error) {
	j, err := js.ByID(ctx, c.Tenant.Alias, id)
	if err == nil && !j.Type.Import() && c.Require(operation.ReadExports, "exports") != nil {
		return job.Job{}, core.NotFound("there is no such job")
	}
	return j, err
}

// List returns a page of the jobs that match the filter, the newest first, and their
// total number.
func (js *Jobs) List(ctx context.Context, tenant core.TenantAlias, f job.Filter) ([]job.Job, int, error) {
	page, total, err := jobdb.Jobs(ctx, js.DB.Lists, tenant, f)
	for i := range page {
		js.failed.describe(&page[i])
	}
	return page, total, err
}

// ListFor is List for a caller. If the role of the caller's key does not permit reading
// exports, it lists only imports.
func (js *Jobs) ListFor(ctx context.Context, c base.Caller, f job.Filter) ([]job.Job, int, error) {
	if c.Require(operation.ReadExports, "exports") != nil {
		f.Operation = job.Mutation
	}
	return js.List(ctx, c.Tenant.Alias, f)
}

// Stop ends an import that waits or runs after the rows that it has applied, with the files about
// them, and returns it. Its message then says who stopped it. An import that has ended is not
// changed. An unknown job is a not-found error.
func (js *Jobs) Stop(ctx context.Context, tenant core.TenantAlias, id, who string) (job.Job, error) {
	return store.WriteValue(ctx, js.DB.Write, js.Now(), func(tx *store.Tx) (job.Job, error) {
		j, err := find(ctx, tx.Reads, tenant, id)
		switch {
		case err != nil:
			return j, err
		case !j.Type.Import():
			return j, core.Invalid("id", "must be that of an import; to stop an export, delete it")
		case j.Status == job.Pending && j.Message == "":
			j.Message = job.StoppedBy + who
			err = jobdb.StopJob(ctx, tx, tenant, id, j.Message)
		}
		return j, err
	})
}

// Delete removes a job, and lets its files expire now, but an upload that another job has
// read. If the job is running, it stops
// at its next renewal of the lease. Delete returns the number of removed jobs, 0 or 1.
func (js *Jobs) Delete(ctx context.Context, tenant core.TenantAlias, id string) (deleted int, err error) {
	return store.WriteValue(ctx, js.DB.Write, js.Now(), func(tx *store.Tx) (deleted int, err error) {
		j, ok, err := jobdb.Job(ctx, tx.Reads, tenant, id)
		if err != nil || !ok {
			return deleted, err
		}
		if _, err := jobdb.DeleteJob(ctx, tx, tenant, id); err != nil {
			return deleted, err
		}
		for _, ref := range []core.FileRef{j.File, j.Result, j.Errors} {
			if err := jobdb.ExpireFile(ctx, tx, tenant, ref); err != nil {
				return deleted, err
			}
		}
		return 1, nil
	})
}

// Work runs the job of any tenant that has waited longest. It returns false if no job
// waits. The error is ErrLeaseLost if another worker took the job over. If ctx is
// cancelled, Work releases the job, so that another worker continues it at once. A job
// that failed waits for RetryAfter.
func (js *Jobs) Work(ctx context.Context) (bool, error) {
	waits := func() (bool, error) { return js.Waiting(ctx) }
	l, err := base.Take(ctx, js.Base, waits, func(tx *store.Tx, token string) (jobdb.Lease, error) {
		l, _, err := jobdb.LeaseNext(ctx, tx, token)
		return l, err
	})
	if err != nil || l.ID == "" {
		return false, err
	}
	err = js.work(ctx, l)
	js.failed.report(l.ID, full(err))
	switch {
	case err == nil, errors.Is(err, ErrLeaseLost):
	case ctx.Err() != nil:
		js.release(ctx, l)
	default:
		js.failed.put([]failure{{lease: l, at: time.Now(), free: full(err)}})
	}
	return true, err
}

// full reports whether err is that of a disk without space: of the database, or of the
// files of jobs.
func full(err error) bool {
	// The error of a commit has only its text, as all errors of a server.
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		err != nil && strings.Contains(err.Error(), "database or disk is full")
}

// whileFull returns err, as an error of the code unavailable if the disk has no space for an
// upload.
func whileFull(err error) error {
	if !full(err) || store.IsUnavailable(err) {
		return err
	}
	return &core.Error{Code: core.CodeUnavailable, Message: "the disk of the service is full; send the file again when there is space", Err: err}
}

// fullMessage is the message of a pending job that waits for space. It is not stored: the
// database may be what is full.
const fullMessage = "the disk of the service is full; the job continues by itself when there is space"

// Waiting releases the jobs of this process that failed and have waited for RetryAfter. It
// reports whether any job waits for a worker.
func (js *Jobs) Waiting(ctx context.Context) (bool, error) {
	if due := js.failed.due(time.Now().Add(-cmp.Or(js.RetryAfter, DefaultRetry))); len(due) > 0 {
		err := js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error {
			for _, f := range due {
				if err := jobdb.ReleaseLease(ctx, tx, f.lease, !f.free); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			js.failed.put(due)
			return false, err
		}
	}
	return jobdb.AnyWaiting(ctx, js.DB.Reads)
}

// failures has the jobs that failed and whose lease this process keeps until they may be
// run again. It does not use the clock that can be set.
type failures struct {
	mu   sync.Mutex
	list []failure
	// full has the ids of the jobs that wait for space on a disk. There are as many as
	// have run at the same time.
	full map[string]bool
}

type failure struct {
	lease jobdb.Lease
	at    time.Time
	// free is true if the attempt does not count: the disk was full, or the database away.
	free bool
}

// report records whether the last attempt at a job met a full disk.
func (fs *failures) report(id string, full bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !full {
		delete(fs.full, id)
		return
	}
	if fs.full == nil {
		fs.full = map[string]bool{}
	}
	fs.full[id] = true
}

// describe sets the message of a job that waits for space.
func (fs *failures) describe(j *job.Job) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if j.Status == job.Pending && j.Message == "" && fs.full[j.ID] {
		j.Message = fullMessage
	}
}

func (fs *failures) put(list []failure) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = append(fs.list, list...)
}

// due removes and returns the jobs that failed at the given time or before.
func (fs *failures) due(at time.Time) (due []failure) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = slices.DeleteFunc(fs.list, func(f failure) bool {
		is := !f.at.After(at)
		if is {
			due = append(due, f)
		}
		return is
	})
	return due
}

// release ends the lease of a job, so that another worker can run it at once. While the
// database is away, Waiting does it later. When the process stops, others do it.
func (js *Jobs) release(ctx context.Context, l jobdb.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error { return jobdb.ReleaseLease(ctx, tx, l, false) }) != nil {
		js.failed.put([]failure{{lease: l, free: true}})
	}
}

// work runs a leased job until it has completed or was aborted. If it returns an error,
// the job is still pending and leased.
func (js *Jobs) work(ctx context.Context, l jobdb.Lease) error {
	if l.Tries > maxTries {
		return js.abort(ctx, l, "aborted after 5 attempts without progress")
	}
	run := js.export
	if l.Type.Import() {
		run = js.load
	}
	err := run(ctx, &l)
	if fatal, ok := errors.AsType[aborted](err); ok {
		return js.abort(ctx, l, fatal.reason)
	}
	if err != nil {
		return err
	}
	l.Status = job.Completed
	return js.finish(ctx, l)
}

func (js *Jobs) abort(ctx context.Context, l jobdb.Lease, reason string) error {
	l.Status, l.Message = job.Aborted, reason
	return js.finish(ctx, l)
}

// finish ends a job and emits its webhook event.
func (js *Jobs) finish(ctx context.Context, l jobdb.Lease) error {
	dropped, err := store.WriteValue(ctx, js.DB.Write, js.Now(), func(tx *store.Tx) (dropped int, err error) {
		l := l
		l.Completed, l.Expires = tx.Now, tx.Now+job.Life
		ok, err := jobdb.FinishJob(ctx, tx, l)
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, ErrLeaseLost
		}
		for _, ref := range []core.FileRef{l.File, l.Result, l.Job.Errors} {
			if err := jobdb.ExtendFile(ctx, tx, l.Tenant, ref, l.Expires); err != nil {
				return 0, err
			}
		}
		event := webhook.ExportCompleted
		if l.Type.Import() {
			event = webhook.JobCompleted
			if dropped, err = jobdb.DeleteChunks(ctx, tx, l.Tenant, l.ID, chunkBatch); err != nil {
				return 0, err
			}
		}
		return dropped, js.Emit(ctx, tx, l.Tenant, event, wire.JobEvent(l.Job))
	})
	if err != nil {
		return err
	}
	if l.Type.Import() {
		return js.dropChunks(ctx, l, dropped)
	}
	if l.Status == job.Completed {
		js.ReportWork(base.WorkRows, string(l.Type), base.OutcomeDone, l.Stats.Processed)
	}
	return nil
}

// renew stores the progress of a job and renews its lease.
func (js *Jobs) renew(ctx context.Context, l jobdb.Lease) error {
	return js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error {
		ok, err := jobdb.RenewLease(ctx, tx, l, js.RenewedToken())
		if err == nil && !ok {
			err = ErrLeaseLost
		}
		return err
	})
}
