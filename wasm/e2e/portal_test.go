package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownerEmail is the address with which the owner of `kith dev` signs in, and openLine the
// URL and the password that it prints.
const ownerEmail = "owner@demo.example"

var openLine = regexp.MustCompile(`Open +(\S+)\n +Password +(\S+)\n`)

// People use the portal in a browser that reaches nothing but the edge. With KITH_SHOTS set
// to a folder, each page is also drawn there.
func TestBrowser_Portal(t *testing.T) {
	t.Parallel()
	for file, scenarios := range map[string][]string{
		"portal":           {"signingIn", "inviting", "twoSteps", "auditing", "forged", "stolen", "interrupted", "keyboard", "withoutScripts", "looks"},
		"portal-first":     {"firstViews"},
		"portal-files":     {"rejectedRow", "progress", "withoutScripts", "looks"},
		"portal-overview":  {"beginning", "filtering", "languages", "reading", "withoutScripts"},
		"portal-people":    {"helping", "leaving", "looks", "withoutScripts"},
		"portal-programs":  {"fromNothing", "widget", "withoutScripts", "looks"},
		"portal-referrals": {"answering", "deciding", "withoutScripts", "looks"},
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
	node := s.dev(t, "KITH_LAB_ADDR="+freeAddr(t))
	var printed []string
	await(t, func() error {
		if printed = openLine.FindStringSubmatch(node.output.String()); printed == nil {
			return fmt.Errorf("no password is printed:\n%s", node.output)
		}
		return nil
	})
	require.Equal(t, s.edge, printed[1])
	return s, map[string]any{
		"portal": s.edge, "backend": s.backend, "key": s.keys["demo"], "email": ownerEmail, "password": printed[2], "shots": os.Getenv("KITH_SHOTS"), "loads": 1,
	}
}

// `kith dev` shows the same password again, until the owner chooses another one.
func TestDev_ShowsThePasswordUntilItIsChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.dev(t)
	found := openLine.FindStringSubmatch(first.output.String())
	require.NotNil(t, found, first.output)
	first.stop(t)
	again := s.dev(t)
	require.Contains(t, again.output.String(), found[2])
	out, errOut, status := s.run(t, nil, "person", "reset-password", ownerEmail, "--portal-url", s.edge)
	require.Zero(t, status, errOut)
	link := strings.TrimSpace(out)
	page := mustCall(t, 200, "GET", link, "")
	require.Contains(t, page.body, ownerEmail)
	changed := mustCall(t, 303, "POST", link, "password=another+horse+battery", "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin")
	require.Equal(t, "/portal/signin?done=password-set", changed.header.Get("Location"))
	again.stop(t)
	require.Contains(t, s.dev(t).output.String(), "the one that you chose; kith person reset-password owner@demo.example makes a link for a new one")
}
