package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"kith/backend/api"
	"kith/backend/job"
	"kith/backend/program"
)

// backendFlags configure the backend.
type backendFlags struct {
	databaseFlags
	BackendAddr string `env:"KITH_BACKEND_ADDR" default:"127.0.0.1:8080" help:"Address that the backend listens on."`
}

type serveCommand struct{ backendFlags }

// Run serves until the context ends.
func (c *serveCommand) Run(e *env) error {
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	logConfig(e, "backend", c.backendFlags)
	listener, err := listen(c.BackendAddr)
	if err != nil {
		return err
	}
	return serveBackend(e, engine, listener, nil)
}

func logConfig(e *env, part string, f backendFlags) {
	url, _ := f.url()
	e.log.Info("config", "part", part, "version", version, "addr", f.BackendAddr, "data", f.Data, "database", url,
		"database_token", secret(f.DatabaseToken), "master_key", f.masterKeySource())
}

// serveBackend answers on listener until the context ends: then it takes no new
// request, finishes those it has, and processes the events they brought.
func serveBackend(e *env, engine *program.Engine, listener net.Listener, pages http.Handler) error {
	intake := job.NewIntake(engine.DB, engine.Now, e.log)
	engine.Wake = intake.Wake
	working, stopWorking := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	workers.Go(func() { intake.Run(working) })
	surface := &api.API{Engine: engine, Pages: pages, Log: e.log}
	err := serveHTTP(e.ctx, listener, surface.Handler())
	stopWorking()
	workers.Wait()
	e.log.Info("backend stopped")
	return err
}

// Bounds of a connection. The read and write bounds hold for a whole request,
// so they also bound how slow a client may be.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 60 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeader      = 64 << 10
	drainTimeout   = 15 * time.Second
)

// serveHTTP serves until ctx ends, then drains.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout,
		WriteTimeout: requestTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

func listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w (another kith may be running; KITH_EDGE_ADDR and KITH_BACKEND_ADDR choose other addresses)", err)
	}
	return listener, nil
}
