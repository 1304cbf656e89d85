package libsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is a driver that needs a fixed time to connect and ignores the context.
type slow struct {
	driver.Connector
	takes  time.Duration
	closed chan struct{}
}

func (s slow) Connect(context.Context) (driver.Conn, error) {
	time.Sleep(s.takes)
	return lateConn{closed: s.closed}, nil
}

type lateConn struct {
	driver.Conn
	closed chan struct{}
}

func (c lateConn) Close() error { close(c.closed); return nil }

// A caller waits until its context is done; a connection that is made later is closed.
func TestConnector_DriverThatIgnoresTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := slow{takes: 2 * time.Minute, closed: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := Connector{inner}.Connect(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errNoConnection)
		require.Equal(t, 50*time.Millisecond, time.Since(began))
		<-inner.closed
		require.Equal(t, inner.takes, time.Since(began))
	})
}

// Only the owner can read a database and its log, even if the file existed before.
func TestNewConnector_FilesArePrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b.db")
	for _, first := range []bool{true, false} {
		c, err := NewConnector(WithPragmas("file:"+strings.ReplaceAll(path, " ", "%20"), "journal_mode(WAL)"))
		require.NoError(t, err)
		db := sql.OpenDB(c)
		_, err = db.Exec(`CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES (1)`)
		require.NoError(t, err)
		for _, ending := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + ending)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), ending)
		}
		require.NoError(t, db.Close())
		if first {
			require.NoError(t, os.Chmod(path, 0o644))
		}
	}
}

// A connection to a file does not create it, whatever its URL looks like.
func TestExisting(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"file:a.db": "file:a.db?mode=rw",
		"file:mode=/a.db?_pragma=journal_mode=WAL": "file:mode=/a.db?_pragma=journal_mode=WAL&mode=rw",
		"file:a.db?mode=ro":                        "file:a.db?mode=ro",
	} {
		require.Equal(t, want, existing(given))
	}
}

// WithPragmas keeps the parameters of a file's URL and leaves a server's URL unchanged.
func TestWithPragmas(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"file:a.db":          "file:a.db?_pragma=query_only%281%29&_pragma=cache_size%28-2%29",
		"file:a.db?mode=rwc": "file:a.db?mode=rwc&_pragma=query_only%281%29&_pragma=cache_size%28-2%29",
		"ws://a.example":     "ws://a.example",
	} {
		require.Equal(t, want, WithPragmas(url, "query_only(1)", "cache_size(-2)"))
	}
	c, err := NewConnector(WithPragmas("file:"+filepath.Join(t.TempDir(), "a.db"), "foreign_keys(ON)", "cache_size(-1234)"))
	require.NoError(t, err)
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	var keys, pages int
	require.NoError(t, db.QueryRow("PRAGMA foreign_keys").Scan(&keys))
	require.NoError(t, db.QueryRow("PRAGMA cache_size").Scan(&pages))
	require.Equal(t, []int{1, -1234}, []int{keys, pages})
}
