package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"kith"
	"kith/backend/api"
	"kith/backend/app"
	"kith/backend/app/statistics"
	"kith/backend/demo"
	"kith/backend/downstream"
	"kith/backend/drain"
	"kith/backend/graphql"
	"kith/backend/guess"
	"kith/backend/portal"
	"kith/backend/sender"
	"kith/backend/smallhttp"
	"kith/backend/trace"
	"kith/backend/worker"
	"kith/core"
	"kith/core/link"
)

// backendFlags configure the backend.
type backendFlags struct {
	databaseFlags
	opsFlags
	traceFlags
	connectionFlags
	jobFlags
	scheduleFlags
	sftpFlags
	BackendAddr string   `env:"KITH_BACKEND_ADDR" default:"127.0.0.1:8080" help:"Address that the backend listens on."`
	EdgeURL     []string `env:"KITH_EDGE_URL" help:"URLs of the edges that keep answers: components under Spin, and each kith edge --without-database. The backend reports edits to them within seconds; without it, they are seen after the tenant's link-max-age." placeholder:"URL,..."`
	answerFlags
	sessionFlags
	oidcFlags
}

// answerFlags change what calls answer: of a backend, and of kith api on its database.
type answerFlags struct {
	PortalURL   string `env:"KITH_PORTAL_URL" help:"Origin at which people open the portal, such as https://portal.example. Links of invitations begin with it. Default: the origin that the browser of the inviting person uses." placeholder:"ORIGIN"`
	PublicURL   string `env:"KITH_PUBLIC_URL" help:"Origin at which visitors reach the service, such as https://go.example. Share links begin with it, unless the tenant has a share origin. Default: the origin of the tenant's landing page." placeholder:"ORIGIN"`
	TempDomains string `env:"KITH_TEMP_DOMAINS" type:"existingfile" help:"File of domains of disposable email addresses, one per line, in addition to the built-in list." placeholder:"FILE"`
}

func (f answerFlags) check() error {
	_, domainsErr := readDomains(f.TempDomains)
	return errors.Join(checkOrigin("portal-url", f.PortalURL, ""), checkOrigin("public-url", f.PublicURL, ""), domainsErr)
}

// checkOrigin returns an error if a value is not the origin of an HTTP server. none are the values
// for no origin.
func checkOrigin(flag, value string, none ...string) error {
	if slices.Contains(none, value) || link.ValidOrigin(strings.TrimSuffix(value, "/")) {
		return nil
	}
	return core.Invalid(flag, "must be an origin, such as https://go.example, that is scheme://host[:port] only, not "+strconv.Quote(value))
}

// checkURL returns an error if a value is not the URL of an HTTP server, which may have a path.
// none are the values for no URL.
func checkURL(flag, value string, none ...string) error {
	if slices.Contains(none, value) || link.ValidLandingURL(value) {
		return nil
	}
	return core.Invalid(flag, "must be an absolute http or https URL, not "+strconv.Quote(value))
}

// apply configures the use cases.
func (f answerFlags) apply(engine *app.Engine) (err error) {
	engine.PublicURL = strings.TrimSuffix(f.PublicURL, "/")
	engine.TempDomains, err = readDomains(f.TempDomains)
	return err
}

// check returns an error for values with which the backend could not serve, before anything is
// written.
func (f *backendFlags) check(e *env) error {
	_, providerErr := f.provider(f.PortalURL)
	for _, url := range f.EdgeURL {
		providerErr = errors.Join(providerErr, checkOrigin("edge-url", url))
	}
	return errors.Join(checkAddr("backend-addr", f.BackendAddr), checkAddr("ops-addr", f.OpsAddr, ""), providerErr, f.answerFlags.check(),
		f.connectionFlags.check(), f.jobFlags.check(e, f.Data), f.scheduleFlags.check(), f.sftpFlags.check(), f.sessionFlags.check())
}

