// Package bucket opens a file store by its URL: a directory, a bucket of Amazon S3 or
// of a server with the same protocol, or a bucket of Google Cloud Storage, through the
// same protocol.
//
// One client of that protocol replaces the SDKs of the clouds, which were two thirds
// of the binary. It makes the eight requests that are needed; minio-go finds credentials
// and signs. Azure Blob Storage does not support the protocol.
package bucket

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"kith/backend/file"
	"kith/core"
)

const (
	// partSize is the size of the parts of an upload, each of which a writer buffers
	// in memory: the smallest that S3 accepts.
	partSize = 5 << 20
	// maxParts is how many parts S3 accepts for one object: 48 GiB.
	maxParts = 10_000
	// abortTime bounds the removal of a failed upload, which continues after its
	// context has ended.
	abortTime = 30 * time.Second
)

// Store is a bucket, or the objects in it whose keys begin with a prefix; it
// implements file.Store.
type Store struct {
	s3     *client
	prefix string
}

// Close implements file.Store.
func (Store) Close() error { return nil }

func (s Store) key(ref core.FileRef) string { return s.prefix + string(ref) }

// Create implements file.Store. The first request is made when a part is full,
// or by Close.
func (s Store) Create(ctx context.Context, ref core.FileRef) (file.Writer, error) {
	return &writer{ctx: ctx, store: s, key: s.key(ref)}, nil
}

// writer sends a file in parts, which the server joins to an object when all have
// arrived. A file of one part is sent in one request.
type writer struct {
	ctx    context.Context
	store  Store
	key    string
	part   []byte // what has not been sent
	upload string // the id of the multipart upload; empty: none has begun
	sent   []part
	err    error // the error of the part that could not be sent
	done   bool
}

// Write sends a full part only when more bytes follow, so that a file of one part needs
// no multipart upload.
func (w *writer) Write(p []byte) (n int, err error) {
	if w.done {
		return 0, fs.ErrClosed
	}
	if w.part == nil {
		w.part = make([]byte, 0, partSize)
	}
	for len(p) > 0 {
		if len(w.part) == partSize {
			if err := w.send(); err != nil {
				return n, err
			}
		}
		k := min(len(p), partSize-len(w.part))
		w.part = append(w.part, p[:k]...)
		p = p[k:]
		n += k
	}
	return n, nil
}

// send sends a part. After an error the file is lost.
func (w *writer) send() error {
	if w.err == nil {
		w.err = w.sendPart()
	}
	if w.err != nil {
		return fmt.Errorf("bucket: write: %w", w.err)
	}
	return nil
}

func (w *writer) sendPart() (err error) {
	if len(w.sent) == maxParts {
		return fmt.Errorf("a file has at most %d parts of %d bytes", maxParts, partSize)
	}
	if w.upload == "" {
		if w.upload, err = w.store.s3.begin(w.ctx, w.key); err != nil {
			return err
		}
	}
	arrived, err := w.store.s3.putPart(w.ctx, w.key, w.upload, len(w.sent)+1, w.part)
	if err != nil {
		return err
	}
	w.sent = append(w.sent, arrived)
	w.part = w.part[:0]
	return nil
}

// Close completes the object. It fails if a part could not be sent.
func (w *writer) Close() error {
	if w.done {
		return fs.ErrClosed
	}
	if err := w.finish(); err != nil {
		w.Abort()
		return fmt.Errorf("bucket: close: %w", err)
	}
	w.done, w.part = true, nil
	return nil
}

func (w *writer) finish() error {
	if w.err == nil && w.upload == "" {
		return w.store.s3.put(w.ctx, w.key, w.part)
	}
	if err := w.send(); err != nil {
		return err
	}
	return w.store.s3.complete(w.ctx, w.key, w.upload, w.sent)
}

// Abort implements file.Writer. Parts that the server does not remove now are
// removed by Remove.
func (w *writer) Abort() {
	if w.done {
		return
	}
	w.done, w.part = true, nil
	if w.upload != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortTime)
		defer cancel()
		_ = w.store.s3.abort(ctx, w.key, w.upload)
	}
}

// Open implements file.Store.
func (s Store) Open(ctx context.Context, ref core.FileRef, from int64) (io.ReadCloser, error) {
	body, err := s.s3.get(ctx, s.key(ref), from)
	if code(err) == "InvalidRange" {
		// The file exists, and ends at or before that position.
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, fmt.Errorf("bucket: open: %w", err)
	}
	return body, nil
}

// Remove implements file.Store. It also removes the parts that a process had sent
// before it crashed.
func (s Store) Remove(ctx context.Context, ref core.FileRef) error {
	err := s.s3.remove(ctx, s.key(ref))
	if err == nil || code(err) == "NoSuchKey" {
		err = s.abortUploads(ctx, s.key(ref))
	}
	// Some servers answer NoSuchUpload when the bucket has no multipart upload at all.
	if err != nil && code(err) != "NoSuchUpload" {
		return fmt.Errorf("bucket: remove: %w", err)
	}
	return nil
}

// abortUploads removes the parts of multipart uploads to a key that no process
// continues.
func (s Store) abortUploads(ctx context.Context, key string) error {
	uploads, err := s.s3.uploads(ctx, key)
	if err != nil {
		return err
	}
	for _, upload := range uploads {
		if err := s.s3.abort(ctx, key, upload); err != nil && code(err) != "NoSuchUpload" {
			return err
		}
	}
	return nil
}
