package store_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
)

func TestMigrate_TwiceIsOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		if b.db.Embedded() {
			b = onFileAt(t, "file:"+filepath.Join(t.TempDir(), "new.db"))
		}
		require.NoError(t, b.db.Migrate(t.Context(), now+1))
		var versions, cursors int
		require.NoError(t, b.raw(t).QueryRowContext(t.Context(),
			`SELECT (SELECT count(*) FROM schema_version WHERE applied_at <> ?), (SELECT count(*) FROM intake_cursor)`,
			int64(now)).Scan(&versions, &cursors))
		require.Zero(t, versions, "the second run records nothing")
		require.Equal(t, 1, cursors)
	})
}

// Each Primary has its own connections, as a process would.
func TestMigrate_ManyAtOnce(t *testing.T) {
	t.Parallel()
	many := func(t *testing.T, url string) {
		const processes = 4
		failed := make(chan error, processes)
		for range processes {
			go func() {
				db, err := store.Open(url, "")
				if err == nil {
					defer db.Close()
					db.SetTimeout(sqldtest.Deadline)
					err = db.Migrate(t.Context(), now)
				}
				failed <- err
			}()
		}
		for range processes {
			require.NoError(t, <-failed)
		}
		newTenant(t, open(t, url))
	}
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		many(t, sqldtest.Start(t).PrimaryURL())
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		// Processes that open a new file at once rarely collide, so it is tried
		// several times, and more often by make race.
		for range 2 * len(testenv.Seeds(t)) {
			many(t, "file:"+filepath.Join(t.TempDir(), "new.db"))
		}
	})
}
