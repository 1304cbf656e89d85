package libsql

import (
	"bufio"
	"bytes"
	"database/sql"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// store stores a row by db, and returns the error of the flush.
func store(t *testing.T, l *Log, db *sql.DB) error {
	t.Helper()
	_, err := db.Exec(`INSERT INTO n VALUES (1)`)
	require.NoError(t, err)
	return l.Wait()
}

// rows returns the number of rows of a database, which a new connection reads.
func rows(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.QueryRow(`SELECT count(*) FROM n`).Scan(&n))
	return n
}

// awaitSaved waits until a file is known to be lost, and what was stored is saved.
func awaitSaved(t *testing.T, l *Log) {
	t.Helper()
	require.Eventually(t, func() bool { err := l.Err(); return err != nil && strings.Contains(err.Error(), "restart kith") },
		sqldtest.Deadline, time.Millisecond)
	require.ErrorIs(t, l.Err(), ErrFileLost)
}

// When a file of a database is lost, the next write is not acknowledged, later ones are
// refused, and the rows before are saved: in the database, if no other log belongs to it.
func TestLog_Lost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose  func(t *testing.T, path string)
		says  string
		saved string // what the path of the saved rows begins with, after that of the database
	}{
		"log deleted":   {func(t *testing.T, path string) { require.NoError(t, os.Remove(path+"-wal")) }, "kith.db-wal was deleted", ""},
		"index deleted": {func(t *testing.T, path string) { require.NoError(t, os.Remove(path+"-shm")) }, "kith.db-shm was deleted", ""},
		"log replaced by an empty one": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path+"-wal"))
			require.NoError(t, os.WriteFile(path+"-wal", nil, 0o600))
		}, "kith.db-wal was replaced", ""},
		"log replaced by another": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path+"-wal"))
			require.NoError(t, os.WriteFile(path+"-wal", make([]byte, 100), 0o600))
		}, "kith.db-wal was replaced", "-saved-"},
		"database moved":    {func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+"2")) }, "kith.db was deleted or moved", "-saved-"},
		"database replaced": {func(t *testing.T, path string) { replace(t, path) }, "kith.db was replaced", "-saved-"},
		"locks dropped":     {dropLocks, "not locked", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "locks dropped" && runtime.GOOS != "linux" {
				return // no other system shows a process its own locks
			}
			l, db := logOf(t, "kith.db")
			var out lockedBuffer
			require.NoError(t, l.Watch(slog.New(slog.NewTextHandler(&out, nil))))
			path := l.hold.database.path
			require.NoError(t, store(t, l, db))
			c.lose(t, path)
			awaitSaved(t, l)
			require.ErrorContains(t, l.Err(), c.says)
			require.Eventually(t, func() bool { return strings.Contains(out.String(), "level=ERROR") }, sqldtest.Deadline, time.Millisecond)
			if c.saved == "" {
				require.ErrorContains(t, l.Err(), "all of it is in "+path)
				require.Equal(t, 1, rows(t, path))
				return
			}
			copies, err := filepath.Glob(path + c.saved + "*")
			require.NoError(t, err)
			require.Len(t, copies, 1)
			require.ErrorContains(t, l.Err(), "a copy of it is in "+copies[0])
			require.Equal(t, 1, rows(t, copies[0]))
			info, err := os.Stat(copies[0])
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
		})
	}
}

// A lost file is found by the write that comes first, too: it is not acknowledged.
func TestLog_LostBeforeAWrite(t *testing.T) {
	t.Parallel()
	l, db := logOf(t, "kith.db")
	require.NoError(t, store(t, l, db))
	require.NoError(t, os.Remove(l.hold.log.path))
	require.ErrorIs(t, store(t, l, db), ErrFileLost)
}

// A log that is closed after a loss changes the database no more: others may have changed
// it since.
func TestLog_ClosedAfterALoss(t *testing.T) {
	t.Parallel()
	l, db := logOf(t, "kith.db")
	require.NoError(t, l.Check())
	path := l.hold.database.path
	require.NoError(t, os.Remove(path+"-wal"))
	require.NoError(t, os.WriteFile(path+"-wal", make([]byte, 100), 0o600)) // of another process
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.ErrorIs(t, store(t, l, db), ErrFileLost)
	require.NoError(t, db.Close())
	require.NoError(t, l.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))
}

// The locks of another process are not taken for those of this one; and while another
// process uses the database, what was stored is saved beside it.
func TestLog_LocksOfAnotherProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return
	}
	l, db := logOf(t, "kith.db")
	require.NoError(t, l.Check())
	require.NoError(t, store(t, l, db))
	path := l.hold.database.path
	other := exec.Command(os.Args[0], "-test.run=^TestOtherProcess$")
	other.Env = append(os.Environ(), otherFile+"="+path)
	in, err := other.StdinPipe()
	require.NoError(t, err)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	defer func() { require.NoError(t, other.Wait()) }()
	defer in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)
	require.NoError(t, l.Check(), "both processes have their locks")
	dropLocks(t, path)
	require.ErrorIs(t, l.Check(), ErrFileLost)
	awaitSaved(t, l)
	require.ErrorContains(t, l.Err(), "a copy of it is in "+path+"-saved-")
}

const otherFile = "KITH_TEST_OTHER_FILE"

// TestOtherProcess has a database open until its standard input ends, in a process that
// TestLog_LocksOfAnotherProcess starts.
func TestOtherProcess(t *testing.T) {
	path := os.Getenv(otherFile)
	if path == "" {
		return
	}
	h, err := openHold("file:" + path)
	require.NoError(t, err)
	_, err = os.Stdout.WriteString("open\n")
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	h.close()
}

func TestOwnsLock(t *testing.T) {
	t.Parallel()
	const list = `1: POSIX  ADVISORY  READ 10 fe:00:77 1073741826 1073742335
1: -> POSIX  ADVISORY  WRITE 12 fe:00:77 1073741826 1073742335
2: POSIX  ADVISORY  READ 11 fe:00:77 128 128
3: FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF
`
	for _, c := range []struct {
		inode uint64
		start int64
		pid   int
		want  bool
	}{
		{77, sharedLock.start, 10, true},
		{77, sharedLock.start, 11, false},
		{77, sharedLock.start, 12, false}, // it waits
		{77, indexLock.start, 11, true},
		{7, sharedLock.start, 10, true}, // the list does not have this file
	} {
		require.Equal(t, c.want, ownsLock(list, c.inode, c.start, c.pid), c)
	}
}

// dropLocks does what no part of kith may do: it opens and closes the file of a database
// that this process has open.
func dropLocks(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// replace puts a copy of a file in its place.
func replace(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+"2", text, 0o600))
	require.NoError(t, os.Rename(path+"2", path))
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
