package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/wasm/host"
)

// withoutDatabase makes a host read a manifest that grants no database.
func withoutDatabase(o *host.Options) {
	o.ReadFile = func(name string) ([]byte, error) {
		text, err := os.ReadFile(name)
		return bytes.Replace(text, []byte("sqlite_databases = [\"default\"]\n"), nil, 1), err
	}
}

// serveWithoutDatabase starts an edge that has nothing but the URL of its backend and the master
// key.
func (s *site) serveWithoutDatabase(t *testing.T, env ...string) *process {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	require.NoError(t, err)
	return s.serveEdge(t, append(env, "KITH_WITHOUT_DATABASE=true", "KITH_DATA="+t.TempDir(), "KITH_MASTER_KEY="+strings.TrimSpace(string(key)))...)
}

// Guarantee: an edge without a database answers the share links that it keeps, also without its
// backend, and each visit is counted once. Everything else is answered by the backend.
func TestEdge_WithoutDatabase(t *testing.T) {
	t.Parallel()
	s, backend := visitedSite(t)
	edge := s.serveWithoutDatabase(t, "KITH_LINK_MAX_AGE=5m")
	follow(t, "demo", 300, s.edge)
	s.awaitCounted(t, "demo", 300)
	sent, err := s.sendEvents(s.edge, "demo", "anna", `{"events":[{"key":"seen"}]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, sent.status)
	mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
	mustCall(t, http.StatusNotFound, "GET", s.edge+"/api/v1/demo/code/UNKNOWN", "", s.auth("demo"))

	backend.kill()
	follow(t, "demo", 50, s.edge)
	mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/s/demo/UNKNOWN", "")
	mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
	require.Contains(t, mustCall(t, http.StatusOK, "GET", s.edge+"/readyz", "").body, `"degraded"`)
	backend = s.serve(t)
	s.awaitCounted(t, "demo", 350)
	follow(t, "demo", 7, s.edge)
	edge.stop(t)
	backend.stop(t)
	require.Equal(t, 357, s.counted(t, "demo"))
}

// What is kept is not older than its time: an edit and a block are seen.
func TestEdge_WithoutDatabaseSeesEdits(t *testing.T) {
	t.Parallel()
	s, _ := visitedSite(t)
	s.serveWithoutDatabase(t, "KITH_LINK_MAX_AGE=50ms")
	seen := func(what string, is func(http.Header) bool) {
		t.Helper()
		await(t, func() error {
			a := mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "", "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
			if !is(a.header) {
				return fmt.Errorf("%s is not seen: %v", what, a.header)
			}
			return nil
		})
	}
	seen("the cookie", func(h http.Header) bool { return strings.HasPrefix(h.Get("Set-Cookie"), "kith_demo=") })
	s.ok(t, "program", "set", "--tenant", "demo", "classic", "sharing.url=https://edited.example/")
	seen("the edit", func(h http.Header) bool { return strings.HasPrefix(h.Get("Location"), "https://edited.example/") })
	mustCall(t, http.StatusOK, "POST", s.backend+"/api/v1/demo/account/anna/user/anna/block", `{"rewards":"KEEP"}`, s.auth("demo"))
	seen("the block", func(h http.Header) bool { return h.Get("Set-Cookie") == "" })
}

// What edge and backend send each other is for them only.
func TestEdge_WithoutDatabaseIsPrivate(t *testing.T) {
	t.Parallel()
	s, _ := visitedSite(t)
	log := &lockedBuffer{}
	for _, strict := range []bool{true, false} {
		edge := spin{log: log, handler: s.loadEdge(t, func(o *host.Options) {
			withoutDatabase(o)
			o.StrictSpin = strict
		})}
		for range 3 { // asked, and then kept
			got := edge.call("GET", "/s/demo/ANNA10", "X-Kith-Keeps: 1", "X-Kith-Target: x")
			require.Equal(t, http.StatusFound, got.Code)
			require.NotEmpty(t, got.Header().Get("Set-Cookie"))
			requireNothingInternal(t, got.Header())
		}
		const batch = `{"ID":"a","Made":1,"Visits":[]}`
		sum := sha256.Sum256([]byte(batch))
		r := httptest.NewRequest("POST", "/edge/visits?"+hex.EncodeToString(sum[:]), strings.NewReader(batch))
		r.RemoteAddr = "192.0.2.1:1234"
		w := httptest.NewRecorder()
		edge.handler.ServeHTTP(w, r)
		require.Equal(t, http.StatusNotFound, w.Code)
		a := mustCall(t, http.StatusNotFound, "POST", s.backend+"/edge/visits?"+hex.EncodeToString(sum[:]), batch)
		require.Contains(t, a.body, "this path does not exist")
	}
	a := mustCall(t, http.StatusFound, "GET", s.backend+"/s/demo/ANNA10", "", "X-Kith-Keeps: 1")
	requireNothingInternal(t, a.header)
}

func requireNothingInternal(t *testing.T, h http.Header) {
	t.Helper()
	for name := range h {
		require.False(t, strings.HasPrefix(name, "X-Kith-"), name)
	}
}
