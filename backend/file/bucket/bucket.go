// Package bucket keeps files in a bucket of any of the kinds that it links: a
// directory, Amazon S3 and what speaks like it, Google Cloud Storage, Azure Blob
// Storage. It is apart from package file because these clients are large.
package bucket

import (
	"context"
	"fmt"
	"io"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://CONTAINER
	_ "gocloud.dev/blob/fileblob"  // file:///PATH
	_ "gocloud.dev/blob/gcsblob"   // gs://BUCKET
	_ "gocloud.dev/blob/s3blob"    // s3://BUCKET?region=R
	"gocloud.dev/gcerrors"

	"kith/backend/file"
	"kith/core"
)

// Store is a bucket; it implements file.Store.
type Store struct{ b *blob.Bucket }

// Open opens a bucket by its URL; the kinds and their parameters are those of
// gocloud.dev/blob, and credentials are found as each of their clients does.
func Open(ctx context.Context, url string) (Store, error) {
	b, err := blob.OpenBucket(ctx, url)
	if err != nil {
		return Store{}, fmt.Errorf("bucket: open: %w", err)
	}
	return Store{b}, nil
}

// Close implements file.Store.
func (s Store) Close() error { return s.b.Close() }

// Create implements file.Store.
func (s Store) Create(ctx context.Context, ref core.FileRef) (file.Writer, error) {
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.b.NewWriter(ctx, string(ref), &blob.WriterOptions{ContentType: "application/octet-stream"})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("bucket: create: %w", err)
	}
	return &writer{Writer: w, cancel: cancel}, nil
}

type writer struct {
	*blob.Writer
	cancel context.CancelFunc
	done   bool
}

func (w *writer) Close() error {
	w.done = true
	defer w.cancel()
	return w.Writer.Close()
}

// Abort implements file.Writer: a writer whose context has ended stores nothing
// when it is closed.
func (w *writer) Abort() {
	if !w.done {
		w.done = true
		w.cancel()
		_ = w.Writer.Close()
	}
}

// Open implements file.Store.
func (s Store) Open(ctx context.Context, ref core.FileRef, from int64) (io.ReadCloser, error) {
	r, err := s.b.NewRangeReader(ctx, string(ref), from, -1, nil)
	if err != nil {
		return nil, fmt.Errorf("bucket: open: %w", err)
	}
	return r, nil
}

// Remove implements file.Store.
func (s Store) Remove(ctx context.Context, ref core.FileRef) error {
	if err := s.b.Delete(ctx, string(ref)); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("bucket: remove: %w", err)
	}
	return nil
}
