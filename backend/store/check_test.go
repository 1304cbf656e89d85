package store_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
)

// A damaged page is found by both checks, and a check ends with its context.
func TestIntegrity(t *testing.T) {
	t.Parallel()
	on, ctx := onFile(t), t.Context()
	for _, thorough := range []bool{false, true} {
		problems, err := store.Integrity(ctx, on.db, thorough)
		require.NoError(t, err)
		require.Empty(t, problems)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := store.Integrity(ended, on.db, true)
	require.ErrorIs(t, err, context.Canceled)

	url, path := intact(t)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("damage", 4096)), 40*4096)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	db, err := store.Open(url, "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	for _, thorough := range []bool{false, true} {
		problems, err := store.Integrity(ctx, db, thorough)
		require.True(t, err != nil || len(problems) > 0)
	}
}

// intact returns a closed database.
func intact(t *testing.T) (url, path string) {
	path = t.TempDir() + "/kith.db"
	db, err := store.Open("file:"+path, "")
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context(), now))
	require.NoError(t, db.Close())
	return "file:" + path, path
}
