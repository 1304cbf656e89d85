package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kith"
	"kith/backend/app/ready"
	"kith/backend/app/visits"
	"kith/backend/guess"
	"kith/backend/libsql"
	"kith/backend/trace"
	"kith/backend/upstream"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/wasm/host"
)

// edgeFlags configure the component and its host.
type edgeFlags struct {
	EdgeAddr         string `env:"KITH_EDGE_ADDR" default:"127.0.0.1:3000" help:"Address that the edge listens on."`
	Manifest         string `env:"KITH_MANIFEST" help:"Spin manifest of the component to run; it names the WebAssembly module. Default: the manifest and the module in this binary." placeholder:"FILE"`
	BackendPublicURL string `env:"KITH_BACKEND_PUBLIC_URL" help:"URL at which clients reach the backend. The edge names it in the answer to a body that is too large. Default: the backend URL." placeholder:"URL"`
	MaxBody          int64  `env:"KITH_MAX_BODY" default:"8388608" help:"Largest request body that the edge accepts, in bytes."`
	StrictSpin       bool   `env:"KITH_STRICT_SPIN" help:"Behave as Spin does: a new instance for each request, a new database connection for each read, redirects followed, a key-value store. For tests; it is as slow as Spin."`

	EdgeTimeout time.Duration `env:"KITH_EDGE_TIMEOUT" default:"10s" help:"Longest time that the component may take for a request. After it the answer is 503."`
	ReadTimeout time.Duration `env:"KITH_READ_TIMEOUT" default:"1200ms" help:"Longest time of a read from database servers, all fallbacks included. After it the edge asks the backend. The edge waits an eighth of it for its own server."`
}

type edgeCommand struct {
	databaseFlags
	opsFlags
	traceFlags
	connectionFlags
	edgeFlags
	BackendURL          string        `env:"KITH_BACKEND_URL" default:"http://127.0.0.1:8080" help:"URL at which the edge reaches the backend."`
	WithoutDatabase     bool          `env:"KITH_WITHOUT_DATABASE" help:"Read no database: the edge keeps where links lead, and look-ups of codes that name no person, as the backend answers them, and forwards everything else. It needs only the backend and its master key (KITH_MASTER_KEY, or a data folder that has it)."`
	LinkMaxAge          time.Duration `env:"KITH_LINK_MAX_AGE" default:"5m" help:"With --without-database: the longest time for which the edge keeps an answer, 0 to 5 minutes; each tenant has a limit of its own (kith tenant set --link-max-age), which is a minute by default. 0 keeps nothing." placeholder:"DURATION"`
	DatabaseFallbackURL []string      `env:"KITH_DATABASE_FALLBACK_URL" help:"Other libSQL servers with the same database and token. The edge reads from them, in this order, while its own server does not answer." placeholder:"URL,..."`
}

// Run serves until the context ends.
func (c *edgeCommand) Run(e *env) error {
	limitMemory(1)
	_, _, _, keyErr := c.keys()
	if err := errors.Join(c.checkFallbacks(), checkAddr("edge-addr", c.EdgeAddr), checkAddr("ops-addr", c.OpsAddr, ""), checkDistinct("edge-addr", c.EdgeAddr, "ops-addr", c.OpsAddr), keyErr, c.connectionFlags.check(), c.edgeFlags.check(c.BackendURL)); err != nil {
		return err
	}
	if core.Time(c.LinkMaxAge.Milliseconds()) > link.MaxAge {
		return core.Invalid("link-max-age", "must be 0s to 5m")
	}
	trusted, tolerance, err := c.parse()
	if err != nil {
		return err
	}
	tracer, err := c.openTracer(e, "edge")
	if err != nil {
		return err
	}
	defer tracer.Close()
	if c.WithoutDatabase {
		return c.runWithout(e, tracer, trusted, tolerance)
	}
	if err := c.awaitDatabase(e); err != nil {
		return err
	}
	loaded, database, err := c.load(e, &c.databaseFlags, tracer, c.timeoutFlags, trusted, tolerance, c.BackendURL, c.DatabaseFallbackURL...)
	if err != nil {
		return err
	}
	c.logConfig(e, c.databaseFlags, c.connectionFlags, c.BackendURL, c.DatabaseFallbackURL...)
	replicas, err := openReplicas(database, &c.databaseFlags, append([]string{c.DatabaseURL}, c.DatabaseFallbackURL...)...)
	if err != nil {
		return err
	}
	defer replicas.close()
	if err := replicas.checkAll(e, max(probeTimeout, c.ReadTimeout)); err != nil {
		return err
	}
	backend := upstream.Backend{URL: c.BackendURL, Keys: replicas.keys, Tolerance: tolerance, Now: now}
	return c.serve(e, loaded, replicas, tracer, visits.New(now, storeIn(database)), edgeProbes(replicas, database, backend), trusted)
}

