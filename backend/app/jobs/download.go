package jobs

import (
	"context"
	"io"

	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/job"
)

// Download is a file on its way out. Body must be closed.
type Download struct {
	Name string
	Size int64
	Body io.ReadCloser
}

// Download opens a file of a job, or is a not-found error when there is none,
// none yet, or none any more.
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
