package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
)

// A database with an unknown migration is refused, also if its number is lower than that
// of the newest known one, and the error names the version of kith that applied it.
func TestSchema_Newer(t *testing.T) {
	t.Parallel()
	on, ctx := onFile(t), t.Context()
	s, err := on.db.Schema(ctx)
	require.NoError(t, err)
	require.Equal(t, store.SchemaVersion(), s.Has)
	require.NoError(t, s.Newer())
	require.NoError(t, s.Older())
	for _, c := range []struct {
		version int
		kith    string
		says    string
	}{
		{9998, "", "the database has schema 9998, and this kith knows schema "},
		{9999, "4.5.6", "the database has schema 9999, made by kith 4.5.6, and this kith knows schema "},
	} {
		require.NoError(t, on.db.Write(ctx, 1, func(tx *store.Tx) error {
			return tx.Exec(ctx, "test", `INSERT INTO schema_version (version, applied_at, kith) VALUES (?, 1, ?)`, c.version, c.kith)
		}))
		s, err := on.db.Schema(ctx)
		require.NoError(t, err)
		require.ErrorContains(t, s.Newer(), c.says)
		require.NoError(t, s.Older(), "all that this program needs is there")
		require.ErrorContains(t, on.db.Migrate(ctx, 1), c.says)
	}
	require.ErrorContains(t, on.db.Migrate(ctx, 1), "use kith 4.5.6 or a newer version")
}

// A database that lacks any migration is too old, even if it has the newest.
func TestSchema_Older(t *testing.T) {
	t.Parallel()
	on := onFile(t)
	ctx := t.Context()
	require.NoError(t, on.db.Write(ctx, 1, func(tx *store.Tx) error {
		return tx.Exec(ctx, "test", `DELETE FROM schema_version WHERE version IN (320, 330)`)
	}))
	s, err := on.db.Schema(ctx)
	require.NoError(t, err)
	require.ErrorContains(t, s.Older(), "without the migrations 320 330, and this kith needs ")
}

// Each migration is stored with the version of kith that applied it.
func TestSchema_Version(t *testing.T) {
	t.Parallel()
	db, err := store.Open("file:"+t.TempDir()+"/kith.db", "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.Version = "1.2.3"
	require.NoError(t, db.Migrate(t.Context(), 1))
	var by string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT kith FROM schema_version WHERE version = ?`, store.SchemaVersion()).Scan(&by))
	require.Equal(t, "1.2.3", by)
}
