package jobs

import (
	"context"
	"io"

	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/job"
)

// Download is a stored file to send to a client.
type Download struct {
	Name string
	// Size is in bytes.
	Size int64
	// Link is the path and query by which any client can download the file; see Files.Link.
	Link string

	ref   core.FileRef
	files *Files
}

// Open returns the content of the file from an offset on. The caller must close it.
func (d Download) Open(ctx context.Context, from int64) (io.ReadCloser, error) {
	return d.files.Store.Open(ctx, d.ref, from)
}

// Download finds a file of a job. The error is not-found if the job is unknown, has not
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
	return Download{Name: ref.Name(), Size: f.Size, Link: js.Files.Link(tenant, id, which), ref: ref, files: js.Files}, nil
}
