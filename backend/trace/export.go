package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"kith/core"
)

// exporter posts spans to a collector in the JSON encoding of OTLP
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). It sends each batch
// once; what the collector does not accept is dropped.
type exporter struct {
	url     string
	headers map[string]string
	client  *http.Client
	queue   *boundedQueue
	log     *slog.Logger
	// failing is true since a batch failed, until one succeeds.
	failing atomic.Bool
}

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

func newExporter(c Config) (*exporter, error) {
	to, err := url.Parse(c.Endpoint)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, errors.New("trace-endpoint: must be the http or https URL of a collector, such as http://127.0.0.1:4318")
	}
	if !core.ValidPort(to.Port()) {
		return nil, errors.New("trace-endpoint: must have a port of at most 65535")
	}
	to.Path = strings.TrimSuffix(to.Path, "/") + "/v1/traces"
	headers, err := parseHeaders(c.Headers)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: c.ExportTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// Another server would get the headers.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &exporter{url: to.String(), headers: headers, client: client, queue: &boundedQueue{}, log: c.Log}, nil
}

// ExportSpans implements sdk.SpanExporter. It logs the first failure and the first success
// after it, and returns no error: the SDK would only log it again.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	defer e.queue.waiting.Add(-int64(len(spans)))
	rejected, err := e.post(ctx, spans)
	if err != nil {
		rejected = int64(len(spans))
	}
	e.queue.dropped.Add(rejected)
	switch failed := err != nil; {
	case e.failing.Swap(failed) == failed:
	case failed:
		e.log.Warn("spans are dropped: the collector does not accept them; trace-endpoint must be its address for OTLP over HTTP, by default port 4318", "error", err)
	default:
		e.log.Info("the collector accepts spans again")
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// post sends spans, and returns how many the collector rejected.
func (e *exporter) post(ctx context.Context, spans []sdk.ReadOnlySpan) (rejected int64, err error) {
	body, err := encode(spans)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range e.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", response.StatusCode)
	}
	var partly struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	_ = json.Unmarshal(answer, &partly) // the body may be empty
	rejected, _ = partly.PartialSuccess.RejectedSpans.Int64()
	return min(max(rejected, 0), int64(len(spans))), nil
}

// The types below are messages of opentelemetry/proto/trace/v1/trace.proto.
type (
	spanRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource struct {
			Attributes []keyValue `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		TraceState string     `json:"traceState,omitempty"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     status     `json:"status"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// encode returns the request body for spans of one tracer, which all have its resource and
// its scope.
func encode(spans []sdk.ReadOnlySpan) ([]byte, error) {
	var from resourceSpans
	from.Resource.Attributes = attributes(spans[0].Resource().Attributes())
	var all scopeSpans
	all.Scope.Name, all.Scope.Version = spans[0].InstrumentationScope().Name, spans[0].InstrumentationScope().Version
	for _, s := range spans {
		all.Spans = append(all.Spans, toSpan(s))
	}
	from.ScopeSpans = []scopeSpans{all}
	return json.Marshal(spanRequest{[]resourceSpans{from}})
}

// Bits of the flags of a span, beside those of W3C: whether it is known if the parent is
// of another process, and if so, whether it is.
const knowsRemote, isRemote = 0x100, 0x200

// toSpan converts a span. Kinds have the same numbers in the SDK and the protocol.
func toSpan(s sdk.ReadOnlySpan) span {
	own, parent := s.SpanContext(), s.Parent()
	out := span{
		TraceID: own.TraceID().String(), SpanID: own.SpanID().String(), TraceState: own.TraceState().String(),
		Flags: uint32(own.TraceFlags()) | knowsRemote, Name: s.Name(), Kind: int(s.SpanKind()),
		Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
		Attributes: attributes(s.Attributes()),
	}
	if parent.HasSpanID() {
		out.Parent = parent.SpanID().String()
	}
	if parent.IsRemote() {
		out.Flags |= isRemote
	}
	if s.Status().Code == codes.Error {
		out.Status.Code = 2
	}
	return out
}

func attributes(all []attribute.KeyValue) []keyValue {
	out := make([]keyValue, len(all))
	for i, a := range all {
		out[i] = keyValue{string(a.Key), map[string]any{"stringValue": a.Value.String()}}
		if a.Value.Type() == attribute.INT64 {
			// Integers of 64 bits are texts.
			out[i].Value = map[string]any{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		}
	}
	return out
}
