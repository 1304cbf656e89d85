package serve_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/auth"
	"kith/edge/abi"
)

// refusing returns a handler that refuses a hop as the backend does, with its clock.
func refusing(why auth.Refusal, clock core.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(auth.RefusalHeader, string(why))
		w.Header().Set(auth.TimeHeader, strconv.FormatInt(int64(clock), 10))
		w.Header().Set(auth.StatusHeader, "503")
		w.WriteHeader(503)
	}
}

// An edge whose master key is not that of the database is not ready. A share link
// redirects as before, without a cookie that no other process could verify.
func TestReady_AnotherMasterKey(t *testing.T) {
	for name, key := range map[string]string{"another key": strings.Repeat("ab", 32), "no key": "short"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			keep(t)
			right := s.ask("GET", "/s/shop/ANNA10", "")
			require.Contains(t, right.header("set-cookie"), "kith_shop=")
			s.variables["master_key"] = key
			for range 2 { // the second target is from the cache, where the host has one
				wrong := s.ask("GET", "/s/shop/ANNA10", "")
				require.Equal(t, 302, wrong.Status)
				require.Equal(t, right.header("location"), wrong.header("location"))
				require.NotContains(t, wrong.header("set-cookie"), "kith_shop=")
				require.False(t, wrong.forwarded)
			}
			got := s.ask("GET", "/readyz", "")
			require.Equal(t, 503, got.Status)
			require.NotEmpty(t, got.header("retry-after"))
			require.Contains(t, string(got.Body), "the master key of this edge is not")
		})
	}
	// A keyring that also has the database's key may sign.
	s := newSite(t)
	s.variables["master_key"] = strings.Repeat("ab", 32) + "," + masterKey
	require.Contains(t, s.ask("GET", "/s/shop/ANNA10", "").header("set-cookie"), "kith_shop=")
	require.Equal(t, 200, s.ask("GET", "/readyz", "").Status)
}

// An edge whose signature the backend refuses answers 503, and not 401, which clients take
// for a wrong API key. Readiness names the reason.
func TestReady_RefusedByTheBackend(t *testing.T) {
	for name, c := range map[string]struct {
		backend http.HandlerFunc
		says    string
	}{
		"master key":   {refusing(auth.RefusedKey, now), "the master key of this edge is not that of the backend"},
		"clock behind": {refusing(auth.RefusedClock, now+10*core.Minute), "the clock of the backend is 600 s ahead of that of this edge"},
		"clock ahead":  {refusing(auth.RefusedClock, now-10*core.Minute), "the clock of the backend is 600 s behind that of this edge"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.backend = c.backend
			got := s.ask("GET", "/api/v1/shop/code/NOBODY", "", withKey)
			require.Equal(t, 503, got.Status)
			require.Contains(t, string(got.Body), "UNAVAILABLE")
			require.NotEmpty(t, got.header("retry-after"))
			require.Empty(t, got.all(auth.RefusalHeader))
			got = s.ask("GET", "/readyz", "")
			require.Equal(t, 503, got.Status)
			require.Contains(t, string(got.Body), c.says)
			require.Equal(t, 302, s.ask("GET", "/s/shop/ANNA10", "").Status)
		})
	}
}

// An edge whose backend knows its master key, but signs with a newer one, is not ready: every
// answer that it forwards is 502. It still answers links.
func TestReady_BackendHasANewerKey(t *testing.T) {
	s := newSite(t)
	other, err := auth.ParseKeyring(strings.Repeat("22", 32))
	require.NoError(t, err)
	for _, status := range []string{"200", "503"} {
		s.backend = func(w http.ResponseWriter, r *http.Request) {
			seal(w, r, status, "")
			w.Header().Set(auth.EnvelopeHeader, auth.Envelope{Hop: r.Header.Get(auth.HopHeader), Status: status}.Sign(other.Hop()))
		}
		got := s.ask("GET", "/readyz", "")
		require.Equal(t, 503, got.Status)
		require.NotEmpty(t, got.header("retry-after"))
		require.Contains(t, string(got.Body), "the master key of this edge is not that of the backend")
		require.Equal(t, 302, s.ask("GET", "/s/shop/ANNA10", "").Status)
	}
}

