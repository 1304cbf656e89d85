package libsql

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A write waits while another process, such as an import, has the lock of a file. It
// does not run if its request ends before the lock is released.
func TestFile_WaitsForTheLock(t *testing.T) {
	t.Parallel()
	file := "file:" + filepath.Join(t.TempDir(), "a.db")
	d, err := Open(t.Context(), withLongTimeouts(Config{URL: file}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	write := func(ctx context.Context, text string, args ...any) error {
		_, err := d.query(ctx, []byte(text), args)
		return err
	}
	require.NoError(t, write(t.Context(), `CREATE TABLE n (n INTEGER)`))

	other, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	other.SetMaxOpenConns(1)
	run := func(text string) {
		t.Helper()
		_, err := other.Exec(text)
		require.NoError(t, err)
	}
	const insert = `INSERT INTO n VALUES (?)`
	run(`BEGIN IMMEDIATE`)
	canceled, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- write(canceled, insert, int64(1)) }()
	cancel()
	require.Error(t, <-done)
	go func() { done <- write(t.Context(), insert, int64(2)) }()
	require.Empty(t, done, "the write waits")
	run(`COMMIT`)
	require.NoError(t, <-done)
	var n, sum int
	require.NoError(t, other.QueryRow(`SELECT count(*), sum(n) FROM n`).Scan(&n, &sum))
	require.Equal(t, []int{1, 2}, []int{n, sum})
}
