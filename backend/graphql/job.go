package graphql

import (
	"context"
	"net/url"

	"kith/backend/app/jobs"
	"kith/core"
	"kith/core/job"
	"kith/core/operation"
	"kith/core/wire"
)

// jobNode is the GraphQL type Job.
type jobNode struct {
	c      *call
	stored job.Job

	ID                                      id
	Type                                    word
	Name, Requester, MailtoEmail, FileRef   *string
	Message                                 *string
	DateCreated, DateCompleted, DateExpires *date
	DateStarted                             *date
	OutputFormat                            *string
	Status                                  string
	Params                                  *node
	Stats                                   *jobStats
}

type jobStats struct {
	RecordsProcessed, Errors long
	RecordsTotal             *long
}

func newJob(c *call, j job.Job) *jobNode {
	return &jobNode{
		c: c, stored: j, ID: id(j.ID), Type: word(j.Type), Name: textOrNull(j.Name), Requester: textOrNull(j.Requester),
		MailtoEmail: textOrNull(j.MailTo), Message: textOrNull(j.Message), FileRef: textOrNull(string(j.File)), DateCreated: dateOrNull(j.Created),
		DateCompleted: dateOrNull(j.Completed), DateExpires: dateOrNull(j.Expires), OutputFormat: textOrNull(string(j.Format)),
		Status: string(j.Status), Params: pointer(node(j.Params)), DateStarted: dateOrNull(j.Started),
		Stats: &jobStats{long(j.Stats.Processed), long(j.Stats.Errors), longOrNull(j.Total)},
	}
}

type linkArguments struct{ PublicLink argument }

// DownloadURL returns the URL of the result file, or null if the job has none.
func (j *jobNode) DownloadURL(args linkArguments) *string { return j.link(job.ResultFile, args) }

// DownloadErrorURL returns the URL of the file with the rejected records, or null if the
// job has none.
func (j *jobNode) DownloadErrorURL(args linkArguments) *string { return j.link(job.ErrorsFile, args) }

// DownloadFileRefURL returns the URL of the file that an import read, or null if the job
// has none.
func (j *jobNode) DownloadFileRefURL(args linkArguments) *string { return j.link(job.SourceFile, args) }

// link returns the URL of a file, or nil if the job has no such file. A public link is
// signed; any other needs the API key.
func (j *jobNode) link(which job.Attachment, args linkArguments) *string {
	if _, err := j.stored.Attached(which, j.c.engine.Now()); err != nil {
		return nil
	}
	if args.PublicLink.value == true {
		return pointer(j.c.Base + j.c.engine.Files.Link(j.c.tenant, j.stored.ID, which))
	}
	path := "/api/v1/" + string(j.c.tenant) + "/export/" + url.PathEscape(j.stored.ID) + "/download?file=" + string(which)
	return pointer(j.c.Base + path)
}

// Job returns a job by its id, or null. It needs the API key.
func (*query) Job(ctx context.Context, args struct{ ID argument }) (*jobNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.engine.Jobs.ByIDFor(ctx, c.Caller, args.ID.text())
	return orNull(found, err, func(found job.Job) *jobNode { return newJob(c, found) })
}

// Jobs returns a page of the tenant's jobs. It needs the API key.
func (*query) Jobs(ctx context.Context, args listArguments) (*list[*jobNode], error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	conditions := maxConditions
	f, err := jobFilter("filter", args.Filter, &conditions)
	if err != nil {
		return nil, err
	}
	if f.Limit, f.Offset, err = args.page(); err != nil {
		return nil, err
	}
	page, total, err := c.engine.Jobs.ListFor(ctx, c.Caller, f)
	if err != nil {
		return nil, err
	}
	nodes := make([]*jobNode, len(page))
	for i, j := range page {
		nodes[i] = newJob(c, j)
	}
	return newList(nodes, total), nil
}

// maxConditions limits the filters within a filter, and the values of a condition: the SQL
// statement has a parameter for each.
const maxConditions = 100

