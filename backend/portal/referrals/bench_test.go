package referrals_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core/referral"
)

// BenchmarkPages measures pages of a tenant with 1,000,000 users and 100,000 referrals, one
// in each millisecond: 50,000 by the user u0, the others by 1,000 users. 1 of 1,000 is
// pending, denied or has ended. The person "everybody" is the domain of all users.
func BenchmarkPages(b *testing.B) {
	w := portaltest.New(b)
	fill(b, w)
	browser := w.SignedIn(b, "owner@acme.example")
	for _, page := range []struct{ name, path string }{
		{"first", ""}, {"middle", "?before=" + referral.Position{Started: portaltest.Began + 50_000, ID: "x"}.String()},
		{"pending", "?moderation=PENDING"}, {"denied", "?moderation=DENIED"}, {"approved", "?moderation=APPROVED"}, {"ended", "?state=ended"}, {"converted", "?state=converted"},
		{"code", "?code=CODE7"}, {"unknown code", "?code=NONE"}, {"person with 50000", "?person=u0@friend.example"},
		{"person with 50", "?person=u7@friend.example"}, {"everybody", "?person=friend.example"}, {"referral", "/r0077777"},
	} {
		b.Run(page.name, func(b *testing.B) {
			slowest := time.Duration(0)
			for b.Loop() {
				began := time.Now()
				got := browser.Get(section + page.path)
				slowest = max(slowest, time.Since(began))
				want := http.StatusOK
				if page.name == "everybody" {
					want = http.StatusUnprocessableEntity
				}
				require.Equal(b, want, got.Status)
			}
			b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
		})
	}
}

// fill adds the users and referrals of BenchmarkPages.
func fill(b *testing.B, w *portaltest.World) {
	b.Helper()
	const numbers = `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1) `
	require.NoError(b, w.Engine.DB.Write(b.Context(), portaltest.Began, func(tx *store.Tx) error {
		for _, s := range []struct {
			rows      int
			statement string
		}{
			{1_000_000, `INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, first_paid_at, identified, created_at, updated_at)
				SELECT 'acme', 'u' || i, 'USD', 'PAID', '', 0, '', ?2, 1, ?2, ?2 FROM n`},
			{1_000_000, `INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
				SELECT 'acme', 'u' || i, 'u' || i, 'First', 'Last', 'u' || i || '@friend.example', '', '', '', 1, '{}', '[]', ?2, ?2,
					'acme/u' || i || char(31) || 'acme/u' || i || '@friend.example' || char(31) || 'acme/friend.example' FROM n`},
			{100_000, `INSERT INTO referral (tenant, id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id, referred_user_id, share_medium, share_link,
					referrer_moderation, referrer_by_hand, referred_moderation, referred_by_hand, fraud_signals, started_at, converted_at, ended_at, moderated_at, updated_at)
				SELECT 'acme', printf('r%07d', i), 'classic', iif(i % 3 = 0, 'converted', 'in-progress'), 'CODE' || iif(i % 2 = 0, 0, i % 1000), 'u' || iif(i % 2 = 0, 0, i % 1000), 'u' || iif(i % 2 = 0, 0, i % 1000),
					'u' || (i + 1000), 'u' || (i + 1000), '', '', CASE i % 1000 WHEN 1 THEN 'PENDING' WHEN 2 THEN 'DENIED' ELSE 'APPROVED' END, 0, 'APPROVED', 0, '{}', ?2 + i,
					iif(i % 3 = 0, ?2 + i, NULL), iif(i % 1000 = 3, ?2 + i, NULL), ?2 + i, ?2 + i FROM n`},
		} {
			if err := tx.Exec(b.Context(), "fill", numbers+s.statement, s.rows, int64(portaltest.Began)); err != nil {
				return err
			}
		}
		return userdb.IndexNew(b.Context(), tx, 0)
	}))
}
