package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/backend/trace/tracetest"
)

// spansOf waits until the trace of a request has as many spans with each name as wanted, or
// more, and returns its spans by service and name. All belong to one trace.
func spansOf(t *testing.T, c *tracetest.Collector, id string, names ...string) map[string]tracetest.Span {
	t.Helper()
	var found map[string]tracetest.Span
	await(t, func() error {
		all := c.Spans()
		first := slices.IndexFunc(all, func(s tracetest.Span) bool { return s.Attributes["kith.request_id"] == id })
		if first < 0 {
			return fmt.Errorf("no span has the request id %s", id)
		}
		found = map[string]tracetest.Span{}
		for _, s := range all {
			if s.TraceID == all[first].TraceID {
				found[s.Service+" "+s.Name] = s
			}
		}
		for _, name := range names {
			if _, ok := found[name]; !ok {
				return fmt.Errorf("the trace has no span %q, but %q", name, slices.Sorted(maps.Keys(found)))
			}
		}
		return nil
	})
	return found
}

// A request is one trace over edge, backend and database, with the edge's decision which
// requests are sampled. No span has data of people.
func TestTraces_Fleet(t *testing.T) {
	t.Parallel()
	collector := tracetest.Start(t)
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1, Auth: true})
	s := newSite(t)
	s.backendDatabase, s.edgeDatabase, s.databaseToken = cluster.PrimaryURL(), cluster.Replicas[0].URL(), cluster.Token()
	tenant := alias(t, s, "traced")
	send := "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL
	backend := s.serve(t, send)
	edge := s.serveEdge(t, send, "OTEL_TRACES_SAMPLER=always_on", "OTEL_SERVICE_NAME=front")
	user := "/api/v1/" + tenant + "/open/account/anna/user/anna"

	// A forwarded call.
	mustCall(t, http.StatusOK, "PUT", s.edge+user+"?secret=SECRET", `{"email":"anna@shop.example","referralCode":"ANNA10"}`, s.auth(tenant), "X-Request-Id: forwarded")
	const route = "/api/v1/{tenant}/open/account/{account}/user/{user}"
	spans := spansOf(t, collector, "forwarded", "front PUT /api/v1/", "front PUT", "kith-backend PUT "+route, "kith-backend BEGIN", "kith-backend COMMIT")
	front, call, behind := spans["front PUT /api/v1/"], spans["front PUT"], spans["kith-backend PUT "+route]
	require.Equal(t, []string{"", front.ID, call.ID, behind.ID}, []string{front.Parent, call.Parent, behind.Parent, spans["kith-backend COMMIT"].Parent})
	require.Equal(t, map[string]string{"http.request.method": "PUT", "http.route": route, "http.response.status_code": "200", "kith.request_id": "forwarded"}, behind.Attributes)
	begin := spans["kith-backend BEGIN"]
	require.Equal(t, map[string]string{"db.system.name": "sqlite", "db.query.text": "BEGIN IMMEDIATE"}, begin.Attributes)
	require.Equal(t, behind.ID, begin.Parent)
	require.Equal(t, "SPAN_KIND_CLIENT", begin.Kind)
	cluster.WaitForSync(t)

	// A share link and an event call, which the edge answers by itself.
	mustCall(t, http.StatusFound, "GET", s.edge+"/s/"+tenant+"/ANNA10", "", "X-Request-Id: link")
	spans = spansOf(t, collector, "link", "front GET /s/", "front SELECT")
	require.Equal(t, spans["front GET /s/"].ID, spans["front SELECT"].Parent)
	require.Contains(t, spans["front SELECT"].Attributes["db.query.text"], "FROM")
	mustCall(t, http.StatusOK, "POST", s.edge+user+"/events", `{"events":[{"key":"visit"}]}`, s.auth(tenant), "X-Request-Id: event")
	spans = spansOf(t, collector, "event", "front POST /api/v1/", "front INSERT")
	require.Equal(t, spans["front POST /api/v1/"].ID, spans["front INSERT"].Parent)

	edge.stop(t)
	backend.stop(t)
	for _, span := range collector.Spans() {
		text := strings.ToLower(fmt.Sprint(span.Name, span.Attributes))
		for _, secret := range []string{"anna", "secret", tenant, s.keys[tenant], "127.0.0.1:"} {
			require.NotContains(t, text, strings.ToLower(secret))
		}
	}
}

// By default only trusted proxies have requests traced: the traceparent of a stranger has no
// effect, at the edge and at the backend.
func TestTraces_SampledByTrustedProxies(t *testing.T) {
	t.Parallel()
	const parent = "0123456789abcdef0123456789abcdef"
	sampled := "Traceparent: 00-" + parent + "-0123456789abcdef-01"
	for trusted, want := range map[string]int{"": 0, "127.0.0.1": 3} {
		collector := tracetest.Start(t)
		s := newSite(t)
		dev := s.dev(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "KITH_TRUSTED_PROXIES="+trusted)
		for _, base := range []string{s.edge, s.backend} {
			mustCall(t, http.StatusOK, "PUT", base+"/api/v1/demo/open/account/anna/user/anna", `{"referralCode":"ANNA10"}`, s.auth("demo"), sampled)
		}
		mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "")
		dev.stop(t)
		spans := slices.DeleteFunc(collector.Spans(), func(s tracetest.Span) bool { return s.Kind != "SPAN_KIND_SERVER" })
		require.Len(t, spans, want)
		for _, span := range spans {
			require.Equal(t, parent, span.TraceID)
		}
	}
}

// An edge without traces forwards no traceparent, which the backend would believe.
func TestTraces_OfBackendOnly(t *testing.T) {
	t.Parallel()
	collector := tracetest.Start(t)
	s := demoSite(t)
	backend := s.serve(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	s.serveEdge(t)
	mustCall(t, http.StatusOK, "PUT", s.edge+"/api/v1/demo/open/account/anna/user/anna", `{}`, s.auth("demo"), "Traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	backend.stop(t)
	require.Empty(t, collector.Spans())
}

// A collector that hangs delays no call. Its spans are dropped and counted, and one line is
// logged.
func TestTraces_CollectorHangs(t *testing.T) {
	t.Parallel()
	collector := tracetest.Start(t)
	collector.Answer = func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	s := demoSite(t)
	s.serve(t)
	edge, ops := s.opsEdge(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_TRACES_SAMPLER=always_on")
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	dropped := regexp.MustCompile(`(?m)^kith_trace_spans_dropped_total (\S+)$`)
	began := time.Now()
	await(t, func() error {
		for range 200 {
			mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "")
		}
		m := dropped.FindStringSubmatch(mustCall(t, http.StatusOK, "GET", ops+"/metrics", "").body)
		require.NotNil(t, m)
		if n, err := strconv.ParseFloat(m[1], 64); err != nil || n == 0 {
			return errors.New("no span was dropped")
		}
		return nil
	})
	t.Logf("dropped after %s", time.Since(began))
	edge.waitLog(t, "spans are dropped: the collector does not accept them")
	edge.stop(t)
	require.Equal(t, 1, strings.Count(edge.log(t), "spans are dropped"))
}
