// Package file keeps the files of jobs: what callers uploaded and what jobs
// wrote. It knows their names and their bytes; whose they are and how long they
// stay is in the database.
//
// Files are streams: none is ever whole in memory.
package file

import (
	"context"
	"io"

	"kith/core"
)

// Store is where files are: a directory (Dir) or a bucket (package bucket). It
// is safe for concurrent use.
type Store interface {
	// Create begins a file. It is there when Close of the writer has returned
	// nil, whole, and before that not at all. Whoever does not close it must
	// abort it.
	Create(ctx context.Context, ref core.FileRef) (Writer, error)
	// Open reads a file from a place on, in bytes. Of one that is not there,
	// Open or the first read says so.
	Open(ctx context.Context, ref core.FileRef, from int64) (io.ReadCloser, error)
	// Remove takes a file away; one that is not there is no error.
	Remove(ctx context.Context, ref core.FileRef) error
	// Close lets go of the store itself.
	Close() error
}

// Writer writes a file.
type Writer interface {
	io.WriteCloser
	// Abort ends the writing, and nothing of it remains. After Close it does
	// nothing, so that it can be deferred.
	Abort()
}
