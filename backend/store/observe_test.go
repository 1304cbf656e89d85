package store_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/storetest"
)

// Each statement and wait is observed once, from its begin to its end: a query ends when its
// rows are closed. Statements have no values.
func TestObserve(t *testing.T) {
	db, err := store.Open(storetest.File(t), "")
	require.NoError(t, err)
	defer db.Close()
	var mu sync.Mutex
	var begun, failed []string
	open := 0
	db.Observe = func(_ context.Context, wait, text string) func(error) {
		mu.Lock()
		defer mu.Unlock()
		begun = append(begun, wait+text)
		if text == "COMMIT" {
			return nil
		}
		open++
		return func(err error) {
			mu.Lock()
			defer mu.Unlock()
			open--
			if err != nil {
				failed = append(failed, text)
			}
		}
	}
	const selected, invalid = `SELECT value FROM json_each(?)`, `SELECT nothing`
	require.NoError(t, db.Write(t.Context(), now, func(tx *store.Tx) error {
		rows, err := tx.QueryContext(t.Context(), selected, `["secret", "secret"]`)
		require.NoError(t, err)
		require.True(t, rows.Next())
		require.Equal(t, 1, open, "the rows are open")
		require.NoError(t, rows.Close())
		require.Zero(t, open)
		require.Error(t, tx.Exec(t.Context(), "test", invalid))
		return nil
	}))
	require.Equal(t, []string{"wait for a connection", "BEGIN IMMEDIATE", selected, invalid, "COMMIT", "wait for the disk"}, begun)
	require.Equal(t, []string{invalid}, failed)
	require.Error(t, db.QueryRowContext(t.Context(), invalid).Scan())
	require.Equal(t, invalid, slices.Max(begun[6:]))
	require.Zero(t, open)
}
