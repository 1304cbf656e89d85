package libsql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// hold is a connection that stays open for as long as a process uses a database file. While
// its locks are there, no other process deletes the log.
//
// Its three files are SQLite's own: a process must never open and close one of them beside
// SQLite. On POSIX, closing any descriptor of a file ends all locks that the process has on
// it (fcntl). Then every other program that opens the database takes itself for the only
// one, and deletes the log when it closes the database, while this process still writes
// into the deleted file (https://sqlite.org/howtocorrupt.html, 2.2).
type hold struct {
	conn *fileConn
	// database is the file of the database, log its write-ahead log, and index the index of
	// the log, which all processes map into their memory.
	database, log, index heldFile
}

// heldFile is a file that SQLite has open.
type heldFile struct {
	path string
	// fd is SQLite's descriptor.
	fd int
	// lock are the bytes on which SQLite has a shared lock while the connection is open;
	// empty for the log, which has no locks.
	lock byteRange
}

type byteRange struct{ start, length int64 }

// The locks of an open connection in WAL mode (os_unix.c of SQLite: SHARED_FIRST and
// UNIX_SHM_DMS), and the lock without which no process can begin to use the file.
var (
	sharedLock  = byteRange{0x40000002, 510}
	indexLock   = byteRange{128, 1}
	pendingLock = byteRange{0x40000000, 1}
)

// holdLimits bound the results of a hold's statements, which have one row.
var holdLimits = limits{maxRows: 1, maxBytes: mib}

