package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const evil = "https://evil.example"

// preflight sends a preflight request for logging events from an origin.
func preflight(t testing.TB, base, origin string) answer {
	t.Helper()
	a, err := call("OPTIONS", base+"/api/v1/demo/open/account/ben/user/ben/events", "", "Origin: "+origin, "Access-Control-Request-Method: POST")
	require.NoError(t, err)
	return a
}

// requireReadable fails unless pages of that origin, and no others, may read an
// answer.
func requireReadable(t testing.TB, a answer, origin string) {
	t.Helper()
	require.Equal(t, []string{origin}, a.header["Access-Control-Allow-Origin"], a.body)
	require.Equal(t, []string{"true"}, a.header["Access-Control-Allow-Credentials"])
	require.Equal(t, []string{"Origin"}, a.header["Vary"])
}

// Allowed origins take effect at once in running programs.
func TestCLI_Origins(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	const app = "https://app.example:8443"
	for _, step := range []struct {
		args    string
		allowed bool
	}{
		{"", false}, {"tenant origin add demo " + app + " https://other.example", true}, {"tenant origin add demo HTTPS://APP.example:8443/", true},
		{"tenant origin remove demo https://other.example", true}, {"tenant origin remove demo " + app, false},
	} {
		if step.args != "" {
			_, errOut, status := s.run(t, nil, strings.Fields(step.args)...)
			require.Zero(t, status, errOut)
		}
		for _, base := range []string{s.edge, s.backend} {
			a := preflight(t, base, app)
			if step.allowed {
				require.Equal(t, http.StatusNoContent, a.status, step.args)
				requireReadable(t, a, app)
			} else {
				require.Equal(t, http.StatusForbidden, a.status, step.args)
				require.NotContains(t, a.header, "Access-Control-Allow-Origin")
			}
		}
	}
	_, errOut, status := s.run(t, nil, "tenant", "origin", "add", "demo", "https://b.example", "https://a.example")
	require.Zero(t, status, errOut)
	out, _, status := s.run(t, nil, "tenant", "origin", "list", "demo")
	require.Zero(t, status)
	require.Equal(t, "https://a.example\nhttps://b.example\n", out)
	for args, says := range map[string]string{
		"tenant origin add missing https://a.example":          "no tenant",
		"tenant origin add demo https://c.example a.example":   "must be an origin",
		"tenant origin add demo *":                             "must be an origin",
		"tenant origin remove demo https://c.example":          "not listed",
		"tenant origin list nobody":                            "no tenant",
		"tenant create x --landing-url https://x --origin x.y": "must be an origin",
	} {
		_, errOut, status := s.run(t, nil, strings.Fields(args)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errOut, says, args)
	}
}

// Pages of allowed origins can read the edge's own answers like those of the backend, also
// when the backend is down; pages of other origins never can.
func TestOrigin_EdgeAnswersItself(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	s.identify(t, s.backend, "demo", "ben", `{}`)
	backend.stop(t)
	s.serveEdge(t, "KITH_MAX_BODY=1000")
	const shop = "https://shop.example" // where the demo lands
	require.Equal(t, http.StatusNoContent, preflight(t, s.edge, shop).status)
	requireReadable(t, preflight(t, s.edge, shop), shop)
	for _, test := range []struct {
		name, body string
		status     int
		user       string
	}{
		{"events", `{"events":[{"key":"visit"}]}`, http.StatusOK, "ben"},
		{"above the bound", `{"events":[{"key":"` + strings.Repeat("v", 1000) + `"}]}`, http.StatusRequestEntityTooLarge, "ben"},
		{"the backend is down", `{"events":[{"key":"visit"}]}`, http.StatusServiceUnavailable, "nobody"},
	} {
		url := s.edge + "/api/v1/demo/open/account/" + test.user + "/user/" + test.user + "/events"
		requireReadable(t, mustCall(t, test.status, "POST", url, test.body, s.auth("demo"), "Origin: "+shop), shop)
		a, err := call("POST", url, test.body, s.auth("demo"), "Origin: "+evil)
		require.NoError(t, err, test.name)
		require.NotContains(t, a.header, "Access-Control-Allow-Origin", test.name)
		require.Equal(t, []string{"Origin"}, a.header["Vary"], test.name)
	}
}
