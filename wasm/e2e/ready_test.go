package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/core/auth"
	"kith/wasm/host"
)

// opsServe and opsEdge start a process with a server of probes, and return its address.
func (s *site) opsServe(t *testing.T, env ...string) (*process, string) {
	t.Helper()
	ops := freeAddr(t)
	return s.serve(t, append(env, "KITH_OPS_ADDR="+ops)...), "http://" + ops
}

func (s *site) opsEdge(t *testing.T, env ...string) (*process, string) {
	t.Helper()
	ops := freeAddr(t)
	return s.serveEdge(t, append(env, "KITH_OPS_ADDR="+ops)...), "http://" + ops
}

// A database that accepts no writes, as on a full disk: every call that writes is answered
// 503 with Retry-After, at edge and backend; reads are answered. The backend is not ready,
// and the edge is degraded. Liveness is not affected.
func TestReady_DatabaseIsFull(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	filled := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	filled.stop(t)
	db := s.open(t)
	_, err := db.Exec(`VACUUM`) // no free pages
	require.NoError(t, err)
	pages := number(t, db, `PRAGMA page_count`)
	require.NoError(t, db.Close())
	// A page fits nothing: SQLite reports a full disk.
	full := fmt.Sprintf("file:%s/kith.db?_pragma=max_page_count(%d)", s.data, pages)
	s.backendDatabase, s.edgeDatabase = full, full
	_, backendOps := s.opsServe(t)
	_, edgeOps := s.opsEdge(t)
	unavailable := func(a answer, err error) bool {
		require.NoError(t, err)
		require.NotEqual(t, http.StatusInternalServerError, a.status, a.body)
		if a.status != http.StatusServiceUnavailable {
			return false
		}
		require.Equal(t, "1", a.header.Get("Retry-After"))
		require.Contains(t, a.body, "UNAVAILABLE")
		return true
	}
	// More than one page has room for.
	var fields []string
	for i := range 12 {
		fields = append(fields, fmt.Sprintf(`"text%d":%q`, i, strings.Repeat("x", 1400)))
	}
	list := `"events":[{"key":"visit","fields":{` + strings.Join(fields, ",") + `}}]`
	events := "{" + list + "}"
	mutation := `{"query":"mutation ($input: UserEventInput!) { logUserEvent(userEventInput: $input) { userId } }","variables":{"input":{"userId":"anna","accountId":"anna",` + list + `}}}`
	const json = "Content-Type: application/json"
	for _, base := range []string{s.edge, s.backend} {
		for path, body := range map[string]string{"/open/account/anna/user/anna/events": events, "/graphql": mutation} {
			a, err := call("POST", base+"/api/v1/demo"+path, body, s.auth("demo"), json)
			require.True(t, unavailable(a, err), "%s%s: %d %s", base, path, a.status, a.body)
		}
		for i := range 200 {
			id := fmt.Sprintf("u%d", i)
			body := fmt.Sprintf(`{"id":%q,"accountId":%q,"firstName":%q}`, id, id, strings.Repeat("n", 200))
			if unavailable(call("PUT", base+"/api/v1/demo/open/account/"+id+"/user/"+id, body, s.auth("demo"), json)) {
				break
			}
			require.Less(t, i, 199, "an identification needs no page")
		}
		mustCall(t, http.StatusFound, "GET", base+"/s/demo/ANNA10", "")
		mustCall(t, http.StatusOK, "GET", base+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
	}
	for _, ops := range []string{backendOps, edgeOps} {
		mustCall(t, http.StatusOK, "GET", ops+"/healthz", "")
	}
	mustCall(t, http.StatusOK, "GET", edgeOps+"/readyz", "")
}

// An edge that cannot write and has no backend is ready, because it answers links, and
// names what does not work.
func TestReady_EdgeIsDegraded(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	filled := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	filled.stop(t)
	s.edgeDatabase = fmt.Sprintf("file:%s/kith.db?_pragma=query_only(1)", s.data)
	edge, edgeOps := s.opsEdge(t)
	a := eventually(t, http.StatusOK, "GET", edgeOps+"/readyz", "")
	require.Contains(t, a.body, `"degraded"`)
	require.Contains(t, a.body, "the backend does not answer")
	require.Contains(t, a.body, "the database does not accept writes")
	edge.waitLog(t, `msg="ready without a part" part=write`)
	mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "")
	a = mustCall(t, http.StatusServiceUnavailable, "POST", s.edge+"/api/v1/demo/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`, s.auth("demo"), "Content-Type: application/json")
	require.Equal(t, "1", a.header.Get("Retry-After"))
}

// Readiness of a backend on a server that is killed and returns; liveness does not change.
func TestReady_ServerIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := f.nodes[0]
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	eventually(t, http.StatusFound, "GET", s.edge+"/s/"+f.tenant+"/ANNA10", "")
	f.cluster.WaitForSync(t)
	f.backends[0].kill()
	f.edges[0].kill()
	backend, backendOps := s.opsServe(t)
	edge, edgeOps := s.opsEdge(t)
	eventually(t, http.StatusOK, "GET", backendOps+"/readyz", "")
	f.cluster.KillPrimary(t)
	a := eventually(t, http.StatusServiceUnavailable, "GET", backendOps+"/readyz", "")
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Contains(t, a.body, "the database does not")
	backend.waitLog(t, `msg="not ready" part=database`)
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/code/ANNA10", ""}, {"GET", "/users", ""}, {"PUT", "/open/account/x/user/x", `{"id":"x","accountId":"x"}`},
		{"POST", "/graphql", `{"query":"{ users { count } }"}`}, {"POST", "/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`},
	} {
		a := mustCall(t, http.StatusServiceUnavailable, ask.method, f.api(s.backend)+ask.path, ask.body, f.auth(), "Content-Type: application/json")
		require.NotEmpty(t, a.header.Get("Retry-After"), ask.path)
		require.Contains(t, a.body, "UNAVAILABLE", ask.path)
	}
	mustCall(t, http.StatusServiceUnavailable, "GET", s.backend+"/healthz", "")
	for _, ops := range []string{backendOps, edgeOps} {
		mustCall(t, http.StatusOK, "GET", ops+"/healthz", "")
	}
	// The edge answers links, so it stays ready, and names what does not work.
	edge.waitLog(t, `msg="ready without a part" part=backend`)
	require.Contains(t, eventually(t, http.StatusOK, "GET", edgeOps+"/readyz", "").body, `"degraded"`)
	mustCall(t, http.StatusFound, "GET", s.edge+"/s/"+f.tenant+"/ANNA10", "")
}

