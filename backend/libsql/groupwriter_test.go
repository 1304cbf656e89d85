package libsql

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// server opens a database on a libSQL server or in a file, with default options
// except for long timeouts.
func server(t *testing.T, url string) *Database {
	t.Helper()
	d, err := Open(t.Context(), withLongTimeouts(Config{URL: url}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() }) // the driver cannot close a connection well
	return d
}

// withLongTimeouts returns c with timeouts that are longer than any answer takes.
func withLongTimeouts(c Config) Config {
	c.Timeout, c.ReadTimeout, c.WriteTimeout = 2*deadline, deadline, deadline
	return c
}

func (d *Database) mustQuery(t *testing.T, text string, args ...any) *result {
	t.Helper()
	r, err := d.query(t.Context(), []byte(text), args)
	require.NoError(t, err)
	return r
}

// Statements that arrive together run in one transaction, and each succeeds or fails
// alone: on the primary, through a replica and on a file.
func TestGroup_EachSucceedsOrFailsAlone(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	file := "file:" + filepath.Join(t.TempDir(), "a.db")
	for _, url := range []string{cluster.PrimaryURL(), file} {
		server(t, url).mustQuery(t, "CREATE TABLE t (k TEXT UNIQUE, v)")
	}
	const n = 200
	for name, url := range map[string]string{"primary": cluster.PrimaryURL(), "replica": cluster.ReplicaURL(), "file": file} {
		d := server(t, url)
		errs := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				k := fmt.Sprintf("%s-%d", name, i/2)
				r, err := d.query(t.Context(), []byte("INSERT INTO t VALUES (?, ?) RETURNING k, v"), []any{k, int64(i)})
				if errs[i] = err; err == nil {
					require.Equal(t, &result{columns: []string{"k", "v"}, values: []any{k, int64(i)}}, r, "each caller gets its own result")
				}
			})
		}
		all.Wait()
		for i := 0; i < n; i += 2 {
			one, other := errs[i], errs[i+1]
			if one == nil {
				one, other = other, one
			}
			require.NoError(t, other)
			require.ErrorContains(t, one, "UNIQUE constraint failed: t.k")
		}
	}
	for url, stored := range map[string]int64{cluster.PrimaryURL(): n, file: n / 2} {
		r := server(t, url).mustQuery(t, "SELECT count(*), count(DISTINCT k) FROM t")
		require.Equal(t, []any{stored, stored}, r.values)
	}
}

// When the disk becomes full in the middle of a group, SQLite may have undone all of
// it: every caller gets an error, nothing is stored, and the next group succeeds.
func TestGroup_DiskIsFull(t *testing.T) {
	t.Parallel()
	file := "file:" + filepath.Join(t.TempDir(), "a.db")
	server(t, file).mustQuery(t, "CREATE TABLE t (v)")
	w, err := openFileWriter(t.Context(), WithPragmas(file, "max_page_count(20)"), limits{10, mib}, 2*deadline, slog.Default())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.close()) })
	insert := func(bytes int64) *call {
		return &call{ctx: t.Context(), text: "INSERT INTO t VALUES (zeroblob(?)) RETURNING length(v)", args: []any{bytes}}
	}
	_, err = w.transact(t.Context(), []*call{insert(1), insert(mib), insert(2)})
	require.True(t, isFull(err), err)
	require.Equal(t, []any{int64(0)}, server(t, file).mustQuery(t, "SELECT count(*) FROM t").values)
	done, err := w.transact(t.Context(), []*call{insert(3), insert(4)})
	require.NoError(t, err)
	require.Equal(t, []any{int64(4)}, done[1].result.values)
	done, err = w.transact(t.Context(), []*call{insert(mib)})
	require.NoError(t, err, "the error of a single statement is its own")
	require.True(t, isFull(done[0].err))
	require.Equal(t, []any{int64(2)}, server(t, file).mustQuery(t, "SELECT count(*) FROM t").values)
}

