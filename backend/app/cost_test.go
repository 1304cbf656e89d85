package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/job"
)

// An imported user costs as many rows of tables and entries of indexes as are recorded here.
// Each takes time in every import, and room in every replica and backup.
func TestImport_CostsOfAUser(t *testing.T) {
	t.Parallel()
	const users = 200
	for name, c := range map[string]struct {
		text          string
		rows, entries float64
	}{
		"a user":                              {manyUsers(users), 3, 4.05},
		"a referred user":                     {referred(users, 1, ""), 5, 15.05},
		"a user who is referred and converts": {referred(users, 1, "true"), 9, 32.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newBundle(t)
			in.imported(t, job.ImportUser, "owners.csv", owners(users/10), "{}")
			rows, entries := in.entries(t)
			done := in.imported(t, job.ImportUser, "users.csv", c.text, "{}")
			require.Equal(t, job.Stats{Processed: users}, done.Stats)
			rowsAfter, entriesAfter := in.entries(t)
			// A few rows more are those of the job.
			require.InDelta(t, c.rows, float64(rowsAfter-rows)/users, 0.05, "rows")
			require.InDelta(t, c.entries, float64(entriesAfter-entries)/users, 0.05, "entries of indexes")
		})
	}
}

// entries returns the number of rows in all tables of a file, and of entries in all indexes,
// without those of the index of search terms: their number depends on when they are merged.
func (b bundle) entries(t *testing.T) (rows, entries int64) {
	count := func(query string) (n int64) {
		require.NoError(t, b.DB.QueryRowContext(t.Context(), query).Scan(&n), query)
		return n
	}
	tables, err := b.DB.Reads.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'user_index%' AND name NOT LIKE 'sqlite_%'`)
	require.NoError(t, err)
	var names []string
	for tables.Next() {
		var name string
		require.NoError(t, tables.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, tables.Err())
	for _, name := range names {
		rows += count(`SELECT count(*) FROM "` + name + `"`)
	}
	return rows, count(`SELECT sum(ncell) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE type = 'index')`)
}
