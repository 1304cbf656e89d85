package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// metric returns the value of a line of /metrics, or -1 if it is missing.
func metric(t testing.TB, ops, line string) float64 {
	t.Helper()
	a := mustCall(t, http.StatusOK, "GET", "http://"+ops+"/metrics", "")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(line) + ` (\S+)$`).FindStringSubmatch(a.body)
	if m == nil {
		return -1
	}
	value, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	return value
}

// awaitMetric waits until the value of a metric satisfies a condition: a request is counted
// only after its answer, and a metric is left out while the database is too slow.
func awaitMetric(t testing.TB, ops, line string, is func(float64) bool) {
	t.Helper()
	await(t, func() error {
		if v := metric(t, ops, line); !is(v) {
			return fmt.Errorf("%s is %v", line, v)
		}
		return nil
	})
}

// An operator sees the requests, backlog, lag and readiness of a fleet, and the same
// request id on edge and backend.
func TestOps_FleetIsVisible(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := f.nodes[0]
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	edgeOps, backendOps := freeAddr(t), freeAddr(t)
	f.edges[0].kill()
	f.backends[0].kill()
	backend := s.serve(t, "KITH_OPS_ADDR="+backendOps)
	s.serveEdge(t, "KITH_OPS_ADDR="+edgeOps)

	a := mustCall(t, http.StatusNotFound, "GET", f.api(s.edge)+"/code/NOBODY", "", f.auth(), "X-Request-Id: from-a-proxy.1")
	require.Equal(t, []string{"from-a-proxy.1"}, a.header.Values("X-Request-Id"))
	a = mustCall(t, http.StatusOK, "GET", f.api(s.edge)+"/code/ANNA10", "", f.auth(), "X-Request-Id: not an id")
	require.Regexp(t, `^[0-9a-f]{24}$`, a.header.Get("X-Request-Id"))

	one := func(n float64) bool { return n == 1 }
	awaitMetric(t, edgeOps, `kith_requests_total{method="GET",part="edge",route="/api/v1/",status="404"}`, one)
	awaitMetric(t, backendOps, `kith_requests_total{method="GET",part="backend",route="/api/v1/{tenant}/code/{code}",status="404"}`, one)
	require.GreaterOrEqual(t, metric(t, edgeOps, `kith_guest_instances_total{fate="made"}`), 1.0)
	require.GreaterOrEqual(t, metric(t, edgeOps, `kith_guest_memory_bytes`), 65536.0)
	awaitMetric(t, backendOps, `kith_backlog{work="intake"}`, func(n float64) bool { return n == 0 })
	awaitMetric(t, edgeOps, `kith_replica_lag_seconds`, func(lag float64) bool { return lag >= 0 && lag <= 3 })
	for _, ops := range []string{edgeOps, backendOps} {
		mustCall(t, http.StatusOK, "GET", "http://"+ops+"/healthz", "")
		eventually(t, http.StatusOK, "GET", "http://"+ops+"/readyz", "")
	}

	f.cluster.Replicas[0].Kill(t)
	a = mustCall(t, http.StatusServiceUnavailable, "GET", "http://"+edgeOps+"/readyz", "")
	require.Contains(t, a.body, `"replica"`)
	mustCall(t, http.StatusOK, "GET", "http://"+edgeOps+"/healthz", "")
	f.cluster.KillPrimary(t)
	eventually(t, http.StatusServiceUnavailable, "GET", "http://"+backendOps+"/readyz", "")
	eventually(t, http.StatusServiceUnavailable, "GET", s.edge+"/healthz", "", "X-Request-Id: traced")
	backend.waitLog(t, "id=traced")
}

