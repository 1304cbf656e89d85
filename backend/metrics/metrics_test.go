package metrics_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"kith/backend/metrics"
)

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Regexp(t, `^text/plain; version=0\.0\.4; charset=utf-8`, w.Header().Get("Content-Type"))
	return w.Body.String()
}

func observer() *metrics.Observer {
	return metrics.New(func() string { return "id" }, slog.New(slog.DiscardHandler))
}

// ours returns the lines about the metrics of Kith; they are all before those of the process.
func ours(text string) string {
	begin := strings.Index(text, "# HELP kith_")
	end := strings.Index(text, "# HELP process_")
	return text[begin:end]
}

// The text is, byte for byte, that of Prometheus' own client for the same values.
func TestHandler_WritesAsPrometheusClient(t *testing.T) {
	t.Parallel()
	o, registry := observer(), prometheus.NewRegistry()
	work := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kith_work_total", Help: "Work of this process: rows of jobs, webhook attempts, calls of payment gateways, messages of pipelines, sign-ins, by work, kind and outcome."}, []string{"work", "kind", "outcome"})
	registry.MustRegister(work, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, c := range []struct {
		work, kind, outcome string
		n                   int64
	}{{"webhook", "b", "ok", 0}, {"webhook", "a", "ok", 1_000_000}, {"call", "\"\\\n\xff", "failed", 7}, {"call", "ä", "failed", 123_456_789}, {"webhook", "a", "failed", 20}} {
		o.Did(c.work, c.kind, c.outcome, c.n)
		work.WithLabelValues(c.work, strings.ToValidUTF8(c.kind, "\uFFFD"), c.outcome).Add(float64(c.n))
	}
	values := map[string]float64{"b": 0.1, "a": -1e-7, "c": math.Inf(1), "d": math.NaN(), "e": 1e21, "": 5}
	help := "A help with \\ and\na \"line\"."
	o.Gauges(
		metrics.Gauge{Name: "kith_g", Help: help, Label: "replica", Read: func(context.Context) (map[string]float64, error) { return values, nil }},
		metrics.Gauge{Name: "kith_c", Help: "Bare.", Counts: true, Read: func(context.Context) (map[string]float64, error) { return map[string]float64{"": 3}, nil }},
		metrics.Gauge{Name: "kith_none", Help: "None.", Read: func(context.Context) (map[string]float64, error) { return nil, nil }},
		metrics.Gauge{Name: "kith_failed", Help: "Failed.", Read: func(context.Context) (map[string]float64, error) {
			return map[string]float64{"": 1}, errors.New("away")
		}})
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kith_g", Help: help}, []string{"replica"})
	for label, value := range values {
		g.WithLabelValues(label).Set(value)
	}
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "kith_c", Help: "Bare."})
	c.Add(3)
	registry.MustRegister(g, c)
	require.Equal(t, ours(scrape(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))), ours(scrape(t, o.Handler())))
}

// Requests are counted by route, method and status, and timed in cumulative buckets.
func TestRequests(t *testing.T) {
	t.Parallel()
	o := observer()
	handler := o.Requests("edge", func(r *http.Request) string { return "/" + r.URL.Path[1:2] }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "id", r.Header.Get("X-Request-Id"))
		w.WriteHeader(http.StatusTeapot)
	}))
	var running sync.WaitGroup
	for range 50 {
		running.Go(func() {
			for _, method := range []string{"GET", "BREW"} {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(method, "/abc", nil))
				require.Equal(t, "id", w.Header().Get("X-Request-Id"))
			}
		})
	}
	running.Wait()
	text := scrape(t, o.Handler())
	require.Contains(t, text, "# TYPE kith_requests_total counter\nkith_requests_total{method=\"GET\",part=\"edge\",route=\"/a\",status=\"418\"} 50\nkith_requests_total{method=\"other\",part=\"edge\",route=\"/a\",status=\"418\"} 50\n")
	require.Contains(t, text, "# TYPE kith_request_seconds histogram\nkith_request_seconds_bucket{part=\"edge\",route=\"/a\",le=\"0.0001\"} ")
	require.Contains(t, text, "kith_request_seconds_bucket{part=\"edge\",route=\"/a\",le=\"+Inf\"} 100\nkith_request_seconds_sum{part=\"edge\",route=\"/a\"} ")
	require.Contains(t, text, "kith_request_seconds_count{part=\"edge\",route=\"/a\"} 100\n")
	last := 0
	buckets := regexp.MustCompile(`(?m)^kith_request_seconds_bucket\{.*le="(.*)"\} (\d+)$`).FindAllStringSubmatch(text, -1)
	require.Len(t, buckets, 17)
	for _, b := range buckets {
		n, err := strconv.Atoi(b[2])
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, last, b[1])
		last = n
	}
}

// The metrics of the process and of Go have the names, kinds and labels of Prometheus' own
// client, except for the traffic of the network namespace, and the values that the test
// itself does not change.
func TestHandler_ProcessAsPrometheusClient(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	steady := regexp.MustCompile(`^go_(gc_g|info|sched|memstats_mcache)|^process_(virtual|max|start)`)
	samples := func(text string) map[string]float64 {
		all := map[string]float64{}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
			switch {
			case strings.HasPrefix(line, "# HELP"), strings.Contains(line, "process_network_"):
				continue
			case strings.HasPrefix(line, "# TYPE"):
				all[strings.TrimSpace(line)] = 0
				continue
			case value == "":
				name, value, _ = strings.Cut(strings.TrimSpace(line), " ")
			}
			n, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err, line)
			all[name] = n
		}
		return all
	}
	want := samples(scrape(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})))
	got := samples(scrape(t, observer().Handler()))
	for name, value := range want {
		require.Contains(t, got, name)
		switch {
		case steady.MatchString(name):
			require.InEpsilon(t, value, got[name], .2, name)
		case strings.HasSuffix(name, "_bytes"):
			require.InDelta(t, value, got[name], 16<<20, name)
		default:
			require.GreaterOrEqual(t, got[name], 0., name)
		}
	}
	for name := range got {
		require.Contains(t, want, name)
	}
}
