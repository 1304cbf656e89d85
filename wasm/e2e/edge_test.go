package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// With the backend down the edge answers everything that it can answer alone, and the
// rest with 503, without internal details.
func TestEdge_BackendIsDown(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	token := s.token(t, "anna")
	backend.kill()
	s.serveEdge(t)

	a := mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/anna10?rsShareMedium=SMS", "")
	require.Contains(t, a.header.Get("Location"), "https://shop.example/?rsCode=ANNA10&rsShareMedium=SMS&")
	require.Contains(t, a.header.Get("Set-Cookie"), "kith_demo=v1.")
	a = mustCall(t, http.StatusFound, "GET", s.edge+"/shoes?rsCode=ANNA10", "", "Host: shop.example")
	require.Equal(t, "/shoes", a.header.Get("Location"))
	mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
	for _, auth := range []string{s.auth("demo"), "Authorization: Bearer " + token, "X-SaaSquatch-User-Token: " + token} {
		mustCall(t, http.StatusOK, "POST", s.edge+"/api/v1/demo/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`, auth)
	}

	for _, request := range []string{
		"GET /healthz", "GET /s/demo/NOBODY", "GET /s/nobody/ANNA10", "GET /api/v1/demo/code/NOBODY", "GET /api/v1/demo/account/anna",
		"PUT /api/v1/demo/open/account/anna/user/anna", "GET /", "DELETE /x", "POST /api/v1/demo/open/account/ben/user/ben/events",
	} {
		method, path, _ := strings.Cut(request, " ")
		a := mustCall(t, http.StatusServiceUnavailable, method, s.edge+path, `{"events":[{"key":"visit"}]}`, s.auth("demo"))
		require.Equal(t, "application/json", a.header.Get("Content-Type"))
		require.Equal(t, failure{Message: "the backend cannot be reached; try again", StatusCode: 503, APIErrorCode: "UNAVAILABLE"}, decode[failure](t, a), request)
	}
	a = mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/api/v1/demo/code/ANNA10", "", "Authorization: Basic eDp4")
	require.NotContains(t, a.body, "127.0.0.1", "internal text")

	s.serve(t)
	db := s.open(t)
	waitProcessed(t, db)
	require.Equal(t, 3, number(t, db, `SELECT count(*) FROM event`))
}

// With the backend down the edge answers a call with no new data about a known user, with
// the key and with the user's own token; other calls get 503.
func TestEdge_KnownUserWithoutABackend(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	const path, body = "/api/v1/demo/open/account/anna/user/anna", `{"firstName":"Anna","customFields":{"plan":"pro"}}`
	token := "Authorization: Bearer " + s.token(t, "anna")
	s.serveEdge(t)
	mustCall(t, http.StatusOK, "PUT", s.edge+path, body, s.auth("demo"))
	byToken := mustCall(t, http.StatusOK, "PUT", s.edge+path, body, token)
	backend.kill()

	for _, auth := range []string{"X-SaaSquatch-User-Token: " + strings.TrimPrefix(token, "Authorization: Bearer "), token} {
		require.Equal(t, byToken.body, mustCall(t, http.StatusOK, "PUT", s.edge+path, body, auth).body)
		require.Equal(t, byToken.body, mustCall(t, http.StatusOK, "PUT", s.edge+path, "{}", auth).body)
		// Fields that the token would have to sign are ignored, so the call has no new data.
		for _, unsigned := range []string{`{"customFields":{"plan":null}}`, `{"segments":["vip"]}`, `{"paymentProviderId":"cus_1"}`} {
			require.Equal(t, byToken.body, mustCall(t, http.StatusOK, "PUT", s.edge+path, unsigned, auth).body)
		}
		for _, changed := range []string{
			`{"firstName":"Anne"}`, `{"referral_code":"ANNA10"}`, `{"accountStatus":"PAID"}`, `{"referralCode":"MINE10"}`, `{"nick":1}`, `{`,
		} {
			mustCall(t, http.StatusServiceUnavailable, "PUT", s.edge+path, changed, auth)
		}
		mustCall(t, http.StatusServiceUnavailable, "PUT", s.edge+path, body, auth, "Cookie: kith_demo=x")
		mustCall(t, http.StatusServiceUnavailable, "PUT", s.edge+path+"?fields=id", body, auth)
		mustCall(t, http.StatusServiceUnavailable, "POST", s.edge+path, body, auth)
		mustCall(t, http.StatusServiceUnavailable, "PUT", s.edge+strings.Replace(path, "user/anna", "user/ben", 1), body, auth)
	}
	for _, server := range []string{s.auth("demo"), "Authorization: Basic eDp4", "Authorization: Bearer "} {
		mustCall(t, http.StatusServiceUnavailable, "PUT", s.edge+path, body, server)
	}
}

// The attribution cookie is Secure when the visitor's own connection is https.
func TestEdge_CookieIsSecureOnHTTPS(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	s.serveEdge(t, "KITH_TRUSTED_PROXIES=127.0.0.1")
	for _, path := range []string{"/s/demo/ANNA10", "/shoes?rsCode=ANNA10"} {
		behind := mustCall(t, http.StatusFound, "GET", s.edge+path, "", "Host: shop.example", "X-Forwarded-Proto: https")
		cookies := behind.header["Set-Cookie"]
		require.NotEmpty(t, cookies)
		own := len(cookies) - 1 // the last, which is the one that Spin sends
		require.Regexp(t, `^kith_demo=v1\.[0-9a-z]+\.classic\.ANNA10\.\.\.[A-Za-z0-9_-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure$`, cookies[own])
		// Only share links set another cookie, for pages of other sites.
		require.Equal(t, strings.HasPrefix(path, "/s/"), len(cookies) == 2, path)
		for _, second := range cookies[:own] {
			require.Regexp(t, `^_saasquatch=[A-Za-z0-9_-]+; Path=/; Max-Age=2592000; HttpOnly; SameSite=None; Secure$`, second)
		}
		plain := mustCall(t, http.StatusFound, "GET", s.edge+path, "", "Host: shop.example", "X-Forwarded-Proto: http")
		require.NotContains(t, plain.header.Get("Set-Cookie"), "Secure")
	}
}

// A malformed idempotency key records nothing, at the edge and at the backend.
func TestEvents_RefusedCallsRecordNothing(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	for _, base := range []string{s.edge, s.backend} {
		for _, body := range []string{
			`{"idempotencyKey":"short","events":[{"key":"visit"}]}`,
			`{"idempotencyKey":"with a space","events":[{"key":"visit"}]}`,
			`{"idempotencyKey":"order-1001","events":[{"key":"visit"},{"key":""}]}`,
			`{"idempotencyKey":"order-1001","events":[]}`,
		} {
			a, err := s.sendEvents(base, "demo", "anna", body)
			require.NoError(t, err)
			require.Equal(t, http.StatusBadRequest, a.status, a.body)
		}
	}
	db := s.open(t)
	require.Zero(t, number(t, db, `SELECT count(*) FROM intake`))
	// The key is not used up either.
	a, err := s.sendEvents(s.edge, "demo", "anna", `{"idempotencyKey":"order-1001","events":[{"key":"visit"}]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.status, a.body)
}

// A JSON body may have 1 MiB, at the edge and at the backend. A larger one is not parsed,
// and above 8 MiB it is not forwarded either.
func TestBodies_Bounds(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	// padded is JSON of exactly that size.
	padded := func(json string, size int) string { return json + strings.Repeat(" ", size-len(json)) }
	calls := map[string]string{
		"POST /accountsync":                        `{"id":"ben"}`,
		"PUT /open/account/anna/user/anna":         `{}`,
		"POST /open/account/anna/user/anna/events": `{"events":[{"key":"visit"}]}`,
	}
	for line, body := range calls {
		method, path, _ := strings.Cut(line, " ")
		for _, base := range []string{s.backend, s.edge} {
			url := base + "/api/v1/demo" + path
			mustCall(t, http.StatusOK, method, url, padded(body, 1<<20), s.auth("demo"))
			for _, size := range []int{1<<20 + 1, 8 << 20} {
				a := mustCall(t, http.StatusRequestEntityTooLarge, method, url, padded(body, size), s.auth("demo"))
				require.Equal(t, failure{Message: "the body is larger than 1 MiB", StatusCode: 413, APIErrorCode: "PAYLOAD_TOO_LARGE"}, decode[failure](t, a))
			}
		}
		a := mustCall(t, http.StatusRequestEntityTooLarge, method, s.edge+"/api/v1/demo"+path, padded(body, 8<<20+1), s.auth("demo"))
		require.Equal(t, "the body is larger than 8 MiB, the limit of the edge; a file may be larger at "+s.backend+"/api/v1/demo"+path, decode[failure](t, a).Message)
	}
}
