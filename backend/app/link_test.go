package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/rules"
)

// tenantRow returns the stored tenant of the bundle.
func (b bundle) tenantRow(t testing.TB) tenantdb.Tenant {
	t.Helper()
	tenant, err := tenantdb.Find(t.Context(), b.DB.Reads, b.tenant)
	require.NoError(t, err)
	return tenant
}

func visit(query string) link.Visit {
	return link.Visit{Method: http.MethodGet, Path: "/", Query: query, UserAgent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", Secure: true}
}

// A visitor follows a share link, and is then identified with the cookie that it set.
func TestFollowShareLink_CookieAttributes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	answer, _, err := b.Links.Follow(t.Context(), b.tenant, "anna10", visit("rsShareMedium=FACEBOOK"))
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, answer.Status)
	require.Equal(t, "https://"+string(b.tenant)+".example/welcome?rsCode=ANNA10&rsShareMedium=FACEBOOK&utm_source=facebook&utm_medium=link&utm_campaign=Refer+a+friend", answer.Location)
	cookie, err := http.ParseSetCookie(answer.SetCookie)
	require.NoError(t, err)
	b.identify(t, "friend", func(in *rules.Identification) { in.Visit.Cookie = cookie.Name + "=" + cookie.Value })
	ref := b.referral(t, "friend")
	require.Equal(t, core.ReferralCode("ANNA10"), ref.Code)
	require.Equal(t, "FACEBOOK", ref.ShareMedium)
	require.Equal(t, referral.InProgress, ref.State)
}

func TestFollowShareLink_UnknownCodeLeadsToTheShop(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, code := range []string{"NOBODY", "", "not a code", "ü", "' OR 1=1 --"} {
		answer, _, err := b.Links.Follow(t.Context(), b.tenant, code, visit(""))
		require.NoError(t, err, code)
		require.Equal(t, "https://"+string(b.tenant)+".example/welcome", answer.Location, code)
		require.Empty(t, answer.SetCookie, code)
	}
	_, _, err := b.Links.Follow(t.Context(), "nobody", "ANNA10", visit(""))
	require.Equal(t, core.UnknownTenant(), err)
}

func TestTakeCode_OnTheTenantsHostOnly(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	host := string(b.tenant) + ".example"
	answer, target, ok, err := b.Links.TakeCode(t.Context(), host, "anna10", visit("a=1&rsCode=anna10"))
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, "ANNA10", target.Code)
	require.Equal(t, "/?a=1", answer.Location)
	require.Contains(t, answer.SetCookie, "kith_"+string(b.tenant)+"=")

	answer, target, ok, err = b.Links.TakeCode(t.Context(), host, "NOBODY", visit("rsCode=NOBODY"))
	require.NoError(t, err)
	require.Empty(t, target.Code)
	require.True(t, ok, "an unknown code is removed from the URL too")
	require.Equal(t, "/", answer.Location)
	require.Empty(t, answer.SetCookie)

	_, _, ok, err = b.Links.TakeCode(t.Context(), "elsewhere.example", "ANNA10", visit("rsCode=ANNA10"))
	require.NoError(t, err)
	require.False(t, ok)
}
