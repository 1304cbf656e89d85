package overview_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/webhook"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const path = "/portal/t/acme/overview"

// refer makes a referrer with a name and friends, of whom the first are converted.
func refer(t *testing.T, w *portaltest.World, name string, friends, converted int) {
	t.Helper()
	code := core.ReferralCode(strings.ToUpper(name))
	w.Identify(t, core.AccountID(name), core.UserID(name), portaltest.Named(name, ""), portaltest.Owns(code))
	for i := range friends {
		friend, status := name+"-friend-"+string(rune('a'+i)), referral.Trial
		if i < converted {
			status = referral.Paid
		}
		w.Identify(t, core.AccountID(friend), core.UserID(friend))
		_, err := w.Engine.Accounts.Sync(t.Context(), "acme", referral.AccountUpdate{ID: core.AccountID(friend), Status: &status, Code: &code})
		require.NoError(t, err)
	}
}

func follow(t *testing.T, w *portaltest.World, code core.ReferralCode, medium link.ShareMedium, times int64) {
	t.Helper()
	now := w.Engine.Now()
	require.NoError(t, eventdb.PutVisits(t.Context(), w.Engine.DB, analytics.VisitBatch{
		ID: core.NewID(now, w.Engine.Entropy6()), Made: now,
		Visits: []analytics.Visits{{Followed: link.Followed{Tenant: "acme", Program: core.ClassicProgram, Code: code, ShareMedium: medium, By: link.Person}, Day: now - now%core.Day, Times: times}},
	}))
}

// Figures are of the chosen period, against the same time before.
func TestOverview(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	refer(t, w, "anna", 4, 1)
	follow(t, w, "ANNA", "EMAIL", 10)
	w.Pass(7 * core.Day)
	refer(t, w, "ben", 3, 2)
	follow(t, w, "BEN", "EMAIL", 1500)
	follow(t, w, "BEN", "SMS", 20)
	b := w.SignedIn(t, portaltest.Owner)
	require.Equal(t, path, b.Get("/portal/t/acme").Header.Get("Location"), "it is the first page")

	got := b.Get(path + "?period=7d")
	require.Equal(t, http.StatusOK, got.Status)
	text := got.Text()
	require.Contains(t, text, "15 Nov 2023 to 21 Nov 2023 , compared with the 7 days before, 8 Nov 2023 to 14 Nov 2023.")
	require.Contains(t, text, "Visits 1,520 ▲ more: +15,100 % 10 before")
	require.Contains(t, text, "Joined 3 ▼ less: −25 % 4 before")
	require.Contains(t, text, "Converted 2 ▲ more: +100 % 1 before 66.7 % of joined")
	require.Contains(t, text, "Live mode")
	require.Contains(t, text, "Joined by day")
	require.Contains(t, text, "ben 1,520 3 2")
	require.NotContains(t, text, "anna")
	require.Contains(t, got.Body, `"now":[0,0,0,0,0,0,3],"before":[0,0,0,0,0,0,4]`)

	text = b.Get(path + "?period=7d&medium=SMS&show=visits").Text()
	require.Contains(t, text, "Visits 20 ▲ more: new 0 before")
	require.Contains(t, text, "Visits by day")
	text = b.Get(path).Text()
	require.Contains(t, text, "Joined 7 ▲ more: new 0 before", "30 days have both")
	require.Less(t, strings.Index(text, "ben 1,520 3 2"), strings.Index(text, "anna 10 4 1"))
	text = b.Get(path + "?rank=joined").Text()
	require.Greater(t, strings.Index(text, "ben 1,520 3 2"), strings.Index(text, "anna 10 4 1"))
	text = b.Get(path + "?period=90d&by=week").Text()
	require.Contains(t, text, "Joined by week")
	require.Contains(t, text, "20 Nov 2023 1,520 3 2")
	require.Contains(t, text, "13 Nov 2023 10 4 1")
	text = b.Get(path + "?period=dates&from=2023-11-14&to=2023-11-14").Text()
	require.Contains(t, text, "14 Nov 2023 , compared with the day before")
	require.Contains(t, text, "Joined 4")
	text = b.Get(path + "?program=other").Text()
	require.Contains(t, text, "Joined 0 no change 0 before")
	require.Contains(t, text, "No referrer yet in this period")
	require.NotContains(t, text, "No visits and no referrals yet", "the tenant has some")
}

// Rewards of different currencies are never added.
func TestOverview_KeepsCurrenciesApart(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	reward := func(currency string, amount int64) {
		_, err := w.Engine.Programs.Update(t.Context(), "acme", core.ClassicProgram, func(p *referral.Program) error {
			p.Referrer.Kind, p.Referrer.Unit, p.Referrer.Currency, p.Referrer.Amount = "CREDIT", "CENTS", currency, amount
			p.Referred = referral.Program{}.Referred
			return nil
		})
		require.NoError(t, err)
	}
	reward("USD", 1050)
	refer(t, w, "anna", 2, 2)
	reward("EUR", 700)
	refer(t, w, "ben", 1, 1)
	text := w.SignedIn(t, portaltest.Owner).Get(path).Text()
	require.Contains(t, text, "$21.00")
	require.Contains(t, text, "€7.00")
	require.Contains(t, text, "14 Nov 2023 0 3 3 €7.00, $21.00")
}

