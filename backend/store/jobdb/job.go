// Package jobdb has the SQL of jobs, of the rows that exports read, and of files.
package jobdb

import (
	"context"
	"strings"

	"kith/backend/store"
	"kith/backend/store/leasedb"
	"kith/core"
	"kith/core/job"
)

// Lease gives one worker the exclusive right to run a job until it is released. Writes are
// fenced by Attempt: if another worker has leased the job since, they change nothing.
type Lease struct {
	Tenant core.TenantAlias
	// Token is the token of the lease; see leasedb.
	Token string
	// Attempt is the number of the lease.
	Attempt int64
	// Tries is the number of leases since the job last made progress.
	Tries int64
	// Position is how much of its decompressed file an import has processed, in bytes.
	Position int64
	job.Job
}

var jobColumns = store.Selection[job.Job]{
	store.Col(`id`, func(j *job.Job) any { return &j.ID }),
	store.Col(`type`, func(j *job.Job) any { return &j.Type }),
	store.Col(`name`, func(j *job.Job) any { return &j.Name }),
	store.Col(`requester`, func(j *job.Job) any { return &j.Requester }),
	store.Col(`mail_to`, func(j *job.Job) any { return &j.MailTo }),
	store.Col(`format`, func(j *job.Job) any { return &j.Format }),
	store.Col(`params`, func(j *job.Job) any { return &j.Params }),
	store.Col(`coalesce(file, '')`, func(j *job.Job) any { return &j.File }),
	store.Col(`status`, func(j *job.Job) any { return &j.Status }),
	store.Col(`message`, func(j *job.Job) any { return &j.Message }),
	store.Col(`processed`, func(j *job.Job) any { return &j.Stats.Processed }),
	store.Col(`errors`, func(j *job.Job) any { return &j.Stats.Errors }),
	store.Col(`coalesce(result_file, '')`, func(j *job.Job) any { return &j.Result }),
	store.Col(`coalesce(errors_file, '')`, func(j *job.Job) any { return &j.Errors }),
	store.Col(`created_at`, func(j *job.Job) any { return &j.Created }),
	store.Col(`coalesce(completed_at, 0)`, func(j *job.Job) any { return &j.Completed }),
	store.Col(`coalesce(expires_at, 0)`, func(j *job.Job) any { return &j.Expires }),
	store.Col(`coalesce(started_at, 0)`, func(j *job.Job) any { return &j.Started }),
	store.Col(`coalesce(total, 0)`, func(j *job.Job) any { return &j.Total }),
	store.Col(`file_row`, func(j *job.Job) any { return &j.Row }),
	store.Col(`idle`, func(j *job.Job) any { return &j.Stats.Idle }),
}

var leaseColumns = store.Selection[Lease]{
	store.Col(`tenant`, func(l *Lease) any { return &l.Tenant }),
	store.Col(`coalesce(leased_by, '')`, func(l *Lease) any { return &l.Token }),
	store.Col(`attempt`, func(l *Lease) any { return &l.Attempt }),
	store.Col(`tries`, func(l *Lease) any { return &l.Tries }),
	store.Col(`position`, func(l *Lease) any { return &l.Position }),
}.With(store.Nested(jobColumns, func(l *Lease) *job.Job { return &l.Job }))

