package demo_test

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/demo"
	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/wire"
)

const now core.Time = 1_700_000_000_000

func newEngine(t *testing.T) *app.Engine {
	t.Helper()
	db, err := store.Open(storetest.File(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Migrate(t.Context(), now))
	keys, err := auth.ParseKeyring(strings.Repeat("a", 64))
	require.NoError(t, err)
	return app.New(base.Base{
		DB: db, Keys: keys, Now: func() core.Time { return now }, Entropy: func(b []byte) { _, _ = rand.Read(b) },
	})
}

func seed(t *testing.T, e *app.Engine) {
	t.Helper()
	require.NoError(t, demo.Seed(t.Context(), e, "http://127.0.0.1:3000", "http://localhost:3000"))
}

func TestSeed_MatchesTheREADME(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	seed(t, e)
	for _, want := range []struct {
		alias core.TenantAlias
		key   string
		host  string
	}{
		{"demo", "LIVE_DEMO_KEY_0123456789", "127.0.0.1:3000"},
		{"test_demo", "TEST_DEMO_KEY_0123456789", "localhost:3000"},
	} {
		tenant, err := tenantdb.Find(t.Context(), e.DB.Reads, want.alias)
		require.NoError(t, err)
		key, ok := tenant.Keys.Match(want.key, now)
		require.True(t, ok)
		require.Equal(t, auth.RoleAll, key.Role)
		shop, ok, err := programdb.TargetOnHost(t.Context(), e.DB.Reads, want.host, "")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want.alias, shop.Tenant)
		code, err := e.Codes.Lookup(t.Context(), tenant, "ANNA10")
		require.NoError(t, err)
		require.Equal(t, wire.CodeInfo{
			Code: "ANNA10", Program: core.ClassicProgram, FirstName: "Anna", LastName: "Ahrens", DiscountID: "svc_discount",
			Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}, Created: now,
		}, code)
		p, err := programdb.ByKey(t.Context(), e.DB.Reads, want.alias, core.ClassicProgram)
		require.NoError(t, err)
		require.Equal(t, reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"}, p.Referrer)
		require.Equal(t, "http://"+want.host+"/welcome", p.LandingURL)
	}
}

func TestSeed_TwiceChangesNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	seed(t, e)
	renamed := "Annabel"
	_, err := e.Identification.Identify(t.Context(), "demo", rules.Identification{Update: referral.UserUpdate{Account: "anna", ID: "anna", FirstName: &renamed}})
	require.NoError(t, err)
	before, err := e.Users.ByID(t.Context(), "demo", "anna", "anna")
	require.NoError(t, err)
	tenant, err := tenantdb.Find(t.Context(), e.DB.Reads, "demo")
	require.NoError(t, err)
	require.NoError(t, demo.Seed(t.Context(), e, "http://elsewhere:1", "http://elsewhere:2"))
	after, err := e.Users.ByID(t.Context(), "demo", "anna", "anna")
	require.NoError(t, err)
	require.Equal(t, before, after)
	again, err := tenantdb.Find(t.Context(), e.DB.Reads, "demo")
	require.NoError(t, err)
	tenant.Landing = "http://elsewhere:1/welcome" // the landing page is at the new address
	require.Equal(t, tenant, again)
}

// Seed completes a seed that was interrupted between the tenant and the referrer.
func TestSeed_CompletesAnInterruptedSeed(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	require.NoError(t, e.Tenants.Create(t.Context(), tenants.NewTenant{
		Alias: demo.LiveTenant, Key: demo.LiveKey, Policy: link.Policy{Consent: link.ConsentOff}, Program: referral.DefaultProgram("http://127.0.0.1:3000/welcome"),
	}))
	seed(t, e)
	_, err := e.Users.ByID(t.Context(), "demo", "anna", "anna")
	require.NoError(t, err)
}

// A server without the demo shop answers where share links lead, and says what it lacks.
func TestLanding_WithoutAShop(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	demo.Landing(newEngine(t)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/welcome?rsShareMedium=%3Cscript%3E", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Contains(t, w.Body.String(), "no demo shop")
	require.NotContains(t, w.Body.String(), "<script")
}

func TestWidget_SharesTheDemoCode(t *testing.T) {
	e := newEngine(t)
	seed(t, e)
	w := httptest.NewRecorder()
	demo.Landing(e).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:3000/widget", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Contains(t, w.Body.String(), `"shareLink":"http://127.0.0.1:3000/s/demo/ANNA10"`)
}

func TestLanding_ServesNothingElse(t *testing.T) {
	t.Parallel()
	pages := demo.Landing(newEngine(t))
	for target, want := range map[string]int{"/": http.StatusFound, "/welcome/x": http.StatusNotFound, "/api/v1/demo/account/a": http.StatusNotFound} {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		require.Equal(t, want, w.Code, target)
	}
}
