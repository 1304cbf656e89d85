package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// preparedOn returns the connection that writes to a new file, and a function that
// counts its prepared statements.
func preparedOn(t *testing.T) (conn *sql.Conn, kept func() int) {
	t.Helper()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	conn, err = p.write.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	_, err = conn.ExecContext(t.Context(), `CREATE TABLE n (n INTEGER NOT NULL UNIQUE); INSERT INTO n VALUES (1), (2), (3)`)
	require.NoError(t, err)
	return conn, func() (n int) {
		require.NoError(t, conn.Raw(func(c any) error { n = len(c.(*markedConn).usedConn.(*preparedConn).stmts); return nil }))
		return n
	}
}

func TestPrepared_SameTextWithinItself(t *testing.T) {
	t.Parallel()
	conn, kept := preparedOn(t)
	var seen []int
	numbers := func() *sql.Rows {
		rows, err := conn.QueryContext(t.Context(), `SELECT n FROM n WHERE n >= ? ORDER BY n`, 1)
		require.NoError(t, err)
		return rows
	}
	scan := func(rows *sql.Rows, within func()) {
		defer rows.Close()
		for rows.Next() {
			var n int
			require.NoError(t, rows.Scan(&n))
			seen = append(seen, n)
			within()
		}
		require.NoError(t, rows.Err())
	}
	scan(numbers(), func() { scan(numbers(), func() {}) })
	scan(numbers(), func() {})
	require.Equal(t, []int{1, 1, 2, 3, 2, 1, 2, 3, 3, 1, 2, 3, 1, 2, 3}, seen)
	require.Equal(t, 1, kept(), "a script is not prepared")
}

// An error of a statement, or rows that were not read, do not affect its next use.
func TestPrepared_ResetsBetweenUses(t *testing.T) {
	t.Parallel()
	conn, _ := preparedOn(t)
	insert := func(n any) error {
		_, err := conn.ExecContext(t.Context(), `INSERT INTO n VALUES (?)`, n)
		return err
	}
	require.ErrorContains(t, insert(1), "UNIQUE")
	require.ErrorContains(t, insert(nil), "NOT NULL")
	require.NoError(t, insert(4))

	ctx, cancel := context.WithCancel(t.Context())
	const all = `SELECT n FROM n ORDER BY n`
	rows, err := conn.QueryContext(ctx, all)
	require.NoError(t, err)
	require.True(t, rows.Next())
	cancel()
	require.NoError(t, rows.Close())
	var first int
	require.NoError(t, conn.QueryRowContext(t.Context(), all).Scan(&first))
	require.Equal(t, 1, first)

	// Prepared statements do not block the end of a transaction or a schema change.
	for _, text := range []string{"BEGIN IMMEDIATE", "DELETE FROM n", "ROLLBACK", "ALTER TABLE n ADD COLUMN more TEXT"} {
		_, err := conn.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	var columns []string
	rows, err = conn.QueryContext(t.Context(), `SELECT * FROM n ORDER BY n`)
	require.NoError(t, err)
	columns, err = rows.Columns()
	require.NoError(t, err)
	require.Equal(t, []string{"n", "more"}, columns)
	require.NoError(t, rows.Close())
	require.NoError(t, conn.QueryRowContext(t.Context(), all).Scan(&first))
	require.Equal(t, 1, first)
}

func TestPrepared_IsBounded(t *testing.T) {
	t.Parallel()
	conn, kept := preparedOn(t)
	for i := range maxPrepared + 10 {
		var n int
		require.NoError(t, conn.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT %d`, i)).Scan(&n))
		require.Equal(t, i, n)
	}
	require.Equal(t, maxPrepared, kept())
}
