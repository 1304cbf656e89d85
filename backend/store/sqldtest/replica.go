package sqldtest

import (
	"slices"
	"testing"
)

// Replica is one replica of a cluster.
type Replica struct {
	node  *node
	proxy *proxy
}

func newReplica(binary, dir, addr, primary, token string, args []string) (*Replica, error) {
	line, err := newProxy(primary)
	if err != nil {
		return nil, err
	}
	args = slices.Concat(args, []string{"--primary-grpc-url", "http://" + line.addr()})
	return &Replica{proxy: line, node: newNode(binary, dir, addr, token, args...)}, nil
}

// URL is where the replica is spoken to, as ws://host:port. A write sent there
// is carried out by the primary.
func (r *Replica) URL() string { return "ws://" + r.node.addr }

// Kill kills the replica, as kill -9 does. Its data stay.
func (r *Replica) Kill(t testing.TB) { r.node.kill() }

// Start starts a killed replica on the data it had.
func (r *Replica) Start(t testing.TB) { t.Helper(); must(t, r.node.start()) }

// Disconnect cuts the line to the primary: the replica goes on answering reads from
// what it has and refuses writes, until Release or the test's end.
func (r *Replica) Disconnect(t testing.TB) {
	r.proxy.disconnect()
	t.Cleanup(r.proxy.reconnect)
}

// Reconnect lets a held replica catch up; WaitForSync says when it has.
func (r *Replica) Reconnect(t testing.TB) { r.proxy.reconnect() }

// Pause stops the replica where it is: it takes what is sent and answers nothing,
// until Resume, or until it is killed and started.
func (r *Replica) Pause(t testing.TB) { t.Helper(); must(t, r.node.pause()) }

// Resume lets a paused replica go on.
func (r *Replica) Resume(t testing.TB) { t.Helper(); must(t, r.node.resume()) }
