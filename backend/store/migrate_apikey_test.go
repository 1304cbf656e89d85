package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/core/auth"
)

// The key that a tenant has is its key "default", of the role all, and what tells the
// master key of the database still does.
func TestMigrate_OldKeyIsTheDefaultOne(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"server": sqldtest.Start(t).PrimaryURL(),
		"file":   "file:" + filepath.Join(t.TempDir(), "old.db"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Open(url, "")
			require.NoError(t, err)
			t.Cleanup(func() { _ = p.Close() })
			migrateUpTo(t, p, "0140_browser_trust.sql")
			for _, statement := range []string{
				`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at) VALUES ('t', 'h', 's', 'd', 'off', '', 7)`,
				`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at) VALUES ('test_t', 'i', 'z', 'd', 'off', '', 7)`,
			} {
				_, err := p.write.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			before, err := p.KeyEvidence(t.Context())
			require.NoError(t, err)
			require.NoError(t, p.Migrate(t.Context(), 8))
			after, err := p.KeyEvidence(t.Context())
			require.NoError(t, err)
			require.Equal(t, KeyEvidence{Tenant: "t", Sealed: "s"}, before)
			require.Equal(t, before, after)

			got, err := p.Tenant(t.Context(), "t")
			require.NoError(t, err)
			require.Equal(t, auth.APIKeys{{Name: auth.DefaultKey, Role: auth.RoleAll, Hash: "h", Sealed: "s", Created: 7}}, got.Keys)
			require.True(t, got.APIKeyTokens)
			var left int
			require.NoError(t, p.write.QueryRowContext(t.Context(), `SELECT count(*) FROM tenant WHERE key_sealed <> '' OR key_hash <> alias`).Scan(&left))
			require.Zero(t, left)
		})
	}
}
