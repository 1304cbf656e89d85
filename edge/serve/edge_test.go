package serve_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/edge/abi"
	"kith/edge/script"
)

const (
	user          = "/api/v1/shop/open/account/anna/user/anna"
	events        = `{"accountId":"anna","userId":"anna","events":[{"key":"visit"}]}`
	graphQLEvents = `{"query":"mutation ($input: UserEventInput!) { logUserEvent(userEventInput: $input) { userId } }","variables":{"input":{"userId":"anna","accountId":"anna","events":[{"key":"visit"}]}}}`
	asJSON        = "content-type: application/json"
	withKey       = "authorization: " + basic
)

// The edge handles requests that its database permits, and refuses requests that are
// invalid by themselves; the backend handles all others.
func TestServe_WhoAnswers(t *testing.T) {
	s := newSite(t)
	const backend = 0
	for name, c := range map[string]struct {
		method, uri, body string
		headers           []string
		status            int // status of the edge's own response, or backend
	}{
		"share link":                             {"GET", "/s/shop/ANNA10", "", nil, 302},
		"share link for HEAD":                    {"HEAD", "/s/shop/ANNA10", "", nil, 302},
		"share link in another case":             {"GET", "/s/shop/anna10", "", nil, 302},
		"share link of a blocked user":           {"GET", "/s/shop/BOB10", "", nil, 302},
		"unknown code":                           {"GET", "/s/shop/NOBODY", "", nil, backend},
		"code of another tenant":                 {"GET", "/s/other/ANNA10", "", nil, backend},
		"share link by POST":                     {"POST", "/s/shop/ANNA10", "", nil, backend},
		"page with a code":                       {"GET", "/about?rsCode=ANNA10", "", nil, 302},
		"page with an unknown code":              {"GET", "/about?rsCode=NOBODY", "", nil, backend},
		"page without a code":                    {"GET", "/about", "", nil, backend},
		"page by POST":                           {"POST", "/about?rsCode=ANNA10", "", nil, backend},
		"browser script":                         {"GET", "/kith.js", "", nil, 200},
		"readiness":                              {"GET", "/readyz", "", nil, 200},
		"health of the backend":                  {"GET", "/healthz", "", nil, backend},
		"code with the API key":                  {"GET", "/api/v1/shop/code/ANNA10", "", []string{withKey}, 200},
		"code with another key":                  {"GET", "/api/v1/shop/code/ANNA10", "", []string{"authorization: Basic OldST05H"}, backend},
		"code without a key":                     {"GET", "/api/v1/shop/code/ANNA10", "", nil, backend},
		"code with an ambiguous query":           {"GET", "/api/v1/shop/code/ANNA10?a=1&a=2", "", []string{withKey}, backend},
		"code with a key that may read":          {"GET", "/api/v1/shop/code/ANNA10", "", []string{s.auth["read"]}, 200},
		"code with a key for imports":            {"GET", "/api/v1/shop/code/ANNA10", "", []string{s.auth["import"]}, backend},
		"code with a user's token":               {"GET", "/api/v1/shop/code/ANNA10", "", []string{s.auth["anna"]}, backend},
		"open code":                              {"GET", "/api/v1/shop/open/code/ANNA10", "", nil, 200},
		"open code of a blocked user":            {"GET", "/api/v1/shop/open/code/BOB10", "", nil, backend},
		"open code from a page":                  {"GET", "/api/v1/shop/open/code/ANNA10", "", []string{"origin: https://shop.example"}, backend},
		"preflight of the shop's page":           {"OPTIONS", user + "/events", "", []string{"origin: https://shop.example", "access-control-request-method: POST"}, 204},
		"preflight of another page":              {"OPTIONS", user + "/events", "", []string{"origin: https://evil.example", "access-control-request-method: POST"}, backend},
		"OPTIONS that is not a preflight":        {"OPTIONS", user + "/events", "", []string{"origin: https://shop.example"}, backend},
		"events with the API key":                {"POST", user + "/events", events, []string{withKey, asJSON}, 200},
		"events with a key that may read":        {"POST", user + "/events", events, []string{s.auth["read"], asJSON}, backend},
		"events with the user's token":           {"POST", user + "/events", events, []string{s.auth["anna"], asJSON}, 200},
		"events with another user's token":       {"POST", user + "/events", events, []string{s.auth["bob"], asJSON}, backend},
		"events with a colleague's token":        {"POST", user + "/events", events, []string{s.auth["anna's colleague"], asJSON}, backend},
		"events with a namesake's token":         {"POST", user + "/events", events, []string{s.auth["anna's namesake"], asJSON}, backend},
		"events from the shop's page":            {"POST", user + "/events", events, []string{s.auth["anna"], asJSON, "origin: https://shop.example"}, 200},
		"events from another page":               {"POST", user + "/events", events, []string{s.auth["anna"], asJSON, "origin: https://evil.example"}, backend},
		"events without credentials":             {"POST", user + "/events", events, []string{asJSON}, backend},
		"events of an unknown user":              {"POST", strings.ReplaceAll(user, "anna", "carl") + "/events", strings.ReplaceAll(events, "anna", "carl"), []string{withKey, asJSON}, backend},
		"events that are not JSON":               {"POST", user + "/events", "visit", []string{withKey, asJSON}, backend},
		"events of another media type":           {"POST", user + "/events", events, []string{withKey, "content-type: text/plain"}, backend},
		"events of another user than the path's": {"POST", user + "/events", strings.ReplaceAll(events, "anna", "carl"), []string{withKey, asJSON}, backend},
		"events with an encoding":                {"POST", user + "/events", events, []string{withKey, asJSON, "content-encoding: br"}, backend},
		"events with the API key as Bearer":      {"POST", user + "/events", events, []string{"authorization: Bearer LIVE_KEY", asJSON}, 200},
		"GraphQL events":                         {"POST", "/api/v1/shop/graphql", graphQLEvents, []string{withKey, asJSON}, 200},
		"GraphQL events without a key":           {"POST", "/api/v1/shop/graphql", graphQLEvents, []string{asJSON}, backend},
		"GraphQL events for another type":        {"POST", "/api/v1/shop/graphql", graphQLEvents, []string{withKey, asJSON, "accept: application/graphql-response+json"}, backend},
		"GraphQL query":                          {"POST", "/api/v1/shop/graphql", `{"query":"{ viewer { __typename } }"}`, []string{withKey, asJSON}, backend},
		"body above the limit":                   {"POST", "/api/v1/shop/graphql", strings.Repeat(" ", 2049), []string{withKey, asJSON}, 413},
		"body at the limit":                      {"POST", "/api/v1/shop/graphql", strings.Repeat(" ", 2048), []string{withKey, asJSON}, backend},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.ask(c.method, c.uri, c.body, c.headers...)
			asked := c.status == backend || c.uri == "/readyz" // which asks the backend
			require.Equal(t, asked, got.forwarded, "%d %s", got.Status, got.Body)
			if c.status != backend {
				require.Equal(t, c.status, got.Status, "%s", got.Body)
			}
		})
	}
}

