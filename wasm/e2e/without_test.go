package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
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
	s.identify(t, s.backend, "demo", "bob", `{"firstName":"Bob","referralCode":"BOB10"}`)
	for _, code := range []string{"ANNA10", "BOB10"} {
		mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/code/"+code, "", s.auth("demo"))
	}
	mustCall(t, http.StatusNotFound, "GET", s.edge+"/api/v1/demo/code/UNKNOWN", "", s.auth("demo"))

	backend.kill()
	follow(t, "demo", 50, s.edge)
	mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/s/demo/UNKNOWN", "")
	mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
	mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/api/v1/demo/code/BOB10", "", s.auth("demo")) // it names Bob
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
	s.ok(t, "tenant", "set", "demo", "--link-max-age", "50ms")
	s.serveWithoutDatabase(t)
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

// Guarantee: a backend that knows the edge reports edits, blocks and revoked keys to it: what the
// edge keeps for minutes is not answered any more, also if many ask for it meanwhile.
func TestEdge_WithoutDatabaseGetsReports(t *testing.T) {
	t.Parallel()
	s, backend := visitedSite(t)
	s.ok(t, "tenant", "set", "demo", "--link-max-age", "5m", "--code-names", "off")
	s.serveWithoutDatabase(t)
	lookUp := func(key string, status int) error {
		a, err := call("GET", s.edge+"/api/v1/demo/code/ANNA10", "", key)
		if err == nil && a.status != status {
			err = fmt.Errorf("status %d: %s", a.status, a.body)
		}
		return err
	}
	require.NoError(t, lookUp(s.auth("demo"), http.StatusOK))
	backend.kill()
	require.NoError(t, lookUp(s.auth("demo"), http.StatusOK), "it is kept")
	require.NoError(t, lookUp("Authorization: Basic Ondyb25n", http.StatusServiceUnavailable), "for the key that asked")
	s.serve(t, "KITH_EDGE_URL="+s.edge)
	location := func() string {
		return mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "").header.Get("Location")
	}
	asking, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for asking.Err() == nil {
				if a, err := call("GET", s.edge+"/s/demo/ANNA10", ""); err == nil {
					assert.Equal(t, http.StatusFound, a.status)
				}
			}
		})
	}
	for i := range 5 {
		page := fmt.Sprintf("https://edited%d.example/", i)
		s.ok(t, "program", "set", "--tenant", "demo", "classic", "sharing.url="+page)
		await(t, func() error {
			if got := location(); !strings.HasPrefix(got, page) {
				return fmt.Errorf("the edit is not seen: %s", got)
			}
			return nil
		})
		for range 100 {
			require.True(t, strings.HasPrefix(location(), page), "an old answer was kept")
		}
	}
	stop()
	readers.Wait()
	require.NoError(t, lookUp(s.auth("demo"), http.StatusOK))
	s.ok(t, "key", "revoke", "demo", "default", "--last")
	await(t, func() error { return lookUp(s.auth("demo"), http.StatusUnauthorized) })
	mustCall(t, http.StatusNotFound, "POST", s.edge+"/edge/edits?demo", "")
	mustCall(t, http.StatusNotFound, "POST", s.edge+"/edge/edits", "", "X-Kith-Hop: 1.a")
}

// What edge and backend send each other is for them only.
func TestEdge_WithoutDatabaseIsPrivate(t *testing.T) {
	t.Parallel()
	s, _ := visitedSite(t)
	log := &testenv.Log{}
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
