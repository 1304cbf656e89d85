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
	proxy, err := newProxy(primary)
	if err != nil {
		return nil, err
	}
	args = slices.Concat(args, []string{"--primary-grpc-url", "http://" + proxy.addr()})
	return &Replica{proxy: proxy, node: newNode(binary, dir, addr, token, args...)}, nil
}

// URL returns the URL of the replica, as ws://host:port. The replica forwards writes to
// the primary.
func (r *Replica) URL() string { return "ws://" + r.node.addr }

// Kill kills the replica, as kill -9 does. Its data is kept.
func (r *Replica) Kill(t testing.TB) { r.node.kill() }

// Start starts a killed replica with its data.
func (r *Replica) Start(t testing.TB) { t.Helper(); must(t, r.node.start()) }

// Disconnect breaks the connection to the primary: the replica answers reads from the
// data that it has, and rejects writes, until Reconnect or the end of the test.
func (r *Replica) Disconnect(t testing.TB) {
	r.proxy.disconnect()
	t.Cleanup(r.proxy.reconnect)
}

// Reconnect restores the connection to the primary. WaitForSync waits until the replica
// has caught up.
func (r *Replica) Reconnect(t testing.TB) { r.proxy.reconnect() }

// Pause suspends the replica's process: it accepts connections and requests but does
// not answer, until Resume, or until it is killed and started.
func (r *Replica) Pause(t testing.TB) { t.Helper(); must(t, r.node.pause()) }

// Resume continues a paused replica.
func (r *Replica) Resume(t testing.TB) { t.Helper(); must(t, r.node.resume()) }
