// Package jobs holds the use cases of jobs: uploading, validating and importing files,
// exporting rows, and downloading what came of it. rows.go reads the rows of an
// import, import.go applies them, and part.go and partfile.go make its result files.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/rewards"
	"kith/backend/app/users"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/webhook"
	"kith/core/wire"
)

// Jobs import and export many rows.
type Jobs struct {
	*base.Base
	Files       *Files
	Erasures    *users.Erasures
	Redemptions *rewards.Redemptions
	// Wake is called after a job was made, for the workers that do jobs. It must not
	// block.
	Wake func()
	// Logged is called after rows of an import were applied, for the worker that
	// processes the events among them. It must not block.
	Logged func()
	// Lease is how long a worker holds a job without a sign of life before others
	// take it for dead; zero means DefaultLease.
	Lease core.Time
	// CallTime is how long a call works on a small job that it creates before it
	// leaves the job to the workers; zero means DefaultCallTime.
	CallTime time.Duration
}

// DefaultLease is how long a worker holds a job without a sign of life
// before others take it for dead.
const DefaultLease = 15 * core.Second

// maxTries is how often a job is taken up without coming on before it is given
// up: one that brings its worker down each time must not do so for ever.
const maxTries = 5

// DefaultCallTime is how long a call works on a small job that it creates.
const DefaultCallTime = 10 * time.Second

// leaveTime bounds how long a worker that is to stop takes over giving its job
// back.
const leaveTime = 5 * time.Second

// ErrLeaseLost says that another worker has taken the job over, since the lease
// had ended, or that it was deleted. It is no failure: nothing of what the worker
// did since then was stored.
var ErrLeaseLost = errors.New("program: the job is another worker's now")

// aborted is a problem that no further attempt will solve: the job ends with it.
type aborted struct{ reason string }

func (a aborted) Error() string { return a.reason }

// Create adds a job (spec 4.1.3). One that is small is done before
// this returns; others wait for a worker.
func (js *Jobs) Create(ctx context.Context, tenant core.TenantAlias, in job.Input) (job.Job, error) {
	small, err := js.small(ctx, tenant, in)
	if err != nil {
		return job.Job{}, err
	}
	var made job.Job
	var c jobdb.Lease
	err = js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error {
		made = job.Job{ID: js.IDAt(tx.Now), Input: in, Status: job.Pending, Created: tx.Now}
		if err := jobdb.InsertJob(ctx, tx, tenant, made); err != nil {
			return err
		}
		if small {
			if c, _, err = jobdb.LeaseJob(ctx, tx, tenant, made.ID, js.leaseEnd(tx.Now)); err != nil {
				return err
			}
		}
		if in.Type.Import() {
			return nil
		}
		return js.Emit(ctx, tx, tenant, webhook.ExportCreated, wire.JobEvent(made))
	})
	if err != nil {
		return job.Job{}, err
	}
	if small && js.workNow(ctx, c) {
		return js.ByID(ctx, tenant, made.ID)
	}
	js.Wake()
	return made, nil
}

// workNow does a job within a call. What goes wrong is left to the workers, who
// try again, and say what it was.
func (js *Jobs) workNow(ctx context.Context, c jobdb.Lease) bool {
	// The job goes on when the caller does not wait for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(js.CallTime, DefaultCallTime))
	defer cancel()
	err := js.work(ctx, c)
	if err != nil {
		js.leave(ctx, c)
	}
	return err == nil
}

// ByID returns a job, or a not-found error.
func (js *Jobs) ByID(ctx context.Context, tenant core.TenantAlias, id string) (job.Job, error) {
	j, ok, err := jobdb.Job(ctx, js.DB.Reads, tenant, id)
	if err == nil && !ok {
		err = core.NotFound("there is no such job")
	}
	return j, err
}

// ByIDFor is ByID for a caller: to a key that does not permit exports, there are only
// imports.
func (js *Jobs) ByIDFor(ctx context.Context, c base.Caller, id string) (job.Job, error) {
	j, err := js.ByID(ctx, c.Tenant.Alias, id)
	if err == nil && !j.Type.Import() && c.Require(auth.ReadExports) != nil {
		return job.Job{}, core.NotFound("there is no such job")
	}
	return j, err
}

// List returns a page of jobs, the newest first, and how many there are in all.
func (js *Jobs) List(ctx context.Context, tenant core.TenantAlias, f job.Filter) ([]job.Job, int, error) {
	return jobdb.Jobs(ctx, js.DB.Reads, tenant, f)
}

// ListFor is List for a caller, as ByIDFor is ByID.
func (js *Jobs) ListFor(ctx context.Context, c base.Caller, f job.Filter) ([]job.Job, int, error) {
	if c.Require(auth.ReadExports) != nil {
		f.Operation = job.Mutation
	}
	return js.List(ctx, c.Tenant.Alias, f)
}

