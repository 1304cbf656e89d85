package libsql

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Turn is where those who wait for one SQLite file can be seen by whoever has its
// write lock for long. It is for one of them, or for one who looks; its methods may be
// called by several goroutines.
//
// SQLite tells nobody: who waits can only ask again and again, and comes too late
// when the lock is left alone for a moment. Here who waits holds a lock of its own
// meanwhile, on a file beside the database, which everybody can hold at once and the
// system takes back from a process that dies.
type Turn struct {
	path string

	mu   sync.Mutex
	file *os.File
	// waiting is true while this Turn waits, so that who has no need to asks nothing
	// of the system.
	waiting bool
}

// NewTurn returns the Turn of the database at a URL: "file:PATH", parameters are not
// regarded. Nothing is opened before it is needed.
func NewTurn(databaseURL string) (*Turn, error) {
	path, err := filePath(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("turn: %w", err)
	}
	return &Turn{path: path + "-turn"}, nil
}

// Wait says that somebody waits, until Done. An error means that nobody sees it.
func (f *Turn) Wait() error {
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
func (f *Turn) Done() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.waiting {
		return nil
	}
	f.waiting = false
	return wrap(unlock(f.file))
}

// Wanted reports whether somebody waits, other than by this Turn; true also when
// nobody can tell.
func (f *Turn) Wanted() bool {
	nobody := false
	err := f.do(func(file *os.File) (err error) {
		nobody, err = lookLock(file)
		return err
	})
	return err != nil || !nobody
}

func (f *Turn) do(lock func(*os.File) error) (err error) {
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
func (f *Turn) Close() error {
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
