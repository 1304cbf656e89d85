package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// promtool runs Prometheus' own tool in a folder.
func promtool(t testing.TB, folder string, args ...string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin/tools/promtool"))
	require.NoError(t, err)
	command := exec.Command(path, args...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s; make test builds promtool", args, out)
}

// The alerts are valid, fire where they must, and only there.
func TestPrometheus_Alerts(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "deploy/prometheus")
	promtool(t, folder, "check", "rules", "--lint-fatal", "kith.rules.yml")
	promtool(t, folder, "test", "rules", "kith.test.yml")
}

// scraped are the metrics of a process at two times, as series of a test of promtool: the
// first values for two minutes, then the second ones.
func scraped(instance string, first, second string) (series []string) {
	line := regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	before := map[string]string{}
	for _, m := range line.FindAllStringSubmatch(first, -1) {
		before[m[1]+m[2]] = m[3]
	}
	for _, m := range line.FindAllStringSubmatch(second, -1) {
		was := before[m[1]+m[2]]
		if was == "" {
			was = "_" // a series that began meanwhile
		}
		labels := strings.TrimPrefix(m[2]+`,job="kith",instance="`+instance+`"`, ",")
		series = append(series, fmt.Sprintf(`{"series": %q, "values": "%s %s %s %s %s"}`, m[1]+"{"+labels+"}", was, was, m[3], m[3], m[3]))
	}
	return series
}

// Each query of the dashboard has data of a real fleet, evaluated by Prometheus: of one that
// answered requests, with all kinds of errors, ran an import and lost a replica.
func TestPrometheus_DashboardHasData(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 2})
	s := newSite(t)
	s.backendDatabase, s.edgeDatabase = cluster.PrimaryURL(), cluster.Replicas[0].URL()
	s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	edgeOps, backendOps := freeAddr(t), freeAddr(t)
	backend := s.serve(t, "KITH_OPS_ADDR="+backendOps)
	s.serveEdge(t, "KITH_OPS_ADDR="+edgeOps, "KITH_DATABASE_FALLBACK_URL="+cluster.Replicas[1].URL(), "KITH_TRUSTED_PROXIES=127.0.0.1", "KITH_RATE_LIMIT=2", "KITH_READ_TIMEOUT=2s")
	scrape := func(ops string) string { return mustCall(t, http.StatusOK, "GET", "http://"+ops+"/metrics", "").body }
	// work causes what the dashboard shows; it is done before each scrape, since a rate needs
	// two values.
	work := func(round string) {
		s.identify(t, s.edge, "demo", "anna", `{"referralCode":"ANNA10"}`)
		for _, status := range []int{http.StatusOK, http.StatusConflict} {
			a, err := s.sendEvents(s.edge, "demo", "anna", `{"idempotencyKey":"order-000`+round+`","events":[{"key":"visit"}]}`)
			require.NoError(t, err)
			require.Equal(t, status, a.status, a.body)
		}
		stranger := "X-Forwarded-For: 8.8.4." + round
		eventually(t, http.StatusTooManyRequests, "GET", s.edge+"/api/v1/demo/code/NOBODY", "", "Authorization: Basic eDp4", stranger)
		s.ended(t, s.beginJob(t, "MUTATION/USER", "users.csv", "accountId,id\na,a\n"))
		cluster.WaitForSync(t)
		mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "")
	}
	work("1")
	awaitMetric(t, backendOps, `kith_work_total{kind="MUTATION/USER",outcome="done",work="job_rows"}`, func(n float64) bool { return n == 1 })
	awaitMetric(t, edgeOps, "kith_replica_lag_seconds", func(lag float64) bool { return lag >= 0 })
	edgeWas, backendWas := scrape(edgeOps), scrape(backendOps)
	work("2")
	backendIs := scrape(backendOps)
	cluster.Replicas[0].Kill(t)
	mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "")
	backend.kill()
	mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/api/v1/demo/users", "", s.auth("demo"))
	awaitMetric(t, edgeOps, `kith_requests_total{method="GET",part="edge",route="/api/v1/",status="503"}`, func(n float64) bool { return n > 0 })
	series := append(scraped("edge", edgeWas, scrape(edgeOps)), scraped("backend", backendWas, backendIs)...)

	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	text, err := os.ReadFile(filepath.Join(root, "backend/metrics/grafana.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &board))
	var queries []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)
			queries = append(queries, fmt.Sprintf(`{"expr": %q, "eval_time": "4m", "exp_samples": [{"labels": "{}", "value": 1}]}`, "count("+expr+") > bool 0"))
		}
	}
	require.Greater(t, len(queries), 10)
	folder := t.TempDir()
	// JSON is YAML.
	test := `{"evaluation_interval": "1m", "tests": [{"interval": "1m", "input_series": [` + strings.Join(series, ",\n") + `], "promql_expr_test": [` + strings.Join(queries, ",\n") + `]}]}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, "board.test.yml"), []byte(test), 0o600))
	promtool(t, folder, "test", "rules", "board.test.yml")
}
