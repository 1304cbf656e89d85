// Package metrics has the Prometheus metrics of the service, and gives each request an
// id. The id is in the answer, in the log, and in the request from edge to backend. This
// package has no rules of the program. It writes the text format by itself: Prometheus' own
// client, with which the tests compare it, links protobuf.
package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kith/core"
)

// Observer counts and times requests. It is safe for concurrent use.
type Observer struct {
	mu sync.Mutex
	// families are all metrics, those of Gauges included.
	families []family
	requests *series[atomic.Int64]
	seconds  *series[times]
	work     *series[atomic.Int64]
	log      *slog.Logger
	newID    func() string
}

// New returns an observer. newID makes request ids. Each request is logged to log at
// level debug.
func New(newID func() string, log *slog.Logger) *Observer {
	o := &Observer{
		log: log, newID: newID,
		requests: newSeries[atomic.Int64]("method", "part", "route", "status"),
		seconds:  newSeries[times]("part", "route"),
		work:     newSeries[atomic.Int64]("kind", "outcome", "work"),
	}
	o.families = append(process(),
		counts("kith_requests_total", "Requests by part (edge, backend), route, method and status.", o.requests),
		durations("kith_request_seconds", "Duration of requests in seconds, by part and route.", o.seconds),
		counts("kith_work_total", "Work of this process: rows of jobs, webhook attempts, calls of payment gateways, messages of pipelines, sign-ins, by work, kind and outcome.", o.work))
	return o
}

// Did counts n units of work of a kind with an outcome. With n = 0 it creates the
// series before the first unit, as Prometheus recommends.
func (o *Observer) Did(work, kind, outcome string, n int64) {
	o.work.of(key{kind, outcome, work}).Add(n)
}

// Requests counts and times the requests of a part, the edge or the backend. A request
// keeps the id in its header if that is valid (1 to 64 letters, digits, "-", "_", "."),
// and gets a new one otherwise; the answer has the same id. route returns the route of a
// request, which is a label of the metrics and must therefore have few values. The log
// has the route and not the path, since paths contain ids of users and codes.
func (o *Observer) Requests(part string, route func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := r.Header[requestIDHeader]
		if len(id) == 0 || !core.ValidRequestID(id[0]) {
			id = []string{o.newID()}
			r.Header[requestIDHeader] = id
		}
		answer := &recorder{ResponseWriter: w, id: id[:1:1], status: http.StatusOK}
		next.ServeHTTP(answer, r)
		took, to := time.Since(began), route(r)
		o.seconds.of(key{part, to}).observe(took.Seconds())
		o.requests.of(key{method(r.Method), part, to, strconv.Itoa(answer.status)}).Add(1)
		if o.log.Enabled(r.Context(), slog.LevelDebug) {
			o.log.DebugContext(r.Context(), "request", "part", part, "id", id[0],
				"method", r.Method, "route", to, "status", answer.status, "took", took)
		}
	})
}

// requestIDHeader is the name of core.RequestIDHeader as http.Header has it.
var requestIDHeader = http.CanonicalHeaderKey(core.RequestIDHeader)

// method bounds the values of the label: a client may send any word as method.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// recorder records the status of an answer, and adds the request id to it.
type recorder struct {
	http.ResponseWriter
	id     []string // one
	status int
	wrote  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote && status >= 200 {
		r.status, r.wrote = status, true
		r.Header()[requestIDHeader] = r.id
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if !r.wrote {
		r.WriteHeader(http.StatusOK)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
