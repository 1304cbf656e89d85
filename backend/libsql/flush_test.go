package libsql

import (
	"database/sql"
	"errors"
	"fmt"
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
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(60000)")
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
	l.sync = func(int) error {
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
	l.sync = func(int) error { return broken }
	require.ErrorIs(t, l.Wait(), broken)
	l.sync = flush
	require.NoError(t, l.Wait())
}

// Wait flushes the log of the database and, once, its folder. The log stays when all other
// connections are closed.
func TestLog_FlushesTheLog(t *testing.T) {
	t.Parallel()
	l, db := logOf(t, "a b%25.db") // as in a URL
	var flushed []os.FileInfo
	l.sync = func(fd int) error {
		info, err := os.Stat(fmt.Sprintf("/dev/fd/%d", fd))
		flushed = append(flushed, info)
		return errors.Join(err, flush(fd))
	}
	require.NoError(t, l.Wait())
	require.Equal(t, "a b%.db-wal", filepath.Base(l.hold.log.path))
	require.NoError(t, db.Close())
	require.NoError(t, l.Wait())
	log, err := os.Stat(l.hold.log.path)
	require.NoError(t, err)
	require.Len(t, flushed, 3)
	require.True(t, flushed[0].IsDir(), "the name of the log is flushed, too")
	for _, f := range flushed[1:] {
		require.True(t, os.SameFile(log, f))
	}
	require.NoError(t, l.Close())
	require.NoFileExists(t, l.hold.log.path)
}