// runWithout serves without a database until the context ends.
func (c *edgeCommand) runWithout(e *env, tracer *trace.Tracer, trusted auth.Networks, tolerance core.Time) error {
	if c.DatabaseURL != "" || len(c.DatabaseFallbackURL) > 0 {
		return core.Invalid("without-database", "is given together with a database (--database-url, --database-fallback-url); leave one of them out")
	}
	keys, _, ok, err := c.keys()
	if err == nil && !ok {
		err = c.noKey("and an edge makes none")
	}
	if err != nil {
		return err
	}
	loaded, err := c.loadComponent(e, &c.databaseFlags, tracer, c.timeoutFlags, trusted, tolerance, c.BackendURL, func(o *host.Options) {
		o.ReadFile = grantNoDatabase(o.ReadFile)
		o.Variables["link_max_age_ms"] = strconv.FormatInt(c.LinkMaxAge.Milliseconds(), 10)
	})
	if err != nil {
		return err
	}
	c.logConfig(e, c.databaseFlags, c.connectionFlags, c.BackendURL)
	backend := upstream.Backend{URL: c.BackendURL, Keys: keys, Tolerance: tolerance, Now: now}
	e.log.Log(e.ctx, e.configLevel, "config", "part", "edge without a database", "link_max_age", c.LinkMaxAge)
	return c.serve(e, loaded, nil, tracer, visits.New(now, backend.AddVisits), map[string]probe{"backend": backendProbe(backend)}, trusted)
}

// serve serves the component and the probes until the context ends.
func (c *edgeCommand) serve(e *env, loaded *host.Host, replicas *replicas, tracer *trace.Tracer, counter *visits.Counter, probes map[string]probe, trusted auth.Networks) error {
	observeEdge(e, loaded, replicas)
	observeVisits(e, counter)
	observeTraces(e, tracer)
	if err := c.serveOps(e, probes); err != nil {
		return err
	}
	listener, err := listen("edge-addr", c.EdgeAddr)
	if err != nil {
		return err
	}
	return serveEdge(e, loaded, tracer, counter, listener, c.connectionFlags, trusted)
}

// backendProbe returns the probe of a backend: an edge is degraded without it, and not ready if
// it refuses the edge.
func backendProbe(backend upstream.Backend) probe {
	asked := &ready.Check{Do: backend.Check, Hangs: upstream.ErrAway}
	return func(ctx context.Context) error {
		err := asked.Err(ctx)
		if errors.Is(err, upstream.ErrAway) {
			return degraded{err}
		}
		return err
	}
}

// edgeProbes returns the probes of an edge: it is ready if it can read, if its database file
// is still there, and if its master key and clock are those of the backend. Without its
// backend, or if it cannot write, it is degraded.
func edgeProbes(replicas *replicas, database *libsql.Database, backend upstream.Backend) map[string]probe {
	written := &ready.Check{Do: func(ctx context.Context) error { return tryWrite(ctx, database) }, Hangs: errors.New("it does not answer in time")}
	return map[string]probe{
		"replica": replicas.ready,
		"file":    func(context.Context) error { return database.CheckFile() },
		"backend": backendProbe(backend),
		"write": func(ctx context.Context) error {
			if err := written.Err(ctx); err != nil {
				return degraded{fmt.Errorf("event calls are answered 503, because the database does not accept writes: %w", err)}
			}
			return nil
		},
	}
}