// The edge handles an identification that changes nothing, with the user's token, as
// pages send it on every load. All others are forwarded.
func TestServe_Identification(t *testing.T) {
	s := newSite(t)
	const same = `{"id":"anna","accountId":"anna","firstName":"anna"}`
	for name, c := range map[string]struct {
		uri, body string
		headers   []string
		forwarded bool
	}{
		"no change":                   {user, same, []string{s.auth["anna"], asJSON}, false},
		"only the ids":                {user, `{"id":"anna","accountId":"anna"}`, []string{s.auth["anna"], asJSON}, false},
		"from the shop's page":        {user, same, []string{s.auth["anna"], asJSON, "origin: https://shop.example"}, false},
		"from another page":           {user, same, []string{s.auth["anna"], asJSON, "origin: https://evil.example"}, true},
		"a new name":                  {user, `{"id":"anna","accountId":"anna","firstName":"Ann"}`, []string{s.auth["anna"], asJSON}, true},
		"a new code":                  {user, `{"id":"anna","accountId":"anna","referralCode":"ANN"}`, []string{s.auth["anna"], asJSON}, true},
		"selected fields":             {user + "?fields=id", same, []string{s.auth["anna"], asJSON}, true},
		"a code in a cookie":          {user, same, []string{s.auth["anna"], asJSON, "cookie: kith_shop=v1.a.classic.BOB10...x"}, true},
		"no credentials":              {user, same, []string{asJSON}, true},
		"the API key":                 {user, same, []string{withKey, asJSON}, true},
		"a token of another user":     {user, same, []string{s.auth["bob"], asJSON}, true},
		"another media type":          {user, same, []string{s.auth["anna"], "content-type: text/plain"}, true},
		"an invalid body":             {user, "{", []string{s.auth["anna"], asJSON}, true},
		"a user who is blocked":       {strings.ReplaceAll(user, "anna", "bob"), strings.ReplaceAll(same, "anna", "bob"), []string{s.auth["bob"], asJSON}, true},
		"an untrusted address header": {user, same, []string{s.auth["anna"], asJSON, "x-forwarded-for: 203.0.113.9"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.ask("PUT", c.uri, c.body, c.headers...)
			require.Equal(t, c.forwarded, got.forwarded, "%d %s", got.Status, got.Body)
			if !c.forwarded {
				require.Equal(t, 200, got.Status)
				require.Contains(t, string(got.Body), `"referralCodes":{"classic":"ANNA10"}`)
			}
		})
	}
	s.variables["trusted_proxies"] = "192.0.2.0/24"
	require.True(t, s.ask("PUT", user, same, s.auth["anna"], asJSON, "x-forwarded-for: 203.0.113.9").forwarded, "a new address of the browser must be stored")
}

