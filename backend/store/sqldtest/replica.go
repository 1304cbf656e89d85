package sqldtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Replica is one replica of a cluster.
type Replica struct {
	node *node
	// proxy is nil on a host of its own.
	proxy *proxy
}

func newReplica(binary, dir, addr, primary, token string, args []string, proxied bool) (*Replica, error) {
	r := &Replica{}
	if proxied {
		var err error
		if r.proxy, err = newProxy(primary); err != nil {
			return nil, err
		}
		primary = r.proxy.addr
	}
	r.node = newNode(binary, dir, addr, token, slices.Concat(args, []string{"--primary-grpc-url", "http://" + primary})...)
	return r, nil
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

// Resets returns how often the replica has begun to copy the whole database again, which it
// does after the primary was killed.
func (r *Replica) Resets(t testing.TB) int {
	t.Helper()
	log, err := os.ReadFile(r.node.logPath())
	must(t, err)
	return bytes.Count(log, []byte("received reset signal"))
}

// reached returns an error until the replica's file has the frame of the primary's
// write-ahead log. The replica's answers do not show it: while it copies the
// database, it forwards reads to the primary too.
func (r *Replica) reached(primary *node, frame uint64) error {
	if frame == 0 {
		return nil
	}
	// The id of the log, which changes when the primary recovers from a crash, and the number
	// of the last frame that is committed to the file.
	const idSize, size = 16, 24
	position, err := os.ReadFile(filepath.Join(databaseDir(r.node.dir), "client_wal_index"))
	if err != nil {
		return err
	}
	if len(position) < size {
		return errors.New("sqldtest: a replica copies the database")
	}
	log, err := os.Open(filepath.Join(databaseDir(primary.dir), "wallog"))
	if err != nil {
		return err
	}
	defer log.Close()
	header := make([]byte, 64) // has the id
	if _, err := io.ReadFull(log, header); err != nil {
		return err
	}
	if !bytes.Contains(header, position[:idSize]) {
		return errors.New("sqldtest: a replica has the database of a log that the primary had before a crash")
	}
	if got := binary.LittleEndian.Uint64(position[idSize:]); got < frame {
		return fmt.Errorf("sqldtest: a replica is at %d, the primary at %d", got, frame)
	}
	return nil
}

// Reconnect restores the connection to the primary. WaitForSync waits until the replica
// has caught up.
func (r *Replica) Reconnect(t testing.TB) { r.proxy.reconnect() }

// Pause suspends the replica's process: it accepts connections and requests but does
// not answer, until Resume, or until it is killed and started.
func (r *Replica) Pause(t testing.TB) { t.Helper(); must(t, r.node.pause()) }

// Resume continues a paused replica.
func (r *Replica) Resume(t testing.TB) { t.Helper(); must(t, r.node.resume()) }
