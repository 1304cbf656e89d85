package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
)

func TestSFTPKey_IsATenantsOwn(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		keys := []store.SFTPKey{
			{Fingerprint: "SHA256:b", Type: "ssh-rsa", Note: awkward[1]},
			{Fingerprint: "SHA256:a", Type: "ssh-ed25519"},
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for i := range keys {
				for _, want := range []bool{true, false} {
					added, err := tx.InsertSFTPKey(ctx, b.tenant, keys[i])
					require.NoError(t, err)
					require.Equal(t, want, added)
				}
				keys[i].Created = tx.Now
			}
			used, err := tx.UseSFTPKey(ctx, b.tenant, "SHA256:a")
			require.True(t, used)
			keys[1].Used = tx.Now
			require.NoError(t, err)
			used, err = tx.UseSFTPKey(ctx, other, "SHA256:a")
			require.False(t, used)
			return err
		})
		got, err := b.db.SFTPKeys(t.Context(), b.tenant)
		require.NoError(t, err)
		require.Equal(t, []store.SFTPKey{keys[1], keys[0]}, got)
		got, err = b.db.SFTPKeys(t.Context(), other)
		require.NoError(t, err)
		require.Empty(t, got)

		known := func(want bool, fingerprint string) {
			t.Helper()
			got, err := b.db.SFTPKeyKnown(t.Context(), b.tenant, fingerprint)
			require.NoError(t, err)
			require.Equal(t, want, got)
			got, err = b.db.SFTPKeyKnown(t.Context(), other, fingerprint)
			require.NoError(t, err)
			require.False(t, got)
		}
		known(true, "SHA256:a")
		known(false, "SHA256:A")
		known(false, "")
		for _, want := range []bool{true, false} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				removed, err := tx.DeleteSFTPKey(ctx, other, "SHA256:a")
				require.NoError(t, err)
				require.False(t, removed)
				removed, err = tx.DeleteSFTPKey(ctx, b.tenant, "SHA256:a")
				require.Equal(t, want, removed)
				return err
			})
		}
		known(false, "SHA256:a")
		known(true, "SHA256:b")
	})
}