// Caches must not store a redirect, and its attribution cookie is last, because Spin
// sends only one of several Set-Cookie headers. The redirect of a blocked user's link
// has no code.
func TestServe_ShareLink(t *testing.T) {
	s := newSite(t)
	got := s.ask("GET", "/s/shop/anna10?rsShareMedium=EMAIL&email=ben%40example.com", "")
	require.Equal(t, 302, got.Status)
	require.Empty(t, got.Body)
	require.Regexp(t, `^https://shop\.example/welcome\?rsCode=ANNA10&rsShareMedium=EMAIL&utm_source=email&`, got.header("location"))
	require.NotContains(t, got.header("location"), "ben")
	require.Equal(t, "private, no-store", got.header("cache-control"))
	cookies := got.all("set-cookie")
	require.NotEmpty(t, cookies)
	require.Regexp(t, `^kith_shop=v1\.[^;]*\.ANNA10\.EMAIL\.[^;]*; Path=/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$`, cookies[len(cookies)-1])
	require.Regexp(t, `^_saasquatch=`, cookies[0])

	blocked := s.ask("GET", "/s/shop/BOB10", "")
	require.NotContains(t, blocked.header("location"), "BOB10")
	require.Empty(t, blocked.all("set-cookie"))

	s.variables["master_key"] = "short"
}

// A lookup that may be a guess is reported to the host, which counts it.
func TestServe_OpenCodeIsCounted(t *testing.T) {
	s := newSite(t)
	const counts = link.FollowedHeader + ": 1"
	got := s.ask("GET", "/api/v1/shop/open/code/ANNA10", "", counts)
	require.Equal(t, "1", got.header(auth.GuessesHeader))
	require.Contains(t, string(got.Body), `"code":"ANNA10"`)
	require.Empty(t, s.ask("GET", "/api/v1/shop/code/ANNA10", "", withKey, counts).all(auth.GuessesHeader), "a lookup with the key is not counted")
	test := s.ask("GET", "/api/v1/test_shop/open/code/ANNA10", "", counts)
	require.False(t, test.forwarded)
	require.Empty(t, test.all(auth.GuessesHeader), "lookups of a test tenant are not counted")
}

