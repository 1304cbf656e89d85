// Package file stores the files of jobs: those that callers uploaded and those that
// jobs wrote. It knows only their names and bytes; the database has their tenants and
// their retention times.
//
// Files are streams: no file is ever in memory as a whole.
package file

import (
	"context"
	"io"

	"kith/core"
)

// Store is a file store: a directory (Dir) or a bucket (package bucket). It
// is safe for concurrent use.
type Store interface {
	// Create begins a file. The file exists, complete, once Close of the writer has
	// returned nil, and not before. A caller that does not call Close must call Abort.
	Create(ctx context.Context, ref core.FileRef) (Writer, error)
	// Open reads a file from an offset in bytes. If the file does not exist, Open or
	// the first read returns an error.
	Open(ctx context.Context, ref core.FileRef, from int64) (io.ReadCloser, error)
	// Remove removes a file; it returns nil if the file does not exist.
	Remove(ctx context.Context, ref core.FileRef) error
	// Close closes the store.
	Close() error
}

// Writer writes a file.
type Writer interface {
	io.WriteCloser
	// Abort ends the writing and removes what was written. After Close it does
	// nothing, so that it can be deferred.
	Abort()
}
