package e2e

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A network that tries thousands of codes is refused; others are not.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	const limit = 20
	s := demoSite(t)
	s.serve(t, "KITH_RATE_LIMIT="+strconv.Itoa(limit))
	s.serveEdge(t, "KITH_TRUSTED_PROXIES=127.0.0.1", "KITH_RATE_LIMIT=0")
	guess := func(base, path, from string, headers ...string) answer {
		t.Helper()
		a, err := call("GET", base+path, "", append(headers, "X-Forwarded-For: "+from)...)
		require.NoError(t, err)
		return a
	}
	const open = "/api/v1/demo/open/code/NOBODY"

	// A minute may end between two calls, so the test waits for a refusal.
	untilRefused := func(from string, status int, path string, headers ...string) (a answer, calls int) {
		t.Helper()
		for a = guess(s.edge, path, from, headers...); a.status == status; a = guess(s.edge, path, from, headers...) {
			calls++
			require.Less(t, calls, 50*limit)
		}
		require.Equal(t, http.StatusTooManyRequests, a.status, a.body)
		return a, calls
	}
	refused, calls := untilRefused("203.0.113.9", http.StatusNotFound, open)
	require.GreaterOrEqual(t, calls, limit)
	require.Equal(t, "10", refused.header.Get("Retry-After"))
	require.JSONEq(t, `{"message":"more than 20 attempts a minute without an API key from one network; wait a minute","statusCode":429,"apiErrorCode":"RATE_LIMITED","rsCode":"RS033"}`, refused.body)

	_, calls = untilRefused("198.51.100.9", http.StatusNotFound, "/?rsCode=NOBODY", "Host: pages.example")
	require.GreaterOrEqual(t, calls, limit, "pages with a code, at a host without a tenant")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"kith.example":{"demo_CODE":{"codes":{"a":"NOBODY","b":"NOBODY2"}}}}`))
	_, calls = untilRefused("192.0.2.9", http.StatusOK, "/a/demo/widgets/squatchcookiejson?cookies="+unsigned)
	require.GreaterOrEqual(t, calls, limit/2-1, "each unknown code of a cookie is an attempt")
	require.Equal(t, http.StatusOK, guess(s.edge, "/a/demo/widgets/squatchcookiejson", "192.0.2.9").status, "a visitor without a code")
	untilRefused("203.0.113.9", http.StatusUnauthorized, "/api/v1/demo/code/NOBODY", "Authorization: Basic eDp4") // nor may keys be tried
	require.Equal(t, http.StatusNotFound, guess(s.edge, "/api/v1/demo/code/NOBODY", "203.0.113.9", s.auth("demo")).status, "the key")
	require.Equal(t, http.StatusNotFound, guess(s.edge, "/api/v1/test_demo/open/code/NOBODY", "203.0.113.9").status, "a test tenant")
	require.Equal(t, http.StatusNotFound, guess(s.edge, open, "203.0.114.10").status, "another network")
	for range 2 * limit {
		require.Equal(t, http.StatusNotFound, guess(s.edge, open, "10.0.0.1").status, "a private proxy")
		require.Equal(t, http.StatusNotFound, guess(s.backend, open, "203.0.113.9").status, "an untrusted forwarded address")
	}
}

// Calls on test tenants are neither counted nor refused, also when the network has no attempts
// left on live tenants (clients 6.3.5): not by the edge, and not by the backend.
func TestRateLimit_TestTenants(t *testing.T) {
	t.Parallel()
	const limit, from = 20, "X-Forwarded-For: 203.0.113.9"
	s := demoSite(t)
	s.serve(t, "KITH_TRUSTED_PROXIES=127.0.0.1", "KITH_RATE_LIMIT="+strconv.Itoa(limit))
	s.serveEdge(t, "KITH_TRUSTED_PROXIES=127.0.0.1", "KITH_RATE_LIMIT="+strconv.Itoa(limit))
	tests := func(base string) {
		mustCall(t, http.StatusFound, "GET", base+"/s/test_demo/NOBODY", "", from)
		mustCall(t, http.StatusNotFound, "GET", base+"/api/v1/test_demo/open/code/NOBODY", "", from)
	}
	for _, base := range []string{s.edge, s.backend} {
		for range limit {
			tests(base)
		}
		for calls, status := 0, http.StatusFound; status != http.StatusTooManyRequests; calls++ {
			require.Less(t, calls, 50*limit)
			a, err := call("GET", base+"/s/demo/NOBODY", "", from)
			require.NoError(t, err)
			status = a.status
		}
		tests(base)
	}
}
