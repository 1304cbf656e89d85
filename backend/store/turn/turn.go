// Package turn lets whoever has the write lock of an SQLite file for long see that
// others wait for it.
//
// SQLite tells nobody: who waits can only ask again and again, and comes too late
// when the lock is left alone for a moment. Here who waits holds a lock of its own
// meanwhile, on a file beside the database, which everybody can hold at once and the
// system takes back from a process that dies.
package turn

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"kith/backend/store/flush"
)

// File is where those who wait for one SQLite file can be seen. It is for one of them,
// or for one who looks; its methods may be called by several goroutines.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
	// waiting is true while this File waits, so that who has no need to asks nothing
	// of the system.
	waiting bool
}

// New returns the file for the database at a URL: "file:PATH", parameters are not
// regarded. Nothing is opened before it is needed.
func New(databaseURL string) (*File, error) {
	path, err := flush.Path(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("turn: %w", err)
	}
	return &File{path: path + "-turn"}, nil
}

// Wait says that somebody waits, until Done. An error means that nobody sees it.
func (f *File) Wait() error {
	return f.do(func(file *os.File) error {
		if f.waiting {
			return nil
		}
		err := waitLock(file)
		f.waiting = err == nil
		return err
	})
}

// Done says that what was waited for is done.
func (f *File) Done() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.waiting {
		return nil
	}
	f.waiting = false
	return wrap(unlock(f.file))
}

// Wanted reports whether somebody waits, other than by this File; true also when
// nobody can tell.
func (f *File) Wanted() bool {
	nobody := false
	err := f.do(func(file *os.File) (err error) {
		nobody, err = lookLock(file)
		return err
	})
	return err != nil || !nobody
}

func (f *File) do(lock func(*os.File) error) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		// To lock it, reading is enough: others may run as somebody else.
		if f.file, err = os.OpenFile(f.path, os.O_RDONLY|os.O_CREATE, 0o600); err != nil {
			return wrap(err)
		}
	}
	return wrap(lock(f.file))
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("turn: %w", err)
}

// Close lets the file go, and ends waiting.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	var err error
	if f.waiting {
		// A process that is being started may have the file too, for a moment.
		err = unlock(f.file)
	}
	err = errors.Join(err, f.file.Close())
	f.file, f.waiting = nil, false
	return err
}
