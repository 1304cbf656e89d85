package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/core/reward"
)

// Rewards of the time before the ledger are copied, and get the entries that
// they would have had.
func TestMigrate_OldRewardsGetALedger(t *testing.T) {
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
			migrateBefore(t, p, "0010")
			_, err = p.write.ExecContext(t.Context(), `INSERT INTO reward (tenant, id, account_id, user_id, program,
					referral_id, source, kind, percent, amount, currency, redeemed, created_at, cancelled_at)
				VALUES ('t', 'a', 'acc', 'u', 'classic', 'r', 'FRIEND_SIGNUP', 'CREDIT', 0, 1000, 'USD', 0, 5, NULL),
					('t', 'b', 'acc', 'u', 'classic', 'r', 'REFERRED', 'PCT_DISCOUNT', 1250, 0, '', 0, 6, NULL),
					('t', 'c', 'acc', 'u', 'classic', 's', 'REFERRED', 'CREDIT', 0, 1000, 'USD', 300, 7, 9),
					('t', 'd', 'acc', 'u', 'classic', 's', 'FRIEND_SIGNUP', 'CREDIT', 0, 0, 'USD', 0, 8, NULL)`)
			require.NoError(t, err)
			require.NoError(t, p.Migrate(t.Context(), 1))

			old := reward.Reward{Account: "acc", User: "u", Program: "classic", Cancellable: true}
			a, b, c, d := old, old, old, old
			a.ID, a.Referral, a.Source, a.Created, a.Given = "a", "r", reward.FriendSignup, 5, 5
			a.Offer = reward.Offer{Kind: reward.Credit, Amount: 1000, Unit: "CENTS", Currency: "USD"}
			b.ID, b.Referral, b.Source, b.Created, b.Given = "b", "r", reward.Referred, 6, 6
			b.Offer = reward.Offer{Kind: reward.PercentDiscount, Percent: 1250, Unit: "%"}
			c.ID, c.Referral, c.Source, c.Created, c.Given, c.Cancelled = "c", "s", reward.Referred, 7, 7, 9
			c.Offer, c.Sums = a.Offer, reward.Sums{Redeemed: 300, Cancelled: 700}
			d.ID, d.Referral, d.Source, d.Created, d.Given = "d", "s", reward.FriendSignup, 8, 8
			d.Offer = reward.Offer{Kind: reward.Credit, Unit: "CENTS", Currency: "USD"}
			got, _, err := p.Rewards(t.Context(), "t", reward.Filter{Account: "acc", Limit: 10})
			require.NoError(t, err)
			require.Len(t, got[1].Redemptions, 1)
			require.Equal(t, int64(300), got[1].Redemptions[0].Amount)
			got[1].Redemptions = nil
			require.Equal(t, []reward.Reward{d, c, b, a}, got)
			var ledger string
			require.NoError(t, p.read.QueryRowContext(t.Context(), `SELECT group_concat(reward_id || ' ' || action || ' ' || amount || ' ' || unit || ' ' || at)
				FROM (SELECT * FROM reward_ledger ORDER BY reward_id, seq)`).Scan(&ledger))
			require.Equal(t, "a grant 1000 CENTS 5,b grant 1250 % 6,c grant 1000 CENTS 7,c redeem -300 CENTS 7,c cancel -700 CENTS 9", ledger)
		})
	}
}

// migrateBefore brings an empty database to where it was before a migration.
func migrateBefore(t *testing.T, p *Primary, number string) {
	t.Helper()
	_, err := p.write.ExecContext(t.Context(), `CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT`)
	require.NoError(t, err)
	files, err := migrations.ReadDir("migration")
	require.NoError(t, err)
	for _, file := range files {
		if strings.Compare(file.Name(), number) < 0 {
			require.NoError(t, p.migrate(t.Context(), 1, file.Name()))
		}
	}
}