// open opens the database and the files of jobs, and returns the use cases.
func (f *backendFlags) open(e *env, tracer *trace.Tracer) (*app.Engine, error) {
	engine, err := f.databaseFlags.openOrCreate(e)
	if err != nil {
		return nil, err
	}
	if tracer != nil {
		engine.DB.Observe = tracer.Statement
	}
	if err := engine.DB.Watch(f.HealthTimeout, e.log); err != nil {
		return nil, errors.Join(f.explain(err), engine.DB.Close())
	}
	if err = f.quickCheck(e, engine.DB); err == nil {
		err = f.answerFlags.apply(engine)
	}
	if err == nil {
		engine.SignIns.Sessions = f.sessionFlags.limits()
		err = f.jobFlags.apply(e, engine, f.Data)
	}
	if err != nil {
		_ = engine.DB.Close()
		return nil, err
	}
	return engine, nil
}

// readDomains reads a list of domains, one per line. A # begins a comment.
func readDomains(path string) (map[string]bool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("temp-domains: %w", err)
	}
	domains := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		domain, _, _ := strings.Cut(line, "#")
		if domain = strings.ToLower(strings.TrimSpace(domain)); domain != "" {
			domains[domain] = true
		}
	}
	return domains, nil
}

type serveCommand struct {
	backendFlags
	SFTPAddr string `env:"KITH_SFTP_ADDR" help:"Address of the SFTP server that receives files to import. Default: none." placeholder:"ADDR"`
	DemoURL  string `env:"KITH_DEMO_URL" help:"Create the demo tenants, with share links that lead to the edge at this URL, and answer their landing page. For trying out only: their API keys are public." placeholder:"URL"`
}

// Run serves until the context ends.
func (c *serveCommand) Run(e *env) error {
	limitMemory(1)
	if err := errors.Join(c.check(e), checkAddr("sftp-addr", c.SFTPAddr, "", off), checkDistinct("backend-addr", c.BackendAddr, "ops-addr", c.OpsAddr, "sftp-addr", c.SFTPAddr), checkOrigin("demo-url", c.DemoURL, "")); err != nil {
		return err
	}
	tracer, err := c.openTracer(e, "backend")
	if err != nil {
		return err
	}
	defer tracer.Close()
	engine, err := c.open(e, tracer)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	defer engine.Files.Store.Close()
	logConfig(e, "backend", c.backendFlags)
	listener, err := listen("backend-addr", c.BackendAddr)
	if err != nil {
		return err
	}
	sftp, err := c.openSFTP(e, engine, c.SFTPAddr, c.Data)
	if err != nil {
		return err
	}
	observeBackend(e, engine)
	c.scheduleFlags.observe(e, engine)
	observeVisits(e, engine.Analytics.Visits)
	observeTraces(e, tracer)
	if err := c.serveOps(e, map[string]probe{"database": engine.Health.Ready}); err != nil {
		return err
	}
	b := backend{engine: engine, tracer: tracer, listener: listener, sftp: sftp, flags: c.backendFlags}
	if c.DemoURL == "" {
		return b.serve(e)
	}
	if err := demo.Seed(e.ctx, engine, c.DemoURL, testURL(c.DemoURL)); err != nil {
		return err
	}
	b.pages = demo.Landing(engine)
	return b.serve(e)
}

func logConfig(e *env, part string, f backendFlags) {
	url, _ := f.url()
	e.log.Log(e.ctx, e.configLevel, "config", "part", part, "version", version, "addr", f.BackendAddr, "data", f.Data, "database", url,
		"database_token", secret(f.DatabaseToken), "master_key", f.masterKeySource(), "files", f.bucket(f.Data),
		"max_file", f.MaxFile, "max_storage", f.MaxStorage, "temp_domains", f.TempDomains, "public_url", f.PublicURL, "portal_url", f.PortalURL, "edge_url", f.EdgeURL, "portal_idle", f.PortalIdle, "portal_life", f.PortalLife, "rate_limit", f.RateLimit, "clock_tolerance", f.ClockTolerance, "write_timeout", f.WriteTimeout, "health_timeout", f.HealthTimeout,
		"oidc_issuer", f.Issuer, "oidc_client_id", f.ClientID, "oidc_client_secret", secret(f.ClientSecret), "oidc_name", f.ProviderName, "trusted_proxies", f.TrustedProxies, "max_connections", f.MaxConnections, "job_workers", f.JobWorkers, "job_lease", f.JobLease, "backup_dir", f.BackupDir, "backup_every", f.BackupEvery, "backup_keep", f.BackupKeep, "backup_recipient", f.BackupRecipient)
}