// A wrong parameter is named, with what to do, and does not hide what needs attention.
func TestOverview_RefusesWrongParameters(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	for query, want := range map[string]string{
		"period=8d":                                  "The period must be today, 7d, 30d, 90d, 12mo or dates.",
		"period=dates&from=2023-02-30":               "The first day is a day that does not exist; give one like 2026-01-31.",
		"period=dates&from=2023-03-02&to=2023-03-01": "The last day is before the first one; choose a later one.",
		"period=dates&from=2020-01-01&to=2023-03-01": "The first day is more than 400 days before the last one; choose a later one.",
		"program=%00":                                "The program ", "medium=PIGEON": "The medium must be one of ", "by=month": "The interval must be day or week.",
		"show=money": "The figure must be visits, joined or converted.", "rank=luck": "The order must be converted or joined.", "rank=visits": "The order must be converted or joined.",
	} {
		got := b.Get(path + "?" + query)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, query)
		require.Contains(t, got.Text(), want, query)
		require.Contains(t, got.Body, "<title>Error: Overview", query)
		require.NotContains(t, got.Body, `class="funnel"`, query)
	}
	got := b.Get(path + "?period=dates&from=" + url.QueryEscape(`"><b>`))
	require.NotContains(t, got.Body, "<b>")
}

// Each member sees the figures; what needs attention depends on what the role may read.
func TestOverview_Attention(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	require.NotContains(t, b.Get(path).Body, "Needs attention")
	_, err := w.Engine.Programs.Update(t.Context(), "acme", core.ClassicProgram, func(p *referral.Program) error {
		p.Referrer.Kind, p.Referrer.Unit, p.Referrer.Amount, p.Referrer.Currency = "FUELTANK", "CENTS", 500, "USD"
		return nil
	})
	require.NoError(t, err)
	_, err = w.Engine.FuelTanks.Fill(t.Context(), "acme", core.ClassicProgram, referral.ReferrerSide, []string{"ONE"})
	require.NoError(t, err)
	text := b.Get(path).Text()
	require.Contains(t, text, "1 code left: the fuel tank of ")
	refer(t, w, "anna", 3, 3)
	exec := func(statement string, args ...any) {
		require.NoError(t, w.Engine.DB.Write(t.Context(), w.Engine.Now(), func(tx *store.Tx) error {
			return tx.Exec(context.WithoutCancel(t.Context()), "test", statement, args...)
		}))
	}
	exec(`UPDATE referral SET referrer_moderation = 'PENDING' WHERE tenant = 'acme' AND referred_account_id = 'anna-friend-a'`)
	exec(`INSERT INTO gateway_refund (tenant, transaction_id, account_id, subscription_id, amount, currency, state, key_number, refund_id, problem, created_at, ended_at)
		WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 250) SELECT 'acme', n, n, 's', 1, 'USD', 'failed', 1, '', 'no', 1, 2 FROM n`)
	for _, path := range []string{"works", "fails", "gone"} {
		_, err := w.Engine.Webhooks.Subscribe(t.Context(), "acme", webhook.Request{Endpoint: "https://shop.example/" + path})
		require.NoError(t, err)
	}
	exec(`UPDATE webhook_subscription SET failing_since = 1 WHERE url LIKE '%fails'`)
	exec(`UPDATE webhook_subscription SET disabled_at = 1 WHERE url LIKE '%gone'`)
	for role, more := range map[people.Role]bool{people.Owner: true, people.Manager: true, people.Support: false, people.Viewer: false} {
		text := w.As(t, role).Get(path).Text()
		require.Contains(t, text, "2 rewards wait for a code: the fuel tank of ", role)
		require.Contains(t, text, "1 referral waits for a moderator", role)
		require.Contains(t, text, "Top referrers", role)
		require.Equal(t, more, strings.Contains(text, "99+ gateway operations failed"), role)
		require.Equal(t, more, strings.Contains(text, "2 webhook endpoints fail"), role)
	}
	// Each notice leads to a page that exists.
	found := 0
	for _, m := range regexp.MustCompile(`(?s)class="card attention".*?</section>`).FindAllString(b.Get(path).Body, -1) {
		for _, link := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(m, -1) {
			require.Equal(t, http.StatusOK, b.Get(html.UnescapeString(link[1])).Status, link[1])
			found++
		}
	}
	require.Equal(t, 4, found)
	require.NotContains(t, w.SignedIn(t, portaltest.Owner).Get("/portal/t/test_acme/overview").Body, "Needs attention", "the tenants are apart")
}

// The page of a tenant without figures says how to begin, with a link that works.
func TestOverview_WithoutFigures(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	text := b.Get(path).Text()
	require.Contains(t, text, "No visits and no referrals yet")
	require.Contains(t, text, "Identify your first user.")
	refer(t, w, "anna", 0, 0)
	got := b.Get(path)
	require.Contains(t, got.Text(), "This is the one of anna.")
	require.Contains(t, got.Body, `value="https://acme.example/s/acme/ANNA"`)
	test := b.Get("/portal/t/test_acme/overview").Text()
	require.Contains(t, test, "Test mode: no real friends")
	refer(t, w, "ben", 1, 0)
	require.NotContains(t, b.Get(path).Body, "No visits and no referrals yet")
	require.NotContains(t, b.Get(path+"?period=dates&from=2020-01-01&to=2020-01-02").Body, "No visits and no referrals yet")
}

// Names of users and programs are shown as text.
func TestOverview_Escapes(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	refer(t, w, "anna", 1, 1)
	evil := `<script>alert(1)</script>`
	w.Identify(t, "anna", "anna", portaltest.Named(evil, ""))
	_, err := w.Engine.Programs.Update(t.Context(), "acme", core.ClassicProgram, func(p *referral.Program) error { p.Name = evil; return nil })
	require.NoError(t, err)
	got := w.SignedIn(t, portaltest.Owner).Get(path)
	require.NotContains(t, got.Body, evil)
	require.Contains(t, got.Body, "&lt;script&gt;alert(1)&lt;/script&gt;")
}
