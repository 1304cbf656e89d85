// Package atomicfile writes files that appear under their names when they are complete.
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Write writes a file that only its owner may read, and returns its size in bytes. The file
// appears under its name, in place of one that is there, when it is complete and on disk. If
// write fails, or on Linux if the process is killed, nothing is left; the one exception is a
// file system that has no files without names, such as NFS, where a kill leaves a file named
// PATH.part and a number.
func Write(path string, write func(io.Writer) error) (size int64, err error) {
	temp, name, err := create(path)
	if err != nil {
		return 0, err
	}
	err = write(temp)
	size, seekErr := temp.Seek(0, io.SeekEnd)
	err = errors.Join(err, seekErr, temp.Sync())
	if err == nil && name == "" {
		name, err = link(temp, path)
	}
	if name != "" {
		defer os.Remove(name)
	}
	if err := errors.Join(err, temp.Close()); err != nil {
		return 0, err
	}
	return size, os.Rename(name, path)
}

// createNamed creates a file beside path.
func createNamed(path string) (f *os.File, name string, err error) {
	if f, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part*"); err != nil {
		return nil, "", err
	}
	return f, f.Name(), nil
}
