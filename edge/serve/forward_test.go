package serve_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/auth"
	"kith/edge/abi"
)

// The backend gets a request as it came. What a visitor claims about itself is
// replaced by what the edge vouches for, and what belongs to one connection is left
// out.
func TestForward_Request(t *testing.T) {
	s := newSite(t)
	const uri = "/api/v1/shop/users?query=a%20b&limit=2"
	s.ask("POST", uri, `{"a":1}`, withKey, "x-list: 1", "x-list: 2", "cookie: a=1", "cookie: b=2", "accept-encoding: gzip",
		"connection: keep-alive", "te: trailers", "upgrade: h2c", "proxy-connection: close",
		"x-forwarded-for: 203.0.113.9", "x-forwarded-proto: http", "x-forwarded-host: evil.example",
		"x-kith-hop: 1.forged", "x-kith-guesses: 0", "spin-client-addr: 203.0.113.9:1")
	got := s.got.Header
	require.Equal(t, "POST "+uri, s.got.Method+" "+s.got.RequestURI, "backend_url ends in a slash")
	require.Equal(t, `{"a":1}`, s.body)
	require.Equal(t, []string{"1", "2"}, got.Values("x-list"))
	require.Equal(t, []string{"a=1", "b=2"}, got.Values("cookie"))
	require.Equal(t, []string{basic}, got.Values("authorization"))
	require.Equal(t, []string{"gzip"}, got.Values("accept-encoding"))
	for _, name := range []string{"te", "upgrade", "proxy-connection", auth.GuessesHeader, "spin-client-addr", "spin-full-url"} {
		require.Empty(t, got.Values(name), name)
	}
	require.Equal(t, []string{"192.0.2.7"}, got.Values(auth.ForwardedForHeader))
	require.Equal(t, []string{"https"}, got.Values(auth.ForwardedProtoHeader))
	require.Equal(t, []string{"shop.example"}, got.Values(auth.ForwardedHostHeader))

	require.Len(t, got.Values(auth.HopHeader), 1)
	keys, err := auth.ParseKeyring(masterKey)
	require.NoError(t, err)
	hop := auth.Hop{Method: "POST", URI: uri, For: "192.0.2.7", Proto: "https", Host: "shop.example"}
	require.True(t, hop.Verify(keys.Hop(), got.Get(auth.HopHeader), now))
	hop.For = "203.0.113.9"
	require.False(t, hop.Verify(keys.Hop(), got.Get(auth.HopHeader), now))
}

// X-Forwarded headers are believed of a proxy that the operator listed, and the last
// value is the one that it wrote.
func TestForward_Visitor(t *testing.T) {
	s := newSite(t)
	claims := []string{"x-forwarded-for: 203.0.113.9, 198.51.100.4", "x-forwarded-proto: https, http", "x-forwarded-host: a.example, b.example"}
	for name, c := range map[string]struct {
		trusted         string
		headers         []string
		from, how, host string
	}{
		"nobody claims anything":   {"192.0.2.0/24", nil, "192.0.2.7", "https", "shop.example"},
		"a stranger claims":        {"10.0.0.0/8", claims, "192.0.2.7", "https", "shop.example"},
		"a proxy claims":           {"192.0.2.0/24", claims, "198.51.100.4", "http", "b.example"},
		"a proxy behind a proxy":   {"192.0.2.0/24,198.51.100.0/24", claims, "203.0.113.9", "http", "b.example"},
		"a list that is no list":   {"everybody", claims, "192.0.2.7", "https", "shop.example"},
		"no list":                  {"", claims, "192.0.2.7", "https", "shop.example"},
		"a proxy tells of no host": {"192.0.2.0/24", claims[:1], "198.51.100.4", "https", "shop.example"},
	} {
		t.Run(name, func(t *testing.T) {
			s.variables["trusted_proxies"] = c.trusted
			s.ask("GET", "/healthz", "", c.headers...)
			got := s.got.Header
			require.Equal(t, []string{c.from, c.how, c.host},
				[]string{got.Get(auth.ForwardedForHeader), got.Get(auth.ForwardedProtoHeader), got.Get(auth.ForwardedHostHeader)})
		})
	}
}

