package trace_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/trace"
	"kith/backend/trace/tracetest"
)

// silent is a response without a reader.
type silent struct{}

func (silent) Header() http.Header         { return nil }
func (silent) Write(b []byte) (int, error) { return len(b), nil }
func (silent) WriteHeader(int)             {}

// shareLink returns a request as an edge handles that of a share link: a handler that reads
// a database once.
func shareLink(d trace.Database, wrap func(http.Handler) http.Handler) func() {
	read := []byte("SELECT 1")
	handler := wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _, _ = d.Connect().Query(r.Context(), read, nil)
	}))
	r := httptest.NewRequest(http.MethodGet, "/s/A", nil)
	return func() { handler.ServeHTTP(silent{}, r) }
}

func traced(tracer *trace.Tracer) func() {
	return shareLink(tracer.Database(database{}), func(h http.Handler) http.Handler { return tracer.Requests(route, nobody, h) })
}

func untraced() func() {
	return shareLink(database{}, func(h http.Handler) http.Handler { return h })
}

// Without a collector the traces of a share link cost nothing: no handler and no database is
// wrapped.
func TestTracer_OffAllocatesNothing(t *testing.T) {
	var off *trace.Tracer
	require.Equal(t, testing.AllocsPerRun(1000, untraced()), testing.AllocsPerRun(1000, traced(off)))
	require.Equal(t, database{}, off.Database(database{}))
	require.Same(t, http.DefaultTransport, off.Transport(http.DefaultTransport))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if off.Statement(t.Context(), "", "SELECT 1") != nil {
			t.Error("a span without a collector")
		}
	}))
}

// BenchmarkShareLink measures what traces add to a share link: "none" has no traces in its
// code, "off" is the default, and the others send to a collector.
func BenchmarkShareLink(b *testing.B) {
	collector := tracetest.Start(b)
	for _, kind := range []string{"none", "off", "always_off", "always_on"} {
		b.Run(kind, func(b *testing.B) {
			request := untraced()
			switch kind {
			case "off":
				request = traced(nil)
			case "always_off", "always_on":
				tracer := newTracer(b, trace.Config{Endpoint: collector.URL, Sampler: kind})
				defer tracer.Close()
				request = traced(tracer)
			}
			b.ReportAllocs()
			for b.Loop() {
				request()
			}
		})
	}
}