// backend is a backend that is ready to serve.
type backend struct {
	engine   *app.Engine
	tracer   *trace.Tracer // may be nil
	listener net.Listener
	// pages serve the paths that the API does not, explorer is the GraphiQL page, sftp
	// receives files. Each may be nil.
	pages    *http.ServeMux
	explorer *api.GraphiQL
	sftp     *sftpServer
	// flags are the flags that it was started with.
	flags backendFlags
}

// serve serves until the context ends. Then it accepts no new requests and files,
// finishes those in progress, and processes their events.
func (b backend) serve(e *env) error {
	engine := b.engine
	trusted, tolerance, err := b.flags.parse()
	if err != nil {
		return err
	}
	provider, err := b.flags.provider(b.flags.PortalURL)
	if err != nil {
		return err
	}
	graph, err := graphql.New(engine, e.log, b.explorer != nil)
	if err != nil {
		return err
	}
	if err := engine.SigningKeys.Ensure(e.ctx); err != nil {
		if e.ctx.Err() != nil {
			// The process was stopped while it started.
			return nil
		}
		return err
	}
	orders := worker.NewOrders(&engine.Orders, e.log)
	intake := worker.NewIntake(engine.DB, engine.Now, orders.Wake, e.log)
	engine.Events.Wake, engine.Events.Timeout = intake.Wake, b.flags.WriteTimeout
	gateways := worker.NewGateway(engine, e.log)
	engine.Gateways.Wake = gateways.Wake
	jobs := worker.NewJobs(&engine.Jobs, b.flags.JobWorkers, e.log)
	engine.Jobs.Wake = jobs.Wake
	working, stopWorking := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	if !engine.DB.Embedded() {
		heartbeat := worker.NewHeartbeat(engine.DB, engine.Now, e.log)
		workers.Go(func() { heartbeat.Run(working) })
	}
	// The leases end last: until then, no other process may begin the work.
	leasing, stopLeasing := context.WithCancel(context.Background())
	backups := b.flags.scheduleFlags.worker(e, engine)
	leases := worker.NewLeases(&engine.Leases, e.log, func() {
		engine.Jobs.Wake()
		gateways.Wake()
		if backups != nil {
			backups.Wake()
		}
	})
	leases.Finish = e.stopTimeout / 3
	var leased sync.WaitGroup
	leased.Go(func() { leases.Run(leasing) })
	webhooks := sender.NewSender(sender.Options{Now: engine.Now, Wrap: b.tracer.Outgoing})
	all := []*worker.Worker{
		worker.NewOldFiles(&engine.Files, e.log), jobs, intake, orders, gateways, worker.NewAnalytics(&engine.Analytics, e.log), worker.NewVisits(engine.Analytics.Visits, e.log), worker.NewRewards(&engine.Rewards, &engine.Users, e.log),
		worker.NewWebhooks(&engine.Deliveries, &engine.SigningKeys, webhooks, e.log), worker.NewForget(&engine.Deliveries, &engine.Events, &engine.Analytics, &engine.Audits, &engine.Erasures, e.log), worker.NewKeyUses(&engine.APIKeys, e.log),
	}
	for _, url := range b.flags.EdgeURL {
		all = append(all, worker.NewEdits(&engine.Tenants, downstream.Edge{URL: url, Keys: engine.Keys, Now: engine.Now}, e.log))
	}
	for _, w := range all {
		w.Finish = e.stopTimeout / 3 // requests have ended by then
	}
	if backups != nil {
		all = append(all, backups)
	}
	worker.Begin(working, &workers, all...)
	engine.Analytics.Networks = guess.New(min(int(b.flags.RateLimit), statistics.ReportsPerMinute), time.Now)
	surface := &api.API{Engine: engine, Pages: b.pages, GraphQL: graph, GraphiQL: b.explorer, Portal: portal.New(engine, b.flags.PortalURL, e.log, provider), PortalURL: b.flags.PortalURL, Script: link.NewScript(kith.Script, kith.ScriptGzip), Guesses: guess.New(int(b.flags.RateLimit), time.Now), Proxies: trusted, ClockTolerance: tolerance, Observe: e.observeRoutes(b.tracer, trusted), Log: e.log}
	stopSFTP := b.sftp.start(e)
	err = e.serveHTTP(b.flags.limit(b.listener, trusted), surface.Handler(), false)
	stopSFTP()
	stopWorking()
	workers.Wait()
	stopLeasing()
	leased.Wait()
	e.log.Info("backend stopped")
	return err
}

