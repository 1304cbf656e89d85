package jobdb

import (
	"context"
	"strings"

	"kith/backend/store"
	"kith/core"
)

// File is the row of a file. The database does not have its content.
type File struct {
	Tenant core.TenantAlias
	Ref    core.FileRef
	// Size is in bytes, -1 until the file is complete. Until then its column has the bytes
	// that are reserved for the file, and the column hash is empty.
	Size int64
	// Hash is the SHA-256 in hex.
	Hash string
	// Dialect is the form in which an upload came; see importfile.Dialect.
	Dialect string
	// Expires is when the file may be deleted.
	Created, Expires core.Time
}

var fileNames = store.Selection[File]{
	store.Col(`tenant`, func(f *File) any { return &f.Tenant }),
	store.Col(`ref`, func(f *File) any { return &f.Ref }),
}

// keptColumns are those of Files.
var keptColumns = store.Selection[File]{
	store.Col(`iif(hash = '', -1, size)`, func(f *File) any { return &f.Size }),
	store.Col(`hash`, func(f *File) any { return &f.Hash }),
	store.Col(`created_at`, func(f *File) any { return &f.Created }),
	store.Col(`expires_at`, func(f *File) any { return &f.Expires }),
}.With(fileNames)

var fileColumns = store.Selection[File]{
	store.Col(`dialect`, func(f *File) any { return &f.Dialect }),
}.With(keptColumns)

// FindFile returns a file; ok is false if it does not exist.
func FindFile(ctx context.Context, r store.Reads, tenant core.TenantAlias, ref core.FileRef) (f File, ok bool, err error) {
	ok, err = fileColumns.One(r.QueryRowContext(ctx, `SELECT `+fileColumns.SQL()+` FROM file WHERE tenant = ? AND ref = ?`,
		string(tenant), string(ref)), "file", &f)
	return f, ok, err
}

// Quota limits the files of a tenant.
type Quota struct {
	// Bytes is the size of all files, with what is reserved for those that are being written.
	Bytes int64
	// Unused is the number of files in the folder of the new one that no job has read; 0 is no
	// limit.
	Unused int64
}

// storedBytes is the size of the files of the tenant ?1 at the time ?2, without file ?3. Those
// that have expired wait for their removal and do not count.
const storedBytes = `(SELECT coalesce(sum(size), 0) FROM file WHERE tenant = ?1 AND expires_at > ?2 AND ref <> ?3)`

// StoredBytes returns the size of the files of a tenant that have not expired, with what is
// reserved.
func StoredBytes(ctx context.Context, r store.Reads, tenant core.TenantAlias, now core.Time) (int64, error) {
	return store.One[int64](ctx, r, "stored bytes", `SELECT `+storedBytes, string(tenant), int64(now), "")
}

// InsertFile adds a file and reserves f.Size bytes, unless q permits no such file; then it
// returns false. It must be called before the content is written, so that the content is
// deleted even if the process is killed.
func InsertFile(ctx context.Context, tx *store.Tx, f File, q Quota) (bool, error) {
	folder, _, _ := strings.Cut(string(f.Ref), "/")
	return tx.Changed(ctx, "insert file", `INSERT INTO file (tenant, ref, size, hash, created_at, expires_at)
		SELECT ?1, ?3, ?4, '', ?5, ?6 WHERE `+storedBytes+` + ?4 <= ?7 AND (?8 = 0 OR ?8 > (
			SELECT count(*) FROM file f WHERE f.tenant = ?1 AND f.ref > ?9 || '/' AND f.ref < ?9 || '0' AND f.expires_at > ?2
				AND NOT EXISTS (SELECT 1 FROM job WHERE job.tenant = ?1 AND job.file = f.ref)))`,
		string(f.Tenant), int64(tx.Now), string(f.Ref), f.Size, int64(f.Created), int64(f.Expires), q.Bytes, q.Unused, folder)
}

// ReserveFile reserves f.Size bytes for an incomplete file and sets its expiry, unless the
// files of the tenant would exceed most bytes; then it returns false.
func ReserveFile(ctx context.Context, tx *store.Tx, f File, most int64) (bool, error) {
	return tx.Changed(ctx, "reserve file", `UPDATE file SET size = ?4, expires_at = ?5
		WHERE tenant = ?1 AND ref = ?3 AND `+storedBytes+` + ?4 <= ?6`,
		string(f.Tenant), int64(tx.Now), string(f.Ref), f.Size, int64(f.Expires), most)
}

// FinishFile stores the size, hash, dialect and expiry of a file whose content is complete.
func FinishFile(ctx context.Context, tx *store.Tx, f File) error {
	return tx.Exec(ctx, "finish file", `UPDATE file SET size = ?, hash = ?, dialect = ?, expires_at = ? WHERE tenant = ? AND ref = ?`,
		f.Size, f.Hash, f.Dialect, int64(f.Expires), string(f.Tenant), string(f.Ref))
}

// ExtendFile sets the expiry of a file to until, unless it is later already.
func ExtendFile(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref core.FileRef, until core.Time) error {
	return tx.Exec(ctx, "keep file", `UPDATE file SET expires_at = max(expires_at, ?) WHERE tenant = ? AND ref = ?`,
		int64(until), string(tenant), string(ref))
}

// ExpireFile makes a file expire at the time of the transaction, unless a job has read it.
func ExpireFile(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref core.FileRef) error {
	return tx.Exec(ctx, "expire file", `UPDATE file SET expires_at = ? WHERE tenant = ? AND ref = ?
			AND NOT EXISTS (SELECT 1 FROM job WHERE job.tenant = file.tenant AND job.file = ref)`,
		int64(tx.Now), string(tenant), string(ref))
}

// DeleteFile deletes the row of a file. The content must be deleted before.
func DeleteFile(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref core.FileRef) error {
	return tx.Exec(ctx, "delete file", `DELETE FROM file WHERE tenant = ? AND ref = ?`, string(tenant), string(ref))
}

// ExpiredFiles returns up to limit expired files of all tenants, with only their tenant
// and reference.
func ExpiredFiles(ctx context.Context, r store.Reads, now core.Time, limit int) ([]File, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+fileNames.SQL()+` FROM file WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`,
		int64(now), limit)
	return fileNames.All(rows, err, "expired files")
}

// Files returns the files of a tenant, or of all tenants if it is empty, without their
// dialects: backups also read databases of earlier versions, which have none.
func Files(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]File, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+keptColumns.SQL()+` FROM file
		WHERE ?1 = '' OR tenant = ?1 ORDER BY tenant, ref`, string(tenant))
	return keptColumns.All(rows, err, "files")
}
