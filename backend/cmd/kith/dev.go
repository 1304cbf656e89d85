package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"kith/backend/demo"
)

type devCommand struct {
	backendFlags
	edgeFlags
}

// Run serves edge and backend on one database until the context ends. The edge
// stops first, so that what it still forwards is still answered.
func (c *devCommand) Run(e *env) error {
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	backend, err := listen(c.BackendAddr)
	if err != nil {
		return err
	}
	edge, err := listen(c.EdgeAddr)
	if err != nil {
		return err
	}
	backendURL := "http://" + reachable(backend.Addr().String())
	loaded, err := c.load(e, &c.databaseFlags, backendURL)
	if err != nil {
		return err
	}
	logConfig(e, "backend", c.backendFlags)
	c.edgeFlags.logConfig(e, c.databaseFlags, backendURL)
	edgeURL := "http://" + reachable(edge.Addr().String())
	// One address, two names: the host tells the tenants' pages apart.
	testURL := strings.Replace(edgeURL, "127.0.0.1", "localhost", 1)
	if err := demo.Seed(e.ctx, engine, edgeURL, testURL); err != nil {
		return err
	}
	banner(e.out, edgeURL, backendURL, c.Data)
	return c.serve(e, func(own *env) error { return serveEdge(own, loaded, edge) },
		func(own *env) error { return serveBackend(own, engine, backend, demo.Landing(engine)) })
}

// serve runs both until the context ends or one of them fails, and stops the
// edge before the backend.
func (c *devCommand) serve(e *env, edge, backend func(*env) error) error {
	edgeCtx, stopEdge := context.WithCancel(e.ctx)
	defer stopEdge()
	backendCtx, stopBackend := context.WithCancel(context.WithoutCancel(e.ctx))
	defer stopBackend()
	edgeDone, backendDone := make(chan error, 1), make(chan error, 1)
	go func() { edgeDone <- edge(&env{ctx: edgeCtx, out: e.out, log: e.log}) }()
	go func() { backendDone <- backend(&env{ctx: backendCtx, out: e.out, log: e.log}) }()
	select {
	case err := <-edgeDone:
		stopBackend()
		if backendErr := <-backendDone; err == nil {
			err = backendErr
		}
		return err
	case err := <-backendDone:
		stopEdge()
		<-edgeDone
		return err
	}
}

// reachable is an address that a browser on this machine can open: a server
// that listens everywhere is also on the loopback.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func banner(out io.Writer, edgeURL, backendURL, data string) {
	fmt.Fprintf(out, `
  Kith is running.                                       Ctrl-C stops it.

  Edge       %[1]s    the component under wazero: links, codes, events
  Backend    %[2]s    the whole API
  Data       %[3]s

  Tenant     API key
  %-10[4]s %[5]s
  %-10[6]s %[7]s

  Click a share link:
    %[1]s/s/%[4]s/%[8]s?rsShareMedium=FACEBOOK

  Look a code up:
    curl -u :%[5]s %[1]s/api/v1/%[4]s/code/%[8]s

`, edgeURL, backendURL, data, demo.LiveTenant, demo.LiveKey, demo.TestTenant, demo.TestKey, demo.Code)
}