// Limits of a connection. requestTimeout applies to reading a whole request and to
// writing its response, so it also limits how slow a client may be.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 60 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeader      = 64 << 10
)

// serveHTTP serves until the context ends, accepts the connections that wait, and then waits for
// requests in progress. After stopTimeout it closes their connections: a client that reads nothing
// would hold its request up to requestTimeout. small is true for a handler whose answers are in
// memory as a whole: then smallhttp answers small requests.
func (e *env) serveHTTP(listener net.Listener, handler http.Handler, small bool) error {
	var stopping atomic.Bool
	handler = closeAfterChunks(closeWhile(&stopping, handler))
	accepting := listener
	var quick *smallhttp.Listener // nil without
	if small {
		quick = smallhttp.New(listener, smallhttp.Options{
			Handler: handler, FirstTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: requestTimeout, Log: e.log,
		})
		accepting = quick
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout,
		WriteTimeout: requestTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(jsonListener{accepting}) }()
	select {
	case err := <-failed:
		return err
	case <-e.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), e.stopTimeout)
	defer cancel()
	stopping.Store(true)
	if quick != nil {
		// Shutdown waits for quick.Accept, which waits for small requests, longer than ctx.
		defer context.AfterFunc(ctx, quick.CloseConns)()
	}
	if l, ok := drained(listener); ok {
		l.Drain()
		select {
		case <-failed:
		case <-ctx.Done():
		}
	}
	err := server.Shutdown(ctx)
	if quick != nil {
		select {
		case <-quick.Done():
		case <-ctx.Done():
		}
	}
	if err = cmp.Or(err, ctx.Err()); err == nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	_ = server.Close()
	return fmt.Errorf("stop: requests were still in progress after %s (--stop-timeout), and their connections were closed: %w", e.stopTimeout, err)
}

// closeWhile closes each connection after its next response while the process stops: then no
// client sends a request on a connection that is being closed.
func closeWhile(stopping *atomic.Bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// drained returns the listener of listen that a listener wraps.
func drained(l net.Listener) (*drain.Listener, bool) {
	if limited, ok := l.(*limitedListener); ok {
		l = limited.Listener
	}
	d, ok := l.(*drain.Listener)
	return d, ok
}

// checkAddr returns an error if the address of a setting is not one of this machine. The port may
// be in use. none are the values for no server.
func checkAddr(setting, addr string, none ...string) error {
	if slices.Contains(none, addr) {
		return nil
	}
	host, err := hostOf(setting, addr)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return fmt.Errorf("%s: must be an address of this machine; correct %s: %w", setting, variable(setting), err)
	}
	return listener.Close()
}

// hostOf returns the host of an address, or an error that names the setting.
func hostOf(setting, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		return "", core.Invalid(setting, "must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080, not "+strconv.Quote(addr))
	}
	return host, nil
}

// checkDistinct returns an error if two settings have the same address. settings are names, each
// followed by the address.
func checkDistinct(settings ...string) error {
	used := map[string]string{}
	for s := range slices.Chunk(settings, 2) {
		if other := used[s[1]]; other != "" && strings.Contains(s[1], ":") && !strings.HasSuffix(s[1], ":0") {
			return core.Invalid(s[0], "must not be the address of "+other+": give another one by "+variable(s[0]))
		}
		used[s[1]] = s[0]
	}
	return nil
}

// variable returns the name of the environment variable of a setting.
func variable(setting string) string {
	return "KITH_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// listen listens on the address of a setting, such as backend-addr.
func listen(setting, addr string) (net.Listener, error) {
	if err := checkAddr(setting, addr); err != nil {
		return nil, err
	}
	listener, err := drain.Listen(addr)
	name := variable(setting)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: another kith or another program listens there; stop it, or choose another address by %s: %w", setting, name, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: ports below 1024 need a right; choose a higher one by %s, or give the program CAP_NET_BIND_SERVICE: %w", setting, name, err)
	}
	return nil, fmt.Errorf("%s: %w", setting, err)
}

// closeAfterChunks closes the connection after a request with a chunked body. If the
// request also had a Content-Length, a proxy in front may have used that instead, and
// have taken the rest of the body for another request (RFC 9112, 6.1).
func closeAfterChunks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