// The clocks are compared also if the backend tolerates more than this edge.
func TestReady_ClockTolerance(t *testing.T) {
	s := newSite(t)
	s.backend = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(auth.TimeHeader, strconv.FormatInt(int64(now+core.Minute), 10))
		seal(w, r, "200", "")
	}
	for tolerance, status := range map[string]int{"": 200, "60000": 200, "59999": 503, "0": 200, "much": 200} {
		s.variables["clock_tolerance_ms"] = tolerance
		require.Equal(t, status, s.ask("GET", "/readyz", "").Status, tolerance)
	}
	require.Empty(t, s.ask("GET", "/healthz", "").all(auth.TimeHeader), "it is for the edge")
}

// An edge is ready without its backend, and says so: it answers links and look-ups.
func TestReady_WithoutBackend(t *testing.T) {
	s := newSite(t)
	for _, status := range []string{"503", ""} {
		s.backend = enveloped(status)
		got := s.ask("GET", "/readyz", "")
		require.Equal(t, 200, got.Status)
		require.JSONEq(t, `{"status":"ok","degraded":{"backend":"the backend does not answer, or is not ready"}}`, string(got.Body))
	}
	s.variables["backend_url"] = "http://127.0.0.1:1"
	require.Contains(t, string(s.ask("GET", "/readyz", "").Body), "degraded")
}

// A database without a table or column that the edge needs is not ready, whatever number
// its schema has.
func TestReady_NeededColumns(t *testing.T) {
	for _, change := range []string{
		`ALTER TABLE program DROP COLUMN allowed_hosts`, `ALTER TABLE site RENAME TO pages`, `ALTER TABLE program_reward DROP COLUMN settings`,
		`ALTER TABLE secure_mode RENAME TO modes`, `ALTER TABLE user DROP COLUMN image_url`, `ALTER TABLE intake RENAME TO queue`,
	} {
		s := newSite(t)
		_, err := abi.Native.Execute(change, nil)
		require.NoError(t, err, change)
		got := s.ask("GET", "/readyz", "")
		require.Equal(t, 503, got.Status, change)
		require.Contains(t, string(got.Body), "the database does not have the schema of this edge", change)
	}
}

// Where the host has a key-value store, the backend is asked once a second, and an edge
// whose backend hangs answers at once for a minute after the first check.
func TestReady_IsCached(t *testing.T) {
	s := newSite(t)
	keep(t)
	at, asked := now, 0
	s.Now = func() core.Time { return at }
	s.backend = func(w http.ResponseWriter, r *http.Request) {
		asked++
		seal(w, r, "200", "")
	}
	for range 5 {
		require.Equal(t, `{"status":"ok"}`, string(s.ask("GET", "/readyz", "").Body))
	}
	require.Equal(t, 1, asked)
	at += core.Second
	s.backend = refusing(auth.RefusedKey, now)
	for range 3 {
		require.Equal(t, 503, s.ask("GET", "/readyz", "").Status)
	}

	// The host ends an instance whose call takes too long: its second state is not stored.
	at += core.Second
	s.backend = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	set := abi.Native.Set
	sets := 0
	abi.Native.Set = func(key, value string) error {
		if sets++; sets > 1 {
			return nil
		}
		return set(key, value)
	}
	require.Contains(t, string(s.ask("GET", "/readyz", "").Body), "degraded")
	at += core.Time(59 * time.Second / time.Millisecond)
	got := s.ask("GET", "/readyz", "")
	require.False(t, got.forwarded)
	require.Contains(t, string(got.Body), "degraded")
	at += core.Second
	require.True(t, s.ask("GET", "/readyz", "").forwarded)
}

// keep gives the host a key-value store.
func keep(t *testing.T) {
	t.Helper()
	stored := map[string]string{}
	abi.Native.Get = func(key string) (string, error) {
		value, ok := stored[key]
		if !ok {
			return "", abi.KVNoSuchKey
		}
		return value, nil
	}
	abi.Native.Set = func(key, value string) error { stored[key] = value; return nil }
	t.Cleanup(func() { abi.Native.Get, abi.Native.Set = nil, nil })
}