// jobFilter reads a filter and the filters in it. left is how many more filters there may
// be in all.
func jobFilter(at string, a argument, left *int) (f job.Filter, err error) {
	r := &filterReader{at: at, a: a}
	f.IDs = r.texts("id_in", "id_eq")
	f.Type, f.NotType = job.Type(r.text("type_eq")), job.Type(r.text("type_ne"))
	for _, s := range r.texts("status_in", "status_eq") {
		f.Statuses = append(f.Statuses, job.Status(s))
	}
	f.NotStatus = job.Status(r.text("status_ne"))
	f.Created, f.Completed = r.span("dateCreated"), r.span("dateCompleted")
	if r.err != nil {
		return f, r.err
	}
	for _, nested := range []struct {
		name string
		into *[]job.Filter
	}{{"AND", &f.And}, {"OR", &f.Or}} {
		all := a.member(nested.name).list()
		if *left -= len(all); *left < 0 {
			return f, core.Invalid(at+"."+nested.name, "must not have more than 100 filters in all")
		}
		for _, one := range all {
			inner, err := jobFilter(at+"."+nested.name, one, left)
			if err != nil {
				return f, err
			}
			*nested.into = append(*nested.into, inner)
		}
	}
	return f, nil
}

// jobInput reads a JobInput. It needs the API key.
func (c *call) jobInput(a argument) (job.Input, error) {
	if err := c.Caller.MustHoldKey(); err != nil {
		return job.Input{}, err
	}
	in, err := wire.ParseJobInput(c.tenant, "jobInput", []byte(a.json()))
	if err == nil && !in.Type.Import() {
		err = c.Caller.Require(operation.StartExport, "Mutation.createJob exports")
	}
	return in, err
}

type jobArguments struct{ JobInput argument }

// CreateJob creates a job, which a worker runs later.
func (*mutation) CreateJob(ctx context.Context, args jobArguments) (*jobNode, error) {
	c := callOf(ctx)
	in, err := c.jobInput(args.JobInput)
	if err != nil {
		return nil, err
	}
	made, err := c.engine.Jobs.Create(ctx, c.tenant, in)
	if err != nil {
		return nil, err
	}
	return newJob(c, made), nil
}

// StopJob stops an import, and returns it.
func (*mutation) StopJob(ctx context.Context, args struct{ ID argument }) (*jobNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	stopped, err := c.engine.Jobs.Stop(ctx, c.tenant, args.ID.text(), "an API key")
	return orNull(stopped, err, func(stopped job.Job) *jobNode { return newJob(c, stopped) })
}

// DeleteJob deletes a job and its files.
func (*mutation) DeleteJob(ctx context.Context, args struct{ ID argument }) (*deleted, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	n, err := c.engine.Jobs.Delete(ctx, c.tenant, args.ID.text())
	if err != nil {
		return nil, err
	}
	return &deleted{DeletedCount: long(n)}, nil
}

// validated has the errors of an import; none: it may be created.
type validated struct {
	Errors                          []string
	Problems                        []*importProblem
	RecordsChecked, RecordsRejected *long
	Complete                        *bool
	ReadAs                          *string
	IgnoredColumns                  []string
}

// importProblem is the GraphQL type ImportProblem.
type importProblem struct {
	Record        *long
	Column, Value *string
	Message       string
}

// ValidateJobCreation checks the input of a job without creating it.
func (*query) ValidateJobCreation(ctx context.Context, args jobArguments) (*validated, error) {
	return callOf(ctx).validateJob(ctx, args.JobInput)
}

// ValidateJobCreation is the same as the query of that name (clients 1.11.14).
func (*mutation) ValidateJobCreation(ctx context.Context, args jobArguments) (*validated, error) {
	return callOf(ctx).validateJob(ctx, args.JobInput)
}

func (c *call) validateJob(ctx context.Context, a argument) (*validated, error) {
	in, err := c.jobInput(a)
	if err != nil {
		return nil, err
	}
	v := &validated{Errors: []string{}, Problems: []*importProblem{}, IgnoredColumns: []string{}}
	if !in.Type.Import() {
		return v, nil
	}
	p, err := wire.ParseJobParams(in.Type, in.Params)
	if err != nil {
		return nil, err
	}
	found, err := c.engine.Jobs.Check(ctx, c.tenant, in.Type, in.File, p.Columns, jobs.MaxProblems)
	if err != nil {
		return nil, err
	}
	v.Errors = append(v.Errors, found.Texts()...)
	for _, p := range append(found.Rows, found.File...) {
		v.Problems = append(v.Problems, &importProblem{longOrNull(p.Row), textOrNull(p.Column), textOrNull(p.Value), p.Reason})
	}
	if !found.Dialect.Plain() {
		v.ReadAs = pointer(found.Dialect.Words())
	}
	v.IgnoredColumns = append(v.IgnoredColumns, found.Unknown...)
	v.RecordsChecked, v.RecordsRejected, v.Complete = pointer(long(found.Checked)), pointer(long(found.Rejected)), &found.Complete
	return v, nil
}
