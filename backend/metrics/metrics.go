// Package metrics makes what the service does visible: metrics in the form of
// Prometheus, and an id for every request that is in its answer, in the log and
// in the hop from edge to backend. It decides nothing and knows no rule.
package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"kith/core"
)

// Observer counts and times requests. It is safe for concurrent use.
type Observer struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	work     *prometheus.CounterVec
	log      *slog.Logger
	newID    func() string
}

// buckets are the upper bounds in seconds by which requests are counted: the
// edge answers in less than a millisecond, an upload may take its minute.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}

// New returns an observer. newID makes request ids; log gets a line for each
// request at the level debug.
func New(newID func() string, log *slog.Logger) *Observer {
	o := &Observer{
		registry: prometheus.NewRegistry(), log: log, newID: newID,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kith_requests_total", Help: "Requests by part (edge, backend), route, method and status.",
		}, []string{"part", "route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kith_request_seconds", Help: "How long requests took, by part and route.", Buckets: buckets,
		}, []string{"part", "route"}),
	}
	o.work = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kith_work_total", Help: "What the workers of this process have done: rows of jobs, attempts to deliver webhooks, payment gateways, by work, kind and outcome.",
	}, []string{"work", "kind", "outcome"})
	o.registry.MustRegister(o.requests, o.seconds, o.work, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return o
}

// Register adds further metrics; one that is there already is a mistake of the
// program and panics.
func (o *Observer) Register(c ...prometheus.Collector) { o.registry.MustRegister(c...) }

// Did counts work of some kind that went some way. With 0 the count is there
// before the first of it is done, as Prometheus wants it.
func (o *Observer) Did(work, kind, outcome string, n int64) {
	o.work.WithLabelValues(work, kind, outcome).Add(float64(n))
}

// Handler serves the metrics.
func (o *Observer) Handler() http.Handler {
	return promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(o.log.Handler(), slog.LevelError)})
}

// Requests counts, times and names the requests of a part. A request keeps the
// id that it brings, when that is one (1 to 64 letters, digits, "-", "_", "."),
// and gets a new one otherwise; the answer bears it. route names the route of a
// request for the metrics, so it must be one of few. The log has the route, not the
// path: paths have ids of users, and codes.
func (o *Observer) Requests(part string, route func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := r.Header.Get(core.RequestIDHeader)
		if !core.ValidRequestID(id) {
			id = o.newID()
			r.Header.Set(core.RequestIDHeader, id)
		}
		answer := &recorder{ResponseWriter: w, id: id, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		took, to := time.Since(began), route(r)
		o.seconds.WithLabelValues(part, to).Observe(took.Seconds())
		o.requests.WithLabelValues(part, to, method(r.Method), strconv.Itoa(answer.status)).Inc()
		o.log.DebugContext(r.Context(), "request", "part", part, "id", id,
			"method", r.Method, "route", to, "status", answer.status, "took", took)
	})
}

// method keeps the label to the methods there are: a client may send any word.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// recorder remembers the status of an answer, and gives it the id.
type recorder struct {
	http.ResponseWriter
	id     string
	status int
	wrote  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote && status >= 200 {
		r.status, r.wrote = status, true
		r.Header().Set(core.RequestIDHeader, r.id)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if !r.wrote {
		r.WriteHeader(http.StatusOK)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach what is below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
