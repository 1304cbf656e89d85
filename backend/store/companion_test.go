package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
)

// A companion is committed with the first transaction that commits, exactly once. If one
// of the two fails, neither is stored.
func TestCompanion(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		failed := errors.New("failed")
		var inCompanion error
		ctx, companion := store.WithCompanion(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(inCompanion, putUser(ctx, tx, b.tenant, "a", "companion"))
		})
		write := func(user core.UserID, err error) error {
			return b.db.Write(ctx, now, func(tx *store.Tx) error { return errors.Join(err, putUser(ctx, tx, b.tenant, "a", user)) })
		}
		stored := func(user core.UserID) bool {
			known, err := userdb.UserExists(t.Context(), b.db.Reads, b.tenant, "a", user)
			require.NoError(t, err)
			return known
		}
		require.ErrorIs(t, write("first", failed), failed)
		inCompanion = failed
		require.ErrorIs(t, write("second", nil), failed)
		require.False(t, companion.Committed() || stored("first") || stored("second") || stored("companion"))
		inCompanion = nil
		require.NoError(t, write("third", nil))
		require.True(t, companion.Committed() && stored("third") && stored("companion"))
		inCompanion = failed // it does not run again
		require.NoError(t, write("fourth", nil))
		require.True(t, stored("fourth"))
	})
}