// The visitor gets what is in the backend's envelope. An answer without one is not the
// backend's.
func TestForward_Answer(t *testing.T) {
	s := newSite(t)
	for name, c := range map[string]struct {
		method           string
		status           int
		envelope         string
		want             int
		message, refused string
	}{
		"an answer":                       {"GET", 200, "200", 200, "", ""},
		"a refusal":                       {"GET", 404, "404", 404, "", ""},
		"a redirect leaves as 200":        {"GET", 200, "302", 302, "", ""},
		"a fault of the backend":          {"GET", 500, "500", 500, "", ""},
		"a page of a proxy":               {"GET", 200, "", 502, "without the backend", ""},
		"a redirect of a proxy":           {"GET", 308, "", 502, "without the backend", ""},
		"a proxy whose backend is away":   {"GET", 503, "", 503, "cannot be reached", "1"},
		"a proxy that waited in vain":     {"POST", 504, "", 503, "cannot be reached", "1"},
		"an envelope without a status":    {"GET", 200, "ok", 502, "without the backend", ""},
		"an envelope of no final status":  {"GET", 200, "101", 502, "without the backend", ""},
		"an envelope beyond all statuses": {"GET", 200, "600", 502, "without the backend", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s.backend = func(w http.ResponseWriter, _ *http.Request) {
				if c.envelope != "" {
					w.Header().Set(auth.StatusHeader, c.envelope)
				}
				w.Header().Set(auth.LocationHeader, "https://shop.example/")
				w.Header().Add("x-list", "1")
				w.Header().Add("x-list", "2")
				w.Header().Set("proxy-connection", "close")
				w.WriteHeader(c.status)
			}
			got := s.ask(c.method, "/healthz", "")
			require.Equal(t, c.want, got.Status)
			require.Contains(t, string(got.Body), c.message)
			require.Equal(t, c.refused != "", got.header("retry-after") != "")
			if c.message == "" {
				require.Equal(t, "https://shop.example/", got.header("location"))
				require.Equal(t, []string{"1", "2"}, got.all("x-list"))
			}
			for _, name := range []string{auth.StatusHeader, auth.LocationHeader, "proxy-connection"} {
				require.Empty(t, got.all(name), name)
			}
		})
	}
}

// HEAD has the length that the backend says, and another method that of its body,
// which the host counts.
func TestForward_Head(t *testing.T) {
	s := newSite(t)
	s.backend = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(auth.StatusHeader, "200")
		w.Header().Set("content-length", "12")
		_, _ = w.Write([]byte("twelve bytes"))
	}
	require.Equal(t, "12", s.ask("HEAD", "/healthz", "").header("content-length"))
	got := s.ask("GET", "/healthz", "")
	require.Empty(t, got.all("content-length"))
	require.Equal(t, "twelve bytes", string(got.Body))
}

// Without a backend, and without a key to sign for it, the edge says so, and who asked
// learns nothing more.
func TestForward_Faults(t *testing.T) {
	s := newSite(t)
	s.variables["backend_url"] = "http://127.0.0.1:1"
	got := s.ask("GET", "/healthz", "")
	require.Equal(t, 503, got.Status)
	require.NotEmpty(t, got.header("retry-after"))
	require.NotEmpty(t, got.header(core.RequestIDHeader))
	require.NotContains(t, string(got.Body), "127.0.0.1")

	abi.Native.Send = nil
	require.Equal(t, 503, s.ask("GET", "/healthz", "").Status)

	s = newSite(t)
	s.variables["master_key"] = ""
	got = s.ask("GET", "/healthz", "")
	require.Equal(t, 500, got.Status)
	require.False(t, got.forwarded)
	require.NotContains(t, string(got.Body), "master key")
}
