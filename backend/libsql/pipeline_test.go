package libsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// counted starts an HTTP proxy in front of a server, and returns the proxy's URL and
// the number of messages that it has forwarded.
func counted(t *testing.T, target string) (string, *atomic.Int64) {
	t.Helper()
	to, err := url.Parse(strings.Replace(target, "ws", "http", 1))
	require.NoError(t, err)
	messages := &atomic.Int64{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		messages.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, messages
}

func pipelineTo(t *testing.T, url string) *sql.Conn {
	t.Helper()
	p, err := NewPipeline(url, "")
	require.NoError(t, err)
	p.Timeout, p.BeginTimeout = deadline, deadline
	db := sql.OpenDB(p)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Statements without rows are sent with the next one that has rows, or with COMMIT.
func TestPipeline_Messages(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	target, messages := counted(t, cluster.PrimaryURL())
	conn := pipelineTo(t, target)
	exec := func(want int64, text string, args ...any) sql.Result {
		t.Helper()
		before := messages.Load()
		result, err := conn.ExecContext(t.Context(), text, args...)
		require.NoError(t, err, text)
		require.Equal(t, want, messages.Load()-before, text)
		return result
	}
	exec(1, `CREATE TABLE t (a PRIMARY KEY, b)`)
	exec(0, `BEGIN IMMEDIATE`)
	exec(0, `INSERT INTO t VALUES (?, ?)`, 1, "one")
	exec(0, `INSERT INTO t VALUES (?, ?), (?, NULL)`, 2, []byte{0, 1}, 3)
	var n int
	before := messages.Load()
	require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&n))
	require.Equal(t, 3, n)
	require.Equal(t, int64(1), messages.Load()-before)
	exec(0, `DELETE FROM t WHERE a = 3`)
	exec(1, `COMMIT`)

	exec(0, `BEGIN IMMEDIATE`)
	result := exec(0, `UPDATE t SET b = 'x'`)
	affected, err := result.RowsAffected()
	require.NoError(t, err)
	require.Equal(t, int64(2), affected)
	result = exec(0, `DELETE FROM t WHERE a = 1`)
	require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&n))
	before = messages.Load()
	affected, err = result.RowsAffected()
	require.NoError(t, err)
	require.Equal(t, int64(1), affected, "it was sent with the query")
	require.Equal(t, before, messages.Load())
	exec(1, `ROLLBACK`)
	exec(0, `BEGIN IMMEDIATE`)
	exec(0, `ROLLBACK`)
	exec(0, `BEGIN IMMEDIATE`)
	exec(0, `DELETE FROM t WHERE a = 9`)
	exec(2, `COMMIT`) // the message with BEGIN can be repeated, the one with COMMIT cannot
	require.Equal(t, int64(1), func() int64 { n, _ := exec(1, `DELETE FROM t WHERE a = 2`).RowsAffected(); return n }())
}

func TestPipeline_Queries(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	for _, scheme := range []string{"ws", "http"} {
		conn := pipelineTo(t, strings.Replace(cluster.PrimaryURL(), "ws", scheme, 1))
		rows, err := conn.QueryContext(t.Context(), "", Queries{
			{"SELECT ?1, ?2, ?3", []any{int64(1), "two", []byte{3}}}, {"SELECT 1 WHERE 0", nil}, {"SELECT 4.5 UNION ALL SELECT NULL", nil},
		})
		require.NoError(t, err)
		var one int
		var two string
		var three []byte
		require.True(t, rows.Next())
		require.NoError(t, rows.Scan(&one, &two, &three))
		require.Equal(t, []any{1, "two", []byte{3}}, []any{one, two, three})
		require.False(t, rows.Next())
		require.True(t, rows.NextResultSet())
		require.False(t, rows.Next())
		require.True(t, rows.NextResultSet())
		var all []sql.NullFloat64
		for rows.Next() {
			var f sql.NullFloat64
			require.NoError(t, rows.Scan(&f))
			all = append(all, f)
		}
		require.Equal(t, []sql.NullFloat64{{Float64: 4.5, Valid: true}, {}}, all)
		require.False(t, rows.NextResultSet())
		require.NoError(t, rows.Close())
	}
}

// The error of a queued statement is returned by a later one; no statement after it
// runs, and nothing is stored.
func TestPipeline_Error(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	for _, scheme := range []string{"ws", "http"} {
		conn := pipelineTo(t, strings.Replace(cluster.PrimaryURL(), "ws", scheme, 1))
		exec := func(text string) error { _, err := conn.ExecContext(t.Context(), text); return err }
		require.NoError(t, exec(`CREATE TABLE IF NOT EXISTS t (a PRIMARY KEY)`))
		for _, text := range []string{`BEGIN IMMEDIATE`, `INSERT INTO t VALUES (1)`, `INSERT INTO t VALUES (1)`, `INSERT INTO t VALUES (2)`} {
			require.NoError(t, exec(text))
		}
		require.ErrorContains(t, exec(`COMMIT`), "UNIQUE")
		require.NoError(t, exec(`ROLLBACK`))
		var n int
		require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&n))
		require.Zero(t, n)
	}
}