func openHold(databaseURL string) (*hold, error) {
	path, err := FilePath(databaseURL)
	if err != nil {
		return nil, err
	}
	conn, err := connectFile(databaseURL, holdLimits, "busy_timeout(10000)", "journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	h := &hold{conn: conn}
	// A read opens the log and its index.
	if _, err = conn.run(context.Background(), "SELECT count(*) FROM sqlite_schema", nil); err == nil {
		err = h.find(path)
	}
	if err != nil {
		conn.close()
		return nil, err
	}
	return h, nil
}

// find finds the files of the connection to the database with the given path.
func (h *hold) find(named string) error {
	c := h.conn
	database := at[sqlite3.TunixFile](c.file(sqlite3.SQLITE_FCNTL_FILE_POINTER))
	log := at[sqlite3.TunixFile](c.file(sqlite3.SQLITE_FCNTL_JOURNAL_POINTER))
	if database == nil || log == nil || log.FpMethod == 0 || database.FpShm == 0 {
		return errors.New("the file cannot have a write-ahead log; put it on a local disk")
	}
	index := at[sqlite3.TunixShmNode](at[sqlite3.TunixShm](database.FpShm).FpShmNode)
	main := c.tls.Alloc(len("main") + 1)
	defer c.tls.Free(len("main") + 1)
	copy(libc.GoBytes(main, len("main")+1), "main\x00")
	path := libc.GoString(sqlite3.Xsqlite3_db_filename(c.tls, c.db, main))
	h.database = heldFile{named, int(database.Fh), sharedLock} // SQLite has resolved links
	h.log = heldFile{path: path + "-wal", fd: int(log.Fh)}
	h.index = heldFile{path + "-shm", int(index.FhShm), indexLock}
	return nil
}

// ErrFileLost reports that a file of a database is not the one that this process has open,
// or that the locks of this process on it are gone: what it writes may be lost.
var ErrFileLost = errors.New("the file of the database was lost")

// check returns an error if a file is not the one at its path, or not locked. It is
// ErrFileLost, or says that the file could not be examined.
func (h *hold) check() error {
	return errors.Join(h.log.check(), h.index.check(), h.database.check())
}

func (f heldFile) check() error {
	if err := f.checkName(); err != nil {
		return err
	}
	if f.lock.length > 0 && !f.isLocked() {
		return f.lost("is open in this process and not locked: this process, or its file system, has dropped SQLite's locks")
	}
	return nil
}

func (f heldFile) checkName() error {
	var open, named unix.Stat_t
	if err := unix.Fstat(f.fd, &open); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	err := unix.Stat(f.path, &named)
	switch {
	case errors.Is(err, unix.ENOENT), err == nil && (named.Dev != open.Dev || named.Ino != open.Ino):
		return f.lost("was deleted, moved or replaced while this process had it open")
	case err != nil:
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

func (f heldFile) lost(how string) error {
	return fmt.Errorf("%w: %s %s", ErrFileLost, f.path, how)
}

// savedEnding separates the path of a database from the rest of the path of a saved copy.
const savedEnding = "-saved-"

// besides are the endings of the files that SQLite makes beside a database.
var besides = []string{"-wal", "-shm", "-journal"}

// saving makes an edge and a backend in one process save one after the other: SQLite does not
// wait for another checkpoint.
var saving sync.Mutex

// save brings what the process has stored to where it can be read: into a new file beside
// the database, whose path it returns; or into the database, if no other process uses that
// and no other log belongs to it, and returns "". The database is only written while the
// copy is there: a full disk, or the end of the process, leaves it unreadable.
func (h *hold) save(now time.Time) (path string, err error) {
	saving.Lock()
	defer saving.Unlock()
	// Two processes may save at the same time. A copy has its name when it is whole.
	name := now.UTC().Format("20060102T150405.000Z") + "-" + strconv.Itoa(os.Getpid())
	part := h.database.path + "-saving-" + name
	path = h.database.path + savedEnding + name
	if err := createPrivate(part); err != nil { // SQLite accepts an empty file
		return "", err
	}
	defer os.Remove(part)
	if _, err := h.conn.run(context.Background(), "VACUUM INTO ?", []any{part}); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if err := errors.Join(syncPath(part, flush), os.Rename(part, path), syncPath(filepath.Dir(path), flush)); err != nil {
		return "", err
	}
	if h.checkpoint() {
		return "", os.Remove(path)
	}
	return path, nil
}

// Saved returns the newest of the copies that processes have saved beside the database at a
// URL of the form "file:PATH" when they had lost its files; "" if there is none. The newest
// has everything that any of them had acknowledged.
func Saved(databaseURL string) (string, error) {
	path, err := FilePath(databaseURL)
	if err != nil {
		return "", err
	}
	beside, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", nil // the folder does not exist, or opening the database says why
	}
	newest := ""
	for _, entry := range beside { // sorted by name
		name := entry.Name()
		if strings.HasPrefix(name, filepath.Base(path)+savedEnding) && !slices.ContainsFunc(besides, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			newest = filepath.Join(filepath.Dir(path), name)
		}
	}
	return newest, nil
}

// checkpoint copies the log into the database, and reports whether that was safe and whole.
// It is not safe while another process uses the file with another log.
func (h *hold) checkpoint() bool {
	if h.database.checkName() != nil {
		return false
	}
	if info, err := os.Stat(h.log.path); err == nil && info.Size() > 0 && h.log.checkName() != nil {
		return false
	}
	alone, release := h.database.exclude()
	if !alone {
		return false
	}
	defer release()
	for range checkpointTries {
		r, err := h.conn.run(context.Background(), "PRAGMA wal_checkpoint(FULL)", nil)
		if err != nil || len(r.values) != 3 {
			return false
		}
		// One row: whether it was blocked, the pages of the log, and those that were copied.
		if r.values[0] == int64(0) {
			return r.values[1] == r.values[2]
		}
		time.Sleep(checkpointPause) // a writer that was not yet refused copies the log, too
	}
	return false
}

const (
	checkpointTries = 50
	checkpointPause = 20 * time.Millisecond
)

// exclude keeps other processes from beginning to use the file until release is called. It
// fails if one uses it already.
func (f heldFile) exclude() (ok bool, release func()) {
	set := func(kind int16) error {
		lock := pendingLock.flock(kind)
		return unix.FcntlFlock(uintptr(f.fd), unix.F_SETLK, &lock)
	}
	if set(unix.F_WRLCK) != nil {
		return false, nil
	}
	release = func() { _ = set(unix.F_UNLCK) }
	used := sharedLock.flock(unix.F_WRLCK)
	if err := unix.FcntlFlock(uintptr(f.fd), unix.F_GETLK, &used); err != nil || used.Type != unix.F_UNLCK {
		release()
		return false, nil
	}
	return true, release
}

func (r byteRange) flock(kind int16) unix.Flock_t {
	return unix.Flock_t{Type: kind, Start: r.start, Len: r.length}
}

// close ends the connection. Its files may not be lost: SQLite would copy the log into a
// database that others have changed since.
func (h *hold) close() { h.conn.close() }
