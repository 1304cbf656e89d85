package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/core/referral"
)

// Referrals of the time before 0021 are kept, as ones in which nobody suspected
// anything.
func TestMigrate_OldReferralsAreApproved(t *testing.T) {
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
			migrateUpTo(t, p, "0020_program.sql")
			for _, statement := range []string{
				`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at) VALUES ('t', 'h', 's', 'd', 'off', '', 1)`,
				`INSERT INTO account VALUES ('t', 'a', 'USD', 'PAID', '', 0, '', NULL, 6, 1, 1, 1), ('t', 'b', 'USD', 'TRIAL', '', 0, '', NULL, NULL, 0, 1, 1)`,
				`INSERT INTO referral VALUES ('t', 'r', 'classic', 'converted', 'CODE', 'x', 'y', 'a', 'u', 'SMS', 5, 6, 7),
					('t', 's', 'classic', 'in-progress', 'CODE', 'x', 'y', 'b', NULL, '', 4, NULL, NULL)`,
			} {
				_, err := p.write.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			require.NoError(t, p.Migrate(t.Context(), 1))

			approved := referral.Side{Status: referral.SideApproved}
			by := referral.Identity{Account: "x", User: "y"}
			got, total, err := p.Referrals(t.Context(), "t", referral.Filter{Limit: 10})
			require.NoError(t, err)
			require.Equal(t, 2, total)
			require.Equal(t, []referral.Referral{{
				ID: "r", Program: "classic", State: referral.Converted, Code: "CODE", Referrer: by,
				Referred: referral.Identity{Account: "a", User: "u"}, ShareMedium: "SMS", Started: 5, Converted: 6, Ended: 7, Modified: 7,
				Moderation: referral.ModerationState{Referrer: approved, Referred: approved, Moderated: 5},
			}, {
				ID: "s", Program: "classic", State: referral.InProgress, Code: "CODE", Referrer: by,
				Referred: referral.Identity{Account: "b"}, Started: 4, Modified: 4,
				Moderation: referral.ModerationState{Referrer: approved, Referred: approved, Moderated: 4},
			}}, got)
		})
	}
}