// A write returns values of every type as a read does.
func TestGroup_EveryTypeBothWays(t *testing.T) {
	t.Parallel()
	d := server(t, sqldtest.Start(t).PrimaryURL())
	d.mustQuery(t, "CREATE TABLE t (i, n, r, w, t, e, b, z, u)")
	values := []any{int64(9223372036854775807), int64(-9223372036854775808), 0.1, 0.0, "grüße \"\u2028\\", "", []byte("bl\x00b"), []byte{}, nil}
	r := d.mustQuery(t, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *", values...)
	require.Equal(t, []string{"i", "n", "r", "w", "t", "e", "b", "z", "u"}, r.columns)
	require.Equal(t, values, r.values)
	require.Equal(t, values, d.mustQuery(t, "SELECT * FROM t").values)
	require.Empty(t, d.mustQuery(t, "DELETE FROM t").values)
}

// A stream that the server has closed is replaced without an error; one that it still
// knows is used again. After a restart, writes are accepted when a probe has succeeded.
func TestGroup_StreamIsGone(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	d := server(t, cluster.PrimaryURL())
	h := d.servers().all[0].server
	insert := func() { t.Helper(); d.mustQuery(t, "INSERT INTO t VALUES (1)") }
	d.mustQuery(t, "CREATE TABLE t (v)")
	for _, baton := range []string{"nonsense", h.baton} {
		h.baton, h.used = baton, time.Now()
		insert()
	}
	old := h.baton
	insert()
	h.baton, h.used = old, time.Now() // a baton is valid once
	insert()
	cluster.KillPrimary(t)
	_, err := d.query(t.Context(), []byte("INSERT INTO t VALUES (1)"), nil)
	require.Error(t, err)
	cluster.StartPrimary(t)
	eventually(t, func() bool { return !d.write.breaker.IsOpen() })
	insert()
	require.Equal(t, []any{int64(5)}, d.mustQuery(t, "SELECT count(*) FROM t").values)
}

// A statement does not run if its caller has given up before its group begins.
func TestGroup_CallerGaveUpBeforeItRan(t *testing.T) {
	t.Parallel()
	d := server(t, sqldtest.Start(t).PrimaryURL())
	d.mustQuery(t, "CREATE TABLE t (v)")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	late := &call{ctx: canceled, text: "INSERT INTO t VALUES (1)", result: make(chan outcome, 1)}
	here := &call{ctx: t.Context(), text: "INSERT INTO t VALUES (2)", result: make(chan outcome, 1)}
	d.write.calls <- late
	d.write.calls <- here
	require.NoError(t, (<-here.result).err)
	_, err := d.query(canceled, []byte("INSERT INTO t VALUES (3)"), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []any{int64(2)}, d.mustQuery(t, "SELECT v FROM t").values)
}

// heldWriter is a real writer with a linger time chosen by the test. It reports the
// texts of each group, and runs the group once the test allows it.
type heldWriter struct {
	writer
	maxLinger time.Duration
	groups    chan []string
	proceed   chan struct{}
	testDone  <-chan struct{}
}

func (p *heldWriter) linger() time.Duration { return p.maxLinger }

func (p *heldWriter) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	var texts []string
	for _, c := range calls {
		texts = append(texts, c.text)
	}
	select {
	case p.groups <- texts:
	case <-p.testDone:
		return nil, errNotRun
	}
	select {
	case <-p.proceed:
	case <-p.testDone:
		return nil, errNotRun
	}
	return p.writer.transact(ctx, calls)
}

// A group waits for the requests in flight, since they may write too, but no longer
// than the linger time. After a group of one statement it does not wait at all.
func TestGroup_WaitsForRequestsInFlight(t *testing.T) {
	t.Parallel()
	url := sqldtest.Start(t).PrimaryURL()
	server(t, url).mustQuery(t, "CREATE TABLE t (v)")
	for linger, want := range map[time.Duration][]string{time.Hour: {"4", "5"}, time.Millisecond: {"4"}} {
		p := &heldWriter{writer: server(t, url).servers(), maxLinger: linger, groups: make(chan []string), proceed: make(chan struct{}), testDone: t.Context().Done()}
		requests := newInFlight()
		g := newGroupWriter(p, requests, withLongTimeouts(Config{}).withDefaults())
		var all sync.WaitGroup
		write := func(v string) {
			requests.begin()
			all.Go(func() {
				defer requests.end()
				_, err := g.write(t.Context(), "INSERT INTO t VALUES ("+v+")", nil)
				assert.NoError(t, err)
			})
		}
		waiting := func(n int) {
			t.Helper()
			eventually(t, func() bool { return len(g.calls) == n })
		}
		group := func(want ...string) {
			t.Helper()
			for i := range want {
				want[i] = "INSERT INTO t VALUES (" + want[i] + ")"
			}
			require.ElementsMatch(t, want, <-p.groups)
		}

		requests.begin() // a request that writes nothing
		write("1")
		group("1")
		write("2")
		write("3")
		waiting(2)
		p.proceed <- struct{}{}
		group("2", "3")
		p.proceed <- struct{}{}
		write("4")
		if len(want) > 1 {
			write("5")
			waiting(1)
			requests.end()
		}
		group(want...)
		p.proceed <- struct{}{}
		all.Wait()
		require.NoError(t, g.close())
	}
}

// pacedWriter is a real writer with an interval chosen by the test. It counts the groups
// of several statements.
type pacedWriter struct {
	writer
	time    time.Duration
	several atomic.Int32
}

func (p *pacedWriter) interval() time.Duration { return p.time }

func (p *pacedWriter) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	if len(calls) > 1 {
		p.several.Add(1)
	}
	return p.writer.transact(ctx, calls)
}

// While several write, groups begin at intervals. A single writer does not wait.
func TestGroup_Interval(t *testing.T) {
	t.Parallel()
	for writers, interval := range map[int]time.Duration{1: time.Hour, 8: 20 * time.Millisecond} {
		config := withLongTimeouts(Config{URL: "file:" + filepath.Join(t.TempDir(), "a.db")}).withDefaults()
		to, err := openFile(t.Context(), config)
		require.NoError(t, err)
		p := &pacedWriter{writer: to, time: interval}
		g := newGroupWriter(p, newInFlight(), config)
		_, err = g.write(t.Context(), "CREATE TABLE t (v)", nil)
		require.NoError(t, err)
		began := time.Now()
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for n := 0; n < 6 || writers > 1 && p.several.Load() < 2; n++ {
					_, err := g.write(t.Context(), "INSERT INTO t VALUES (1)", nil)
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
		took := time.Since(began)
		require.NoError(t, g.close())
		if writers > 1 {
			require.GreaterOrEqual(t, took, time.Duration(p.several.Load()-1)*interval)
		}
	}
}
