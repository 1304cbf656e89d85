// Package tracetest has an OpenTelemetry collector for tests.
package tracetest

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Collector accepts spans as a collector does, and decodes them strictly with the types
// that are generated from the protocol.
type Collector struct {
	URL string
	// Answer, if not nil, answers in place of the collector. It is set before the first
	// request.
	Answer http.HandlerFunc

	mu       sync.Mutex
	spans    []Span
	problems []error
}

// Span is a span that arrived.
type Span struct {
	Service, TraceID, ID, Parent, Name, Kind string
	Failed                                   bool
	Attributes                               map[string]string
	// Header has the headers of the request with which it arrived.
	Header http.Header
}

// Start starts a collector, which stops at the end of the test. The test fails if a request
// was not valid.
func Start(t testing.TB) *Collector {
	c := &Collector{}
	server := httptest.NewServer(c)
	c.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, err := range c.problems {
			t.Error(err)
		}
	})
	return c
}

// Spans returns the spans that have arrived.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.Answer != nil {
		c.Answer(w, r)
		return
	}
	spans, err := read(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.problems = append(c.problems, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.spans = append(c.spans, spans...)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

func read(r *http.Request) (all []Span, err error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		return nil, fmt.Errorf("not a request of OTLP: %s %s %q", r.Method, r.URL, r.Header)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var request collector.ExportTraceServiceRequest
	if err := (protojson.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("%w in %s", err, body)
	}
	for _, from := range request.ResourceSpans {
		service := values(from.Resource.Attributes)["service.name"]
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				if s.StartTimeUnixNano == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano {
					return nil, fmt.Errorf("the times of %s: %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
				}
				all = append(all, Span{
					Service: service, TraceID: hex(s.TraceId), ID: hex(s.SpanId), Parent: hex(s.ParentSpanId), Name: s.Name, Kind: s.Kind.String(),
					Failed: s.Status.GetCode() == 2, Attributes: values(s.Attributes), Header: r.Header,
				})
			}
		}
	}
	return all, nil
}

// hex returns an id as it was sent. OTLP has ids in hex, which the general JSON form of
// protocol buffers reads as base64; so it is written as base64 again.
func hex(id []byte) string { return base64.StdEncoding.EncodeToString(id) }

func values(all []*resource.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *resource.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *resource.AnyValue_IntValue:
			out[a.Key] = fmt.Sprint(v.IntValue)
		default:
			out[a.Key] = fmt.Sprintf("%T", v)
		}
	}
	return out
}
