package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"kith/core/wire"
	"kith/wasm/host"
)

// edgeFlags configure the component and its host.
type edgeFlags struct {
	EdgeAddr         string `env:"KITH_EDGE_ADDR" default:"127.0.0.1:3000" help:"Address that the edge listens on. Default: ${default}." placeholder:"HOST:PORT"`
	Manifest         string `env:"KITH_MANIFEST" help:"Spin manifest of the component. Default: spin.toml here, or beside the folder of this binary." placeholder:"FILE"`
	BackendPublicURL string `env:"KITH_BACKEND_PUBLIC_URL" help:"Where clients reach the backend itself; named when a body is too large for the edge. Default: where the edge reaches it." placeholder:"URL"`
	MaxBody          int64  `env:"KITH_MAX_BODY" default:"8388608" help:"Largest body in bytes that the edge takes. Default: ${default}." placeholder:"BYTES"`
	TrustProxy       bool   `env:"KITH_TRUST_PROXY" help:"Believe X-Forwarded-For, -Proto and -Host: set it only behind a proxy that writes them."`
	Fresh            bool   `env:"KITH_FRESH" help:"Make a new instance for every request, as Spin does."`
}

type edgeCommand struct {
	databaseFlags
	edgeFlags
	BackendURL string `env:"KITH_BACKEND_URL" default:"http://127.0.0.1:8080" help:"Where the edge reaches the backend. Default: ${default}." placeholder:"URL"`
}

// Run serves until the context ends.
func (c *edgeCommand) Run(e *env) error {
	loaded, err := c.load(e, &c.databaseFlags, c.BackendURL)
	if err != nil {
		return err
	}
	c.logConfig(e, c.databaseFlags, c.BackendURL)
	listener, err := listen(c.EdgeAddr)
	if err != nil {
		return err
	}
	return serveEdge(e, loaded, listener)
}

func (f edgeFlags) logConfig(e *env, d databaseFlags, backendURL string) {
	e.log.Info("config", "part", "edge", "version", version, "addr", f.EdgeAddr, "manifest", f.manifest(),
		"backend_url", backendURL, "backend_public_url", f.BackendPublicURL, "database", d.DatabaseURL,
		"database_token", secret(d.DatabaseToken), "master_key", secret(d.MasterKey),
		"max_body", f.MaxBody, "trust_proxy", f.TrustProxy, "fresh", f.Fresh)
}

// load readies the component.
func (f edgeFlags) load(e *env, d *databaseFlags, backendURL string) (*edge, error) {
	key, err := d.masterKey()
	if err != nil {
		return nil, err
	}
	url, err := d.url()
	if err != nil {
		return nil, err
	}
	loaded, err := host.Load(e.ctx, f.manifest(), host.Options{
		Variables: map[string]string{
			"master_key": key, "backend_url": backendURL, "backend_public_url": f.BackendPublicURL,
			"max_body_bytes": strconv.FormatInt(f.MaxBody, 10), "trust_proxy": strconv.FormatBool(f.TrustProxy),
		},
		Databases: map[string]host.Database{"default": {URL: url, Token: d.DatabaseToken}},
		// Above the component's own bound, so that it can say where to go.
		MaxBody:  readMore * f.MaxBody,
		CacheDir: filepath.Join(d.Data, "wasm-cache"),
		Fresh:    f.Fresh, Log: e.log,
	})
	if err != nil {
		return nil, err
	}
	return &edge{Host: loaded, maxBody: f.MaxBody, backend: cmp.Or(f.BackendPublicURL, backendURL)}, nil
}

// edge is the component, and the one answer that it cannot give itself.
type edge struct {
	*host.Host
	maxBody int64
	// backend is where clients reach the backend.
	backend string
}

// readMore is how many times the component's bound of a body is still read, to
// let the component refuse it.
const readMore = 2

// ServeHTTP refuses a body that is too large to be read, in the words of the
// component: the host, which knows no rule of it, could not say where to go.
func (s *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength <= readMore*s.maxBody {
		s.Host.ServeHTTP(w, r)
		return
	}
	status, body := wire.Failure(wire.TooLargeAtEdge(int(s.maxBody), s.backend, r.URL.EscapedPath()))
	w.Header().Set("Content-Type", wire.JSONType)
	w.Header().Set("Cache-Control", wire.CacheControl)
	w.WriteHeader(status)
	// The client is gone when this fails; there is nobody left to tell.
	_, _ = w.Write(body)
}

// manifest is the manifest's path: as told, or where a checkout or an
// installation has it.
func (f edgeFlags) manifest() string {
	if f.Manifest != "" {
		return f.Manifest
	}
	if binary, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(binary), "..", "spin.toml")
		if _, err := os.Stat("spin.toml"); err != nil {
			return beside
		}
	}
	return "spin.toml"
}

// serveEdge answers on listener until the context ends, then drains.
func serveEdge(e *env, loaded *edge, listener net.Listener) error {
	err := serveHTTP(e.ctx, listener, loaded)
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if closeErr := loaded.Close(ctx); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("stop edge: %w", closeErr))
	}
	e.log.Info("edge stopped")
	return err
}