// A new backend and edge export all metrics of the dashboard, except those of requests,
// before any request.
func TestOps_DashboardShowsWhatIsExported(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := f.nodes[0]
	f.edges[0].kill()
	f.backends[0].kill()
	edgeOps, backendOps := freeAddr(t), freeAddr(t)
	backend := s.serve(t, "KITH_OPS_ADDR="+backendOps, "KITH_LOG_LEVEL=DEBUG")
	edge := s.serveEdge(t, "KITH_OPS_ADDR="+edgeOps, "KITH_LOG_LEVEL=DEBUG")
	mustCall(t, http.StatusNotFound, "GET", f.api(s.edge)+"/code/NOBODY", "", f.auth(), "X-Request-Id: crossing")
	edge.waitLog(t, "msg=request part=edge id=crossing method=GET route=/api/v1/ status=404")
	backend.waitLog(t, "msg=request part=backend id=crossing method=GET route=/api/v1/{tenant}/code/{code} status=404")

	dashboard, err := os.ReadFile(filepath.Join(root, "backend", "metrics", "grafana.json"))
	require.NoError(t, err)
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(dashboard, &board))
	asked := map[string]bool{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\b(?:kith|process|go)_[a-z_]+`).FindAllString(target.Expr, -1) {
				asked[name] = true
			}
		}
	}
	for _, name := range []string{
		"kith_requests_total", "kith_request_seconds_bucket", "kith_backlog", "kith_work_total", "kith_replica_lag_seconds",
		"kith_guest_instances_total", "kith_guest_memory_bytes",
	} {
		require.Contains(t, asked, name)
	}
	await(t, func() error { // a heartbeat is stored once a second
		exported := mustCall(t, http.StatusOK, "GET", "http://"+edgeOps+"/metrics", "").body +
			mustCall(t, http.StatusOK, "GET", "http://"+backendOps+"/metrics", "").body
		for name := range asked {
			if !regexp.MustCompile(`(?m)^` + name + `[{ ]`).MatchString(exported) {
				return fmt.Errorf("%s is not exported", name)
			}
		}
		return nil
	})
}

// Rows of jobs and webhook attempts are counted by outcome.
func TestOps_WorkIsCounted(t *testing.T) {
	t.Parallel()
	s, ops := demoSite(t), freeAddr(t)
	endpoint := s.endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), `"type":"test"`) {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	s.serve(t, "KITH_OPS_ADDR="+ops)
	s.serveEdge(t)
	s.ended(t, s.beginJob(t, "MUTATION/USER", "users.csv", "accountId,id\na,a\nb,b\nc,\n"))
	s.ended(t, s.beginJob(t, "MUTATION/DELETE_USER", "users.csv", "accountId,id\na,a\n"))
	s.testEvent(t, "test_demo", endpoint)
	s.identify(t, s.edge, "test_demo", "ben", `{}`) // causes events for a user and for a code
	for line, want := range map[string]float64{
		`kind="MUTATION/USER",outcome="done"`: 2, `kind="MUTATION/USER",outcome="failed"`: 1,
		`kind="MUTATION/DELETE_USER",outcome="done"`: 1, `kind="MUTATION/DELETE_USER",outcome="failed"`: 0,
	} {
		awaitMetric(t, ops, `kith_work_total{`+line+`,work="job_rows"}`, func(n float64) bool { return n == want })
	}
	awaitMetric(t, ops, `kith_backlog{work="job"}`, func(n float64) bool { return n == 0 })
	await(t, func() error {
		attempts := func(outcome string) float64 {
			return metric(t, ops, `kith_work_total{kind="attempt",outcome="`+outcome+`",work="webhook"}`)
		}
		// Failed attempts are repeated.
		if done, failed, late := attempts("done"), attempts("failed"), attempts("late"); done != 1 || failed < 2 || late != 0 {
			return fmt.Errorf("%v done, %v failed, %v late", done, failed, late)
		}
		return nil
	})
	awaitMetric(t, ops, `kith_backlog{work="webhook"}`, func(n float64) bool { return n == 2 })
}

// An edge with another schema than its database refuses to start.
func TestOps_EdgeOfAnotherSchemaDoesNotStart(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t).stop(t)
	db := s.open(t)
	for change, text := range map[string]string{
		`INSERT INTO schema_version (version, applied_at) VALUES (9999, 0)`: "the database has schema 9999, and this kith knows ",
		`INSERT INTO schema_version (version, applied_at) VALUES (160, 0)`:  "the database was made by an unreleased version of kith (schema ",
	} {
		_, err := db.Exec(change)
		require.NoError(t, err)
		edge := s.command(t, "edge")
		out, err := edge.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), text)
		_, err = db.Exec(`DELETE FROM schema_version WHERE applied_at = 0`)
		require.NoError(t, err)
	}
}
