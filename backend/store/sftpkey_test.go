package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/tenantdb"
)

func TestSFTPKey_BelongsToOneTenant(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		keys := []tenantdb.SFTPKey{
			{Fingerprint: "SHA256:b", Type: "ssh-rsa", Note: awkward[1]},
			{Fingerprint: "SHA256:a", Type: "ssh-ed25519"},
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for i := range keys {
				for _, want := range []bool{true, false} {
					added, err := tenantdb.InsertSFTPKey(ctx, tx, b.tenant, keys[i])
					require.NoError(t, err)
					require.Equal(t, want, added)
				}
				keys[i].Created = tx.Now
			}
			used, err := tenantdb.RecordSFTPKeyUse(ctx, tx, b.tenant, "SHA256:a")
			require.True(t, used)
			keys[1].Used = tx.Now
			require.NoError(t, err)
			used, err = tenantdb.RecordSFTPKeyUse(ctx, tx, other, "SHA256:a")
			require.False(t, used)
			return err
		})
		got, err := tenantdb.SFTPKeys(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		require.Equal(t, []tenantdb.SFTPKey{keys[1], keys[0]}, got)
		got, err = tenantdb.SFTPKeys(t.Context(), b.db.Reads, other)
		require.NoError(t, err)
		require.Empty(t, got)

		known := func(want bool, fingerprint string) {
			t.Helper()
			got, err := tenantdb.SFTPKeyExists(t.Context(), b.db.Reads, b.tenant, fingerprint)
			require.NoError(t, err)
			require.Equal(t, want, got)
			got, err = tenantdb.SFTPKeyExists(t.Context(), b.db.Reads, other, fingerprint)
			require.NoError(t, err)
			require.False(t, got)
		}
		known(true, "SHA256:a")
		known(false, "SHA256:A")
		known(false, "")
		for _, want := range []bool{true, false} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				removed, err := tenantdb.DeleteSFTPKey(ctx, tx, other, "SHA256:a")
				require.NoError(t, err)
				require.False(t, removed)
				removed, err = tenantdb.DeleteSFTPKey(ctx, tx, b.tenant, "SHA256:a")
				require.Equal(t, want, removed)
				return err
			})
		}
		known(false, "SHA256:a")
		known(true, "SHA256:b")
	})
}
