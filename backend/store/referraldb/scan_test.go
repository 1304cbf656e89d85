package referraldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/referraldb"
	"kith/backend/store/storetest"
	"kith/core/referral"
)

// A scan reads a bounded number of referrals for each page, and the next page continues
// behind them, so that a rare match among many referrals is found.
func TestScan_ContinuesBehindWhatItHasRead(t *testing.T) {
	t.Parallel()
	p, err := store.Open(storetest.File(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	const many = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2500) `
	require.NoError(t, p.Write(t.Context(), 1, func(tx *store.Tx) error {
		for _, statement := range []string{
			`INSERT INTO tenant (alias, key_hash, key_sealed, discount_id, consent, consent_cookie, created_at) VALUES ('t', 'h', 's', 'd', 'off', '', 1)`,
			many + `INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at)
				SELECT 't', 'u' || n, 'USD', 'TRIAL', '', 0, '0', 1, 1, 1 FROM n`,
			many + `INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
				SELECT 't', 'u' || n, 'u', '', '', '', '', '', '', 1, '{}', '[]', 1, 1, 't/all' || iif(n = 2, char(31) || 't/rare', '') FROM n`,
			many + `INSERT INTO referral (tenant, id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id, referred_user_id,
					share_medium, share_link, referrer_moderation, referrer_by_hand, referred_moderation, referred_by_hand, fraud_signals, started_at, moderated_at, updated_at)
				SELECT 't', printf('r%04d', n), 'p', 'in-progress', 'C', 'u1', 'u', 'u' || n, 'u', '', '', 'APPROVED', 0, 'APPROVED', 0, '{}', n, n, n FROM n WHERE n > 1`,
		} {
			if err := tx.Exec(t.Context(), "fill", statement); err != nil {
				return err
			}
		}
		return nil
	}))
	scan := func(words []string, before referral.Position, limit int) ([]string, referral.Position) {
		page, next, err := referraldb.Scan(t.Context(), p.Reads, "t", referral.Search{Person: "x", Before: before}, words, limit)
		require.NoError(t, err)
		var ids []string
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		return ids, next
	}
	ids, next := scan([]string{"rare"}, referral.Position{}, 10)
	require.Empty(t, ids)
	require.Equal(t, referral.Position{Started: 501, ID: "r0501"}, next)
	ids, next = scan([]string{"rare"}, next, 10)
	require.Equal(t, []string{"r0002"}, ids)
	require.Zero(t, next)
	ids, next = scan([]string{"al"}, referral.Position{}, 2)
	require.Equal(t, []string{"r2500", "r2499"}, ids)
	require.Equal(t, referral.Position{Started: 2499, ID: "r2499"}, next)
	ids, next = scan([]string{"all", "rare"}, referral.Position{Started: 3, ID: "r0003"}, 2)
	require.Equal(t, []string{"r0002"}, ids)
	require.Zero(t, next)
}
