package sqldtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// The store depends on the texts of these errors: the driver passes nothing else on
// about a violated constraint. The texts of a primary and of a replica differ only in
// their prefix.
func TestDriver_ConstraintsAreNamedAtTheEndOfTheText(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	exec(t, open(t, c.PrimaryURL()), `CREATE TABLE named (
		k TEXT NOT NULL PRIMARY KEY,
		n INTEGER NOT NULL CONSTRAINT positive CHECK (n > 0),
		up TEXT REFERENCES named) STRICT`)
	exec(t, open(t, c.PrimaryURL()), `INSERT INTO named VALUES ('a', 1, NULL)`)
	for statement, text := range map[string]string{
		`INSERT INTO named VALUES ('b', 0, NULL)`:    "CHECK constraint failed: positive",
		`INSERT INTO named VALUES ('a', 1, NULL)`:    "UNIQUE constraint failed: named.k",
		`INSERT INTO named VALUES ('b', NULL, NULL)`: "NOT NULL constraint failed: named.n",
		`INSERT INTO named VALUES ('b', 1, 'z')`:     "FOREIGN KEY constraint failed",
		`INSERT INTO named VALUES ('b', 'x', NULL)`:  "cannot store TEXT value in INTEGER column named.n",
	} {
		for end, prefix := range map[string]string{
			c.PrimaryURL(): "unable to execute " + statement + ": SQLite error: ",
			c.ReplicaURL(): "unable to execute " + statement + ": error executing a request on the primary: ",
		} {
			_, err := open(t, end).ExecContext(t.Context(), statement)
			require.EqualError(t, err, prefix+text)
		}
	}
}

func TestDriver_ReturnsRowsOfWrites(t *testing.T) {
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	exec(t, open(t, c.PrimaryURL()), `CREATE TABLE rows (k TEXT PRIMARY KEY, n INTEGER) STRICT`)
	c.WaitForSync(t)
	for _, url := range []string{c.PrimaryURL(), c.ReplicaURL()} {
		exec(t, open(t, url), `DELETE FROM rows`)
		for _, step := range []struct {
			statement, arg string
			want           []int
		}{
			{`INSERT INTO rows SELECT ?, 1 WHERE NOT EXISTS (SELECT 1 FROM rows) RETURNING n`, "a", []int{1}},
			{`INSERT INTO rows SELECT ?, 1 WHERE NOT EXISTS (SELECT 1 FROM rows) RETURNING n`, "b", nil},
			{`INSERT INTO rows VALUES (?, 2) ON CONFLICT DO NOTHING RETURNING n`, "a", nil},
			{`INSERT INTO rows VALUES (?, 2) ON CONFLICT (k) DO UPDATE SET n = excluded.n RETURNING n`, "a", []int{2}},
			{`INSERT INTO rows SELECT value ->> 'k', value ->> 'n' FROM json_each(?) WHERE true RETURNING n`,
				`[{"k":"c","n":3},{"k":"d","n":4}]`, []int{3, 4}},
		} {
			rows, err := open(t, url).QueryContext(t.Context(), step.statement, step.arg)
			require.NoError(t, err)
			var got []int
			for rows.Next() {
				var n int
				require.NoError(t, rows.Scan(&n))
				got = append(got, n)
			}
			require.NoError(t, rows.Err())
			require.Equal(t, step.want, got, step.statement)
		}
	}
}

// The server ends a transaction after 5 seconds if another one waits to write. Then
// COMMIT fails.
func TestDriver_ServerEndsALongTransaction(t *testing.T) {
	c := sqldtest.Start(t)
	db := open(t, c.PrimaryURL())
	exec(t, db, `CREATE TABLE slow (a)`)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, statement := range []string{`BEGIN IMMEDIATE`, `INSERT INTO slow VALUES (1)`} {
		_, err = conn.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	require.Equal(t, 0, count(t, open(t, c.PrimaryURL()), "slow"), "not visible before COMMIT")
	exec(t, open(t, c.PrimaryURL()), `INSERT INTO slow VALUES (2)`)
	_, err = conn.ExecContext(t.Context(), `COMMIT`)
	require.ErrorContains(t, err, "Transaction timed out")
	require.Equal(t, 1, count(t, db, "slow"), "only the transaction that waited")
}
