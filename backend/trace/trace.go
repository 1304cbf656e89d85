// Package trace sends OpenTelemetry spans of requests, database statements and outgoing
// calls to a collector. It wraps handlers, transports and databases from outside; these
// know nothing of traces. Without a collector there is no Tracer, and nothing is wrapped.
//
// Spans have no data of people or tenants: no paths, queries, headers, bodies, addresses
// of clients, values of statements or texts of errors.
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"
)

// Limits of the spans that wait for the collector. A request never waits for it: a span
// that does not fit is dropped.
const (
	maxQueue      = 2048
	maxBatch      = 512
	maxText       = 1024
	batchDelay    = time.Second
	exportTimeout = 5 * time.Second
	closeTimeout  = 2 * time.Second
)

// Config has the settings of a Tracer.
type Config struct {
	// Endpoint is the URL of a collector that accepts OTLP over HTTP, without /v1/traces.
	// If it is empty, nothing is traced.
	Endpoint string
	// Headers are sent to the collector: names and percent-encoded values, such as
	// "authorization=Bearer%20token,x-tenant=1".
	Headers string
	// Sampler is one of the names of OTEL_TRACES_SAMPLER. Ratio is the share of new
	// traces that a sampler with traceidratio samples.
	Sampler string
	Ratio   float64
	// Service and Version are the name and version of the service in each span.
	Service, Version string
	// ExportTimeout limits each call of the collector. Default 5 s.
	ExportTimeout time.Duration
	Log           *slog.Logger
}

// Tracer makes spans, and sends the sampled ones. All methods of a nil Tracer do nothing:
// they return what they were given.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   otel.Tracer
	queue    *boundedQueue
}

// New returns a tracer, or nil if c has no endpoint.
func New(c Config) (*Tracer, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	sampler, err := c.sampler()
	if err != nil {
		return nil, err
	}
	if c.ExportTimeout == 0 {
		c.ExportTimeout = exportTimeout
	}
	to, err := newExporter(c)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	service, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", c.Service),
		attribute.String("service.version", c.Version), attribute.String("host.name", host)), resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("trace: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	to.queue.SpanProcessor = sdk.NewBatchSpanProcessor(to, sdk.WithMaxQueueSize(maxQueue), sdk.WithMaxExportBatchSize(maxBatch),
		sdk.WithBatchTimeout(batchDelay), sdk.WithExportTimeout(c.ExportTimeout))
	provider := sdk.NewTracerProvider(sdk.WithSampler(sampler), sdk.WithResource(service), sdk.WithSpanProcessor(to.queue))
	return &Tracer{provider: provider, tracer: provider.Tracer("kith", otel.WithInstrumentationVersion(c.Version)), queue: to.queue}, nil
}

// Samplers are the accepted names of samplers, separated by commas.
const Samplers = "always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio"

// sampler returns the sampler with the name that OpenTelemetry specifies.
func (c Config) sampler() (sdk.Sampler, error) {
	if !(c.Ratio >= 0 && c.Ratio <= 1) {
		return nil, errors.New("trace-ratio: must be from 0 to 1, such as 0.01 for 1 % of the requests")
	}
	name, ofParent := strings.CutPrefix(c.Sampler, "parentbased_")
	var root sdk.Sampler
	switch name {
	case "always_on":
		root = sdk.AlwaysSample()
	case "always_off":
		root = sdk.NeverSample()
	case "traceidratio":
		root = sdk.TraceIDRatioBased(c.Ratio)
	default:
		return nil, fmt.Errorf("trace-sampler: %q is unknown; give one of %s", c.Sampler, Samplers)
	}
	if ofParent {
		root = sdk.ParentBased(root)
	}
	return root, nil
}

// Close sends the spans that wait, for a limited time.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has logged its errors
}

// Dropped returns how many sampled spans were dropped.
func (t *Tracer) Dropped() int64 {
	if t == nil {
		return 0
	}
	return t.queue.dropped.Load()
}

// boundedQueue counts the spans that wait for the collector, and drops those that do not
// fit. The SDK's own queue, which drops spans without counting them, is never full.
type boundedQueue struct {
	sdk.SpanProcessor
	waiting, dropped atomic.Int64
}

// OnEnd implements sdk.SpanProcessor.
func (q *boundedQueue) OnEnd(s sdk.ReadOnlySpan) {
	if q.waiting.Add(1) > maxQueue {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// fail marks a span as failed. The text of an error may have values, so a span has only
// its class.
func fail(span otel.Span, err error) {
	if err == nil {
		return
	}
	class := "_OTHER"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		class = "timeout"
	case errors.Is(err, context.Canceled):
		class = "canceled"
	}
	span.SetAttributes(attribute.String("error.type", class))
	span.SetStatus(codes.Error, "")
}

// parseHeaders parses Config.Headers.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, errors.New("trace-headers: must be NAME=VALUE,... with percent-encoded values, such as authorization=Bearer%20token")
		}
		headers[name] = value
	}
	return headers, nil
}
