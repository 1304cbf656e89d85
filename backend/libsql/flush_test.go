package libsql

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"kith/backend/store/sqldtest"
)

// logOf returns the log of a new database, and a connection to it.
func logOf(t *testing.T, name string) (*Log, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(`CREATE TABLE n (n INTEGER)`)
	require.NoError(t, err)
	l, err := NewLog("file:" + path + "?mode=rwc")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, db
}

// Wait waits for a flush that began after the call: a flush that already runs may
// have missed the caller's commit. Callers that arrive during a flush share the next.
func TestLog_WaitsForAFlushThatBeganLater(t *testing.T) {
	t.Parallel()
	l, _ := logOf(t, "kith.db")
	require.NoError(t, l.Wait(), "the folder is flushed once")
	began, proceed := make(chan int), make(chan struct{})
	flushes := 0
	l.sync = func(*os.File) error {
		flushes++
		began <- flushes
		<-proceed
		return nil
	}
	var waiting sync.WaitGroup
	var early, late atomic.Int32
	waiting.Go(func() { _ = l.Wait(); early.Add(1) })
	require.Equal(t, 1, <-began)
	const many = 20
	for range many {
		waiting.Go(func() { _ = l.Wait(); late.Add(1) })
	}
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.next != nil }, sqldtest.Deadline, time.Millisecond)
	proceed <- struct{}{}
	require.Equal(t, 2, <-began)
	require.Zero(t, late.Load(), "the first flush does not count for late callers")
	// Callers that were not yet waiting when the second flush began need a third.
	go func() {
		for range began {
			proceed <- struct{}{}
		}
	}()
	proceed <- struct{}{}
	waiting.Wait()
	close(began)
	require.EqualValues(t, 1, early.Load())
	require.EqualValues(t, many, late.Load())
	require.LessOrEqual(t, flushes, 2+many)
}

func TestLog_ReturnsTheErrorOfAFlush(t *testing.T) {
	t.Parallel()
	l, _ := logOf(t, "kith.db")
	broken := errors.New("the disk is gone")
	l.sync = func(*os.File) error { return broken }
	require.ErrorIs(t, l.Wait(), broken)
	l.sync = (*os.File).Sync
	require.NoError(t, l.Wait())
}

// Wait flushes the current log, not one that SQLite has deleted.
func TestLog_NewLogAfterDeletion(t *testing.T) {
	t.Parallel()
	const name = "a b%25.db" // as in a URL
	l, db := logOf(t, name)
	path := filepath.Join(filepath.Dir(l.path), "a b%.db-wal")
	require.Equal(t, path, l.path)
	var flushed []os.FileInfo
	l.sync = func(f *os.File) error {
		info, err := f.Stat()
		flushed = append(flushed, info)
		return errors.Join(err, f.Sync())
	}
	last := func() os.FileInfo { return flushed[len(flushed)-1] }
	require.NoError(t, l.Wait())
	first, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, os.SameFile(first, last()))
	require.True(t, flushed[0].IsDir(), "the name of the log is flushed, too")

	require.NoError(t, db.Close())
	require.NoFileExists(t, path)
	n := len(flushed)
	require.NoError(t, l.Wait(), "the checkpoint has moved all commits into the database")
	require.Len(t, flushed, n)

	again, err := sql.Open("sqlite", "file:"+filepath.Join(filepath.Dir(path), name))
	require.NoError(t, err)
	defer again.Close()
	_, err = again.Exec(`INSERT INTO n VALUES (1)`)
	require.NoError(t, err)
	require.NoError(t, l.Wait())
	second, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, os.SameFile(second, last()))
	require.False(t, os.SameFile(first, second))
}
