package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/edge/abi"
)

// The backend gets the request unchanged, except that the client's forwarding headers
// are replaced by those of the edge, and hop-by-hop headers are removed.
func TestForward_Request(t *testing.T) {
	s := newSite(t)
	const uri = "/api/v1/shop/users?query=a%20b&limit=2"
	s.ask("POST", uri, `{"a":1}`, withKey, "x-list: 1", "x-list: 2", "cookie: a=1", "cookie: b=2", "accept-encoding: gzip",
		"connection: keep-alive", "te: trailers", "upgrade: h2c", "proxy-connection: close",
		"x-forwarded-for: 203.0.113.9", "x-forwarded-proto: http", "x-forwarded-host: evil.example",
		"x-kith-hop: 1.forged", "x-kith-guesses: 0", "x-kith-followed: 1", "first spin-client-addr: 203.0.113.9:1",
		"traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", "tracestate: a=1")
	got := s.got.Header
	require.Equal(t, "POST "+uri, s.got.Method+" "+s.got.RequestURI, "backend_url ends in a slash")
	require.Equal(t, `{"a":1}`, s.body)
	require.Equal(t, []string{"1", "2"}, got.Values("x-list"))
	require.Equal(t, []string{"a=1", "b=2"}, got.Values("cookie"))
	require.Equal(t, []string{basic}, got.Values("authorization"))
	require.Equal(t, []string{"gzip"}, got.Values("accept-encoding"))
	for _, name := range []string{"te", "upgrade", "proxy-connection", auth.GuessesHeader, link.FollowedHeader, "spin-client-addr", "spin-full-url", "traceparent", "tracestate"} {
		require.Empty(t, got.Values(name), name)
	}
	require.Equal(t, []string{"192.0.2.7"}, got.Values(auth.ForwardedForHeader))
	require.Equal(t, []string{"https"}, got.Values(auth.ForwardedProtoHeader))
	require.Equal(t, []string{"shop.example"}, got.Values(auth.ForwardedHostHeader))

	require.Len(t, got.Values(auth.HopHeader), 1)
	keys, err := auth.ParseKeyring(masterKey)
	require.NoError(t, err)
	hop := auth.Hop{Method: "POST", URI: uri, For: "192.0.2.7", Proto: "https", Host: "shop.example"}
	require.Empty(t, hop.Verify(keys.Hop(), got.Get(auth.HopHeader), now, auth.ClockTolerance))
	hop.For = "203.0.113.9"
	require.Equal(t, auth.RefusedKey, hop.Verify(keys.Hop(), got.Get(auth.HopHeader), now, auth.ClockTolerance))
}

