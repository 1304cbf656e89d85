package libsql

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
