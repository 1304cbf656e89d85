package store

import (
	"context"
	"fmt"
	"strings"

	"kith/core"
	"kith/core/job"
)

// Claim is a worker's hold on a job. Whatever the worker writes is fenced by
// Attempt: when another has taken the job over, nothing is written.
type Claim struct {
	Tenant  core.TenantAlias
	Attempt int64
	// Tries is how often the job was taken up since it last came on.
	Tries int64
	// Position is how far an import has come, in bytes of its unpacked file.
	Position int64
	job.Job
}

var jobColumns = selection[job.Job]{
	{`id`, func(j *job.Job) any { return &j.ID }},
	{`type`, func(j *job.Job) any { return &j.Type }},
	{`name`, func(j *job.Job) any { return &j.Name }},
	{`requester`, func(j *job.Job) any { return &j.Requester }},
	{`mail_to`, func(j *job.Job) any { return &j.MailTo }},
	{`format`, func(j *job.Job) any { return &j.Format }},
	{`params`, func(j *job.Job) any { return &j.Params }},
	{`coalesce(file, '')`, func(j *job.Job) any { return &j.File }},
	{`status`, func(j *job.Job) any { return &j.Status }},
	{`message`, func(j *job.Job) any { return &j.Message }},
	{`processed`, func(j *job.Job) any { return &j.Stats.Processed }},
	{`errors`, func(j *job.Job) any { return &j.Stats.Errors }},
	{`coalesce(result_file, '')`, func(j *job.Job) any { return &j.Result }},
	{`coalesce(errors_file, '')`, func(j *job.Job) any { return &j.Errors }},
	{`created_at`, func(j *job.Job) any { return &j.Created }},
	{`coalesce(completed_at, 0)`, func(j *job.Job) any { return &j.Completed }},
	{`coalesce(expires_at, 0)`, func(j *job.Job) any { return &j.Expires }},
}

var claimColumns = selection[Claim]{
	{`tenant`, func(c *Claim) any { return &c.Tenant }},
	{`attempt`, func(c *Claim) any { return &c.Attempt }},
	{`tries`, func(c *Claim) any { return &c.Tries }},
	{`position`, func(c *Claim) any { return &c.Position }},
}.with(part(jobColumns, func(c *Claim) *job.Job { return &c.Job }))

// Job returns a job; ok is false when there is none.
func (r Reads) Job(ctx context.Context, tenant core.TenantAlias, id string) (j job.Job, ok bool, err error) {
	ok, err = jobColumns.one(r.QueryRowContext(ctx, `SELECT `+jobColumns.list()+` FROM job WHERE tenant = ? AND id = ?`, string(tenant), id), "job", &j)
	return j, ok, err
}

// Jobs returns a page of jobs, the newest first, and how many there are in all.
func (r Reads) Jobs(ctx context.Context, tenant core.TenantAlias, f job.Filter) (page []job.Job, total int, err error) {
	w := jobWhere(f)
	where, args := ` FROM job WHERE tenant = ?`, append([]any{string(tenant)}, w.args...)
	if len(w.terms) > 0 {
		where += ` AND ` + strings.Join(w.terms, ` AND `)
	}
	if err := r.QueryRowContext(ctx, `SELECT count(*)`+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count jobs: %w", err)
	}
	rows, err := r.QueryContext(ctx, `SELECT `+jobColumns.list()+where+` ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?`,
		append(args, f.Limit, f.Offset)...)
	page, err = jobColumns.all(rows, err, "jobs")
	return page, total, err
}

// where is a condition under construction: terms that must all hold.
type where struct {
	// byRow is true when the terms name rows by number: the tenant is no way to them.
	byRow bool
	terms []string
	args  []any
}

func (w *where) add(term string, args ...any) {
	w.terms, w.args = append(w.terms, term), append(w.args, args...)
}

// span narrows a column of times.
func (w *where) span(column string, s core.Span) {
	if s.From != 0 {
		w.add(column+` >= ?`, int64(s.From))
	}
	if s.Before != 0 {
		w.add(column+` < ?`, int64(s.Before))
	}
}

// among narrows a column to one of some texts, when there are any.
func among[S ~string](w *where, column string, values []S) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	w.add(column+` IN (`+placeholders(len(values))+`)`, args...)
}

func jobWhere(f job.Filter) where {
	var w where
	if f.Operation != "" {
		w.add(`type LIKE ? || '/%'`, f.Operation)
	}
	if f.Type != "" {
		w.add(`type = ?`, string(f.Type))
	}
	if f.NotType != "" {
		w.add(`type <> ?`, string(f.NotType))
	}
	if f.NotStatus != "" {
		w.add(`status <> ?`, string(f.NotStatus))
	}
	among(&w, `id`, f.IDs)
	among(&w, `status`, f.Statuses)
	w.span(`created_at`, f.Created)
	w.span(`completed_at`, f.Completed)
	for _, each := range f.And {
		part := jobWhere(each)
		w.add(part.all(), part.args...)
	}
	var either []string
	for _, each := range f.Or {
		part := jobWhere(each)
		either = append(either, part.all())
		w.args = append(w.args, part.args...)
	}
	if len(either) > 0 {
		w.terms = append(w.terms, `(`+strings.Join(either, ` OR `)+`)`)
	}
	return w
}

