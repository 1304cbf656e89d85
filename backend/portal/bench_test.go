package portal_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/people"
)

// The tenant of BenchmarkPages.
const (
	benchUsers     = 1_000_000
	benchReferrals = 100_000
	benchReferrers = 20_000
	// benchDays is the time in which the referrals happened, at a constant rate.
	benchDays = 365
)

// onlyPages are pages of users and referrals that only the tenant of BenchmarkPages has.
var onlyPages = []page{
	{"referral", "/portal/t/acme/referrals/00000000000000000000012c"},
	{"referrals-of-everybody", "/portal/t/acme/referrals?person=first7"},
	{"person", "/portal/t/acme/people/u77/u77"},
	{"person-reward", "/portal/t/acme/people/u77/u77/reward"},
	{"person-event", "/portal/t/acme/people/u77/u77/event"},
	{"person-referrer", "/portal/t/acme/people/u77/u77/referrer"},
	{"person-block", "/portal/t/acme/people/u77/u77/block"},
	{"person-data", "/portal/t/acme/people/u77/u77/data"},
	{"referrals-moderate", "/portal/t/acme/referrals/moderate?action=DENIED&referral=0000000000000000000001f4"},
}

type page struct{ name, path string }

// benchPages are the pages that read the data of the tenant.
var benchPages = []page{
	{"overview-30-days", "/portal/t/acme/overview"},
	{"overview-90-days", "/portal/t/acme/overview?period=90d"},
	{"overview-90-days-medium", "/portal/t/acme/overview?period=90d&medium=EMAIL&rank=joined"},
	{"overview-12-months", "/portal/t/acme/overview?period=12mo&rank=joined"},
	{"overview-12-months-medium", "/portal/t/acme/overview?period=12mo&medium=EMAIL"},
	{"programs", "/portal/t/acme/programs"},
	{"program", "/portal/t/acme/programs/classic"},
	{"program-history", "/portal/t/acme/programs/classic/history"},
	{"program-trial", "/portal/t/acme/programs/classic/try?key=purchase&revenue=80.00&currency=USD"},
	{"program-widget", "/portal/t/acme/programs/classic/widget"},
	{"program-new", "/portal/t/acme/programs/_new"},
	{"referrals", "/portal/t/acme/referrals"},
	{"referrals-pending", "/portal/t/acme/referrals?moderation=PENDING"},
	{"referrals-of-a-code", "/portal/t/acme/referrals?code=C77"},
	{"referrals-of-a-person", "/portal/t/acme/referrals?person=u77@example.com"},
	{"people", "/portal/t/acme/people"},
	{"people-by-id", "/portal/t/acme/people?search=u777777"},
	{"people-by-two-words", "/portal/t/acme/people?search=first7+last77"},
	{"people-by-code", "/portal/t/acme/people?search=C777777"},
	{"files", "/portal/t/acme/files"},
	{"files-import", "/portal/t/acme/files/import"},
	{"files-exports", "/portal/t/acme/files/export"},
	{"files-export", "/portal/t/acme/files/export/REFERRAL"},
	{"files-sftp", "/portal/t/acme/files/sftp"},
	{"integrations", "/portal/t/acme/integrations"},
	{"gateway", "/portal/t/acme/integrations/gateway"},
	{"webhooks", "/portal/t/acme/integrations/webhooks"},
	{"keys", "/portal/t/acme/integrations/keys"},
	{"website", "/portal/t/acme/integrations/website"},
	{"website-storage", "/portal/t/acme/integrations/website/storage"},
	{"pipeline", "/portal/t/acme/integrations/pipeline"},
	{"members", "/portal/t/acme/members"},
	{"audit", "/portal/t/acme/audit"},
	{"profile", "/portal/profile"},
	{"profile-password", "/portal/profile/password"},
	{"profile-two-step", "/portal/profile/two-step"},
}

// pageLimit is how long a page may take at the server.
const pageLimit = 100 * time.Millisecond

// Each page answers in time in a tenant with many users and referrals. The figure that
// counts is the median; a page that takes longer fails the benchmark.
func BenchmarkPages(b *testing.B) {
	w := portaltest.New(b)
	fillTenant(b, w)
	browser := w.Browser()
	require.Equal(b, http.StatusSeeOther, browser.SignIn(b, "owner@acme.example").Status)
	for _, page := range slices.Concat(benchPages, onlyPages) {
		b.Run(page.name, func(b *testing.B) {
			require.Equal(b, http.StatusOK, browser.Get(page.path).Status)
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				browser.Get(page.path)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			median := took[len(took)/2]
			b.ReportMetric(float64(median.Microseconds())/1000, "p50-ms")
			if median > pageLimit {
				b.Errorf("%s takes %v, more than %v", page.path, median, pageLimit)
			}
		})
	}
}

