package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/backup"
	"kith/backend/doctor"
	"kith/backend/metrics"
	"kith/backend/store"
	"kith/backend/trace"
	"kith/backend/upstream"
	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/wire"
	"kith/wasm/host"
)

// opsFlags configure the server for operators.
type opsFlags struct {
	OpsAddr string `env:"KITH_OPS_ADDR" help:"Address that serves /metrics (Prometheus), /healthz and /readyz. Keep it private. Default: none." placeholder:"ADDR"`
}

// traceFlags say which requests are traced, and where to. The variables are those of
// OpenTelemetry.
type traceFlags struct {
	TraceEndpoint string  `env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318. Default: none; nothing is traced." placeholder:"URL"`
	TraceHeaders  string  `env:"OTEL_EXPORTER_OTLP_HEADERS" help:"Headers for the collector, such as authorization=Bearer%20TOKEN." placeholder:"NAME=VALUE,..."`
	TraceSampler  string  `env:"OTEL_TRACES_SAMPLER" default:"parentbased_always_off" enum:"${samplers}" help:"Which requests are traced: ${enum}. Those with parentbased trace what a trusted proxy or the edge in front has sampled, and of other requests all, none or a share." placeholder:"SAMPLER"`
	TraceRatio    float64 `env:"OTEL_TRACES_SAMPLER_ARG" default:"1" help:"Share of the requests that a sampler with traceidratio traces, from 0 to 1." placeholder:"RATIO"`
	TraceService  string  `env:"OTEL_SERVICE_NAME" help:"Name of the service in traces. Default: kith-edge or kith-backend." placeholder:"NAME"`
}

// openTracer returns the tracer of a part, or nil if nothing is traced.
func (f traceFlags) openTracer(e *env, part string) (*trace.Tracer, error) {
	tracer, err := trace.New(trace.Config{
		Endpoint: f.TraceEndpoint, Headers: f.TraceHeaders, Sampler: f.TraceSampler, Ratio: f.TraceRatio,
		Service: cmp.Or(f.TraceService, "kith-"+part), Version: version, Log: e.log,
	})
	if tracer != nil {
		e.log.Log(e.ctx, e.configLevel, "config", "part", "traces of "+part, "endpoint", f.TraceEndpoint, "headers", secret(f.TraceHeaders), "sampler", f.TraceSampler, "ratio", f.TraceRatio)
	}
	return tracer, err
}

// observeTraces adds the metric of the tracers of this process.
func observeTraces(e *env, tracers ...*trace.Tracer) {
	e.observer.Gauges(metrics.Gauge{
		Name: "kith_trace_spans_dropped_total", Help: "Sampled spans that were dropped, because the collector did not accept them in time.", Counts: true,
		Read: func(context.Context) (map[string]float64, error) {
			dropped := 0.0
			for _, t := range tracers {
				dropped += float64(t.Dropped())
			}
			return map[string]float64{"": dropped}, nil
		},
	})
}

// probe returns why a part of the service is not ready, or nil if it is.
type probe func(context.Context) error

// degraded is the error of a part without which a process is still ready, such as the
// backend of an edge, which answers share links by itself.
type degraded struct{ error }

func (d degraded) Unwrap() error { return d.error }

// notDegraded returns an error without its being degraded: a process does not start with
// it.
func notDegraded(err error) error {
	if less := (degraded{}); errors.As(err, &less) {
		return less.error
	}
	return err
}

// serveOps starts a server of metrics and probes, which stops when the context ends, and
// logs when a part is no longer ready. Without an address there is no server.
func (f opsFlags) serveOps(e *env, probes map[string]probe) error {
	go watch(e, probes)
	if f.OpsAddr == "" {
		return nil
	}
	listener, err := listen("ops-addr", f.OpsAddr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.observer.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeProbe(w, state{}) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { writeProbe(w, stateOf(r.Context(), probes)) })
	go func() {
		if err := e.serveHTTP(listener, mux, false); err != nil {
			e.log.Error("the server of metrics and probes failed", "error", err)
		}
	}()
	e.log.Log(e.ctx, e.configLevel, "config", "part", "ops", "addr", listener.Addr().String())
	return nil
}

