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

// Files manages the files of jobs: uploads, and the files that jobs write.
type Files struct {
	*base.Base
	// Store stores the files. It may be nil in a program that runs no jobs.
	Store file.Store
	// Max is the size of an upload at most, compressed and uncompressed, in bytes. Zero
	// means DefaultMaxFile.
	Max int64
}

// newFile is a file that is being written. It counts and hashes the bytes. Close stores
// the file's size and hash in the database.
type newFile struct {
	files  *Files
	ctx    context.Context
	tenant core.TenantAlias
	ref    core.FileRef
	to     file.Writer
	size   int64
	hash   hash.Hash
}

// createFile begins a file of a tenant. The caller must call Close, or Abort if writing
// failed.
func (fs *Files) createFile(ctx context.Context, tenant core.TenantAlias, folder, name, ext string) (*newFile, error) {
	return fs.createFileFor(ctx, tenant, folder, name, ext, job.Life)
}

// createFileFor is createFile for a file that is kept for life.
func (fs *Files) createFileFor(ctx context.Context, tenant core.TenantAlias, folder, name, ext string, life core.Time) (*newFile, error) {
	f := &newFile{files: fs, ctx: ctx, tenant: tenant, hash: sha256.New()}
	var err error
	f.ref, err = store.WriteValue(ctx, fs.DB.Write, fs.Now(), func(tx *store.Tx) (core.FileRef, error) {
		ref := core.NewFileRef(folder, tenant, name, ext, fs.IDAt(tx.Now))
		return ref, jobdb.InsertFile(ctx, tx, jobdb.File{Tenant: tenant, Ref: ref, Created: tx.Now, Expires: tx.Now + life})
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

// Close completes the file.
func (f *newFile) Close() error {
	if err := f.to.Close(); err != nil {
		return err
	}
	return f.files.DB.Write(f.ctx, f.files.Now(), func(tx *store.Tx) error {
		return jobdb.FinishFile(f.ctx, tx, jobdb.File{Tenant: f.tenant, Ref: f.ref, Size: f.size, Hash: hex.EncodeToString(f.hash.Sum(nil))})
	})
}

// Abort ends the writing without a file; after Close it does nothing. RemoveOld later
// removes the file's row in the database.
func (f *newFile) Abort() { f.to.Abort() }

// Link returns the path and query of a signed URL by which any client can download a file
// of a job. It is valid for auth.DownloadLife.
func (fs *Files) Link(tenant core.TenantAlias, id string, which job.Attachment) string {
	d := auth.Download{Job: id, File: string(which), Expires: fs.Now() + auth.DownloadLife}
	query := url.Values{
		"file": {d.File}, "expires": {strconv.FormatInt(int64(d.Expires), 10)},
		"signature": {d.Sign(fs.Keys.Download(tenant))},
	}
	return "/api/v1/" + string(tenant) + "/export/" + url.PathEscape(id) + "/download?" + query.Encode()
}

// CheckLink returns an unauthenticated error if a link was not made by Link, or has
// expired.
func (fs *Files) CheckLink(tenant core.TenantAlias, d auth.Download, signature string) error {
	if d.Verify(fs.Keys.Download(tenant), signature, fs.Now()) {
		return nil
	}
	return &core.Error{
		Code: core.CodeUnauthenticated, Field: "signature",
		Message: "this download link is invalid or expired; a link is valid for one hour",
	}
}

// oldFilesBatch is the number of files that one call of RemoveOld removes at most.
const oldFilesBatch = 100

// RemoveOld removes one batch of expired files of all tenants, and jobs that are older
// than job.Memory. more reports whether there may be more files to remove.
func (fs *Files) RemoveOld(ctx context.Context) (more bool, err error) {
	now := fs.Now()
	old, err := jobdb.ExpiredFiles(ctx, fs.DB.Reads, now, oldFilesBatch)
	if err != nil {
		return false, err
	}
	for _, f := range old {
		// Remove the file before its row: if this fails, the next call finds the row.
		if err := fs.Store.Remove(ctx, f.Ref); err != nil {
			return false, err
		}
	}
	return len(old) == oldFilesBatch, fs.DB.Write(ctx, now, func(tx *store.Tx) error {
		for _, f := range old {
			if err := jobdb.DeleteFile(ctx, tx, f.Tenant, f.Ref); err != nil {
				return err
			}
		}
		return jobdb.DeleteOldJobs(ctx, tx, now-(job.Memory-job.Life))
	})
}
