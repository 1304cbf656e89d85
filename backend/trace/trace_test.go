package trace_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
	"kith/backend/trace"
	"kith/backend/trace/tracetest"
)

// logged collects log lines.
type logged struct{ testenv.Log }

func (l *logged) count(text string) int { return strings.Count(l.String(), text) }

func newTracer(t testing.TB, c trace.Config) *trace.Tracer {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	tracer, err := trace.New(c)
	require.NoError(t, err)
	require.NotNil(t, tracer)
	return tracer
}

func everybody(*http.Request) bool { return true }
func nobody(*http.Request) bool    { return false }

func route(*http.Request) string { return "/s/{code}" }

// serve starts a server whose requests are traced.
func serve(t *testing.T, tracer *trace.Tracer, trusted func(*http.Request) bool, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(tracer.Requests(route, trusted, handle))
	t.Cleanup(server.Close)
	return server.URL
}

func get(t *testing.T, url string, headers ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
}

type connection struct{ err error }

func (c connection) Query(context.Context, []byte, []any) ([]string, []any, error) {
	return []string{"n"}, []any{int64(1)}, c.err
}
func (connection) Writes(context.Context, []byte) (bool, error) { return false, nil }
func (connection) Close() error                                 { return nil }

type database struct{ connection }

func (d database) Connect() trace.Connection { return d.connection }
func (database) Begin()                      {}
func (database) End()                        {}