// of are the arguments of a statement whose first condition is on its tenant.
func (w where) of(tenant core.TenantAlias) []any { return append([]any{string(tenant)}, w.args...) }

// all is the condition as one term.
func (w where) all() string {
	if len(w.terms) == 0 {
		return `1`
	}
	return `(` + strings.Join(w.terms, ` AND `) + `)`
}

// InsertJob adds a pending job that nobody works on.
func (tx *Tx) InsertJob(ctx context.Context, tenant core.TenantAlias, j job.Job) error {
	// Whose lease ended first is claimed first, so those that were never leased
	// are in the order of their making.
	return tx.exec(ctx, "insert job", `INSERT INTO job (tenant, id, type, name, requester, mail_to, format, params, file,
			status, message, processed, errors, attempt, tries, leased_until, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'PENDING', '', 0, 0, 0, 0, ?, ?)`,
		string(tenant), j.ID, string(j.Type), j.Name, j.Requester, j.MailTo, string(j.Format), j.Params,
		nullText(j.File), int64(j.Created), int64(j.Created))
}

// JobWaits reports whether a job is pending that nobody works on.
func (r Reads) JobWaits(ctx context.Context, now core.Time) (waits bool, err error) {
	err = r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM job WHERE status = 'PENDING' AND leased_until <= ?
			AND `+tenantIs("job")+`)`,
		int64(now)).Scan(&waits)
	if err != nil {
		return false, fmt.Errorf("store: job waits: %w", err)
	}
	return waits, nil
}

// ClaimJob takes the pending job that waited longest, until the lease ends; ok
// is false when none waits.
func (tx *Tx) ClaimJob(ctx context.Context, until core.Time) (Claim, bool, error) {
	return tx.claim(ctx, `(tenant, id) IN (SELECT tenant, id FROM job
		WHERE status = 'PENDING' AND leased_until <= ? AND `+tenantIs("job")+` ORDER BY leased_until, id LIMIT 1)`, until, int64(tx.Now))
}

// ClaimThisJob takes a pending job, whoever may work on it.
func (tx *Tx) ClaimThisJob(ctx context.Context, tenant core.TenantAlias, id string, until core.Time) (Claim, bool, error) {
	return tx.claim(ctx, `tenant = ? AND id = ? AND status = 'PENDING'`, until, string(tenant), id)
}

func (tx *Tx) claim(ctx context.Context, which string, until core.Time, args ...any) (c Claim, ok bool, err error) {
	row := tx.QueryRowContext(ctx, `UPDATE job SET attempt = attempt + 1, tries = tries + 1, leased_until = ? WHERE `+which+`
		RETURNING `+claimColumns.list(), append([]any{int64(until)}, args...)...)
	ok, err = claimColumns.one(row, "claim job", &c)
	return c, ok, err
}

// KeepClaim stores how far a job has come and prolongs the lease; false means
// that the worker has lost the job.
func (tx *Tx) KeepClaim(ctx context.Context, c Claim, until core.Time) (bool, error) {
	return tx.changed(ctx, "keep claim", `UPDATE job SET processed = ?, errors = ?, leased_until = ?
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		c.Stats.Processed, c.Stats.Errors, int64(until), string(c.Tenant), c.ID, c.Attempt)
}

// LeaveClaim lets others take a job up at once: the worker is to stop.
func (tx *Tx) LeaveClaim(ctx context.Context, c Claim) error {
	return tx.exec(ctx, "leave claim", `UPDATE job SET leased_until = ?, tries = max(tries - 1, 0)
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		int64(tx.Now), string(c.Tenant), c.ID, c.Attempt)
}

// FinishJob stores how a job ended: its status, message, stats, files and dates;
// false means that the worker has lost the job.
func (tx *Tx) FinishJob(ctx context.Context, c Claim) (bool, error) {
	return tx.changed(ctx, "finish job", `UPDATE job SET status = ?, message = ?, processed = ?, errors = ?,
			result_file = ?, errors_file = ?, completed_at = ?, expires_at = ?
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		string(c.Status), c.Message, c.Stats.Processed, c.Stats.Errors, nullText(c.Result), nullText(c.Job.Errors),
		int64(c.Completed), int64(c.Expires), string(c.Tenant), c.ID, c.Attempt)
}

// DeleteJob forgets a job; false means that there was none. Whoever works on it
// has lost it.
func (tx *Tx) DeleteJob(ctx context.Context, tenant core.TenantAlias, id string) (bool, error) {
	return tx.changed(ctx, "delete job", `DELETE FROM job WHERE tenant = ? AND id = ?`, string(tenant), id)
}

// DeleteOldJobs forgets jobs whose files went before then.
func (tx *Tx) DeleteOldJobs(ctx context.Context, then core.Time) error {
	return tx.exec(ctx, "delete old jobs", `DELETE FROM job WHERE expires_at <= ?`, int64(then))
}