// An edge whose master key is that of its database, but not that of the backend, answers
// 503, and not 401, is not ready, and logs why.
func TestReady_BackendHasAnotherKey(t *testing.T) {
	t.Parallel()
	backend, s := ownKeySite(t), demoSite(t)
	backend.serve(t)
	s.backend = backend.backend
	edge, ops := s.opsEdge(t)
	a := mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/api/v1/demo/code/NOBODY", "", s.auth("demo"))
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Contains(t, a.body, "UNAVAILABLE")
	a = eventually(t, http.StatusServiceUnavailable, "GET", ops+"/readyz", "")
	require.Contains(t, a.body, "refuses the signature of this edge: give both the same master key")
	edge.waitLog(t, `msg="not ready" part=backend`)
	require.Contains(t, mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/readyz", "").body, "the master key of this edge is not that of the backend")
	mustCall(t, http.StatusOK, "GET", ops+"/healthz", "")
}

// An edge without a database that has only the old master key after a rotation: its backend
// accepts its signature, and signs with the new key. The edge is not ready, and logs why.
func TestReady_BackendHasANewerKey(t *testing.T) {
	t.Parallel()
	s := ownKeySite(t)
	key, err := os.ReadFile(s.data + "/master.key")
	require.NoError(t, err)
	old := strings.Repeat("ab", 32)
	s.serve(t, "KITH_MASTER_KEY="+strings.TrimSpace(string(key))+","+old)
	edge, ops := s.opsEdge(t, "KITH_WITHOUT_DATABASE=true", "KITH_DATA="+t.TempDir(), "KITH_MASTER_KEY="+old)
	a := eventually(t, http.StatusServiceUnavailable, "GET", ops+"/readyz", "")
	require.Contains(t, a.body, "signs with a master key that this edge does not have: give both the same master key")
	edge.waitLog(t, `level=ERROR msg="not ready" part=backend`)
	require.Contains(t, mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/readyz", "").body, "the master key of this edge is not that of the backend")
	mustCall(t, http.StatusBadGateway, "GET", s.edge+"/api/v1/demo/code/NOBODY", "", s.auth("demo"))
	mustCall(t, http.StatusOK, "GET", ops+"/healthz", "")
}

// An edge whose signatures are older than the backend tolerates, as with a wrong clock, is
// not ready, and answers 503. Here a proxy delays them.
func TestReady_ClocksDiffer(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t, "KITH_CLOCK_TOLERANCE=100ms")
	target, err := url.Parse(s.backend)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header = r.In.Header.Clone() // with the X-Forwarded headers that are signed
	}}
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(auth.HopHeader) != "" {
			time.Sleep(110 * time.Millisecond) // longer than is tolerated
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	s.backend = slow.URL
	edge := s.serveEdge(t)
	a := mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/api/v1/demo/code/NOBODY", "", s.auth("demo"))
	require.NotEmpty(t, a.header.Get("Retry-After"))
	a = mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/readyz", "")
	require.Contains(t, a.body, "the clock of the backend")
	edge.waitLog(t, "this edge is not ready; try again: the clock of the backend is")
}

// The component with the master key of another installation, as under Spin: share links
// redirect without a cookie, and it is not ready.
func TestReady_WrongKeyUnderSpin(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	right, err := os.ReadFile(s.data + "/master.key")
	require.NoError(t, err)
	const name = "kith_demo="
	for key, wrong := range map[string]bool{strings.TrimSpace(string(right)): false, strings.Repeat("ab", 32): true} {
		edge := s.spin(t, func(o *host.Options) { o.Variables["master_key"] = key })
		for range 2 { // the second target is from the key-value store
			got := edge.call("GET", "/s/demo/ANNA10")
			require.Equal(t, http.StatusFound, got.Code)
			require.Equal(t, !wrong, strings.Contains(strings.Join(got.Header()["Set-Cookie"], " "), name))
		}
		if !wrong {
			require.Equal(t, `{"status":"ok"}`, edge.call("GET", "/readyz").Body.String())
			continue
		}
		got := edge.call("GET", "/readyz")
		require.Equal(t, http.StatusServiceUnavailable, got.Code)
		require.Contains(t, got.Body.String(), "the master key of this edge is not that of the database")
		require.Contains(t, edge.log.String(), "no cookie is set: the master key of this edge is not that of the database")
		require.Equal(t, http.StatusServiceUnavailable, edge.call("GET", "/api/v1/demo/code/NOBODY").Code)
	}
}
