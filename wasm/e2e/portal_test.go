package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownerEmail is the address with which the owner of `kith dev` signs in, and openLine the
// URL and the password that it prints.
const ownerEmail = "owner@demo.example"

var openLine = regexp.MustCompile(`Shop +(\S+)\n.*\n +Password +(\S+)\n`)

// People use the portal in a browser that reaches nothing but the edge. With KITH_SHOTS set
// to a folder, each page is also drawn there.
func TestBrowser_Portal(t *testing.T) {
	t.Parallel()
	for file, scenarios := range map[string][]string{
		"portal":           {"signingIn", "inviting", "twoSteps", "auditing", "forged", "stolen", "interrupted", "keyboard", "withoutScripts", "looks"},
		"portal-first":     {"firstViews"},
		"portal-files":     {"rejectedRow", "progress", "largeDownload", "withoutScripts", "looks"},
		"portal-overview":  {"beginning", "filtering", "languages", "reading", "withoutScripts"},
		"portal-people":    {"helping", "leaving", "looks", "withoutScripts"},
		"portal-programs":  {"fromNothing", "unsaved", "widget", "withoutScripts", "looks"},
		"portal-referrals": {"answering", "deciding", "withoutScripts", "looks"},
		"portal-wide":      {"longest"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			browsePortal(t, file, scenarios...)
		})
	}
}

// People connect their systems in a browser: an API key works at once, a webhook's test
// shows its result, and the checklist asks the gateway.
func TestBrowser_PortalIntegrations(t *testing.T) {
	t.Parallel()
	s, params := newPortal(t)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("received <test>"))
	}))
	defer hook.Close()
	_, errOut, status := s.run(t, nil, "webhook", "allow", "--tenant", "test_demo", "127.0.0.1")
	require.Zero(t, status, errOut)
	params["hook"] = hook.URL
	runInBrowser(t, "portal-integrations", params, "keys", "webhook", "gateway", "consent", "looks")
}

// A tenant moves from Braintree to Stripe in a browser. The key that the command line has
// stored lacks a permission: the page names it, and takes the corrected key.
func TestBrowser_PortalStripe(t *testing.T) {
	t.Parallel()
	s, params := newPortal(t)
	runInBrowser(t, "portal-stripe", params, "choosing")

	lab := params["stripeLab"].(string)
	connect := func(key string) (out string, status int) {
		out, errOut, status := s.run(t, []string{"KITH_STRIPE_KEY=" + key}, "gateway", "connect", "stripe",
			"--tenant", "test_demo", "--base-url", lab, "--public-url", s.edge)
		return out + errOut, status
	}
	out, status := connect(stripeKey)
	require.Zero(t, status, out)
	names := permissions(t, s)
	newKey := func(without string) string {
		all := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == without })
		require.Equal(t, without != "", len(all) < len(names))
		response, err := http.PostForm(lab+"/lab/keys", url.Values{"permissions": {strings.Join(all, " ")}})
		require.NoError(t, err)
		defer response.Body.Close()
		var answer struct{ Key string }
		require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		require.NotEmpty(t, answer.Key)
		return answer.Key
	}
	out, status = connect(newKey("coupon_write"))
	require.NotZero(t, status)
	require.Contains(t, out, "Coupons: Write")
	params["stripeKey"], params["secretKey"] = newKey(""), stripeKey
	runInBrowser(t, "portal-stripe", params, "connecting", "rolling", "leaving")
}

// permissions returns the names of the permissions that a key of Stripe needs, from the
// test of a connection.
func permissions(t *testing.T, s *site) (names []string) {
	t.Helper()
	answer := mustCall(t, 200, "POST", s.backend+"/api/v1/test_demo/gateway/stripe/connection/test", "", s.auth("test_demo"))
	var result struct{ Checks []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(answer.body), &result))
	for _, c := range result.Checks {
		if strings.HasSuffix(c.Name, "_read") || strings.HasSuffix(c.Name, "_write") {
			names = append(names, c.Name)
		}
	}
	require.NotEmpty(t, names)
	return names
}

// browsePortal runs scenarios of browser/FILE.mjs with the portal of a new `kith dev`.
func browsePortal(t *testing.T, file string, scenarios ...string) {
	t.Helper()
	_, params := newPortal(t)
	runInBrowser(t, file, params, scenarios...)
}

// BenchmarkPortal_FirstView measures how long the slowest page of the portal takes until it
// is interactive, in a browser without a cache, and how large the largest one is.
func BenchmarkPortal_FirstView(b *testing.B) {
	for b.Loop() {
		_, params := newPortal(b)
		params["loads"] = 5
		view := endingsInBrowser(b, "portal-first", params, "firstViews")[0]
		require.Empty(b, view.Error)
		b.ReportMetric(view.Result["ms"], "longest-ms")
		b.ReportMetric(view.Result["bytes"]/1000, "kB")
		b.ReportMetric(0, "ns/op")
	}
}

// newPortal starts `kith dev`. The parameters for runInBrowser are the URLs, an API key and
// the credentials of the owner.
func newPortal(t testing.TB) (*site, map[string]any) {
	t.Helper()
	s := newSite(t)
	stripeLab := freeAddr(t)
	node := s.dev(t, "KITH_LAB_ADDR="+freeAddr(t), "KITH_STRIPE_LAB_ADDR="+stripeLab)
	printed := node.waitOutput(t, openLine)
	require.Equal(t, s.edge, printed[1])
	return s, map[string]any{
		"portal": s.edge, "backend": s.backend, "key": s.keys["demo"], "email": ownerEmail, "password": printed[2], "shots": os.Getenv("KITH_SHOTS"), "loads": 1,
		"stripeLab": "http://" + stripeLab,
	}
}

// `kith dev` shows the same password again, until the owner chooses another one.
func TestDev_ShowsThePasswordUntilItIsChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.dev(t)
	found := first.waitOutput(t, openLine)
	first.stop(t)
	again := s.dev(t)
	again.waitLog(t, found[2])
	out, errOut, status := s.run(t, nil, "person", "reset-password", ownerEmail, "--portal-url", s.edge)
	require.Zero(t, status, errOut)
	link := strings.TrimSpace(out)
	page := mustCall(t, 200, "GET", link, "")
	require.Contains(t, page.body, ownerEmail)
	changed := mustCall(t, 303, "POST", link, "password=another+horse+battery", "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin")
	require.Equal(t, "/portal/signin?done=password-set", changed.header.Get("Location"))
	again.stop(t)
	s.dev(t).waitLog(t, "the one that you chose; kith person reset-password owner@demo.example makes a link for a new one")
}