// A request that passes two parts and a database is one trace, whose spans have the
// listed attributes and no others.
func TestTracer_OneTrace(t *testing.T) {
	collector := tracetest.Start(t)
	edge := newTracer(t, trace.Config{Endpoint: collector.URL + "/", Headers: "authorization=Bearer%20abc, x-tenant=1", Sampler: "always_on", Service: "kith-edge"})
	backend := newTracer(t, trace.Config{Endpoint: collector.URL, Sampler: "parentbased_always_off", Service: "kith-backend"})
	lookUp := []byte("  select *\nFROM code WHERE tenant = ?1 " + strings.Repeat("x", 2000))
	failing := edge.Database(database{connection{errors.New("UNIQUE: anna@shop.example")}}).Connect()
	behind := serve(t, backend, everybody, func(w http.ResponseWriter, r *http.Request) {
		backend.Statement(r.Context(), "flush", "")(nil)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	client := &http.Client{Transport: edge.Transport(http.DefaultTransport)}
	front := serve(t, edge, nobody, func(w http.ResponseWriter, r *http.Request) {
		_, _, err := failing.Query(r.Context(), lookUp, []any{"shop"})
		require.Error(t, err)
		next, err := http.NewRequestWithContext(r.Context(), http.MethodGet, behind+"/secret?code=SECRET", nil)
		require.NoError(t, err)
		response, err := client.Do(next)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Empty(t, next.Header, "a transport does not change its request")
	})
	get(t, front+"/s/SECRET?email=SECRET", "X-Request-Id", "id-1", "Cookie", "SECRET")
	edge.Close()
	backend.Close()

	spans := map[string]tracetest.Span{}
	for _, s := range collector.Spans() {
		spans[s.Service+" "+s.Name+" "+s.Kind] = s
		require.NotContains(t, strings.Join(slices.Collect(maps.Values(s.Attributes)), " "), "SECRET")
		require.NotContains(t, strings.Join(slices.Collect(maps.Values(s.Attributes)), " "), "anna")
	}
	server := spans["kith-edge GET /s/{code} SPAN_KIND_SERVER"]
	statement := spans["kith-edge SELECT SPAN_KIND_CLIENT"]
	call := spans["kith-edge GET SPAN_KIND_CLIENT"]
	behindServer := spans["kith-backend GET /s/{code} SPAN_KIND_SERVER"]
	flush := spans["kith-backend flush SPAN_KIND_INTERNAL"]
	require.Len(t, spans, 5)
	require.Len(t, server.TraceID, 32)
	require.Len(t, server.ID, 16)
	require.Empty(t, server.Parent)
	for child, parent := range map[*tracetest.Span]tracetest.Span{&statement: server, &call: server, &behindServer: call, &flush: behindServer} {
		require.Equal(t, parent.ID, child.Parent, child.Name)
		require.Equal(t, server.TraceID, child.TraceID, child.Name)
	}
	require.Equal(t, map[string]string{"http.request.method": "GET", "http.route": "/s/{code}", "kith.request_id": "id-1", "http.response.status_code": "200"}, server.Attributes)
	require.Equal(t, map[string]string{"db.system.name": "sqlite", "db.query.text": string(lookUp[:1024]), "error.type": "_OTHER"}, statement.Attributes)
	require.Equal(t, "503", call.Attributes["error.type"])
	require.Equal(t, []string{"error.type", "http.request.method", "http.response.status_code", "server.address", "server.port"}, slices.Sorted(maps.Keys(call.Attributes)))
	require.Empty(t, flush.Attributes)
	require.Equal(t, []bool{false, true, true, true, false}, []bool{server.Failed, statement.Failed, call.Failed, behindServer.Failed, flush.Failed})
	require.Equal(t, "Bearer abc", server.Header.Get("Authorization"))
	require.Equal(t, "1", server.Header.Get("X-Tenant"))
}

const (
	parentTrace = "0123456789abcdef0123456789abcdef"
	sampled     = "00-" + parentTrace + "-0123456789abcdef-01"
	unsampled   = "00-" + parentTrace + "-0123456789abcdef-00"
)

// Whether a request is sampled: a stranger's traceparent has no effect.
func TestTracer_Sampling(t *testing.T) {
	for _, test := range []struct {
		sampler     string
		ratio       float64
		trusted     func(*http.Request) bool
		traceparent string
		// want is the trace of the span: "" none, "new", or "parent".
		want string
	}{
		{"parentbased_always_off", 1, nobody, "", ""},
		{"parentbased_always_off", 1, nobody, sampled, ""},
		{"parentbased_always_off", 1, everybody, sampled, "parent"},
		{"parentbased_always_off", 1, everybody, unsampled, ""},
		{"parentbased_always_off", 1, everybody, "00-zz-1-01", ""},
		{"parentbased_always_on", 1, everybody, unsampled, ""},
		{"parentbased_always_on", 1, nobody, unsampled, "new"},
		{"parentbased_always_on", 1, nobody, sampled, "new"},
		{"parentbased_traceidratio", 0, nobody, sampled, ""},
		{"parentbased_traceidratio", 0, everybody, sampled, "parent"},
		{"parentbased_traceidratio", 1, nobody, "", "new"},
		{"traceidratio", 0, everybody, sampled, ""},
		{"always_off", 1, everybody, sampled, ""},
		{"always_on", 1, everybody, unsampled, "parent"},
	} {
		collector := tracetest.Start(t)
		tracer := newTracer(t, trace.Config{Endpoint: collector.URL, Sampler: test.sampler, Ratio: test.ratio})
		var passed string
		front := serve(t, tracer, test.trusted, func(_ http.ResponseWriter, r *http.Request) {
			next, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://backend.test", nil)
			require.NoError(t, err)
			_, err = tracer.Transport(roundTripper(func(r *http.Request) { passed = r.Header.Get("Traceparent") })).RoundTrip(next)
			require.Error(t, err)
		})
		get(t, front, "Traceparent", test.traceparent)
		tracer.Close()
		got := ""
		if spans := collector.Spans(); len(spans) > 0 {
			require.Len(t, spans, 2)
			got = "new"
			if spans[0].TraceID == parentTrace {
				got = "parent"
			}
		}
		require.Equal(t, test.want, got, "%+v", test)
		// The next part learns the decision, and makes none of its own.
		require.True(t, strings.HasSuffix(passed, map[bool]string{true: "-01", false: "-00"}[got != ""]), "%+v: %s", test, passed)
	}
}

type roundTripper func(*http.Request)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, context.DeadlineExceeded
}

// A stranger's server gets no traceparent; a request without a parent begins a trace.
func TestTracer_Outgoing(t *testing.T) {
	collector := tracetest.Start(t)
	tracer := newTracer(t, trace.Config{Endpoint: collector.URL, Sampler: "always_on"})
	r := httptest.NewRequest(http.MethodPost, "https://shop.example/hook?key=SECRET", nil)
	_, err := tracer.Outgoing(roundTripper(func(r *http.Request) { require.Empty(t, r.Header) })).RoundTrip(r)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	tracer.Close()
	spans := collector.Spans()
	require.Len(t, spans, 1)
	require.Equal(t, map[string]string{"http.request.method": "POST", "server.address": "shop.example", "error.type": "timeout"}, spans[0].Attributes)
}

// A collector that is away, hangs or fails delays no request: its spans are dropped and
// counted, and one line is logged.
func TestTracer_CollectorFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"away":  nil,
		"hangs": nil,
		"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"redirects": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"rejects": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"999999","errorMessage":"no"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := tracetest.Start(t)
			collector.Answer = answer
			log := &logged{}
			c := trace.Config{Endpoint: collector.URL, Sampler: "always_on", Log: slog.New(slog.NewTextHandler(log, nil))}
			if name == "away" {
				c.Endpoint = "http://127.0.0.1:1"
			}
			if name == "hangs" {
				c.ExportTimeout = time.Hour // a request or Close that waits for the collector does not end
				collector.Answer = func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					<-t.Context().Done()
				}
			}
			tracer := newTracer(t, c)
			handler := tracer.Requests(route, nobody, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			const requests = 5000
			for range requests {
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/s/A", nil))
			}
			if name == "hangs" {
				require.GreaterOrEqual(t, tracer.Dropped(), int64(requests-2048), "more than the queue waits")
			}
			tracer.Close()
			if name != "hangs" {
				require.Equal(t, int64(requests), tracer.Dropped())
			}
			want := 1
			if name == "hangs" || name == "rejects" {
				want = 0 // Close has not waited; a collector that rejects spans has accepted the request
			}
			require.Equal(t, want, log.count("level=WARN"))
		})
	}
}

