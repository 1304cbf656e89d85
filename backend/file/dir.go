package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kith/core"
)

// Dir stores files in a directory, which is created when the first file is written.
type Dir string

// Close does nothing.
func (Dir) Close() error { return nil }

func (d Dir) path(ref core.FileRef) (string, error) {
	if !filepath.IsLocal(string(ref)) {
		return "", fmt.Errorf("file: %q is outside of the directory", ref)
	}
	return filepath.Join(string(d), filepath.FromSlash(string(ref))), nil
}

// tempSuffix is the end of the name of a file while it is being written.
const tempSuffix = ".part"

// Create implements Store.
func (d Dir) Create(_ context.Context, ref core.FileRef) (Writer, error) {
	path, err := d.path(ref)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("file: create: %w", err)
	}
	part, err := os.OpenFile(path+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("file: create: %w", err)
	}
	return &dirWriter{File: part, path: path}, nil
}

// dirWriter writes a temporary file and renames it when it is complete.
type dirWriter struct {
	*os.File
	path string
	done bool
}

// Close flushes the file to the disk and renames it, so that a file that was
// acknowledged survives a power failure.
func (w *dirWriter) Close() error {
	if w.done {
		return fs.ErrClosed
	}
	w.done = true
	err := errors.Join(w.Sync(), w.File.Close())
	if err == nil {
		err = os.Rename(w.Name(), w.path)
	}
	if err != nil {
		_ = os.Remove(w.Name())
		return fmt.Errorf("file: close: %w", err)
	}
	return nil
}

// Abort implements Writer.
func (w *dirWriter) Abort() {
	if !w.done {
		w.done = true
		_ = w.File.Close()
		_ = os.Remove(w.Name())
	}
}

// Open implements Store.
func (d Dir) Open(_ context.Context, ref core.FileRef, from int64) (io.ReadCloser, error) {
	path, err := d.path(ref)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("file: open: %w", err)
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("file: open: %w", err)
	}
	return f, nil
}

// Remove implements Store. It also removes the temporary file of a process that crashed
// while it wrote.
func (d Dir) Remove(_ context.Context, ref core.FileRef) error {
	path, err := d.path(ref)
	if err != nil {
		return err
	}
	for _, name := range []string{path, path + tempSuffix} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("file: remove: %w", err)
		}
	}
	return nil
}
