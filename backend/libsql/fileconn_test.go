package libsql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// openTestFile opens a new database in a file.
func openTestFile(t *testing.T) *Database {
	t.Helper()
	d, err := Open(t.Context(), withLongTimeouts(Config{URL: "file:" + filepath.Join(t.TempDir(), "a.db")}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// A read ends with its request, and its connection can be used again.
func TestFile_ReadEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	for range 2 * maxReaders() {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := d.query(ctx, []byte(endless), nil)
			done <- err
		}()
		eventually(t, func() bool { return len(d.source.(*file).inUse) == 1 })
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Equal(t, []any{int64(1)}, d.mustQuery(t, `SELECT 1`).values)
	}
}

// Reads wait while all connections are in use.
func TestFile_MoreReadsThanConnections(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	d.mustQuery(t, `CREATE TABLE t (n INTEGER)`)
	d.mustQuery(t, `INSERT INTO t VALUES (7)`)
	n := 8 * maxReaders()
	failed := make(chan error, n)
	for range n {
		go func() {
			var err error
			for i := 0; i < 50 && err == nil; i++ {
				var r *result
				if r, err = d.query(t.Context(), []byte(`SELECT n FROM t WHERE n = ?`), []any{int64(7)}); err == nil && len(r.values) != 1 {
					err = errors.New("a row is missing")
				}
			}
			failed <- err
		}()
	}
	for range n {
		require.NoError(t, <-failed)
	}
	require.LessOrEqual(t, len(d.source.(*file).idle), maxReaders())
}

// A prepared statement follows a change of the schema.
func TestFile_SchemaChanges(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	d.mustQuery(t, `CREATE TABLE t (a TEXT)`)
	d.mustQuery(t, `INSERT INTO t VALUES ('x')`)
	require.Equal(t, []string{"a"}, d.mustQuery(t, `SELECT * FROM t`).columns)
	d.mustQuery(t, `ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 5`)
	r := d.mustQuery(t, `SELECT * FROM t`)
	require.Equal(t, []string{"a", "b"}, r.columns)
	require.Equal(t, []any{"x", int64(5)}, r.values)
	d.mustQuery(t, `DROP TABLE t`)
	_, err := d.query(t.Context(), []byte(`SELECT * FROM t`), nil)
	require.EqualError(t, err, "SQL logic error: no such table: t (1)")
	d.mustQuery(t, `CREATE TABLE t (c BLOB)`)
	require.Equal(t, []string{"c"}, d.mustQuery(t, `SELECT * FROM t`).columns)
}

// Values of every type come back as they were given, however large they are.
func TestFile_EveryType(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	large := string(make([]byte, mib)) + "grüße"
	for _, value := range []any{nil, int64(-1 << 63), 0.1, "", "grüße", large, []byte{}, []byte("a\x00b"), []byte(large)} {
		require.Equal(t, []any{value, "end"}, d.mustQuery(t, `SELECT ?2, ?1`, "end", value).values)
	}
}

// A statement with other arguments than it has parameters is an error.
func TestFile_Arguments(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	_, err := d.query(t.Context(), []byte(`SELECT ?, ?`), []any{"a"})
	require.EqualError(t, err, "missing argument with index 2")
	_, err = d.query(t.Context(), []byte(`SELECT ?`), []any{struct{}{}})
	require.EqualError(t, err, "argument with index 1 is a struct {}")
	require.Equal(t, []any{"a", "b"}, d.mustQuery(t, `SELECT ?, ?`, "a", "b").values)
}

// A damaged file is an error that the statement alone gets.
func TestFile_Damaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, createPrivate(path))
	c, err := connectFile("file:"+path, limits{10, mib}, filePragmas...)
	require.NoError(t, err)
	for _, text := range []string{
		`CREATE TABLE t (v BLOB)`,
		`INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT zeroblob(3000) FROM n`,
	} {
		_, err := c.run(t.Context(), text, nil)
		require.NoError(t, err)
	}
	c.close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, 4096), 4096)
	require.NoError(t, errors.Join(err, f.Close()))
	d, err := Open(t.Context(), withLongTimeouts(Config{URL: "file:" + path}))
	require.NoError(t, err)
	defer d.Close()
	for range 2 {
		_, err = d.query(t.Context(), []byte(`SELECT sum(length(v)) FROM t`), nil)
		require.ErrorContains(t, err, "database disk image is malformed")
		require.True(t, Unavailable(err))
	}
	require.Equal(t, []any{"t"}, d.mustQuery(t, `SELECT name FROM sqlite_schema`).values)
}

