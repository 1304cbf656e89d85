package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"math"
	"net/url"
	"strconv"
	"time"

	"kith/backend/app/base"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/importfile"
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
	// MaxStorage is the size in bytes of all files of a tenant at most. Zero means
	// DefaultMaxStorage.
	MaxStorage int64
}

// DefaultMaxStorage has room for ten of the largest files.
const DefaultMaxStorage = 10 * DefaultMaxFile

// MaxUnused is the number of uploads of a tenant at most that no job has read.
const MaxUnused = 1000

// A file reserves what is written next, so that it needs few transactions: as much as it has,
// but at least reserveLeast and at most reserveMost.
const reserveLeast, reserveMost = 64 << 10, 64 << 20

// freeTimeout bounds the time that a refused file takes to free what it reserved. It is long,
// because many are refused at once, and what one does not free is missing for a day.
const freeTimeout = time.Minute

// kind is a kind of file.
type kind struct {
	folder string
	// life is how long a file is kept.
	life core.Time
	// unused is the number of files of a tenant at most that no job has read; 0 is no limit.
	unused int64
	// exempt is true for files that count for MaxStorage and are not refused by it.
	exempt bool
	// replaced is the size of files that this one replaces: they do not count beside it.
	replaced int64
}

var (
	uploadKind = kind{folder: core.ImportFolder, life: core.Day, unused: MaxUnused}
	pieceKind  = kind{folder: core.PieceFolder, life: core.Day, unused: 4 * MaxPieces}
	exportKind = kind{folder: core.ExportFolder, life: job.Life}
	// The rows of an import were applied when its files are complete; see chunkFile.copy.
	resultKind = kind{folder: core.ExportFolder, life: job.Life, exempt: true}
)

// newFile is a file that is being written. It counts and hashes the bytes. Close stores
// the file's size and hash in the database.
type newFile struct {
	files  *Files
	kind   kind
	ctx    context.Context
	tenant core.TenantAlias
	ref    core.FileRef
	to     file.Writer
	closed bool
	// size is the number of bytes that were written, reserved the number in the database.
	size, reserved int64
	hash           hash.Hash
	// dialect is the form in which an upload came.
	dialect importfile.Dialect
}

// createFile begins a file of a tenant, of size bytes or, if that is 0, an unknown size. The
// caller must call Close, or Abort if writing failed.
func (fs *Files) createFile(ctx context.Context, tenant core.TenantAlias, k kind, name, ext string, size int64) (*newFile, error) {
	f := &newFile{files: fs, kind: k, ctx: ctx, tenant: tenant, reserved: size, hash: sha256.New()}
	quota := jobdb.Quota{Bytes: fs.maxStorage() + k.replaced, Unused: k.unused}
	if k.exempt {
		quota.Bytes = math.MaxInt64
	}
	var err error
	f.ref, err = store.WriteValue(ctx, fs.DB.Write, fs.Now(), func(tx *store.Tx) (core.FileRef, error) {
		ref := core.NewFileRef(k.folder, tenant, name, ext, fs.IDAt(tx.Now))
		ok, err := jobdb.InsertFile(ctx, tx, jobdb.File{Tenant: tenant, Ref: ref, Size: size, Created: tx.Now, Expires: tx.Now + k.life}, quota)
		if err != nil || ok {
			return ref, err
		}
		held, err := jobdb.StoredBytes(ctx, tx.Reads, tenant, tx.Now)
		if err == nil && held+size <= quota.Bytes {
			return ref, refused(strconv.FormatInt(k.unused, 10) + " files wait for an import; import them, or wait until they are removed a day after their upload")
		}
		return ref, cmp.Or(err, fs.noRoom())
	})
	if err != nil {
		return nil, err
	}
	if f.to, err = fs.Store.Create(ctx, f.ref); err != nil {
		f.expire()
	}
	return f, err
}

func (fs *Files) maxStorage() int64 { return cmp.Or(fs.MaxStorage, DefaultMaxStorage) }

func refused(message string) error {
	return &core.Error{Code: core.CodeConflict, Field: "file", Message: message}
}

func (fs *Files) noRoom() error {
	return refused("exceeds the " + strconv.FormatInt(fs.maxStorage(), 10) +
		" bytes that the files of a tenant may have; remove imports and exports, wait until files expire, or ask the operator to raise KITH_MAX_STORAGE")
}

// reserve reserves n more bytes.
func (f *newFile) reserve(n int64) error {
	need := f.size + n
	if need <= f.reserved || f.kind.exempt {
		return nil
	}
	reserved, err := store.WriteValue(f.ctx, f.files.DB.Write, f.files.Now(), func(tx *store.Tx) (int64, error) {
		for _, size := range []int64{need + min(max(need, reserveLeast), reserveMost), need} {
			ok, err := jobdb.ReserveFile(f.ctx, tx, jobdb.File{Tenant: f.tenant, Ref: f.ref, Size: size, Expires: tx.Now + f.kind.life}, f.files.maxStorage()+f.kind.replaced)
			if ok || err != nil {
				return size, err
			}
		}
		return 0, f.files.noRoom()
	})
	if err == nil {
		f.reserved = reserved
	}
	return err
}

func (f *newFile) Write(p []byte) (int, error) {
	if err := f.reserve(int64(len(p))); err != nil {
		return 0, err
	}
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
	err := f.files.DB.Write(f.ctx, f.files.Now(), func(tx *store.Tx) error {
		return jobdb.FinishFile(f.ctx, tx, jobdb.File{
			Tenant: f.tenant, Ref: f.ref, Size: f.size, Hash: hex.EncodeToString(f.hash.Sum(nil)), Dialect: f.dialect.String(), Expires: tx.Now + f.kind.life,
		})
	})
	f.closed = err == nil
	return err
}

// Abort ends the writing without a file; after a successful Close it does nothing.
func (f *newFile) Abort() {
	if !f.closed {
		f.to.Abort()
		f.expire()
	}
}

// expire lets a file that failed expire now, so that RemoveOld removes its row, and what it
// reserved is free. If that fails, it expires as others do.
func (f *newFile) expire() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), freeTimeout)
	defer cancel()
	_ = f.files.expire(ctx, f.tenant, f.ref)
}

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
