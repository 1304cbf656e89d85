package users_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/userdb"
)

// pageLimit is the longest time that a page may take at the server.
const pageLimit = 100 * time.Millisecond

// BenchmarkPages opens pages in a tenant with 1,000,000 users and 100,000 referrals, all of
// which one user made.
func BenchmarkPages(b *testing.B) {
	w := shop(b)
	require.NoError(b, w.Engine.DB.Write(b.Context(), portaltest.Began, func(tx *store.Tx) error {
		const numbers = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1) `
		for _, s := range []struct {
			text string
			rows int
		}{
			{`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at) ` + numbers + `
				SELECT 'acme', printf('account-%d', i), '', 'TRIAL', '', 0, '', 1, 1, 1 FROM n`, 1_000_000},
			{`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms) ` + numbers + `
				SELECT 'acme', printf('account-%d', i), printf('user-%d', i), printf('Ann%d', i % 1000), 'Lee', printf('user-%d@example.com', i), '', '', '', 1, '{}', '[]', 1, 1,
					printf('acme/account-%d' || char(31) || 'acme/ann%d' || char(31) || 'acme/example.com' || char(31) || 'acme/lee' || char(31) || 'acme/user-%d' || char(31) || 'acme/user-%d@example.com', i, i % 1000, i, i) FROM n`, 1_000_000},
			{`INSERT INTO referral (tenant, id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id, referred_user_id, share_medium, share_link,
					referrer_moderation, referrer_by_hand, referred_moderation, referred_by_hand, fraud_signals, started_at, moderated_at, updated_at) ` + numbers + `
				SELECT 'acme', printf('%024x', i), 'classic', 'in-progress', 'ANNA10', 'anna', 'anna', printf('account-%d', i), printf('user-%d', i), '', '',
					'APPROVED', 0, 'APPROVED', 0, '{}', i + 1, 1, 1 FROM n`, 100_000},
		} {
			if err := tx.Exec(b.Context(), "fill", s.text, s.rows); err != nil {
				return err
			}
		}
		return userdb.IndexNew(b.Context(), tx, 2)
	}))
	browser := w.SignedIn(b, "owner@acme.example")
	for name, path := range map[string]string{
		"all": list, "one": list + "?search=user-777777", "common": list + "?search=u", "two common": list + "?search=lee+account", "code": list + "?search=anna10",
		"few of many": list + "?search=ann7+user-1", "profile": list + "/account-5/user-5", "referrer of 100,000": list + "/anna/anna", "form": list + "/anna/anna/reward",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.Equal(b, http.StatusOK, browser.Get(path).Status)
			}
			if each := b.Elapsed() / time.Duration(b.N); each > pageLimit {
				b.Fatalf("%s for a page, more than %s", each, pageLimit)
			}
		})
	}
}