// When the server stops before the COMMIT, the transaction is not committed and the
// error is ErrNotCommitted; the connection is not used again.
func TestPipeline_ServerStops(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"ws", "http"} {
		cluster := sqldtest.Start(t)
		conn := pipelineTo(t, strings.Replace(cluster.PrimaryURL(), "ws", scheme, 1))
		exec := func(text string) error { _, err := conn.ExecContext(context.Background(), text); return err }
		require.NoError(t, exec(`CREATE TABLE t (a PRIMARY KEY)`))
		require.NoError(t, exec(`BEGIN IMMEDIATE`))
		var n int
		require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&n))
		cluster.KillPrimary(t)
		cluster.StartPrimary(t)
		require.NoError(t, exec(`INSERT INTO t VALUES (1)`))
		err := conn.QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&n)
		require.ErrorIs(t, err, ErrNotCommitted)
		require.Error(t, exec(`INSERT INTO t VALUES (1)`))
		again := pipelineTo(t, cluster.PrimaryURL())
		require.NoError(t, again.QueryRowContext(t.Context(), `SELECT count(*) FROM t`).Scan(&n))
		require.Zero(t, n)
	}
}

// When a caller gives up and the answer arrives soon after, the connection stays usable.
func TestPipeline_CallerGivesUp(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	conn := pipelineTo(t, cluster.PrimaryURL())
	canceled, cancel := context.WithCancel(t.Context())
	require.NoError(t, conn.Raw(func(raw any) error {
		c := raw.(*pipelined)
		cancel()
		rows, err := c.QueryContext(canceled, "SELECT 1", nil)
		require.NoError(t, err)
		require.False(t, c.broken)
		return rows.Close()
	}))
}

// A server that accepts connections but never answers delays a caller only until its
// context is done or Timeout is over, and other callers can connect meanwhile.
func TestPipeline_ServerThatAnswersNothing(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for _, limit := range []struct{ caller, timeout time.Duration }{{50 * time.Millisecond, deadline}, {deadline, 50 * time.Millisecond}} {
		p, err := NewPipeline("ws://"+silent.Addr().String(), "")
		require.NoError(t, err)
		p.Timeout = limit.timeout
		db := sql.OpenDB(p)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), limit.caller)
			err = db.PingContext(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, errNoConnection)
		}
		require.NoError(t, db.Close())
	}
}

// When a server does not answer, the connection is dropped shortly after its caller gave up.
func TestPipeline_SilentServer(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	conn := pipelineTo(t, cluster.Replicas[0].URL())
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT 1").Scan(new(int)))
	cluster.Replicas[0].Pause(t)
	defer cluster.Replicas[0].Resume(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, conn.Raw(func(raw any) error {
		c := raw.(*pipelined)
		_, err := c.QueryContext(canceled, "SELECT 1", nil)
		require.ErrorIs(t, err, driver.ErrBadConn)
		require.True(t, c.broken)
		return nil
	}))
}

// A BEGIN waits for a server that does not answer until BeginTimeout is over, even if
// the context of its caller allows more time.
func TestPipeline_BeginTimeout(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	conn := pipelineTo(t, cluster.Replicas[0].URL())
	require.NoError(t, conn.Raw(func(raw any) error {
		c := raw.(*pipelined)
		c.of.BeginTimeout = 100 * time.Millisecond
		cluster.Replicas[0].Pause(t)
		defer cluster.Replicas[0].Resume(t)
		_, err := c.ExecContext(t.Context(), "BEGIN IMMEDIATE", nil)
		require.NoError(t, err)
		_, err = c.QueryContext(t.Context(), "SELECT 1", nil)
		require.ErrorIs(t, err, ErrNotCommitted)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return nil
	}))
}

// While a server hangs, statements that wait for it fail, and later ones fail at once,
// within a transaction and outside. A statement that takes long is waited for.
func TestPipeline_ServerHangs(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"ws", "http"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			cluster := sqldtest.Start(t)
			p, err := NewPipeline(strings.Replace(cluster.PrimaryURL(), "ws", scheme, 1), "")
			require.NoError(t, err)
			p.Timeout, p.BeginTimeout = deadline, deadline
			p.Watch(deadline, slog.Default())
			db := sql.OpenDB(p)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			exec := func(conn *sql.Conn, texts ...string) error {
				for _, text := range texts {
					if _, err := conn.ExecContext(t.Context(), text); err != nil {
						return err
					}
				}
				return nil
			}
			conn := func() *sql.Conn {
				c, err := db.Conn(t.Context())
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			one, other, reader := conn(), conn(), conn()
			require.NoError(t, exec(one, "CREATE TABLE t (v)", "BEGIN IMMEDIATE", "INSERT INTO t VALUES ('one')"))
			var n int
			require.NoError(t, one.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n))
			// It waits for the lock, until the server ends the transaction of the other.
			require.NoError(t, exec(other, "BEGIN IMMEDIATE", "INSERT INTO t VALUES ('other')", "COMMIT"))
			require.False(t, p.watchdog.Load().Away())
			_ = exec(one, "ROLLBACK")

			p.Watch(50*time.Millisecond, slog.Default())
			cluster.PausePrimary(t)
			read := make(chan error, 1)
			go func() { read <- reader.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(new(int)) }()
			err = exec(other, "BEGIN IMMEDIATE", "INSERT INTO t VALUES ('lost')", "COMMIT")
			require.ErrorIs(t, err, ErrAway)
			require.ErrorIs(t, err, ErrNotCommitted)
			require.ErrorIs(t, <-read, ErrAway)
			_, err = db.ExecContext(t.Context(), "INSERT INTO t VALUES ('refused')")
			require.ErrorIs(t, err, ErrAway)
			cluster.ResumePrimary(t)
			eventually(t, func() bool { return !p.watchdog.Load().Away() })
			eventually(t, func() bool {
				_, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES ('after')")
				return err == nil
			})
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM t WHERE v = 'refused'").Scan(&n))
			require.Zero(t, n)
		})
	}
}
