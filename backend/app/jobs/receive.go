package jobs

import (
	"context"
	"io"

	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/wire"
)

// ReceivedFile is the result of Receive.
type ReceivedFile struct {
	// Job is the job of the file.
	Job job.Job
	// Fatal has the problems for which the job is aborted, now or when a worker starts
	// it. Rows has the problems of single rows, which fail while the others are
	// imported. The texts are those of Validate.
	Fatal, Rows []string
}

// rememberedParams returns params with the columns that a person chose for files with this
// header.
func (js *Jobs) rememberedParams(ctx context.Context, tenant core.TenantAlias, in job.Input) (string, error) {
	names, err := js.header(ctx, tenant, in.Type, in.File)
	if err != nil || names == nil {
		_, err = problemsOf(err) // the check reports them
		return in.Params, err
	}
	columns, err := js.remembered(ctx, tenant, in.Type, names)
	if err != nil || columns == nil {
		return in.Params, err
	}
	return wire.ColumnsParam(string(wire.Columns(columns))), nil
}

// Receive stores a file whose name has the type of its job, validates it and creates the
// job, as the three calls of the API do (spec 4.1). An invalid file gets a job too, whose
// message shows the tenant what is wrong. If reading body fails, neither a file nor a
// job is stored.
func (js *Jobs) Receive(ctx context.Context, tenant core.TenantAlias, name string, body io.Reader) (d ReceivedFile, err error) {
	in := job.Input{Name: name, Requester: job.RequesterSFTP, Format: job.CSV, Params: "{}"}
	if in.Type, err = importfile.TypeOf(name); err != nil {
		return d, err
	}
	if in.File, err = js.Files.Upload(ctx, tenant, name, body); err != nil {
		return d, err
	}
	// The file is complete. It gets a job even if the sender disconnects now.
	ctx = context.WithoutCancel(ctx)
	if in.Params, err = js.rememberedParams(ctx, tenant, in); err != nil {
		return d, err
	}
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
