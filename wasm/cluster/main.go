// Command cluster runs a distributed set-up of Kith on the loopback of this machine: a
// libSQL primary, two replicas that require tokens, an edge with each replica, which has
// the other replica as its fallback, and two backends. It is a demonstration;
// `make run-cluster` builds the programs that it starts.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	c.ports = defaultPorts()
	c.ports.flags(flag.CommandLine)
	flag.Parse()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// cluster is the set of parts, in the order of their start.
type cluster struct {
	data, kith, sqld string
	ports            ports
	// keys are the variables with the key of the servers, and the token for Kith.
	keys  []string
	parts []*part
}

// part is a process that is started again when it dies.
type part struct {
	name, probe, binary string
	env, args           []string
	running             *process
}

func (c *cluster) run(ctx context.Context) error {
	defer c.stop()
	if err := c.start(ctx); err != nil {
		return err
	}
	c.banner()
	var watchers sync.WaitGroup
	for _, p := range c.parts {
		watchers.Go(func() { c.watch(ctx, p) })
	}
	watchers.Wait()
	fmt.Println("\n  stopping …")
	return nil
}

// The time between the death of a process and its next start, which doubles when that
// fails.
const firstRestart, longestRestart = 500 * time.Millisecond, 10 * time.Second

// watch starts a part again when it has died, until the context ends.
func (c *cluster) watch(ctx context.Context, p *part) {
	for wait := firstRestart; ; {
		select {
		case <-ctx.Done():
			return
		case <-p.running.done:
		}
		fmt.Printf("  %s died (%s); starting it again in %v\n", p.name, p.running.command.ProcessState, wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if err := c.begin(ctx, p); ctx.Err() != nil {
			return
		} else if err != nil {
			wait = min(2*wait, longestRestart)
			fmt.Printf("  %v\n", err)
			continue
		}
		fmt.Printf("  %s runs again\n", p.name)
		wait = firstRestart
	}
}

func (c *cluster) start(ctx context.Context) error {
	if err := os.MkdirAll(c.data, 0o700); err != nil {
		return err
	}
	keys, err := exec.CommandContext(ctx, c.kith, "database-key").Output() // #nosec G204 -- the built binary
	if err != nil {
		return fmt.Errorf("database-key: %w", err)
	}
	c.keys = strings.Fields(string(keys))
	if err := c.startDatabases(ctx); err != nil {
		return err
	}
	p := c.ports
	for i := range p.backends {
		ops := addr(p.ops[i])
		err := c.launch(ctx, &part{name: fmt.Sprintf("backend%d", i+1), probe: "http://" + ops + "/readyz", binary: c.kith, env: c.env(
			"KITH_BACKEND_ADDR="+addr(p.backends[i]), "KITH_OPS_ADDR="+ops, "KITH_DATABASE_URL="+p.primaryURL()),
			args: []string{"serve", "--demo-url", "http://" + addr(p.edges[0])}})
		if err != nil {
			return err
		}
	}
	for i := range p.edges {
		ops := addr(p.ops[2+i])
		err := c.launch(ctx, &part{name: fmt.Sprintf("edge%d", i+1), probe: "http://" + ops + "/readyz", binary: c.kith, env: c.env(
			"KITH_EDGE_ADDR="+addr(p.edges[i]), "KITH_OPS_ADDR="+ops, "KITH_DATABASE_URL=ws://"+addr(p.replicas[i]),
			"KITH_DATABASE_FALLBACK_URL=ws://"+addr(p.replicas[1-i]), "KITH_BACKEND_URL=http://"+addr(p.backends[i])), args: []string{"edge"}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startDatabases(ctx context.Context) error {
	p := c.ports
	launch := func(name string, port int, more ...string) error {
		return c.launch(ctx, &part{name: name, probe: "http://" + addr(port) + "/health", binary: c.sqld, env: c.env(),
			args: append([]string{"--no-welcome", "--db-path", filepath.Join(c.data, name), "--http-listen-addr", addr(port)}, more...)})
	}
	err := forgetAfterPowerCut(filepath.Join(c.data, "primary"))
	if err != nil {
		return err
	}
	err = launch("primary", p.primary[0], "--grpc-listen-addr", addr(p.primary[1]), "--enable-namespaces", "--admin-listen-addr", addr(p.primary[2]))
	if err == nil {
		err = makeDurable(ctx, addr(p.primary[2]))
	}
	for i, port := range p.replicas {
		if err == nil {
			err = launch(fmt.Sprintf("replica%d", i+1), port, "--primary-grpc-url", "http://"+addr(p.primary[1]))
		}
	}
	return err
}

// bootID names the boot of this machine.
const bootID = "/proc/sys/kernel/random/boot_id"

// forgetAfterPowerCut removes files of the primary if the machine was started since the
// primary was: its log for replicas and its counters are not durable, and after a power cut
// they may be damaged. The primary writes them again. See "Power cuts" in docs/fleet.md.
func forgetAfterPowerCut(dir string) error {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		return err
	}
	seen := filepath.Join(dir, "boot")
	if before, err := os.ReadFile(seen); err == nil && bytes.Equal(before, boot) { // #nosec G304 -- in the folder of the cluster
		return nil
	}
	for _, name := range []string{"wallog", "stats.json"} {
		if err := os.Remove(filepath.Join(dir, "dbs", "default", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(seen, boot, 0o600) // #nosec G703 -- in the folder of the cluster
}

// makeDurable configures the primary so that no acknowledged write is lost in a power cut.
// The server keeps the setting.
func makeDurable(ctx context.Context, admin string) error {
	const config = `{"block_reads":false,"block_writes":false,"txn_timeout_s":5,"durability_mode":"strong"}`
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+admin+"/v1/namespaces/default/config", strings.NewReader(config))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("configure the primary: %s", response.Status)
	}
	return nil
}

func (c *cluster) env(more ...string) []string {
	return slices.Concat(os.Environ(), []string{"KITH_DATA=" + c.data}, c.keys, more)
}

func (c *cluster) banner() {
	p := c.ports
	fmt.Printf(`
  A Kith cluster is running.                             Ctrl-C stops it.

  Primary    %s           Replicas   ws://%s, ws://%s
  Backends   http://%s, http://%s
  Edges      http://%s, http://%s
  Metrics    http://%s/metrics (backends: %d, %d; edges: %d, %d)
  Logs       %s

  A process that dies is started again. Other ports: make run-cluster CLUSTER=-help.

  Click a share link, at either edge:
    http://%s/s/demo/ANNA10
    http://%s/s/demo/ANNA10

  Send one key through both edges; one call is accepted:
    for e in %s %s; do curl -s -u :LIVE_DEMO_KEY_0123456789 -H 'Content-Type: application/json' \
      http://$e/api/v1/demo/open/account/anna/user/anna/events -d '{"idempotencyKey":"order-0001","events":[{"key":"purchase"}]}'; echo; done

`, p.primaryURL(), addr(p.replicas[0]), addr(p.replicas[1]), addr(p.backends[0]), addr(p.backends[1]), addr(p.edges[0]), addr(p.edges[1]),
		addr(p.ops[0]), p.ops[0], p.ops[1], p.ops[2], p.ops[3], filepath.Join(c.data, "*.log"),
		addr(p.edges[0]), addr(p.edges[1]), addr(p.edges[0]), addr(p.edges[1]))
}

// stop stops the processes in the reverse order of their start: edges, backends,
// databases.
func (c *cluster) stop() {
	for i := len(c.parts) - 1; i >= 0; i-- {
		c.parts[i].running.stop()
	}
}

// startTimeout bounds the start of one process.
const startTimeout = 60 * time.Second

// launch adds a part, starts it and returns when its probe answers 200.
func (c *cluster) launch(ctx context.Context, p *part) error {
	fmt.Printf("  starting %s …\n", p.name)
	if answers(ctx, p.probe) {
		return fmt.Errorf("%s: another process answers at %s; stop it, or give other ports (make run-cluster CLUSTER=-help)", p.name, p.probe)
	}
	err := c.begin(ctx, p)
	if p.running != nil {
		c.parts = append(c.parts, p)
	}
	return err
}

// begin starts the process of a part and returns when its probe answers 200.
func (c *cluster) begin(ctx context.Context, part *part) error {
	name, probe := part.name, part.probe
	p, err := startProcess(name, c.log(name), part.binary, part.env, part.args)
	if err != nil {
		return err
	}
	part.running = p
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
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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