// Job returns a job; ok is false if it does not exist.
func Job(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (j job.Job, ok bool, err error) {
	ok, err = jobColumns.One(r.QueryRowContext(ctx, `SELECT `+jobColumns.SQL()+` FROM job WHERE tenant = ? AND id = ?`, string(tenant), id), "job", &j)
	return j, ok, err
}

// Jobs returns a page of jobs, newest first, and the total number.
func Jobs(ctx context.Context, r store.Reads, tenant core.TenantAlias, f job.Filter) (page []job.Job, total int, err error) {
	w := jobWhere(f)
	where, args := ` FROM job WHERE tenant = ?`, append([]any{string(tenant)}, w.Args...)
	if len(w.Terms) > 0 {
		where += ` AND ` + strings.Join(w.Terms, ` AND `)
	}
	rows, err := r.QueryContext(ctx, `SELECT `+jobColumns.SQL()+where+` ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?`,
		append(args, f.Limit, f.Offset)...)
	page, err = jobColumns.All(rows, err, "jobs")
	return store.Counted(ctx, r, page, err, "count jobs", `SELECT count(*)`+where, args...)
}

func jobWhere(f job.Filter) store.Where {
	var w store.Where
	if f.Operation != "" {
		w.Require(`type LIKE ? || '/%'`, f.Operation)
	}
	if f.Type != "" {
		w.Require(`type = ?`, string(f.Type))
	}
	if f.NotType != "" {
		w.Require(`type <> ?`, string(f.NotType))
	}
	if f.NotStatus != "" {
		w.Require(`status <> ?`, string(f.NotStatus))
	}
	store.Among(&w, `id`, f.IDs)
	store.Among(&w, `status`, f.Statuses)
	w.Span(`created_at`, f.Created)
	w.Span(`completed_at`, f.Completed)
	for _, each := range f.And {
		term := jobWhere(each)
		w.Require(term.SQL(), term.Args...)
	}
	var either []string
	for _, each := range f.Or {
		term := jobWhere(each)
		either = append(either, term.SQL())
		w.Args = append(w.Args, term.Args...)
	}
	if len(either) > 0 {
		w.Terms = append(w.Terms, `(`+strings.Join(either, ` OR `)+`)`)
	}
	return w
}

// InsertJob adds a pending job, which LeaseNext may lease at once.
func InsertJob(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, j job.Job) error {
	// The job that was released first is leased next. leased_until of a new job is its
	// time of creation, so new jobs are leased in that order.
	return tx.Exec(ctx, "insert job", `INSERT INTO job (tenant, id, type, name, requester, mail_to, format, params, file,
			status, message, processed, errors, attempt, tries, leased_until, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'PENDING', '', 0, 0, 0, 0, ?, ?)`,
		string(tenant), j.ID, string(j.Type), j.Name, j.Requester, j.MailTo, string(j.Format), j.Params,
		store.NullText(j.File), int64(j.Created), int64(j.Created))
}

// AnyWaiting reports whether any job is pending without a lease. It compares no time, so
// that a job waits for no clock.
func AnyWaiting(ctx context.Context, r store.Reads) (bool, error) {
	return store.One[bool](ctx, r, "job waits", `SELECT EXISTS (SELECT 1 FROM job WHERE status = 'PENDING' AND leased_until < ?
			AND `+store.TenantExists("job")+`)`,
		int64(leasedb.Never))
}

// LeaseNext leases the pending job that has waited longest, of any tenant. ok is false
// if no job waits.
func LeaseNext(ctx context.Context, tx *store.Tx, token string) (Lease, bool, error) {
	return lease(ctx, tx, `(tenant, id) IN (SELECT tenant, id FROM job
		WHERE status = 'PENDING' AND leased_until < ? AND `+store.TenantExists("job")+` ORDER BY leased_until, id LIMIT 1)`, token, int64(leasedb.Never))
}

// LeaseJob leases a pending job, even if another worker has a lease on it. ok is false
// if the job is not pending.
func LeaseJob(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id, token string) (Lease, bool, error) {
	return lease(ctx, tx, `tenant = ? AND id = ? AND status = 'PENDING'`, token, string(tenant), id)
}

func lease(ctx context.Context, tx *store.Tx, which, token string, args ...any) (l Lease, ok bool, err error) {
	row := tx.QueryRowContext(ctx, `UPDATE job SET attempt = attempt + 1, tries = tries + 1, leased_until = ?, leased_by = ?,
			started_at = coalesce(started_at, ?) WHERE `+which+`
		RETURNING `+leaseColumns.SQL(), append([]any{int64(leasedb.Never), token, int64(tx.Now)}, args...)...)
	ok, err = leaseColumns.One(row, "lease job", &l)
	return l, ok, err
}

// RenewLease stores the stats of a job and renews the lease, which then has the given
// token. It returns false if the lease was lost.
func RenewLease(ctx context.Context, tx *store.Tx, l Lease, token string) (bool, error) {
	return tx.Changed(ctx, "renew lease", `UPDATE job SET processed = ?, errors = ?, total = nullif(?, 0), leased_by = ?
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING' AND leased_by IS NOT NULL`,
		l.Stats.Processed, l.Stats.Errors, l.Total, token, string(l.Tenant), l.ID, l.Attempt)
}

// ReleaseLease ends a lease, so that another worker may lease the job at once. failed is
// true if the lease counts as a try without progress.
func ReleaseLease(ctx context.Context, tx *store.Tx, l Lease, failed bool) error {
	return tx.Exec(ctx, "release lease", `UPDATE job SET leased_until = ?, leased_by = NULL, tries = max(tries - ?, 0)
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING' AND leased_by IS NOT NULL`,
		int64(tx.Now), store.BoolInt(!failed), string(l.Tenant), l.ID, l.Attempt)
}

// StopJob takes the lease of a pending job from its worker, and gives the job a message: the next
// worker ends it with that.
func StopJob(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id, message string) error {
	return tx.Exec(ctx, "stop job", `UPDATE job SET message = ?, attempt = attempt + 1, leased_until = ?, leased_by = NULL
		WHERE tenant = ? AND id = ? AND status = 'PENDING'`, message, int64(tx.Now), string(tenant), id)
}

// FinishJob stores the result of a job: its status, message, stats, files and dates. It
// returns false if the lease was lost.
func FinishJob(ctx context.Context, tx *store.Tx, l Lease) (bool, error) {
	return tx.Changed(ctx, "finish job", `UPDATE job SET status = ?, message = ?, processed = ?, errors = ?, total = nullif(?, 0),
			result_file = ?, errors_file = ?, completed_at = ?, expires_at = ?, leased_by = NULL
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		string(l.Status), l.Message, l.Stats.Processed, l.Stats.Errors, l.Total, store.NullText(l.Result), store.NullText(l.Job.Errors),
		int64(l.Completed), int64(l.Expires), string(l.Tenant), l.ID, l.Attempt)
}

// DeleteJob deletes a job; a worker that runs it loses its lease. It returns false if
// the job does not exist.
func DeleteJob(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string) (bool, error) {
	return tx.Changed(ctx, "delete job", `DELETE FROM job WHERE tenant = ? AND id = ?`, string(tenant), id)
}

// DeleteOldJobs deletes the jobs of all tenants whose files expired before a time.
func DeleteOldJobs(ctx context.Context, tx *store.Tx, before core.Time) error {
	return tx.Exec(ctx, "delete old jobs", `DELETE FROM job WHERE expires_at <= ?`, int64(before))
}