// A collector that answers again gets spans again, and one line says so.
func TestTracer_CollectorComesBack(t *testing.T) {
	t.Parallel()
	collector := tracetest.Start(t)
	var mu sync.Mutex
	away, asked := true, 0
	back := &tracetest.Collector{}
	collector.Answer = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		back.ServeHTTP(w, r)
	}
	log := &logged{}
	tracer := newTracer(t, trace.Config{Endpoint: collector.URL, Sampler: "always_on", Log: slog.New(slog.NewTextHandler(log, nil))})
	handler := tracer.Requests(route, nobody, http.NotFoundHandler())
	request := func() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/s/A", nil))
	}
	for n := 1; n <= 2; n++ {
		request()
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return asked == n }, time.Minute, time.Millisecond)
	}
	mu.Lock()
	away = false
	mu.Unlock()
	request()
	require.Eventually(t, func() bool { return len(back.Spans()) == 1 }, time.Minute, time.Millisecond)
	tracer.Close()
	require.Equal(t, int64(2), tracer.Dropped())
	require.Equal(t, []int{1, 1}, []int{log.count("level=WARN"), log.count("level=INFO")})
}

func TestNew_RefusesSettings(t *testing.T) {
	valid := trace.Config{Endpoint: "http://127.0.0.1:4318", Sampler: "always_on"}
	for want, change := range map[string]func(*trace.Config){
		"trace-endpoint: must be the http or https URL of a collector, such as http://127.0.0.1:4318": func(c *trace.Config) { c.Endpoint = "127.0.0.1:4318" },
		"trace-ratio: must be from 0 to 1, such as 0.01 for 1 % of the requests":                      func(c *trace.Config) { c.Ratio = 1.5 },
		`trace-sampler: "xray" is unknown; give one of ` + trace.Samplers:                             func(c *trace.Config) { c.Sampler = "xray" },
		"trace-headers: must be NAME=VALUE,... with percent-encoded values, such as authorization=Bearer%20token": func(c *trace.Config) {
			c.Headers = "a=%0a"
		},
		"trace-endpoint: must have a port of at most 65535": func(c *trace.Config) { c.Endpoint = "http://127.0.0.1:65536" },
	} {
		c := valid
		change(&c)
		_, err := trace.New(c)
		require.EqualError(t, err, want)
	}
	off, err := trace.New(trace.Config{Sampler: "xray"})
	require.NoError(t, err)
	require.Nil(t, off, "without an endpoint nothing is traced")
}
