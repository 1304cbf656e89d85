package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/metrics"
	"kith/backend/store"
	"kith/core"
	"kith/core/job"
	"kith/wasm/host"
)

// opsFlags configure the server for operators.
type opsFlags struct {
	OpsAddr string `env:"KITH_OPS_ADDR" help:"Address that serves /metrics (Prometheus), /healthz and /readyz. Keep it private. Default: none." placeholder:"ADDR"`
}

// probe returns why a part of the service is not ready, or nil if it is.
type probe func(context.Context) error

// serveOps starts a server of metrics and probes, which stops when the context ends.
// Without an address it does nothing.
func (f opsFlags) serveOps(e *env, probes map[string]probe) error {
	if f.OpsAddr == "" {
		return nil
	}
	listener, err := listen(f.OpsAddr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.observer.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeProbe(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { writeProbe(w, failing(r.Context(), probes)) })
	go func() {
		if err := e.serveHTTP(listener, mux); err != nil {
			e.log.Error("the server of metrics and probes failed", "error", err)
		}
	}()
	e.log.Log(e.ctx, e.configLevel, "config", "part", "ops", "addr", listener.Addr().String())
	return nil
}

// probeTimeout limits the time of a probe.
const probeTimeout = 2 * time.Second

func failing(ctx context.Context, probes map[string]probe) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	why := map[string]string{}
	for part, ready := range probes {
		if err := ready(ctx); err != nil {
			why[part] = message(err)
		}
	}
	return why
}

func writeProbe(w http.ResponseWriter, failing map[string]string) {
	status, answer := http.StatusOK, map[string]any{"status": "ok"}
	if len(failing) > 0 {
		status, answer = http.StatusServiceUnavailable, map[string]any{"status": "unavailable", "failing": failing}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// observeBackend adds the metrics of a backend.
func observeBackend(e *env, engine *app.Engine) {
	e.observer.Gauges(metrics.Gauge{
		Name: "kith_backlog", Help: "What waits for the workers: event calls, webhook deliveries, jobs, notifications of gateways and refunds at them.", Label: "work",
		Read: engine.DB.Backlog,
	})
	engine.OnWork = e.observer.Did
	for _, outcome := range []string{base.OutcomeDone, base.OutcomeFailed} {
		for _, t := range job.Types() {
			engine.OnWork(base.WorkRows, string(t), outcome, 0)
		}
		engine.OnWork(base.WorkDelivery, "attempt", outcome, 0)
		for _, kind := range base.GatewayKinds() {
			engine.OnWork(base.WorkGateway, kind, outcome, 0)
		}
		for _, kind := range base.MessageKinds() {
			engine.OnWork(base.WorkMessage, kind, outcome, 0)
		}
	}
	engine.OnWork(base.WorkDelivery, "attempt", base.OutcomeLate, 0)
}

// observeEdge adds the metrics of an edge.
func observeEdge(e *env, loaded *host.Host, replicas *replicas) {
	e.observer.Gauges(replicas.gauges()...)
	e.observer.Gauges(metrics.Gauge{
		Name: "kith_guest_instances_total", Help: "Instances of the component, by what became of them.", Label: "fate", Counts: true,
		Read: func(context.Context) (map[string]float64, error) {
			s := loaded.Stats()
			return map[string]float64{
				"made": float64(s.Made), "reused": float64(s.Reused), "trapped": float64(s.Trapped), "faulty": float64(s.Faulty),
				"timed_out": float64(s.TimedOut), "cancelled": float64(s.Cancelled), "retired": float64(s.Retired), "refused": float64(s.Refused),
			}, nil
		},
	}, metrics.Gauge{
		Name: "kith_guest_memory_bytes", Help: "Memory of the component's instances, as of their last requests.",
		Read: func(context.Context) (map[string]float64, error) {
			return map[string]float64{"": float64(loaded.Memory())}, nil
		},
	})
}

// edgeRoute returns the route of a request, as the label of a metric. It has few
// values.
func edgeRoute(r *http.Request) string {
	for _, root := range []string{"/s/", "/api/v1/", "/a/", "/kith.js", "/.well-known/", "/healthz"} {
		if strings.HasPrefix(r.URL.Path, root) {
			return root
		}
	}
	return "page"
}

// checkSchema returns an error if the schema of a database is not that of this program.
func checkSchema(ctx context.Context, replica *store.Replica) error {
	err := replica.Restoring(ctx)
	if err == nil {
		err = replica.CheckReleased(ctx)
	}
	if known := (*core.Error)(nil); errors.As(err, &known) {
		return err
	}
	has := 0
	if err == nil {
		has, err = replica.Schema(ctx)
	}
	if err != nil {
		return &core.Error{Code: core.CodeUnavailable, Message: "the schema of the database could not be read", Err: err}
	}
	return compareSchemas(has, store.SchemaVersion())
}

func compareSchemas(has, knows int) error {
	switch {
	case has > knows:
		return fmt.Errorf("the database has schema %d and this kith knows %d: run a newer kith", has, knows)
	case has < knows:
		return fmt.Errorf("the database has schema %d and this kith needs %d: start a backend of this version first", has, knows)
	}
	return nil
}
