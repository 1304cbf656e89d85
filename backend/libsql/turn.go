package libsql

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Turn shows a process that holds the write lock of an SQLite file for long whether
// other processes wait for it. Each waiting process has one, and so has the holder; it
// is safe for concurrent use.
//
// SQLite gives a lock holder no contention signal: a waiting process polls, and misses
// the moments in which the lock is free. So it holds another lock while it waits, on a
// file beside the database. Any number of processes can hold that one at once, and the
// system releases it when a process dies.
type Turn struct {
	path string

	mu   sync.Mutex
	file *os.File
	// waiting is true between Wait and Done; it saves calls of the system.
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

// Wait shows that this process waits, until Done. After an error the others do not
// see it.
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

// Done shows that this process does not wait any more.
func (f *Turn) Done() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.waiting {
		return nil
	}
	f.waiting = false
	return wrap(unlock(f.file))
}

// Wanted reports whether another Turn waits; also true when that cannot be found out.
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
		// Opened for reading, which is enough to lock it: it may be another user's.
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

// Close closes the file, and ends waiting.
func (f *Turn) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	var err error
	if f.waiting {
		// A child process that is being started may have the file open for a moment.
		err = unlock(f.file)
	}
	err = errors.Join(err, f.file.Close())
	f.file, f.waiting = nil, false
	return err
}