// A share link that was followed is reported to a host that counts, and to no other.
func TestServe_FollowedIsReported(t *testing.T) {
	s := newSite(t)
	const uri, counts = "/s/shop/anna10?rsShareMedium=FACEBOOK", link.FollowedHeader + ": 1"
	require.Equal(t, "visit shop classic ANNA10 . FACEBOOK", s.ask("GET", uri, "", counts).header(link.FollowedHeader))
	require.Equal(t, "bot shop classic ANNA10 . FACEBOOK", s.ask("HEAD", uri, "", counts).header(link.FollowedHeader))
	require.Equal(t, "visit shop classic . . .", s.ask("GET", uri, "", counts, "sec-gpc: 1").header(link.FollowedHeader))
	require.Empty(t, s.ask("GET", uri, "").all(link.FollowedHeader))
	forwarded := s.ask("GET", "/s/shop/UNKNOWN", "", counts)
	require.True(t, forwarded.forwarded, "the backend counts what it answers")
	require.Empty(t, forwarded.all(link.FollowedHeader))
}

// An idempotency key is accepted once.
func TestServe_EventsAreStoredOnce(t *testing.T) {
	s := newSite(t)
	body := strings.Replace(events, "{", `{"idempotencyKey":"order-1-paid-2026",`, 1)
	require.Equal(t, 200, s.ask("POST", user+"/events", body, withKey, asJSON).Status)
	again := s.ask("POST", user+"/events", body, withKey, asJSON)
	require.Equal(t, 409, again.Status)
	require.False(t, again.forwarded)
}

// Pages of the shop may read responses, including those of the edge.
func TestServe_AcrossOrigins(t *testing.T) {
	s := newSite(t)
	for from, want := range map[string]string{"https://shop.example": "https://shop.example", "https://evil.example": ""} {
		got := s.ask("POST", user+"/events", strings.Repeat(" ", 2049), withKey, asJSON, "origin: "+from)
		require.Equal(t, 413, got.Status)
		require.Equal(t, want, got.header("access-control-allow-origin"), from)
	}
	preflight := s.ask("OPTIONS", user, "", "origin: https://shop.example", "access-control-request-method: PUT")
	require.Contains(t, preflight.header("access-control-allow-methods"), "PUT")
}

// A valid request id of the caller is kept, in the response and at the backend.
func TestServe_RequestID(t *testing.T) {
	s := newSite(t)
	answered := func(given string) string {
		return s.ask("GET", "/readyz", "", "x-request-id: "+given).header(core.RequestIDHeader)
	}
	forwarded := func(given string) string {
		s.ask("GET", "/healthz", "", "x-request-id: "+given)
		return strings.Join(s.got.Header.Values(core.RequestIDHeader), " and ")
	}
	for _, id := range []func(string) string{answered, forwarded} {
		require.Equal(t, "order-17.a", id("order-17.a"))
		for _, bad := range []string{"", "a b", strings.Repeat("a", 65)} {
			made := id(bad)
			require.True(t, core.ValidRequestID(made), made)
			require.NotEqual(t, bad, made)
		}
	}
}

// The response to HEAD has the length of GET.
func TestServe_Head(t *testing.T) {
	s := newSite(t)
	require.Equal(t, "15", s.ask("HEAD", "/readyz", "").header("content-length"))
	require.Empty(t, s.ask("GET", "/readyz", "").all("content-length"), "the host adds it")
	known := s.ask("HEAD", "/kith.js", "", "if-none-match: *")
	require.Equal(t, 304, known.Status)
	require.Empty(t, known.all("content-length"))
}

