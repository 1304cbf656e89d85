package libsql

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// server opens a database on a libSQL server or a file, with default
// options but for the time that it has.
func server(t *testing.T, url string) *Database {
	t.Helper()
	d, err := Open(t.Context(), unhurried(Config{URL: url}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() }) // the driver cannot close a connection well
	return d
}

// unhurried is a database with more time than any answer takes.
func unhurried(c Config) Config {
	c.Timeout, c.ReadTimeout = 2*deadline, deadline
	return c
}

func (d *Database) mustQuery(t *testing.T, text string, args ...any) *result {
	t.Helper()
	r, err := d.query(t.Context(), []byte(text), args)
	require.NoError(t, err)
	return r
}

// Statements that arrive together go together, and each stands or falls by
// itself, on the primary, by way of a replica and on a file.
func TestGroup_EachStandsOrFallsByItself(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
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
					require.Equal(t, &result{columns: []string{"k", "v"}, values: []any{k, int64(i)}}, r, "its own result")
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

// When the disk is full in the middle of a group, SQLite may have undone all of it:
// nobody is told that their statement was carried out, nothing of it is there, and
// the next group begins anew.
func TestGroup_DiskIsFull(t *testing.T) {
	t.Parallel()
	file := "file:" + filepath.Join(t.TempDir(), "a.db")
	server(t, file).mustQuery(t, "CREATE TABLE t (v)")
	w, err := openFileWriter(t.Context(), WithPragmas(file, "max_page_count(20)"), limits{10, mib}, 2*deadline)
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
	require.NoError(t, err, "alone, it speaks for itself")
	require.True(t, isFull(done[0].err))
	require.Equal(t, []any{int64(2)}, server(t, file).mustQuery(t, "SELECT count(*) FROM t").values)
}

// A write answers values of every kind as a read does.
func TestGroup_EveryKindBothWays(t *testing.T) {
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

// A stream that the server does not know any more is no reason to fail, and one
// that it knows is used again.
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
	h.baton, h.used = old, time.Now() // was used already
	insert()
	cluster.KillPrimary(t)
	_, err := d.query(t.Context(), []byte("INSERT INTO t VALUES (1)"), nil)
	require.Error(t, err)
	cluster.StartPrimary(t)
	insert()
	require.Equal(t, []any{int64(5)}, d.mustQuery(t, "SELECT count(*) FROM t").values)
}

// What nobody waits for any more when its turn comes is not carried out.
func TestGroup_GivenUpBeforeItsTurn(t *testing.T) {
	t.Parallel()
	d := server(t, sqldtest.Start(t).PrimaryURL())
	d.mustQuery(t, "CREATE TABLE t (v)")
	gone, leave := context.WithCancel(t.Context())
	leave()
	late := &call{ctx: gone, text: "INSERT INTO t VALUES (1)", result: make(chan outcome, 1)}
	here := &call{ctx: t.Context(), text: "INSERT INTO t VALUES (2)", result: make(chan outcome, 1)}
	d.write.calls <- late
	d.write.calls <- here
	require.NoError(t, (<-here.result).err)
	_, err := d.query(gone, []byte("INSERT INTO t VALUES (3)"), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []any{int64(2)}, d.mustQuery(t, "SELECT v FROM t").values)
}

// heldWriter is a real writer that lingers as long as a test wants, which tells each
// group's texts and carries it out when it may.
type heldWriter struct {
	writer
	most   time.Duration
	groups chan []string
	may    chan struct{}
	over   <-chan struct{} // the test
}

func (p *heldWriter) linger() time.Duration { return p.most }

func (p *heldWriter) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	var texts []string
	for _, c := range calls {
		texts = append(texts, c.text)
	}
	select {
	case p.groups <- texts:
	case <-p.over:
		return nil, errNotRun
	}
	select {
	case <-p.may:
	case <-p.over:
		return nil, errNotRun
	}
	return p.writer.transact(ctx, calls)
}

// A group waits for the requests that are at work, as they may write too, but no
// longer than the writer has patience; and where there was but one write at a time
// it waits for nobody.
func TestGroup_WaitsForThoseAtWork(t *testing.T) {
	t.Parallel()
	url := sqldtest.Start(t).PrimaryURL()
	server(t, url).mustQuery(t, "CREATE TABLE t (v)")
	for most, want := range map[time.Duration][]string{time.Hour: {"4", "5"}, time.Millisecond: {"4"}} {
		p := &heldWriter{writer: server(t, url).servers(), most: most, groups: make(chan []string), may: make(chan struct{}), over: t.Context().Done()}
		others := newInFlight()
		g := newGroupWriter(p, others)
		var all sync.WaitGroup
		write := func(v string) {
			others.begin()
			all.Go(func() {
				defer others.end()
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

		others.begin() // one who writes nothing
		write("1")
		group("1")
		write("2")
		write("3")
		waiting(2)
		p.may <- struct{}{}
		group("2", "3")
		p.may <- struct{}{}
		write("4")
		if len(want) > 1 {
			write("5")
			waiting(1)
			others.end()
		}
		group(want...)
		p.may <- struct{}{}
		all.Wait()
		require.NoError(t, g.close())
	}
}