// tryWrite writes a row that has no other use, on the way on which the component writes.
func tryWrite(ctx context.Context, database *libsql.Database) error {
	connection := database.Connect()
	defer connection.Close()
	_, _, err := connection.Query(ctx, []byte(`UPDATE readiness SET checked_at = ?1`), []any{int64(now())})
	return err
}

// databaseWait is how long an edge waits for its backend to create the database and the master
// key, when both are started together for the first time.
const databaseWait = 10 * time.Second

// awaitDatabase returns an error if the file of the database, or the master key, does not exist
// within databaseWait: a mistyped folder must not look like an empty database, and a new key
// would belong to no database.
func (c *edgeCommand) awaitDatabase(e *env) error {
	end, logged := time.Now().Add(databaseWait), false
	for {
		err := c.exists()
		noKey := err == nil && !c.hasKey()
		if noKey {
			err = c.noKey("and an edge makes none")
		}
		if !noKey && !errors.Is(err, fs.ErrNotExist) || e.ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		if !logged {
			e.log.Info("waiting for a backend to create the database and the master key", "data", c.Data, "longest", databaseWait)
			logged = true
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// checkFallbacks returns an error if a fallback or the database is a file: only servers
// have replicas.
func (c *edgeCommand) checkFallbacks() error {
	for _, url := range c.DatabaseFallbackURL {
		if c.DatabaseURL == "" || strings.HasPrefix(c.DatabaseURL, "file:") || strings.HasPrefix(url, "file:") {
			return core.Invalid("database-fallback-url", "needs libSQL servers, and a file is given: set --database-url to a server, too")
		}
	}
	return nil
}

// check returns an error for settings that the component would reject only at its first
// request.
func (f edgeFlags) check(backendURL string) error {
	switch {
	case f.MaxBody < 1:
		return core.Invalid("max-body", "must be 1 or more bytes")
	case f.EdgeTimeout <= 0:
		return core.Invalid("edge-timeout", "must be more than 0")
	case f.ReadTimeout <= 0:
		return core.Invalid("read-timeout", "must be more than 0")
	}
	return errors.Join(checkURL("backend-public-url", f.BackendPublicURL, ""), checkOrigin("backend-url", backendURL))
}

func (f edgeFlags) logConfig(e *env, d databaseFlags, l connectionFlags, backendURL string, fallbacks ...string) {
	e.log.Log(e.ctx, e.configLevel, "config", "part", "edge", "version", version, "addr", f.EdgeAddr, "manifest", cmp.Or(f.Manifest, "embedded"),
		"backend_url", backendURL, "backend_public_url", f.BackendPublicURL, "database", d.DatabaseURL,
		"database_fallbacks", fallbacks, "database_token", secret(d.DatabaseToken), "master_key", d.masterKeySource(),
		"max_body", f.MaxBody, "trusted_proxies", l.TrustedProxies, "max_connections", l.MaxConnections, "rate_limit", l.RateLimit, "clock_tolerance", l.ClockTolerance, "strict_spin", f.StrictSpin, "edge_timeout", f.EdgeTimeout, "read_timeout", f.ReadTimeout, "write_timeout", l.WriteTimeout, "health_timeout", l.HealthTimeout)
}

// databaseName is the name of the component's database in the manifest.
const databaseName = "default"

// load loads the component and opens its database, which the host closes.
func (f edgeFlags) load(e *env, d *databaseFlags, tracer *trace.Tracer, limits timeoutFlags, trusted auth.Networks, tolerance core.Time, backendURL string, fallbacks ...string) (*host.Host, *libsql.Database, error) {
	database, err := f.openDatabase(e, d, limits, fallbacks)
	if err != nil {
		return nil, nil, err
	}
	loaded, err := f.loadComponent(e, d, tracer, limits, trusted, tolerance, backendURL, func(o *host.Options) {
		o.Databases = map[string]host.Database{databaseName: tracer.Database(database)}
	})
	return loaded, database, err
}

// loadComponent loads the component with the options that change sets.
func (f edgeFlags) loadComponent(e *env, d *databaseFlags, tracer *trace.Tracer, limits timeoutFlags, trusted auth.Networks, tolerance core.Time, backendURL string, change func(*host.Options)) (*host.Host, error) {
	key, err := d.masterKey()
	if err != nil {
		return nil, err
	}
	path, read := f.manifest()
	options := host.Options{
		ReadFile: read,
		Variables: map[string]string{
			"master_key": key, "backend_url": backendURL, "backend_public_url": f.BackendPublicURL,
			"max_body_bytes": strconv.FormatInt(f.MaxBody, 10), "trusted_proxies": trusted.String(),
			"clock_tolerance_ms": strconv.FormatInt(int64(tolerance), 10),
		},
		Optional: map[string]string{"host_counts": "true"},
		Wrap:     tracer.Transport,
		// Higher than the component's own limit, so that callers get its error.
		MaxBody: 2 * f.MaxBody, NamedMaxBody: f.MaxBody,
		LargeBodies: cmp.Or(f.BackendPublicURL, backendURL),
		Timeout:     f.EdgeTimeout,
		// Liveness does not depend on the backend's database.
		HealthChecks: []string{strings.TrimSuffix(backendURL, "/") + "/healthz"}, HealthTimeout: limits.HealthTimeout,
		CacheDir:   filepath.Join(d.Data, "wasm-cache"),
		StrictSpin: f.StrictSpin, Log: e.log,
	}
	change(&options)
	loaded, err := host.Load(e.ctx, path, options)
	if err != nil && f.Manifest != "" {
		err = fmt.Errorf("manifest: %w; give the Spin manifest of Kith's component by KITH_MANIFEST, or leave it out for the one in this binary", err)
	}
	return loaded, err
}

// openDatabase opens the database that the component reads, and appends events to.
func (f edgeFlags) openDatabase(e *env, d *databaseFlags, limits timeoutFlags, fallbacks []string) (*libsql.Database, error) {
	url, err := d.url()
	if err != nil {
		return nil, err
	}
	// With a high checkpoint limit, so that the backend, and not the edge, checkpoints the log of
	// a file. Otherwise an event call that commits after an import would write a thousand pages of
	// the import into the file. The edge checkpoints only if no backend does.
	url = libsql.WithPragmas(url, "wal_autocheckpoint(16000)")
	database, err := libsql.Open(e.ctx, libsql.Config{
		URL: url, Token: d.DatabaseToken, Fallbacks: fallbacks, PerRequest: f.StrictSpin,
		Timeout: f.EdgeTimeout, ReadTimeout: f.ReadTimeout, WriteTimeout: limits.WriteTimeout, Log: e.log,
	})
	if err != nil {
		return nil, d.explain(err)
	}
	return database, nil
}

// manifest returns the path of the manifest and the function that reads it and the
// module: from disk if a manifest is set, else from this binary.
func (f edgeFlags) manifest() (path string, read func(string) ([]byte, error)) {
	if f.Manifest != "" {
		return f.Manifest, os.ReadFile
	}
	return "spin.toml", kith.Edge.ReadFile
}

// grantNoDatabase returns a function that reads files as read does, but manifests without their
// database: the component then keeps what the backend answers.
func grantNoDatabase(read func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		text, err := read(name)
		if strings.HasSuffix(name, ".toml") {
			text = bytes.Replace(text, []byte("sqlite_databases = [\"default\"]\n"), nil, 1)
		}
		return text, err
	}
}

// serveEdge serves the edge until the context ends, waits for requests in progress, and
// stores the visits that were counted.
func serveEdge(e *env, loaded *host.Host, tracer *trace.Tracer, counter *visits.Counter, listener net.Listener, f connectionFlags, trusted auth.Networks) error {
	guarded := limitGuesses(guess.New(int(f.RateLimit), time.Now), trusted, countVisits(counter, loaded))
	inside := func(r *http.Request) bool { return trusted.Trusted(r.RemoteAddr) }
	handler := e.observer.Requests("edge", edgeRoute, tracer.Requests(edgeRoute, inside, guarded))
	stopStoring := storeVisits(e, counter)
	err := e.serveHTTP(f.limit(listener, trusted), handler, true)
	stopStoring()
	ctx, cancel := context.WithTimeout(context.Background(), e.stopTimeout)
	defer cancel()
	if closeErr := loaded.Close(ctx); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("stop edge: %w", closeErr))
	}
	e.log.Info("edge stopped")
	return err
}