// A closed database refuses reads.
func TestFile_Closed(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	require.Equal(t, []any{int64(1)}, d.mustQuery(t, `SELECT 1`).values)
	require.NoError(t, d.source.close())
	_, err := d.query(t.Context(), []byte(`SELECT 1`), nil)
	require.EqualError(t, err, "the database is closed")
}

// A result that is returned again is that of the file as it is, whichever process changes it:
// a read that begins after a commit has what was committed.
func TestFile_CacheFollowsTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d, err := Open(t.Context(), withLongTimeouts(Config{URL: "file:" + path}))
	require.NoError(t, err)
	defer d.Close()
	d.mustQuery(t, `CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER)`)
	d.mustQuery(t, `INSERT INTO t VALUES ('a', 0), ('b', 0)`)
	other, err := connectFile("file:"+path, limits{10, mib}, "busy_timeout(10000)")
	require.NoError(t, err)
	defer other.close()
	var committed atomic.Int64
	failed := make(chan error, 4)
	ctx, stop := context.WithCancel(t.Context())
	for range cap(failed) {
		go func() {
			for ctx.Err() == nil {
				least := committed.Load()
				r, err := d.query(t.Context(), []byte(`SELECT n FROM t WHERE k = ?`), []any{"a"})
				if err == nil && r.values[0].(int64) < least {
					err = fmt.Errorf("read %d after %d was committed", r.values[0], least)
				}
				if err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for n := int64(1); n <= 300; n++ {
		text, args := `UPDATE t SET n = ? WHERE k = ?`, []any{n, "a"}
		switch {
		case n%50 == 0:
			_, err = other.run(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`, nil)
			require.NoError(t, err)
			fallthrough
		case n%2 == 0:
			_, err = other.run(t.Context(), text, args)
			require.NoError(t, err)
		default:
			d.mustQuery(t, text, args...)
		}
		committed.Store(n)
	}
	stop()
	for range cap(failed) {
		require.NoError(t, <-failed)
	}
	hits := 0
	for _, c := range d.source.(*file).idle {
		hits += len(c.cache.results)
	}
	require.NotZero(t, hits, "nothing was kept")
}

// The cache does not mix up statements and arguments, and keeps within its bounds.
func TestFile_Cache(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	d.mustQuery(t, `CREATE TABLE t (n INTEGER)`)
	for range 3 {
		for _, value := range []any{nil, int64(1), 1.0, "1", []byte("1"), "", []byte{}, int64(0)} {
			require.Equal(t, []any{value, "x"}, d.mustQuery(t, `SELECT ?1, ?2`, value, "x").values)
			require.Equal(t, []any{"x", value}, d.mustQuery(t, `SELECT ?2, ?1`, value, "x").values)
		}
		require.Equal(t, []any{"ab", "c"}, d.mustQuery(t, `SELECT ?1, ?2`, "ab", "c").values)
		require.Equal(t, []any{"a", "bc"}, d.mustQuery(t, `SELECT ?1, ?2`, "a", "bc").values)
	}
	idle := d.source.(*file).idle
	c := idle[len(idle)-1] // which was used
	long := strings.Repeat("x", maxCacheResult/4)
	for i := range 4 * maxCache / maxCacheResult {
		d.mustQuery(t, `SELECT ?1, ?2`, int64(i), long)
		require.LessOrEqual(t, c.cache.size, maxCache)
	}
	require.NotEmpty(t, c.cache.results)
	kept := len(c.cache.results)
	d.mustQuery(t, `SELECT ?1, ?2`, int64(0), strings.Repeat(long, 4))
	require.Len(t, c.cache.results, kept, "a large result is not kept")
	d.mustQuery(t, `INSERT INTO t VALUES (1)`)
	d.mustQuery(t, `SELECT ?1, ?2`, int64(0), "x")
	require.Len(t, c.cache.results, 1, "what was kept of the earlier file is dropped")
}

// A statement whose result depends on more than the file is run each time.
func TestFile_NotDeterministic(t *testing.T) {
	t.Parallel()
	d := openTestFile(t)
	seen := map[any]bool{}
	for range 20 {
		seen[d.mustQuery(t, `SELECT random()`).values[0]] = true
	}
	require.Len(t, seen, 20)
	for statement, want := range map[string]bool{
		`SELECT n FROM t WHERE k = ?`:       true,
		`SELECT 'random()'`:                 true,
		`SELECT coalesce(created_at, 0)`:    true,
		`SELECT RANDOM()`:                   false,
		`SELECT "random"()`:                 false,
		"SELECT `random`()":                 false,
		`SELECT [random]()`:                 false,
		`SELECT/**/unixepoch ( 'now' )`:     false,
		`SELECT CURRENT_TIMESTAMP`:          false,
		`SELECT * FROM pragma_page_count()`: false,
	} {
		require.Equal(t, want, isDeterministic(statement), statement)
	}
}
