package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/api"
	"kith/backend/guess"
	"kith/backend/portal/portaltest"
	"kith/backend/store/storetest"
	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
)

// Without credentials, a network reports a limited number of counts. Those beyond it have the
// same answer.
func TestAnalytics_ReportsAreLimited(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	w.Engine.Analytics.Networks = guess.New(2, func() time.Time { return time.UnixMilli(w.Clock.Load()) })
	user := rules.Identification{Update: referral.UserUpdate{Account: "a", ID: "u"}}
	_, err := w.Engine.Identification.Identify(t.Context(), "acme", user)
	require.NoError(t, err)
	proxies, err := auth.ParseNetworks("trusted-proxies", "10.0.0.1")
	require.NoError(t, err)
	h := (&api.API{Engine: w.Engine, Proxies: proxies, Log: slog.New(slog.DiscardHandler)}).Handler()
	for i, from := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "198.51.100.1"} {
		for _, what := range []string{"loaded", "shared"} {
			r := httptest.NewRequest("POST", "/a/acme/widgets/analytics/"+what+"?externalAccountId=a&externalUserId=u", nil)
			r.RemoteAddr = "10.0.0.1:1"
			r.Header.Set("X-Forwarded-For", from)
			got := httptest.NewRecorder()
			h.ServeHTTP(got, r)
			require.Equal(t, http.StatusOK, got.Code, i)
			require.Equal(t, "{}", got.Body.String())
		}
	}
	found, _, err := w.Engine.Analytics.List(t.Context(), "acme", analytics.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.EqualValues(t, 2, found[0].Times)
	require.EqualValues(t, 2, found[1].Times)
}

// The commands print what the API returns, as a table or as CSV that a spreadsheet does
// not read as formulas.
func TestAnalytics_Commands(t *testing.T) {
	t.Parallel()
	g := &fixture{database: strings.TrimPrefix(storetest.File(t), "file:"), values: map[string]string{}}
	g.createTenant(t, "acme", "--landing-url", "https://acme.example/")
	engine := openStory(t, "file:"+g.database, new(storyClock))
	name := "=Anna"
	_, err := engine.Identification.Identify(t.Context(), "acme", rules.Identification{Update: referral.UserUpdate{
		Account: "anna", ID: "u", FirstName: &name, Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: "ANNA10"}},
	}})
	require.NoError(t, err)
	_, err = engine.Rewards.Create(t.Context(), "acme", reward.Grant{Account: "anna", User: "u", Source: reward.Manual, Offer: reward.Offer{Kind: reward.Credit, Amount: 1250, Currency: "USD"}})
	require.NoError(t, err)
	visit := link.Followed{Tenant: "acme", Program: core.ClassicProgram, Code: "ANNA10", ShareMedium: "SMS", By: link.Person}
	for range 3 {
		engine.Analytics.Visits.Add(visit)
	}
	for _, by := range []link.Follower{link.Bot, link.Agent} {
		visit.By = by
		engine.Analytics.Visits.Add(visit)
	}
	require.NoError(t, engine.Analytics.Visits.Flush(t.Context()))
	require.NoError(t, engine.DB.Close())

	days := []string{"--tenant", "acme", "--from", "2026-02-28", "--until", "2026-03-02"}
	kith := func(args ...string) string {
		return g.kith(t, append(append([]string{"analytics"}, args...), days...)...)
	}
	require.Equal(t, "day         visits  bot visits  agent visits  joined  converted  cost in USD\n"+
		"2026-02-28  0       0           0             0       0          0.00\n"+
		"2026-03-01  3       1           1             0       0          12.50\n", kith("series"))
	require.Equal(t, "week,visits,bot visits,agent visits\n2026-02-23,0,0,0\n", kith("series", "--interval", "week", "--engagement-medium", "EMAIL", "--csv"))
	require.Equal(t, "day,visits,bot visits,agent visits,joined,converted\n2026-02-28,0,0,0,0,0\n2026-03-01,3,1,1,0,0\n", kith("series", "--code", "anna10", "--share-medium", "SMS", "--csv"))
	require.Equal(t, "account,user,name,visits,joined,converted\nanna,u,'=Anna,3,0,0\n", kith("referrers", "--by", "visits", "--program", "classic", "--csv"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"series", "--interval", "month"}, "interval: must be day or week"}, {[]string{"series", "--code", "x", "--share-medium", "PIGEON"}, "share-medium: must be one of"},
		{[]string{"series", "--engagement-medium", "x"}, "engagement-medium: must be one of"}, {[]string{"referrers", "--by", "cost"}, "by: must be"},
		{[]string{"referrers", "--limit", "101"}, "limit: must be 1 to 100"}, {[]string{"series", "--program", "a/b"}, "program: a program key"},
	} {
		_, errOut, status := runKith(t, append(append([]string{"analytics"}, append(c.args, days...)...), "--database-url", "file:"+g.database)...)
		require.Equal(t, 1, status)
		require.Contains(t, errOut, c.want)
	}
}
