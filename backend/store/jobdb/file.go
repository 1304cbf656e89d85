package jobdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// File is the row of a file. The database does not have its content.
type File struct {
	Tenant core.TenantAlias
	Ref    core.FileRef
	// Size is in bytes, -1 until the file is complete.
	Size int64
	// Hash is the SHA-256 of an upload in hex, empty for other files.
	Hash string
	// Expires is when the file may be deleted.
	Created, Expires core.Time
}

var fileNames = store.Selection[File]{
	store.Col(`tenant`, func(f *File) any { return &f.Tenant }),
	store.Col(`ref`, func(f *File) any { return &f.Ref }),
}

var fileColumns = store.Selection[File]{
	store.Col(`coalesce(size, -1)`, func(f *File) any { return &f.Size }),
	store.Col(`hash`, func(f *File) any { return &f.Hash }),
	store.Col(`created_at`, func(f *File) any { return &f.Created }),
	store.Col(`expires_at`, func(f *File) any { return &f.Expires }),
}.With(fileNames)

// FindFile returns a file; ok is false if it does not exist.
func FindFile(ctx context.Context, r store.Reads, tenant core.TenantAlias, ref core.FileRef) (f File, ok bool, err error) {
	ok, err = fileColumns.One(r.QueryRowContext(ctx, `SELECT `+fileColumns.SQL()+` FROM file WHERE tenant = ? AND ref = ?`,
		string(tenant), string(ref)), "file", &f)
	return f, ok, err
}

// InsertFile adds a file. It must be called before the content is written, so that the
// content is deleted even if the process is killed.
func InsertFile(ctx context.Context, tx *store.Tx, f File) error {
	return tx.Exec(ctx, "insert file", `INSERT INTO file (tenant, ref, size, hash, created_at, expires_at)
		VALUES (?, ?, NULL, '', ?, ?)`, string(f.Tenant), string(f.Ref), int64(f.Created), int64(f.Expires))
}

// FinishFile stores the size and hash of a file whose content is complete.
func FinishFile(ctx context.Context, tx *store.Tx, f File) error {
	return tx.Exec(ctx, "finish file", `UPDATE file SET size = ?, hash = ? WHERE tenant = ? AND ref = ?`,
		f.Size, f.Hash, string(f.Tenant), string(f.Ref))
}

// ExtendFile sets the expiry of a file to until, unless it is later already.
func ExtendFile(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref core.FileRef, until core.Time) error {
	return tx.Exec(ctx, "keep file", `UPDATE file SET expires_at = max(expires_at, ?) WHERE tenant = ? AND ref = ?`,
		int64(until), string(tenant), string(ref))
}

// ExpireFile makes a file expire at the time of the transaction.
func ExpireFile(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref core.FileRef) error {
	return tx.Exec(ctx, "expire file", `UPDATE file SET expires_at = ? WHERE tenant = ? AND ref = ?`,
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

// Files returns the files of a tenant, or of all tenants if it is empty.
func Files(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]File, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+fileColumns.SQL()+` FROM file
		WHERE ?1 = '' OR tenant = ?1 ORDER BY tenant, ref`, string(tenant))
	return fileColumns.All(rows, err, "files")
}
