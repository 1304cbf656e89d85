package jobs

import (
	"context"
	"io"

	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/job"
)

// Download is a stored file to send to a client. The caller must close Body. Size is in
// bytes.
type Download struct {
	Name string
	Size int64
	Body io.ReadCloser
}

// Download opens a file of a job. The error is not-found if the job is unknown, has not
// completed, has no such file, or if its files have expired.
func (js *Jobs) Download(ctx context.Context, tenant core.TenantAlias, id string, which job.Attachment) (Download, error) {
	j, err := js.ByID(ctx, tenant, id)
	if err != nil {
		return Download{}, err
	}
	ref, err := j.Attached(which, js.Now())
	if err != nil {
		return Download{}, err
	}
	f, ok, err := jobdb.FindFile(ctx, js.DB.Reads, tenant, ref)
	if err == nil && (!ok || f.Size < 0) {
		err = core.NotFound("the file is no longer kept")
	}
	if err != nil {
		return Download{}, err
	}
	body, err := js.Files.Store.Open(ctx, ref, 0)
	return Download{Name: ref.Name(), Size: f.Size, Body: body}, err
}
