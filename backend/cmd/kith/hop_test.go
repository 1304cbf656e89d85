package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/auth"
)

// The backend sends redirects to an edge in an envelope, because Spin would follow a
// redirect, with the signature of the hop. Rejected hops get an envelope too; requests
// without a signature do not.
func TestHop_ResponsesAreInAnEnvelope(t *testing.T) {
	s := newFixture(t).stage(t)
	keys, err := auth.ParseKeyring(storyKey)
	require.NoError(t, err)
	for _, row := range []struct {
		uri, status, location string
		http                  int
	}{
		{"/s/landing/UNKNOWN", "302", "https://landing.example/start?utm=a%20b&rsCode=OLD#top", 200},
		{"/?rsCode=UNKNOWN", "302", "/", 200},
		{"/api/v1/demo/code/X", "401", "", 401},
		{"/healthz", "200", "", 200},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			hop := auth.Hop{Method: method, URI: row.uri, For: "203.0.113.9", Proto: "http", Host: "landing.example"}
			got := s.hop(t, hop, hop.Sign(keys.Hop(), s.clock.now()))
			require.Equal(t, row.http, got.StatusCode, row.uri)
			require.Equal(t, row.status, got.Header.Get("X-Kith-Status"), row.uri)
			require.Equal(t, row.location, got.Header.Get("X-Kith-Location"), row.uri)
			require.NotEmpty(t, got.Header["X-Kith-Envelope"], row.uri)
			require.Empty(t, got.Header["Location"])
		}
	}
	forged := s.hop(t, auth.Hop{Method: "GET", URI: "/s/demo/UNKNOWN"}, "1."+strings.Repeat("x", 43))
	require.Equal(t, 503, forged.StatusCode, "401 would mean a wrong API key")
	require.Equal(t, "503", forged.Header.Get("X-Kith-Status"))
	require.Empty(t, forged.Header["X-Kith-Envelope"], "only answers to a verified hop are signed")
	require.NotEmpty(t, forged.Header.Get("Retry-After"))
	require.Equal(t, "master-key", forged.Header.Get("X-Kith-Refused"))
	stray := s.hop(t, auth.Hop{Method: "GET", URI: "/s/demo/UNKNOWN"}, "1")
	require.Equal(t, 400, stray.StatusCode, "no edge sent it")
	for name := range stray.Header {
		require.False(t, strings.HasPrefix(name, "X-Kith-"), name)
	}
	for ahead, refused := range map[core.Time]string{5 * core.Minute: "", 5*core.Minute + core.Second: "clock", -5*core.Minute - core.Second: "clock"} {
		hop := auth.Hop{Method: "GET", URI: "/healthz"}
		got := s.hop(t, hop, hop.Sign(keys.Hop(), s.clock.now()+ahead))
		require.Equal(t, refused, got.Header.Get("X-Kith-Refused"), ahead)
		require.Equal(t, strconv.FormatInt(int64(s.clock.now()), 10), got.Header.Get("X-Kith-Time"))
	}
	direct := s.hop(t, auth.Hop{Method: "GET", URI: "/s/landing/UNKNOWN"}, "")
	require.Equal(t, 302, direct.StatusCode)
	require.Empty(t, direct.Header["X-Kith-Status"])
}

// hop sends the request of a hop to the backend, with the signature if it is not empty.
func (s *stage) hop(t *testing.T, hop auth.Hop, signature string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(hop.Method, s.backend+hop.URI, nil)
	require.NoError(t, err)
	r.Header.Set(auth.ForwardedForHeader, hop.For)
	r.Header.Set(auth.ForwardedProtoHeader, hop.Proto)
	r.Header.Set(auth.ForwardedHostHeader, hop.Host)
	if signature != "" {
		r.Header.Set(auth.HopHeader, signature)
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, got.Body.Close())
	return got
}
