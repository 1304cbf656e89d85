package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/url"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
)

// Files are the files of jobs: what is uploaded, and what jobs write.
type Files struct {
	*base.Base
	// Store keeps the files. A program that runs no job needs none.
	Store file.Store
	// Max bounds an upload, packed and unpacked, in bytes; zero means DefaultMaxFile.
	Max int64
}

// newFile is a file that is being written: it counts and hashes what it gets,
// and is noted when it is closed.
type newFile struct {
	files  *Files
	ctx    context.Context
	tenant core.TenantAlias
	ref    core.FileRef
	to     file.Writer
	size   int64
	hash   hash.Hash
}

// createFile begins a file of a tenant. Whoever does not close it must abort it.
func (fs *Files) createFile(ctx context.Context, tenant core.TenantAlias, folder, name, ext string) (*newFile, error) {
	f := &newFile{files: fs, ctx: ctx, tenant: tenant, hash: sha256.New()}
	err := fs.DB.Write(ctx, fs.Now(), func(tx *store.Tx) error {
		f.ref = core.NewFileRef(folder, tenant, name, ext, fs.IDAt(tx.Now))
		return jobdb.InsertFile(ctx, tx, jobdb.File{Tenant: tenant, Ref: f.ref, Created: tx.Now, Expires: tx.Now + job.Life})
	})
	if err != nil {
		return nil, err
	}
	f.to, err = fs.Store.Create(ctx, f.ref)
	return f, err
}

func (f *newFile) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	f.size += int64(n)
	f.hash.Write(p[:n])
	return n, err
}

// Close makes the file be there.
func (f *newFile) Close() error {
	if err := f.to.Close(); err != nil {
		return err
	}
	return f.files.DB.Write(f.ctx, f.files.Now(), func(tx *store.Tx) error {
		return jobdb.FinishFile(f.ctx, tx, jobdb.File{Tenant: f.tenant, Ref: f.ref, Size: f.size, Hash: hex.EncodeToString(f.hash.Sum(nil))})
	})
}

// Abort ends the writing; after Close it does nothing. What is noted of the file
// goes with the worker that removes old files.
func (f *newFile) Abort() { f.to.Abort() }

// Link is the path and query under which anybody may fetch a file of a
// job for auth.DownloadLife.
func (fs *Files) Link(tenant core.TenantAlias, id string, which job.Attachment) string {
	d := auth.Download{Job: id, File: string(which), Expires: fs.Now() + auth.DownloadLife}
	query := url.Values{
		"file": {d.File}, "expires": {strconv.FormatInt(int64(d.Expires), 10)},
		"signature": {d.Sign(fs.Keys.Download(tenant))},
	}
	return "/api/v1/" + string(tenant) + "/export/" + url.PathEscape(id) + "/download?" + query.Encode()
}

// CheckLink refuses a link that was not made by Link, or too long
// ago.
func (fs *Files) CheckLink(tenant core.TenantAlias, d auth.Download, signature string) error {
	if d.Verify(fs.Keys.Download(tenant), signature, fs.Now()) {
		return nil
	}
	return &core.Error{
		Code: core.CodeUnauthenticated, Field: "signature",
		Message: "this download link is not valid, or no longer: links are good for an hour",
	}
}

// oldFiles is how many files are removed at a time.
const oldFiles = 100

// RemoveOld removes files that have been kept long enough, of all tenants,
// and forgets jobs whose files went long ago. False means that nothing is left
// to remove.
func (fs *Files) RemoveOld(ctx context.Context) (more bool, err error) {
	now := fs.Now()
	old, err := jobdb.ExpiredFiles(ctx, fs.DB.Reads, now, oldFiles)
	if err != nil {
		return false, err
	}
	for _, f := range old {
		// The file goes before its row, so that none is forgotten.
		if err := fs.Store.Remove(ctx, f.Ref); err != nil {
			return false, err
		}
	}
	return len(old) == oldFiles, fs.DB.Write(ctx, now, func(tx *store.Tx) error {
		for _, f := range old {
			if err := jobdb.DeleteFile(ctx, tx, f.Tenant, f.Ref); err != nil {
				return err
			}
		}
		return jobdb.DeleteOldJobs(ctx, tx, now-(job.Memory-job.Life))
	})
}