// fillTenant adds benchUsers users with codes, referrals, rewards and visits to acme, with
// statements that add them all: calls of use cases would take hours.
func fillTenant(b *testing.B, w *portaltest.World) {
	b.Helper()
	begun := time.Now()
	// A year passes until now, which is the clock of the world.
	now := w.Engine.Now()
	first := now - benchDays*core.Day
	const many = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1) `
	write := func(what, statement string, args ...any) {
		b.Helper()
		require.NoError(b, w.Engine.DB.Write(b.Context(), now, func(tx *store.Tx) error {
			return tx.Exec(b.Context(), what, many+statement, args...)
		}))
	}
	write("accounts", `INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at)
		SELECT 'acme', 'u' || n, 'USD', 'TRIAL', '', 0, '0', 1, ?2 + n, ?2 + n FROM n`, benchUsers, int64(first))
	require.NoError(b, w.Engine.DB.Write(b.Context(), now, func(tx *store.Tx) error {
		_, err := userdb.IndexAdded(b.Context(), tx, func() (int, error) {
			return tx.Count(b.Context(), "users", many+`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable,
					custom_fields, segments, created_at, updated_at, terms)
				SELECT 'acme', 'u' || n, 'u' || n, 'First' || n % 1000, 'Last' || n, 'u' || n || '@example.com', '', 'en', 'US', 1, '{}', '[]', ?2 + n, ?2 + n,
					'acme/u' || n || char(31) || 'acme/first' || n % 1000 || char(31) || 'acme/last' || n FROM n`, benchUsers, int64(first))
		})
		return err
	}))
	write("codes", `INSERT INTO code (tenant, code, program, account_id, user_id, created_at, linked_at)
		SELECT 'acme', 'C' || n, ?2, 'u' || n, 'u' || n, ?3 + n, ?3 + n FROM n`, benchUsers, string(core.ClassicProgram), int64(first))
	// Referral n is of the user benchReferrers + n. One of three converts, after two days.
	step := benchDays * core.Day / benchReferrals
	const media = `CASE n % 4 WHEN 0 THEN 'EMAIL' WHEN 1 THEN 'FACEBOOK' WHEN 2 THEN 'DIRECT' ELSE 'WHATSAPP' END`
	write("referrals", `INSERT INTO referral (tenant, id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id, referred_user_id,
			share_medium, share_link, referrer_moderation, referrer_by_hand, referred_moderation, referred_by_hand, fraud_signals, started_at, converted_at, moderated_at, updated_at)
		SELECT 'acme', printf('%024x', n), ?2, iif(n % 3, 'in-progress', 'converted'), 'C' || (n % ?3 + 1), 'u' || (n % ?3 + 1), 'u' || (n % ?3 + 1), 'u' || (?3 + n), 'u' || (?3 + n),
			`+media+`, '', iif(n % 500, 'APPROVED', 'PENDING'), 0, 'APPROVED', 0, '{}', ?4 + n * ?5, iif(n % 3, NULL, ?4 + n * ?5 + 172800000), ?4 + n * ?5, ?4 + n * ?5 FROM n`,
		benchReferrals, string(core.ClassicProgram), benchReferrers, int64(first), int64(step))
	write("rewards", `INSERT INTO reward (tenant, id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id, source, kind, unit, value, currency,
			name, description, cancellable, created_at, given_at, held, pending, redeemed, expired, cancelled)
		SELECT 'acme', printf('r%023x', n), 'u' || (n % ?3 + 1), 'u' || (n % ?3 + 1), ?2, 'referrer', '', printf('%024x', n), 'REFERRED', 'CREDIT', 'CENTS', 1000, iif(n % 2, 'USD', 'EUR'),
			'', '', 1, ?4 + n * ?5 + 172800000, ?4 + n * ?5 + 172800000, 0, 0, 0, 0, 0 FROM n WHERE n % 3 = 0`,
		benchReferrals, string(core.ClassicProgram), benchReferrers, int64(first), int64(step))
	write("ledger", `INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at)
		SELECT 'acme', printf('l%023x', n), printf('r%023x', n), 'grant', 1000, 'CENTS', ?2 + n * ?3 + 172800000 FROM n WHERE n % 3 = 0`, benchReferrals, int64(first), int64(step))
	// On each day 1,000 codes are followed by two media.
	write("visits", `INSERT INTO visit (tenant, day, program, code, engagement_medium, share_medium, visits, bot_visits)
		SELECT 'acme', ?2 + n / 1000 * 86400000, ?3, 'C' || ((n * 7) % ?4 + 1), 'HOSTED', m.m, 3, 1 FROM n CROSS JOIN (SELECT 'EMAIL' AS m UNION SELECT 'DIRECT') m`,
		1000*(benchDays+1)-1, int64(first-first%core.Day), string(core.ClassicProgram), benchReferrers)
	for _, role := range []people.Role{people.Manager, people.Support, people.Viewer} {
		w.Add(b, string(role)+"@acme.example", role)
	}
	require.NoError(b, w.Engine.DB.Write(b.Context(), now, func(tx *store.Tx) error { return tx.Exec(b.Context(), "analyze", `PRAGMA optimize`) }))
	b.Logf("the tenant is filled in %.0f s", time.Since(begun).Seconds())
}
