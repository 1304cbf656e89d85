package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// The ledger of the time before 0022 is kept, line by line, and goes on where it
// was; it is still only ever added to.
func TestMigrate_OldLedgerIsKept(t *testing.T) {
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
			migrateUpTo(t, p, "0021_moderation.sql")
			exec := func(statement string) error {
				_, err := p.write.ExecContext(t.Context(), statement)
				return err
			}
			require.NoError(t, exec(`INSERT INTO reward_ledger (seq, tenant, id, reward_id, action, amount, unit, idempotency_key, at)
				VALUES (7, 't', 'a', 'w', 'grant', 10, 'CENTS', NULL, 1), (9, 't', 'b', 'w', 'redeem', -4, 'CENTS', 'key-0001', 2)`))
			require.NoError(t, exec(`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at)
				VALUES ('t', 'hash', 'sealed', 'd', 'off', '', 1)`))
			require.NoError(t, p.Migrate(t.Context(), 1))
			require.NoError(t, exec(`INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at)
				VALUES ('t', 'c', 'w', 'cancel', -6, 'CENTS', 3), ('t', 'd', 'w', 'restore', 6, 'CENTS', 4)`))
			var ledger string
			require.NoError(t, p.read.QueryRowContext(t.Context(), `SELECT group_concat(seq || ' ' || id || ' ' || action || ' ' || amount || ' ' || coalesce(idempotency_key, '-') || ' ' || at)
				FROM (SELECT * FROM reward_ledger ORDER BY seq)`).Scan(&ledger))
			require.Equal(t, "7 a grant 10 - 1,9 b redeem -4 key-0001 2,10 c cancel -6 - 3,11 d restore 6 - 4", ledger)
			require.ErrorContains(t, exec(`UPDATE reward_ledger SET amount = 11 WHERE id = 'a'`), "only ever added to")
			require.ErrorContains(t, exec(`DELETE FROM reward_ledger WHERE id = 'a'`), "only ever added to")
		})
	}
}
