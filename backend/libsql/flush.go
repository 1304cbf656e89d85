package libsql

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Log flushes the write-ahead log of one SQLite file, so that committed transactions
// survive a power cut; callers that wait at the same time share one flush. It also checks
// that the file, its log and the locks of this process are still there: if not, what is
// written is lost, and every call returns ErrFileLost. It is safe for concurrent use.
//
// SQLite can flush at every commit (synchronous=FULL), but it does so while it has
// the write lock, so that commits wait for each other's flushes. With
// synchronous=NORMAL in WAL mode it flushes only before and after a checkpoint. Until
// then a commit is in the write-ahead log, and is durable once that file is flushed.
type Log struct {
	url  string
	sync func(fd int) error
	// lost is why a file was lost, or nil: a short text, since it is in the error of each write.
	lost   atomic.Pointer[error]
	saving sync.WaitGroup
	report *slog.Logger
	// ended is closed by Close, if the files are watched.
	ended    chan struct{}
	closing  sync.Once
	watching sync.WaitGroup

	mu sync.Mutex
	// next is the flush that callers wait for and that has not begun; nil when no
	// caller waits.
	next *flushRound
	// running is true while a goroutine flushes.
	running bool

	// hold is nil until it is needed.
	hold    *hold
	holding sync.Mutex
}

// flushRound is one flush, for which several callers may wait.
type flushRound struct {
	done chan struct{}
	err  error
}

// NewLog returns the log of the database at a URL of the form "file:PATH". The file is
// opened when it is needed.
func NewLog(databaseURL string) (*Log, error) {
	if _, err := FilePath(databaseURL); err != nil {
		return nil, fmt.Errorf("flush: %w", err)
	}
	return &Log{url: databaseURL, sync: flush}, nil
}

// FileURL returns the URL of the database in the file at path.
func FileURL(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(path)
}

// FilePath returns the path in a URL of the form "file:PATH"; parameters are ignored.
func FilePath(databaseURL string) (string, error) {
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

// flush writes the log to the disk. Its name is checked after that: a transaction in a log
// that another process had deleted before must not count as stored.
func (l *Log) flush() error {
	h, err := l.held()
	if err != nil {
		return err
	}
	if err := l.sync(h.log.fd); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return l.lose(h, h.log.checkName())
}

// held returns the hold, and opens it first if needed.
func (l *Log) held() (*hold, error) {
	l.holding.Lock()
	defer l.holding.Unlock()
	if err := l.Err(); err != nil || l.hold != nil {
		return l.hold, err
	}
	h, err := openHold(l.url)
	if err == nil {
		// The name of a new log must survive, too.
		if err = syncPath(filepath.Dir(h.log.path), l.sync); err != nil {
			h.close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("flush: %w", err)
	}
	l.hold = h
	return h, nil
}

// syncPath flushes a file or folder, which no connection may have open.
func syncPath(path string, sync func(fd int) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return sync(int(f.Fd()))
}

// watchEvery is the interval at which Watch checks.
const watchEvery = time.Second

// Watch checks now and then each second until Close that the file, its log and the locks
// of this process are there. It returns the error of the first check, and logs when they
// are lost later. It must be called at most once, and before any other method.
func (l *Log) Watch(log *slog.Logger) error {
	l.report, l.ended = log, make(chan struct{})
	if err := l.Check(); err != nil {
		return err
	}
	l.watching.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for l.Err() == nil {
			select {
			case <-l.ended:
				return
			case <-tick.C:
				_ = l.Check() // Err has it, or the next check may succeed
			}
		}
	})
	return nil
}

// Check returns why the files cannot be used: ErrFileLost, or an error of this check only.
func (l *Log) Check() error {
	h, err := l.held()
	if err != nil {
		return err
	}
	return l.lose(h, h.check())
}

// Err returns ErrFileLost with the reason if a file was lost before; then nothing may be
// written. It costs nothing.
func (l *Log) Err() error {
	if lost := l.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

// lose records an error of a check if that is ErrFileLost. The first time, it also saves
// what this process has stored, in the background.
func (l *Log) lose(h *hold, err error) error {
	if errors.Is(err, ErrFileLost) && l.lost.CompareAndSwap(nil, &err) {
		l.saving.Go(func() { l.save(h, err) })
	}
	return err
}

// saveEvery is the time between two tries to save: the disk may be full.
const saveEvery = 5 * time.Second

// save saves what this process has stored, and logs where it is. If the files are watched,
// it tries until Close.
func (l *Log) save(h *hold, lost error) {
	report := l.report
	if report == nil {
		report = slog.New(slog.DiscardHandler)
	}
	report.Error("writes are refused, because a file of the database was lost", "error", lost)
	for ended, reported := l.report == nil, false; ; {
		path, err := h.save(time.Now())
		switch {
		case err == nil && path == "":
			report.Error("what was stored before a file was lost is in the database", "database", h.database.path, "remedy", "stop each kith on it, and start them again")
			return
		case err == nil:
			report.Error("what was stored before a file was lost is saved", "file", path, "remedy", UseSaved(h.database.path))
			return
		case ended || !reported:
			report.Error("what was stored before a file was lost is only in this process", "process", os.Getpid(), "error", err,
				"remedy", "do not end the process; free space on the disk or put the folder back, or copy its open files as docs/operate.md says (The database file)")
			reported = true
		}
		if ended {
			return
		}
		select {
		case <-time.After(saveEvery):
		case <-l.ended:
			ended = true
		}
	}
}

// UseSaved says how an operator continues with a saved copy of the database at a path.
func UseSaved(path string) string {
	return fmt.Sprintf("stop each kith on %s, move %s* away to another folder, put the newest %s%s* of them back as %s, and start", path, filepath.Base(path), filepath.Base(path), savedEnding, filepath.Base(path))
}

// Close closes the file; a second call does nothing. No call of Wait may be running.
func (l *Log) Close() error {
	if l.ended != nil {
		l.closing.Do(func() { close(l.ended) })
		l.watching.Wait()
	}
	l.saving.Wait()
	// The connection to a lost file stays open: the last one that is closed would copy its
	// log into a database that others may have changed since.
	if l.hold != nil && l.Err() == nil {
		l.hold.close()
	}
	return nil
}
