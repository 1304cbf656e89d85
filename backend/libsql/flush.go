package libsql

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Log flushes the write-ahead log of one SQLite file, so that committed transactions
// survive a power cut; callers that wait at the same time share one flush. It is safe
// for concurrent use.
//
// SQLite can flush at every commit (synchronous=FULL), but it does so while it has
// the write lock, so that commits wait for each other's flushes. With
// synchronous=NORMAL in WAL mode it flushes only before and after a checkpoint. Until
// then a commit is in the write-ahead log, and is durable once that file is flushed.
type Log struct {
	path string
	sync func(*os.File) error

	mu sync.Mutex
	// next is the flush that callers wait for and that has not begun; nil when no
	// caller waits.
	next *flushRound
	// running is true while a goroutine flushes.
	running bool

	// file is the log as it was opened last, or nil. Only the running goroutine uses it.
	file *os.File
}

// flushRound is one flush, for which several callers may wait.
type flushRound struct {
	done chan struct{}
	err  error
}

// NewLog returns the log of the database at a URL of the form "file:PATH"; its
// parameters are ignored. Files are opened when they are needed.
func NewLog(databaseURL string) (*Log, error) {
	path, err := filePath(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("flush: %w", err)
	}
	return &Log{path: path + "-wal", sync: syncFile}, nil
}

// filePath returns the path in a URL of the form "file:PATH"; parameters are ignored.
func filePath(databaseURL string) (string, error) {
	path, _, _ := strings.Cut(strings.TrimPrefix(databaseURL, "file:"), "?")
	return url.PathUnescape(path)
}

// Wait returns when all transactions that were committed before the call are on the
// disk. After an error they may or may not be; a later call does not show which.
func (l *Log) Wait() error {
	l.mu.Lock()
	if l.next == nil {
		l.next = &flushRound{done: make(chan struct{})}
	}
	mine := l.next
	if !l.running {
		l.running = true
		go l.run()
	}
	l.mu.Unlock()
	<-mine.done
	return mine.err
}

// run flushes until no caller waits.
func (l *Log) run() {
	for {
		l.mu.Lock()
		r := l.next
		l.next = nil
		l.running = r != nil
		l.mu.Unlock()
		if r == nil {
			return
		}
		r.err = l.flush()
		close(r.done)
	}
}

// flush writes the log to the disk. SQLite deletes the log when the last connection
// is closed, after a checkpoint that was flushed: then flush does nothing, and a log
// that is created later is another file.
func (l *Log) flush() error {
	now, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if l.file != nil {
		if was, err := l.file.Stat(); err != nil || !os.SameFile(was, now) {
			_ = l.file.Close()
			l.file = nil
		}
	}
	if l.file == nil {
		if l.file, err = l.open(); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	}
	if err := l.sync(l.file); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// open opens the log, and flushes its folder, so that the name of a new file survives.
func (l *Log) open() (*os.File, error) {
	dir, err := os.Open(filepath.Dir(l.path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := l.sync(dir); err != nil {
		return nil, err
	}
	return os.Open(l.path)
}

// Close closes the log. No call of Wait may be running.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
