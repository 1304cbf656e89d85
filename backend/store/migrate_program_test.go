package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
)

// Programs of the time before 0020 are kept, with their codes and rewards.
func TestMigrate_OldProgramsAreKept(t *testing.T) {
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
			migrateUpTo(t, p, "0002_webhook_event.sql")
			for _, statement := range []string{
				`INSERT INTO tenant VALUES ('t', 'h', 's', 'd', 'off', '', 1)`,
				`INSERT INTO program VALUES ('t', 'classic', 'Refer', 'https://s.example/', '["p.example"]', 5,
					'PCT_DISCOUNT', 1250, 0, '', 'CREDIT', 0, 1000, 'USD', 7)`,
				`INSERT INTO program VALUES ('t', 'plain', 'Plain', 'https://s.example/', '[]', 6, '', 0, 0, '', '', 0, 0, '', 8)`,
				`INSERT INTO account VALUES ('t', 'a', 'USD', 'TRIAL', '', 0, '', NULL, NULL, 1, 1, 1)`,
				`INSERT INTO user VALUES ('t', 'a', 'u', '', '', '', '', '', '', 1, '{}', '[]', 1, 1)`,
				`INSERT INTO code VALUES ('t', 'CODE', 'classic', 'a', 'u', 1)`,
			} {
				_, err := p.write.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			require.NoError(t, p.Migrate(t.Context(), 1))

			none := referral.FraudPolicy{Handling: referral.HandleNone}
			got, err := p.Programs(t.Context(), "t")
			require.NoError(t, err)
			require.Equal(t, []referral.Program{{
				Program:  link.Program{Key: "classic", LandingURL: "https://s.example/", AllowedHosts: []string{"p.example"}, CookieLife: 5},
				Name:     "Refer",
				Referred: reward.Offer{Kind: reward.PercentDiscount, Percent: 1250},
				Referrer: reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"},
				Fraud:    none, Created: 7, Modified: 7,
			}, {
				Program: link.Program{Key: "plain", LandingURL: "https://s.example/", AllowedHosts: []string{}, CookieLife: 6},
				Name:    "Plain", Fraud: none, Created: 8, Modified: 8,
			}}, got)
			code, known, err := p.Code(t.Context(), "t", "code")
			require.NoError(t, err)
			require.True(t, known)
			require.Equal(t, core.ProgramKey("classic"), code.Program)
			_, err = p.write.ExecContext(t.Context(), `DELETE FROM program WHERE tenant = 't' AND key = 'classic'`)
			require.ErrorContains(t, err, "FOREIGN KEY", "codes refer to the new table")
		})
	}
}

// migrateUpTo brings an empty database to where it was after a migration.
func migrateUpTo(t *testing.T, p *Primary, last string) {
	t.Helper()
	_, err := p.write.ExecContext(t.Context(), `CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT`)
	require.NoError(t, err)
	files, err := migrations.ReadDir("migration")
	require.NoError(t, err)
	for _, file := range files {
		if file.Name() <= last {
			require.NoError(t, p.migrate(t.Context(), 1, file.Name()))
		}
	}
}