// X-Forwarded headers are used only from a trusted proxy, which wrote the last value.
func TestForward_Visitor(t *testing.T) {
	s := newSite(t)
	forwarded := []string{"x-forwarded-for: 203.0.113.9, 198.51.100.4", "x-forwarded-proto: https, http", "x-forwarded-host: a.example, b.example"}
	for name, c := range map[string]struct {
		trusted         string
		headers         []string
		from, how, host string
	}{
		"no headers":                    {"192.0.2.0/24", nil, "192.0.2.7", "https", "shop.example"},
		"an untrusted peer":             {"10.0.0.0/8", forwarded, "192.0.2.7", "https", "shop.example"},
		"a trusted proxy":               {"192.0.2.0/24", forwarded, "198.51.100.4", "http", "b.example"},
		"a proxy behind a proxy":        {"192.0.2.0/24,198.51.100.0/24", forwarded, "203.0.113.9", "http", "b.example"},
		"an invalid list":               {"invalid", forwarded, "192.0.2.7", "https", "shop.example"},
		"no list":                       {"", forwarded, "192.0.2.7", "https", "shop.example"},
		"a proxy without a host header": {"192.0.2.0/24", forwarded[:1], "198.51.100.4", "https", "shop.example"},
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

// The visitor gets the response in the backend's envelope. A response without an
// envelope is not from the backend.
func TestForward_Response(t *testing.T) {
	s := newSite(t)
	for name, c := range map[string]struct {
		method           string
		status           int
		envelope         string
		want             int
		message, refused string
	}{
		"a response":                         {"GET", 200, "200", 200, "", ""},
		"a refusal":                          {"GET", 404, "404", 404, "", ""},
		"a redirect in a 200":                {"GET", 200, "302", 302, "", ""},
		"an error of the backend":            {"GET", 500, "500", 500, "", ""},
		"a page of a proxy":                  {"GET", 200, "", 502, "not from a backend", ""},
		"a redirect of a proxy":              {"GET", 308, "", 502, "not from a backend", ""},
		"a proxy without a backend":          {"GET", 503, "", 503, "cannot be reached", "1"},
		"a proxy that timed out":             {"POST", 504, "", 503, "cannot be reached", "1"},
		"an envelope without a status":       {"GET", 200, "ok", 502, "not from a backend", ""},
		"an envelope with an interim status": {"GET", 200, "101", 502, "not from a backend", ""},
		"an envelope with an invalid status": {"GET", 200, "600", 502, "not from a backend", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s.backend = func(w http.ResponseWriter, r *http.Request) {
				if c.envelope != "" {
					seal(w, r, c.envelope, "https://shop.example/")
				}
				w.Header().Set(auth.TimeHeader, "1")
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
			for _, name := range []string{auth.StatusHeader, auth.LocationHeader, auth.EnvelopeHeader, auth.TimeHeader, "proxy-connection"} {
				require.Empty(t, got.all(name), name)
			}
		})
	}
}

// The edge believes only an envelope that the backend signed for this hop.
func TestForward_EnvelopeIsSigned(t *testing.T) {
	s := newSite(t)
	other, err := auth.ParseKeyring(strings.Repeat("22", 32))
	require.NoError(t, err)
	var first http.Header
	for name, change := range map[string]func(h http.Header, hop string){
		"no signature":     func(h http.Header, _ string) { h.Del(auth.EnvelopeHeader) },
		"another status":   func(h http.Header, _ string) { h.Set(auth.StatusHeader, "201") },
		"another location": func(h http.Header, _ string) { h.Set(auth.LocationHeader, "https://evil.example/") },
		"no location":      func(h http.Header, _ string) { h.Del(auth.LocationHeader) },
		"of another hop":   func(h http.Header, _ string) { h.Set(auth.EnvelopeHeader, first.Get(auth.EnvelopeHeader)) },
		"under another key": func(h http.Header, hop string) {
			h.Set(auth.EnvelopeHeader, auth.Envelope{Hop: hop, Status: "302", Location: "https://shop.example/"}.Sign(other.Hop()))
		},
		"the hop's, sent back": func(h http.Header, hop string) { h.Set(auth.EnvelopeHeader, hop) },
	} {
		s.backend = func(w http.ResponseWriter, r *http.Request) {
			seal(w, r, "302", "https://shop.example/")
			first = w.Header().Clone()
		}
		require.Equal(t, "https://shop.example/", s.ask("GET", "/api/v1/shop/users", "", withKey).header("location"), name)
		s.backend = func(w http.ResponseWriter, r *http.Request) {
			seal(w, r, "302", "https://shop.example/")
			change(w.Header(), r.Header.Get(auth.HopHeader))
		}
		got := s.ask("GET", "/api/v1/shop/users?page=2", "", withKey)
		require.Equal(t, 502, got.Status, name)
		require.Empty(t, got.header("location"), name)
	}
}

// A client sends neither the headers of the host nor those between host, component and
// backend: those of the host are the last of their names, and the others are the host's
// only if it counts.
func TestForward_HeadersOfTheHost(t *testing.T) {
	s := newSite(t)
	s.variables["trusted_proxies"] = "203.0.113.0/24"
	s.ask("GET", "/api/v1/shop/users", "", withKey, "first spin-client-addr: 203.0.113.9:1", "first spin-full-url: ftp://evil.example/", "x-forwarded-host: evil.example")
	require.Equal(t, []string{"192.0.2.7"}, s.got.Header.Values(auth.ForwardedForHeader))
	require.Equal(t, []string{"https"}, s.got.Header.Values(auth.ForwardedProtoHeader))
	require.Equal(t, []string{"shop.example"}, s.got.Header.Values(auth.ForwardedHostHeader))

	s.variables["host_counts"] = ""
	const sent = "x-kith-followed: 1"
	s.backend = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(auth.GuessesHeader, "1")
		seal(w, r, "404", "")
	}
	for _, uri := range []string{"/s/shop/anna10", "/s/shop/unknown", "/api/v1/shop/open/code/ANNA10", "/api/v1/shop/code/ANNA10"} {
		got := s.ask("GET", uri, "", sent, "x-kith-guesses: 1", "x-kith-any: 1")
		for _, h := range got.Headers {
			require.False(t, strings.HasPrefix(h.Name, auth.InternalPrefix), "%s: %s", uri, h.Name)
		}
		if s.got != nil {
			require.Empty(t, s.got.Header.Values("x-kith-any"))
		}
	}
	s.got = nil
	require.Equal(t, 200, s.ask("GET", "/api/v1/shop/code/ANNA10", "", withKey, "x-kith-guesses: 0").Status)
	require.Nil(t, s.got, "the component answers")
}

// Without the headers of the host a request has no address, so it is refused.
func TestForward_HostWithoutHeaders(t *testing.T) {
	s := newSite(t)
	got := s.ask("GET", "/api/v1/shop/users", "", withKey, "no spin-client-addr")
	require.Equal(t, 503, got.Status)
	require.Nil(t, s.got)
}

// A response to HEAD has the length of the backend's header; for other methods the
// host computes it from the body.
func TestForward_Head(t *testing.T) {
	s := newSite(t)
	s.backend = func(w http.ResponseWriter, r *http.Request) {
		seal(w, r, "200", "")
		w.Header().Set("content-length", "12")
		_, _ = w.Write([]byte("twelve bytes"))
	}
	require.Equal(t, "12", s.ask("HEAD", "/healthz", "").header("content-length"))
	got := s.ask("GET", "/healthz", "")
	require.Empty(t, got.all("content-length"))
	require.Equal(t, "twelve bytes", string(got.Body))
}

// Without a backend or a master key the edge responds with an error that does not
// reveal the cause.
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
	require.Equal(t, 503, got.Status)
	require.False(t, got.forwarded)
	require.NotContains(t, string(got.Body), "master key")
}