// Delete forgets a job and lets its files go; a job that runs is stopped. It
// returns how many there were: 0 or 1.
func (js *Jobs) Delete(ctx context.Context, tenant core.TenantAlias, id string) (deleted int, err error) {
	err = js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error {
		j, ok, err := jobdb.Job(ctx, tx.Reads, tenant, id)
		if err != nil || !ok {
			return err
		}
		for _, ref := range []core.FileRef{j.Result, j.Errors} {
			if err := jobdb.ExpireFile(ctx, tx, tenant, ref); err != nil {
				return err
			}
		}
		if _, err := jobdb.DeleteJob(ctx, tx, tenant, id); err != nil {
			return err
		}
		deleted = 1
		return nil
	})
	return deleted, err
}

// Work does the job that has waited longest, of any tenant; false means that
// none waits. A job that was lost on the way is ErrLeaseLost.
func (js *Jobs) Work(ctx context.Context) (bool, error) {
	// Looking first spares an idle database a write lock at every tick.
	if waits, err := jobdb.AnyWaiting(ctx, js.DB.Reads, js.Now()); err != nil || !waits {
		return false, err
	}
	var c jobdb.Lease
	var ok bool
	err := js.DB.Write(ctx, js.Now(), func(tx *store.Tx) (err error) {
		c, ok, err = jobdb.LeaseNext(ctx, tx, js.leaseEnd(tx.Now))
		return err
	})
	if err != nil || !ok {
		return false, err
	}
	err = js.work(ctx, c)
	if err != nil && ctx.Err() != nil {
		js.leave(ctx, c)
	}
	return true, err
}

// leave gives a job back when the worker is told to stop. What goes wrong with
// it the lease will mend.
func (js *Jobs) leave(ctx context.Context, c jobdb.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	_ = js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error { return jobdb.ReleaseLease(ctx, tx, c) })
}

// work does a claimed job up to its end, good or bad. An error means that it is
// still pending, and will be taken up again when its lease has ended.
func (js *Jobs) work(ctx context.Context, c jobdb.Lease) error {
	if c.Tries > maxTries {
		return js.abort(ctx, c, "aborted after 5 attempts without progress")
	}
	carryOut := js.export
	if c.Type.Import() {
		carryOut = js.load
	}
	err := carryOut(ctx, &c)
	var fatal aborted
	if errors.As(err, &fatal) {
		return js.abort(ctx, c, fatal.reason)
	}
	if err != nil {
		return err
	}
	c.Status = job.Completed
	return js.finish(ctx, c)
}

func (js *Jobs) abort(ctx context.Context, c jobdb.Lease, reason string) error {
	c.Status, c.Message = job.Aborted, reason
	return js.finish(ctx, c)
}

// finish ends a job and tells of it.
func (js *Jobs) finish(ctx context.Context, c jobdb.Lease) error {
	dropped := 0
	err := js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error {
		c.Completed, c.Expires = tx.Now, tx.Now+job.Life
		ok, err := jobdb.FinishJob(ctx, tx, c)
		if err != nil {
			return err
		}
		if !ok {
			return ErrLeaseLost
		}
		for _, ref := range []core.FileRef{c.File, c.Result, c.Job.Errors} {
			if err := jobdb.ExtendFile(ctx, tx, c.Tenant, ref, c.Expires); err != nil {
				return err
			}
		}
		event := webhook.ExportCompleted
		if c.Type.Import() {
			event = webhook.JobCompleted
			if dropped, err = jobdb.DeleteChunks(ctx, tx, c.Tenant, c.ID, mostDropped); err != nil {
				return err
			}
		}
		return js.Emit(ctx, tx, c.Tenant, event, wire.JobEvent(c.Job))
	})
	if err != nil {
		return err
	}
	if c.Type.Import() {
		return js.dropMore(ctx, c, dropped)
	}
	if c.Status == job.Completed {
		js.ReportWork(base.WorkRows, string(c.Type), base.OutcomeDone, c.Stats.Processed)
	}
	return nil
}

// keep stores how far a job has come and prolongs its lease.
func (js *Jobs) keep(ctx context.Context, c jobdb.Lease) error {
	return js.DB.Write(ctx, js.Now(), func(tx *store.Tx) error {
		ok, err := jobdb.RenewLease(ctx, tx, c, js.leaseEnd(tx.Now))
		if err == nil && !ok {
			err = ErrLeaseLost
		}
		return err
	})
}

func (js *Jobs) lease() core.Time { return cmp.Or(js.Lease, DefaultLease) }

func (js *Jobs) leaseEnd(now core.Time) core.Time { return now + js.lease() }
