package jobdb

import (
	"context"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/job"
)

// Lease is a worker's hold on a job. Whatever the worker writes is fenced by
// Attempt: when another has taken the job over, nothing is written.
type Lease struct {
	Tenant  core.TenantAlias
	Attempt int64
	// Tries is how often the job was taken up since it last came on.
	Tries int64
	// Position is how far an import has come, in bytes of its unpacked file.
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
}

var leaseColumns = store.Selection[Lease]{
	store.Col(`tenant`, func(c *Lease) any { return &c.Tenant }),
	store.Col(`attempt`, func(c *Lease) any { return &c.Attempt }),
	store.Col(`tries`, func(c *Lease) any { return &c.Tries }),
	store.Col(`position`, func(c *Lease) any { return &c.Position }),
}.With(store.Nested(jobColumns, func(c *Lease) *job.Job { return &c.Job }))

// Job returns a job; ok is false when there is none.
func Job(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (j job.Job, ok bool, err error) {
	ok, err = jobColumns.One(r.QueryRowContext(ctx, `SELECT `+jobColumns.SQL()+` FROM job WHERE tenant = ? AND id = ?`, string(tenant), id), "job", &j)
	return j, ok, err
}

// Jobs returns a page of jobs, the newest first, and how many there are in all.
func Jobs(ctx context.Context, r store.Reads, tenant core.TenantAlias, f job.Filter) (page []job.Job, total int, err error) {
	w := jobWhere(f)
	where, args := ` FROM job WHERE tenant = ?`, append([]any{string(tenant)}, w.Args...)
	if len(w.Terms) > 0 {
		where += ` AND ` + strings.Join(w.Terms, ` AND `)
	}
	total, err = store.One[int](ctx, r, "count jobs", `SELECT count(*)`+where, args...)
	if err != nil {
		return nil, 0, err
	}
	rows, err := r.QueryContext(ctx, `SELECT `+jobColumns.SQL()+where+` ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?`,
		append(args, f.Limit, f.Offset)...)
	page, err = jobColumns.All(rows, err, "jobs")
	return page, total, err
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
		part := jobWhere(each)
		w.Require(part.SQL(), part.Args...)
	}
	var either []string
	for _, each := range f.Or {
		part := jobWhere(each)
		either = append(either, part.SQL())
		w.Args = append(w.Args, part.Args...)
	}
	if len(either) > 0 {
		w.Terms = append(w.Terms, `(`+strings.Join(either, ` OR `)+`)`)
	}
	return w
}

// InsertJob adds a pending job that nobody works on.
func InsertJob(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, j job.Job) error {
	// Whose lease ended first is claimed first, so those that were never leased
	// are in the order of their making.
	return tx.Exec(ctx, "insert job", `INSERT INTO job (tenant, id, type, name, requester, mail_to, format, params, file,
			status, message, processed, errors, attempt, tries, leased_until, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'PENDING', '', 0, 0, 0, 0, ?, ?)`,
		string(tenant), j.ID, string(j.Type), j.Name, j.Requester, j.MailTo, string(j.Format), j.Params,
		store.NullText(j.File), int64(j.Created), int64(j.Created))
}

// AnyWaiting reports whether a job is pending that nobody works on.
func AnyWaiting(ctx context.Context, r store.Reads, now core.Time) (bool, error) {
	return store.One[bool](ctx, r, "job waits", `SELECT EXISTS (SELECT 1 FROM job WHERE status = 'PENDING' AND leased_until <= ?
			AND `+store.TenantExists("job")+`)`,
		int64(now))
}

// LeaseNext takes the pending job that waited longest, until the lease ends; ok
// is false when none waits.
func LeaseNext(ctx context.Context, tx *store.Tx, until core.Time) (Lease, bool, error) {
	return lease(ctx, tx, `(tenant, id) IN (SELECT tenant, id FROM job
		WHERE status = 'PENDING' AND leased_until <= ? AND `+store.TenantExists("job")+` ORDER BY leased_until, id LIMIT 1)`, until, int64(tx.Now))
}

// LeaseJob takes a pending job, whoever may work on it.
func LeaseJob(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string, until core.Time) (Lease, bool, error) {
	return lease(ctx, tx, `tenant = ? AND id = ? AND status = 'PENDING'`, until, string(tenant), id)
}

func lease(ctx context.Context, tx *store.Tx, which string, until core.Time, args ...any) (c Lease, ok bool, err error) {
	row := tx.QueryRowContext(ctx, `UPDATE job SET attempt = attempt + 1, tries = tries + 1, leased_until = ? WHERE `+which+`
		RETURNING `+leaseColumns.SQL(), append([]any{int64(until)}, args...)...)
	ok, err = leaseColumns.One(row, "claim job", &c)
	return c, ok, err
}

// RenewLease stores how far a job has come and prolongs the lease; false means
// that the worker has lost the job.
func RenewLease(ctx context.Context, tx *store.Tx, c Lease, until core.Time) (bool, error) {
	return tx.Changed(ctx, "keep claim", `UPDATE job SET processed = ?, errors = ?, leased_until = ?
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		c.Stats.Processed, c.Stats.Errors, int64(until), string(c.Tenant), c.ID, c.Attempt)
}

// ReleaseLease lets others take a job up at once: the worker is to stop.
func ReleaseLease(ctx context.Context, tx *store.Tx, c Lease) error {
	return tx.Exec(ctx, "leave claim", `UPDATE job SET leased_until = ?, tries = max(tries - 1, 0)
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		int64(tx.Now), string(c.Tenant), c.ID, c.Attempt)
}

// FinishJob stores how a job ended: its status, message, stats, files and dates;
// false means that the worker has lost the job.
func FinishJob(ctx context.Context, tx *store.Tx, c Lease) (bool, error) {
	return tx.Changed(ctx, "finish job", `UPDATE job SET status = ?, message = ?, processed = ?, errors = ?,
			result_file = ?, errors_file = ?, completed_at = ?, expires_at = ?
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		string(c.Status), c.Message, c.Stats.Processed, c.Stats.Errors, store.NullText(c.Result), store.NullText(c.Job.Errors),
		int64(c.Completed), int64(c.Expires), string(c.Tenant), c.ID, c.Attempt)
}

// DeleteJob forgets a job; false means that there was none. Whoever works on it
// has lost it.
func DeleteJob(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string) (bool, error) {
	return tx.Changed(ctx, "delete job", `DELETE FROM job WHERE tenant = ? AND id = ?`, string(tenant), id)
}

// DeleteOldJobs forgets jobs whose files went before then.
func DeleteOldJobs(ctx context.Context, tx *store.Tx, then core.Time) error {
	return tx.Exec(ctx, "delete old jobs", `DELETE FROM job WHERE expires_at <= ?`, int64(then))
}
