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
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
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

// watched returns the log of a new database that is watched, a connection to it, and what is
// logged.
func watched(t *testing.T) (*Log, *sql.DB, *testenv.Log) {
	t.Helper()
	l, db := logOf(t, "kith.db")
	out := &testenv.Log{}
	require.NoError(t, l.Watch(slog.New(slog.NewTextHandler(out, nil))))
	return l, db, out
}

// awaitSaved waits until a file is known to be lost, and the log says where what was stored
// is: in the database, or in a copy, whose path is returned.
func awaitSaved(t *testing.T, l *Log, out *testenv.Log) (saved string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "what was stored before a file was lost is") }, sqldtest.Deadline, time.Millisecond)
	require.ErrorIs(t, l.Err(), ErrFileLost)
	path := l.hold.database.path
	saved, err := Saved("file:" + path)
	require.NoError(t, err)
	if saved == "" {
		require.Contains(t, out.String(), "is in the database")
		return path
	}
	require.Contains(t, out.String(), "file="+saved)
	require.Contains(t, out.String(), UseSaved(path))
	info, err := os.Stat(saved)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	return saved
}

// When a file of a database is lost, the next write is not acknowledged, later ones are
// refused, and the rows before are saved: in the database, if no other log belongs to it.
func TestLog_Lost(t *testing.T) {
	t.Parallel()
	emptyLog := func(t *testing.T, path string, size int) {
		require.NoError(t, os.Remove(path+"-wal"))
		require.NoError(t, os.WriteFile(path+"-wal", make([]byte, size), 0o600))
	}
	for name, c := range map[string]struct {
		lose   func(t *testing.T, path string)
		says   string
		copied bool // what was stored is not in the database itself
	}{
		"log deleted":                  {func(t *testing.T, path string) { require.NoError(t, os.Remove(path+"-wal")) }, "kith.db-wal was deleted, moved or replaced", false},
		"index deleted":                {func(t *testing.T, path string) { require.NoError(t, os.Remove(path+"-shm")) }, "kith.db-shm was deleted, moved or replaced", false},
		"log replaced by an empty one": {func(t *testing.T, path string) { emptyLog(t, path, 0) }, "kith.db-wal was deleted, moved or replaced", false},
		"log replaced by another":      {func(t *testing.T, path string) { emptyLog(t, path, 100) }, "kith.db-wal was deleted, moved or replaced", true},
		"database moved":               {func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+"2")) }, "kith.db was deleted, moved or replaced", true},
		"database replaced":            {replace, "kith.db was deleted, moved or replaced", true},
		"locks dropped":                {dropLocks, "not locked", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, db, out := watched(t)
			path := l.hold.database.path
			require.NoError(t, store(t, l, db))
			c.lose(t, path)
			saved := awaitSaved(t, l, out)
			require.ErrorContains(t, l.Err(), c.says)
			require.Equal(t, c.copied, saved != path)
			require.Equal(t, 1, rows(t, saved))
		})
	}
}

// An edge and a backend in one process both save: no copy stays beside the database, which
// has everything.
func TestLog_LostByTwoOfAProcess(t *testing.T) {
	t.Parallel()
	l, db, out := watched(t)
	path := l.hold.database.path
	other, err := NewLog("file:" + path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	otherOut := &testenv.Log{}
	require.NoError(t, other.Watch(slog.New(slog.NewTextHandler(otherOut, nil))))
	require.NoError(t, store(t, l, db))
	require.NoError(t, os.Remove(path+"-wal"))
	for _, logged := range []*testenv.Log{out, otherOut} {
		require.Eventually(t, func() bool { return strings.Contains(logged.String(), "is in the database") }, sqldtest.Deadline, time.Millisecond, logged)
	}
	require.Equal(t, path, awaitSaved(t, l, out))
	require.Equal(t, 1, rows(t, path))
}

// While nothing can be saved, the log says so. It is saved as soon as that can be done.
func TestLog_LostWithItsFolder(t *testing.T) {
	t.Parallel()
	l, db, out := watched(t)
	require.NoError(t, store(t, l, db))
	path := l.hold.database.path
	folder := filepath.Dir(path)
	require.NoError(t, os.Rename(folder, folder+"-moved"))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "is only in this process") }, sqldtest.Deadline, time.Millisecond)
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, l.Close()) // tries once more
	saved, err := Saved("file:" + path)
	require.NoError(t, err)
	require.Equal(t, 1, rows(t, saved))
}

// A link in place of the database is followed when it is opened, and watched.
func TestLog_LostLink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	require.NoError(t, os.Symlink("real.db", path))
	c, err := NewConnector("file:" + path + "?_pragma=journal_mode(WAL)")
	require.NoError(t, err)
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(`CREATE TABLE n (n INTEGER)`)
	require.NoError(t, err)
	l, err := NewLog("file:" + path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	require.NoError(t, l.Check())
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, l.Check(), ErrFileLost)
	_, err = db.Conn(t.Context())
	require.NoError(t, err, "the connection that is open")
	require.NoFileExists(t, path, "nothing makes a new file")
}

// A log without its database is not deleted.
func TestNewConnector_LogWithoutDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	require.NoError(t, os.WriteFile(path+"-wal", []byte("log"), 0o600))
	_, err := NewConnector("file:" + path)
	require.EqualError(t, err, path+"-wal: is the log of a database that is not there; put "+path+" back, or move the log away")
	require.NoFileExists(t, path)
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
	l, db, logged := watched(t)
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
	// The kernel's list of all locks may lack lines.
	require.True(t, l.hold.database.isLockedByAny())
	require.True(t, l.hold.index.isLockedByAny())
	dropLocks(t, path)
	require.Eventually(t, func() bool { return l.Check() != nil }, sqldtest.Deadline, time.Millisecond)
	require.NotEqual(t, path, awaitSaved(t, l, logged))
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

func TestListsLock(t *testing.T) {
	t.Parallel()
	const list = `1: POSIX  ADVISORY  READ 10 fe:00:77 1073741826 1073742335
1: -> POSIX  ADVISORY  WRITE 12 fe:00:77 1073741826 1073742335
2: POSIX  ADVISORY  READ 11 fe:00:77 125 128
2: POSIX  ADVISORY  READ 10 fe:00:77 127 127
3: FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF
`
	for _, c := range []struct {
		inode uint64
		lock  byteRange
		pid   int
		want  bool
	}{
		{77, sharedLock, 10, true},
		{77, sharedLock, 11, false},
		{77, sharedLock, 12, false}, // it waits
		{77, indexLock, 11, true},   // joined with that of a reader
		{77, indexLock, 10, false},
		{7, sharedLock, 10, false},
		{77, byteRange{5, 1}, 13, true},
	} {
		require.Equal(t, c.want, listsLock(list, c.inode, c.lock, c.pid), c)
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