// probeTimeout limits the time of all probes together.
const probeTimeout = 2 * time.Second

// state has the parts that are not ready, and why. A process with failing parts is not
// ready; one with degraded parts is.
type state struct{ failing, degraded map[string]string }

func stateOf(ctx context.Context, probes map[string]probe) state {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	s := state{map[string]string{}, map[string]string{}}
	var all sync.WaitGroup
	var mu sync.Mutex
	for part, ready := range probes {
		all.Go(func() {
			err := ready(ctx)
			mu.Lock()
			defer mu.Unlock()
			if less := (degraded{}); errors.As(err, &less) {
				s.degraded[part] = message(err)
			} else if err != nil {
				s.failing[part] = message(err)
			}
		})
	}
	all.Wait()
	return s
}

func writeProbe(w http.ResponseWriter, s state) {
	status, answer := http.StatusOK, map[string]any{"status": "ok"}
	if len(s.failing) > 0 {
		status, answer = http.StatusServiceUnavailable, map[string]any{"status": "unavailable", "failing": s.failing}
		w.Header().Set("Retry-After", wire.RetryAfter(status))
	}
	if len(s.degraded) > 0 {
		answer["degraded"] = s.degraded
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// healthCommand is for supervisors that run a program to check a process, such as
// container engines: an image from scratch has no other program.
type healthCommand struct {
	OpsAddr string `env:"KITH_OPS_ADDR" required:"" help:"Address of the metrics and health of the process." placeholder:"ADDR"`
}

// maxState is the most of an answer that is read, in bytes.
const maxState = 64 << 10

func (c healthCommand) Run(e *env) error {
	ctx, cancel := context.WithTimeout(e.ctx, 2*probeTimeout)
	defer cancel()
	if _, err := hostOf("ops-addr", c.OpsAddr); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(c.OpsAddr)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("ops-addr: %w; give HOST:PORT", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no answer: %w; is a process running with this --ops-addr?", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxState))
	if err != nil {
		return err
	}
	var is struct{ Status string }
	if err := json.Unmarshal(answer, &is); err != nil || is.Status == "" {
		return fmt.Errorf("ops-addr: another program answers at %s; give the --ops-addr of the process", c.OpsAddr)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", strings.TrimSpace(string(answer)))
	}
	_, err = e.out.Write(answer)
	return err
}

// watchPause is the time between two checks of watch.
const watchPause = 5 * time.Second

// watch logs why a process is not ready, or degraded, and when it is ready again, until
// the context ends.
func watch(e *env, probes map[string]probe) {
	logged := map[string]string{}
	// A process that fails while it starts has closed its database by then.
	select {
	case <-e.ctx.Done():
	case <-time.After(time.Second):
	}
	for e.ctx.Err() == nil {
		s := stateOf(e.ctx, probes)
		for part := range probes {
			why, level, text := s.failing[part], slog.LevelError, "not ready"
			if why == "" {
				why, level, text = s.degraded[part], slog.LevelWarn, "ready without a part"
			}
			switch {
			case e.ctx.Err() != nil:
				return
			case why == logged[part]:
			case why == "":
				e.log.Info("ready again", "part", part)
			default:
				e.log.Log(e.ctx, level, text, "part", part, "why", why)
			}
			logged[part] = why
		}
		select {
		case <-e.ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

// observeBackend adds the metrics of a backend.
func observeBackend(e *env, engine *app.Engine) {
	e.observer.Gauges(metrics.Gauge{
		Name: "kith_backlog", Help: "What waits for the workers: event calls, webhook deliveries, jobs, notifications of gateways and refunds at them.", Label: "work",
		Read: engine.DB.Backlog,
	}, metrics.Gauge{
		Name: "kith_database_away", Help: "1 while a backend refuses calls at once because its database server hangs, or writes because another process holds the lock of its file.",
		Read: func(context.Context) (map[string]float64, error) {
			return map[string]float64{"": oneIf(engine.DB.Away())}, nil
		},
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
	for _, kind := range []analytics.Kind{analytics.Visited, analytics.Loaded, analytics.Shared} {
		engine.OnWork(base.WorkReport, string(kind), base.OutcomeRefused, 0)
	}
	for _, kind := range []string{base.SignInPassword, base.SignInCode} {
		for _, outcome := range []string{base.OutcomeDone, base.OutcomeFailed, base.OutcomeRefused} {
			engine.OnWork(base.WorkSignIn, kind, outcome, 0)
		}
	}
}

// oneIf returns the value of a gauge that is 1 while something is true.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// observeEdge adds the metrics of an edge.
func observeEdge(e *env, loaded *host.Host, replicas *replicas) {
	if replicas != nil {
		e.observer.Gauges(replicas.gauges()...)
	}
	e.observer.Gauges(metrics.Gauge{
		Name: "kith_edge_refuses", Help: "1 while an edge refuses calls at once because the part that they need is away: writes, or the backend.", Label: "needs",
		Read: func(context.Context) (map[string]float64, error) {
			refused := map[string]float64{"backend": oneIf(loaded.Away())}
			if replicas != nil {
				refused["writes"] = oneIf(replicas.refusesWrites())
			}
			return refused, nil
		},
	}, metrics.Gauge{
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

// checkSchema returns an error if the database lacks a migration of this program. If it
// has further ones, which a newer program applied, the error is degraded: a running edge
// continues during an upgrade.
func checkSchema(ctx context.Context, replica *store.Replica) error {
	err := replica.Restoring(ctx)
	if err == nil {
		err = replica.CheckReleased(ctx)
	}
	var schema store.Schema
	if err == nil {
		schema, err = replica.Schema(ctx)
	}
	var known *core.Error
	switch {
	case errors.As(err, &known) && known.Code == core.CodeConflict:
		return err
	case err != nil:
		return &core.Error{Code: core.CodeUnavailable, Message: "the schema of the database could not be read", Err: err}
	case schema.Has == 0:
		return &core.Error{Code: core.CodeUnavailable, Message: "the database has no schema yet: start a backend on it"}
	case schema.Older() != nil:
		return schema.Older()
	case schema.Newer() != nil:
		return degraded{schema.Newer()}
	}
	return nil
}

// doctorCommand examines an installation without changing it, apart from one row that has
// no other use.
type doctorCommand struct {
	archiveFlags
	BackendURL     string        `env:"KITH_BACKEND_URL" help:"URL of a backend, to ask whether it is ready, and to compare the clocks and the master key. Default: none." placeholder:"URL"`
	ClockTolerance time.Duration `env:"KITH_CLOCK_TOLERANCE" default:"5m" help:"Most that the clocks may differ."`
	BackupDir      string        `env:"KITH_BACKUP_DIR" help:"Folder of the scheduled backups, to check the age of the newest. Default: not checked." placeholder:"DIR"`
	BackupEvery    time.Duration `env:"KITH_BACKUP_EVERY" default:"24h" help:"Time from one scheduled backup to the next; the newest may be twice as old."`
	Visit          bool          `help:"Also visit a share link of each tenant, as a browser does: TLS, the proxy, the cookie. No visit is counted."`
	PublicURL      string        `env:"KITH_PUBLIC_URL" help:"Origin of the share links of tenants that have no share origin. Default: the origin of the tenant's landing page." placeholder:"ORIGIN"`
}

// Help says what the exit status means.
func (doctorCommand) Help() string {
	return `Prints a line for each check, and what to do for each that found a problem. The check of the database's structure reads the whole file; the service may run meanwhile. Exit status: 0 no problem was found, 1 there are problems.`
}

// maxVerified is the size of the largest backup that doctor reads to its end, in a second or two.
const maxVerified = 64 << 20

// newestBackup returns the newest backup in the folder.
func (c *doctorCommand) newestBackup(keys auth.Keyring) (newest doctor.NewestBackup, err error) {
	all, err := backup.Scheduled(c.BackupDir)
	for _, path := range all {
		made, err := backup.TimeOf(path)
		switch {
		case err != nil:
			return newest, err
		case core.Time(made.UnixMilli()) > now()+core.Time(c.ClockTolerance.Milliseconds()):
			newest.Future++
			continue
		}
		newest.Made, newest.Encrypted = core.Time(made.UnixMilli()), backup.Encrypted(path)
		newest.Unread, err = verified(path, keys)
		if err != nil {
			newest.Damage = message(err)
		}
		return newest, nil
	}
	return newest, err
}

// verified returns an error if a backup is damaged, or was made under another master key. unread
// is why its content was not read, or empty.
func verified(path string, keys auth.Keyring) (unread string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if backup.Encrypted(path) {
		return "as it is encrypted", backup.CheckEncrypted(file)
	}
	if info.Size() > maxVerified {
		_, err = backup.NewReader(file)
		return "as it is large", err
	}
	_, trailer, err := backup.Verify(file)
	if err == nil && !trailer.SignedBy(keys.Backup()) {
		err = errors.New("it was made under another master key")
	}
	return "", err
}

// Run runs all checks.
func (c *doctorCommand) Run(e *env) error {
	if err := errors.Join(checkOrigin("backend-url", c.BackendURL, ""), checkOrigin("public-url", c.PublicURL, "")); err != nil {
		return err
	}
	if err := c.exists(); err != nil {
		return err
	}
	in := doctor.Installation{Data: c.Data, Now: now, Files: c.bucket(c.Data), OpenFiles: func() error { return c.tryFiles(e) }}
	if path, isFile := c.file(); isFile {
		in.File = path
	}
	in.BackupDir, in.BackupEvery = c.BackupDir, core.Time(c.BackupEvery.Milliseconds())
	in.NewestBackup = func() (doctor.NewestBackup, error) { return c.newestBackup(in.Keys) }
	var err error
	if in.Keys, _, in.HasKeys, err = c.keys(); err != nil {
		return err
	}
	if c.MasterKey == "" {
		in.KeyFile = c.masterKeyFile()
	}
	in.Backend = upstream.Backend{URL: c.BackendURL, Keys: in.Keys, Tolerance: core.Time(c.ClockTolerance.Milliseconds()), Now: now}
	if in.DB, err = store.Open(c.DatabaseURL, c.DatabaseToken); err != nil {
		return c.explain(err)
	}
	defer in.DB.Close()
	if c.Visit {
		in.Web = &doctor.Web{DB: in.DB, PublicURL: strings.TrimSuffix(c.PublicURL, "/"), Now: now}
	}
	problems, err := doctor.Run(e.ctx, e.out, in.Checks())
	if err != nil || problems == 0 {
		return err
	}
	return fmt.Errorf("doctor: %d of %d checks found a problem", problems, len(in.Checks()))
}

// tryFiles returns an error if the files of jobs cannot be stored: kith serve does not
// start then, or fails at the first upload.
func (f *archiveFlags) tryFiles(e *env) error {
	files, err := f.openFiles(e, f.Data)
	if err != nil {
		return err
	}
	folder := f.bucket(f.Data)
	if !isFolder(folder) { // a bucket, or a folder that the first upload makes
		return errors.Join(checkFiles(files), files.Close())
	}
	probe, err := os.CreateTemp(folder, ".kith-doctor-*")
	if err != nil {
		return errors.Join(files.Close(), err)
	}
	return errors.Join(files.Close(), probe.Close(), os.Remove(probe.Name()))
}
