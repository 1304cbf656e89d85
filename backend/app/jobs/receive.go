package jobs

import (
	"context"
	"io"

	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
)

// ReceivedFile is a file that came with nothing but its name, and the job that it
// became.
type ReceivedFile struct {
	Job job.Job
	// Fatal is for what the job is aborted, now or as soon as a worker takes it
	// up; Rows is what is wrong with some of its rows, which will fail alone.
	// Both are as Validate has them.
	Fatal, Rows []string
}

// Receive keeps a file whose name says what it is for, validates it and creates
// its job, as three calls would (spec 4.1). A file that is broken gets a
// job too: there its tenant sees what became of it. When body ends in an error,
// neither file nor job is left.
func (js *Jobs) Receive(ctx context.Context, tenant core.TenantAlias, name string, body io.Reader) (d ReceivedFile, err error) {
	in := job.Input{Name: name, Requester: job.RequesterSFTP, Format: job.CSV, Params: "{}"}
	if in.Type, err = importfile.TypeOf(name); err != nil {
		return d, err
	}
	if in.File, err = js.Files.Upload(ctx, tenant, name, body); err != nil {
		return d, err
	}
	// The file is whole. It becomes a job though its sender leaves now.
	ctx = context.WithoutCancel(ctx)
	if d.Fatal, d.Rows, err = js.validate(ctx, tenant, in); err != nil {
		return d, err
	}
	if d.Job, err = js.Create(ctx, tenant, in); err != nil {
		return d, err
	}
	if d.Job.Status == job.Aborted && len(d.Fatal) == 0 {
		d.Fatal = []string{d.Job.Message}
	}
	return d, nil
}
