package trace

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	otel "go.opentelemetry.io/otel/trace"

	"kith/core"
)

// Requests makes a span of each request. If trusted reports that a request comes from a
// part of the installation, its span belongs to the trace that the request names
// (traceparent), whose sampled flag counts. Any other request begins a new trace, so that
// a stranger cannot have requests sampled. route is as in metrics.Observer.Requests, and
// the id of the request is in its header.
func (t *Tracer) Requests(route func(*http.Request) string, trusted func(*http.Request) bool, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if trusted(r) {
			ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
		}
		to, method := route(r), method(r.Method)
		ctx, span := t.tracer.Start(ctx, method+" "+to, otel.WithSpanKind(otel.SpanKindServer))
		defer span.End()
		r = r.WithContext(ctx)
		if !span.IsRecording() {
			next.ServeHTTP(w, r)
			return
		}
		span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", to),
			attribute.String("kith.request_id", r.Header.Get(core.RequestIDHeader)))
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		answered(span, answer.status, http.StatusInternalServerError)
	})
}

// answered adds the status of a response to a span. From failure on, the span has failed.
func answered(span otel.Span, status, failure int) {
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= failure {
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
		span.SetStatus(codes.Error, "")
	}
}

// method bounds the values of the method: a client may send any word.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "_OTHER"
}

// recorder records the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	wrote  bool
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if !r.wrote && status >= 200 {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Transport makes a span of each request to another part of the installation, which gets
// the trace in traceparent. Without a span in its context a request is sent as it is.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	return t.transport(next, func(ctx context.Context, r *http.Request) *http.Request {
		if !otel.SpanContextFromContext(ctx).IsValid() {
			return r
		}
		r = r.Clone(ctx)
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
		return r
	})
}

// Outgoing makes a span of each request to a stranger, who gets no traceparent. A request
// without a span in its context begins a trace.
func (t *Tracer) Outgoing(next http.RoundTripper) http.RoundTripper {
	return t.transport(next, func(_ context.Context, r *http.Request) *http.Request { return r })
}

func (t *Tracer) transport(next http.RoundTripper, prepare func(context.Context, *http.Request) *http.Request) http.RoundTripper {
	if t == nil {
		return next
	}
	return &transport{next, t.tracer, prepare}
}

type transport struct {
	http.RoundTripper
	tracer  otel.Tracer
	prepare func(context.Context, *http.Request) *http.Request
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(r.Context(), method(r.Method), otel.WithSpanKind(otel.SpanKindClient))
	defer span.End()
	response, err := t.RoundTripper.RoundTrip(t.prepare(ctx, r))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("http.request.method", method(r.Method)), attribute.String("server.address", r.URL.Hostname()))
		if port, err := strconv.Atoi(r.URL.Port()); err == nil {
			span.SetAttributes(attribute.Int("server.port", port))
		}
		if err != nil {
			fail(span, err)
		} else {
			answered(span, response.StatusCode, http.StatusBadRequest)
		}
	}
	return response, err
}

// CloseIdleConnections closes those of the wrapped transport.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