// An internal error of the edge does not reveal its cause.
func TestServe_Faults(t *testing.T) {
	s := newSite(t)
	s.variables["max_body_bytes"] = "many"
	got := s.ask("POST", user+"/events", events, withKey, asJSON)
	require.Equal(t, 500, got.Status)
	require.NotContains(t, string(got.Body), "max_body_bytes")

	execute := abi.Native.Execute
	abi.Native.Execute = nil
	got = s.ask("GET", "/readyz", "")
	require.Equal(t, 503, got.Status)
	require.NotEmpty(t, got.header("retry-after"))
	require.Contains(t, string(got.Body), "the database does not answer")
	require.True(t, s.ask("GET", "/s/shop/ANNA10", "").forwarded, "the backend has its own database")

	_, err := execute("DROP TABLE code", nil)
	require.NoError(t, err)
	abi.Native.Execute = execute
	got = s.ask("GET", "/s/shop/ANNA10", "")
	require.Equal(t, 503, got.Status)
	require.Contains(t, string(got.Body), "the database does not have the schema of this edge")
}

// A person who opens a link that the edge cannot look up gets a page, and any other
// client JSON.
func TestServe_PageForPeople(t *testing.T) {
	s := newSite(t)
	s.variables["backend_url"] = "http://127.0.0.1:1"
	got := s.ask("GET", "/s/shop/NOBODY", "", "accept: text/html,*/*;q=0.8", "accept-language: de-AT,de;q=0.9")
	require.Equal(t, 503, got.Status)
	require.Equal(t, "text/html; charset=utf-8", got.header("content-type"))
	require.Equal(t, "de", got.header("content-language"))
	require.Equal(t, "private, no-store", got.header("cache-control"))
	require.Contains(t, got.header("content-security-policy"), "default-src 'none'")
	require.NotEmpty(t, got.header("retry-after"))
	require.NotEmpty(t, got.header(core.RequestIDHeader))
	require.Contains(t, string(got.Body), "<h1>Dieser Link funktioniert gerade nicht</h1>")
	for _, ask := range [][2]string{{"/s/shop/NOBODY", "accept: application/json"}, {"/s/shop/NOBODY", "accept: */*"}, {"/healthz", "accept: text/html"}} {
		got := s.ask("GET", ask[0], "", ask[1])
		require.Equal(t, 503, got.Status)
		require.Equal(t, "application/json", got.header("content-type"), "%s %s", ask[0], ask[1])
	}
}

// Browsers cache the script for an hour, or permanently under the URL of its version,
// and revalidate it by its tag.
func TestServe_Script(t *testing.T) {
	s := newSite(t)
	got := s.ask("GET", "/kith.js", "")
	require.Equal(t, 200, got.Status)
	require.Equal(t, script.Text, got.Body)
	require.Equal(t, "text/javascript; charset=utf-8", got.header("content-type"))
	require.Equal(t, "nosniff", got.header("x-content-type-options"))
	require.Equal(t, "Accept-Encoding", got.header("vary"))
	require.Equal(t, "*", got.header("access-control-allow-origin"))
	require.Equal(t, "cross-origin", got.header("cross-origin-resource-policy"))
	tag := got.header("etag")
	require.Regexp(t, `^"[0-9a-f]{16}"$`, tag)
	version := tag[1 : len(tag)-1]

	const hour, good = "public, max-age=3600, stale-while-revalidate=86400", "public, max-age=31536000, immutable"
	for uri, cache := range map[string]string{"/kith.js": hour, "/kith.js?v=" + version: good, "/kith.js?a=1": hour, "/kith.js?v=" + version + "&a=1": good} {
		require.Equal(t, cache, s.ask("GET", uri, "").header("cache-control"), uri)
	}
	other := s.ask("GET", "/kith.js?v=0123456789abcdef", "")
	require.Equal(t, 404, other.Status)
	require.Equal(t, "private, no-store", other.header("cache-control"))
	for known, status := range map[string]int{
		tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, "": 200, version: 200,
	} {
		got := s.ask("GET", "/kith.js", "", "if-none-match: "+known)
		require.Equal(t, status, got.Status, known)
		require.Equal(t, tag, got.header("etag"))
		require.Equal(t, status == 304, len(got.Body) == 0, known)
	}
}
