// Command cluster runs a distributed set-up of Kith on the loopback of this machine: a
// libSQL primary, two replicas that require tokens, an edge with each replica, which has
// the other replica as its fallback, and two backends. It is a demonstration;
// `make run-cluster` builds the programs that it starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cluster
	flag.StringVar(&c.data, "data", "data/cluster", "folder of databases, keys and logs")
	flag.StringVar(&c.kith, "kith", "bin/kith", "the built binary")
	flag.StringVar(&c.sqld, "sqld", "", "path of the libSQL server")
	flag.Parse()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// cluster is the set of processes, in the order of their start.
type cluster struct {
	data, kith, sqld string
	token            string
	running          []*process
	// ended receives the name of a process that ended without being stopped.
	ended chan string
}

// Addresses. The first edge and the first backend have those of `kith dev`.
const (
	primary = "127.0.0.1:8100"
	grpc    = "127.0.0.1:8101"
)

var (
	replicas = []string{"127.0.0.1:8102", "127.0.0.1:8103"}
	edges    = []string{"127.0.0.1:3000", "127.0.0.1:3001"}
	backends = []string{"127.0.0.1:8080", "127.0.0.1:8081"}
	ops      = []string{"127.0.0.1:9100", "127.0.0.1:9101", "127.0.0.1:9102", "127.0.0.1:9103"}
)

func (c *cluster) run(ctx context.Context) error {
	c.ended = make(chan string, 16)
	defer c.stop()
	if err := c.start(ctx); err != nil {
		return err
	}
	c.banner()
	select {
	case <-ctx.Done():
		fmt.Println("\n  stopping …")
		return nil
	case name := <-c.ended:
		return fmt.Errorf("%s ended unexpectedly; see %s", name, c.log(name))
	}
}

func (c *cluster) start(ctx context.Context) error {
	if err := os.MkdirAll(c.data, 0o700); err != nil {
		return err
	}
	keyFile, err := c.makeToken()
	if err != nil {
		return err
	}
	if err := c.startDatabases(ctx, keyFile); err != nil {
		return err
	}
	for i, addr := range backends {
		err := c.launch(ctx, fmt.Sprintf("backend%d", i+1), "http://"+ops[i]+"/readyz", c.kith, c.env(
			"KITH_BACKEND_ADDR="+addr, "KITH_OPS_ADDR="+ops[i], "KITH_DATABASE_URL=ws://"+primary), "serve", "--demo-url", "http://"+edges[0])
		if err != nil {
			return err
		}
	}
	for i, addr := range edges {
		err := c.launch(ctx, fmt.Sprintf("edge%d", i+1), "http://"+ops[2+i]+"/readyz", c.kith, c.env(
			"KITH_EDGE_ADDR="+addr, "KITH_OPS_ADDR="+ops[2+i], "KITH_DATABASE_URL=ws://"+replicas[i],
			"KITH_DATABASE_FALLBACK_URL=ws://"+replicas[1-i], "KITH_BACKEND_URL=http://"+backends[i]), "edge")
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startDatabases(ctx context.Context, keyFile string) error {
	args := func(name, addr string, more ...string) []string {
		return append([]string{"--no-welcome", "--db-path", filepath.Join(c.data, name), "--http-listen-addr", addr,
			"--auth-jwt-key-file", keyFile}, more...)
	}
	if err := c.launch(ctx, "primary", "http://"+primary+"/health", c.sqld, os.Environ(), args("primary", primary, "--grpc-listen-addr", grpc)...); err != nil {
		return err
	}
	for i, addr := range replicas {
		name := fmt.Sprintf("replica%d", i+1)
		if err := c.launch(ctx, name, "http://"+addr+"/health", c.sqld, os.Environ(), args(name, addr, "--primary-grpc-url", "http://"+grpc)...); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) env(more ...string) []string {
	return append(append(os.Environ(), "KITH_DATA="+c.data, "KITH_DATABASE_TOKEN="+c.token), more...)
}

func (c *cluster) banner() {
	fmt.Printf(`
  A Kith cluster is running.                             Ctrl-C stops it.

  Primary    ws://%s           Replicas   ws://%s, ws://%s
  Backends   http://%s, http://%s
  Edges      http://%s, http://%s
  Metrics    http://%s/metrics (backends: 9100, 9101; edges: 9102, 9103)
  Logs       %s

  Click a share link, at either edge:
    http://%s/s/demo/ANNA10
    http://%s/s/demo/ANNA10

  Send one key through both edges; one call is accepted:
    for e in %s %s; do curl -s -u :LIVE_DEMO_KEY_0123456789 -H 'Content-Type: application/json' \
      http://$e/api/v1/demo/open/account/anna/user/anna/events -d '{"idempotencyKey":"order-0001","events":[{"key":"purchase"}]}'; echo; done

`, primary, replicas[0], replicas[1], backends[0], backends[1], edges[0], edges[1], ops[0], filepath.Join(c.data, "*.log"),
		edges[0], edges[1], edges[0], edges[1])
}

// stop stops the processes in the reverse order of their start: edges, backends,
// databases.
func (c *cluster) stop() {
	for i := len(c.running) - 1; i >= 0; i-- {
		c.running[i].stop()
	}
}

// startTimeout bounds the start of one process.
const startTimeout = 60 * time.Second

// launch starts a process and returns when its probe answers 200.
func (c *cluster) launch(ctx context.Context, name, probe, binary string, env []string, args ...string) error {
	fmt.Printf("  starting %s …\n", name)
	p, err := startProcess(name, c.log(name), binary, env, args)
	if err != nil {
		return err
	}
	c.running = append(c.running, p)
	go func() {
		<-p.done
		c.ended <- name
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !answers(ctx, probe) {
		select {
		case <-p.done:
			return fmt.Errorf("%s did not start; see %s", name, c.log(name))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; see %s", name, ctx.Err(), c.log(name))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func (c *cluster) log(name string) string { return filepath.Join(c.data, name+".log") }

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// process is one child.
type process struct {
	command *exec.Cmd
	done    chan struct{}
}

func startProcess(name, log, binary string, env, args []string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{command: exec.Command(binary, args...), done: make(chan struct{})} // #nosec G204 -- a developer names the programs that it starts
	p.command.Env, p.command.Stdout, p.command.Stderr = env, file, file
	// Ctrl-C must not reach the children, which are stopped in order.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		_ = p.command.Wait()
		close(p.done)
	}()
	return p, nil
}

// stopTimeout bounds how long a process may take to stop.
const stopTimeout = 20 * time.Second

func (p *process) stop() {
	if err := p.command.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return
	}
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		<-p.done
	}
}
