// Package e2e runs the built programs: the real component, the real binary, the
// real libSQL server.
package e2e

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/wasm/host"
)

// root is the top of the repository, seen from this folder.
const root = "../.."

// node is a running `kith dev`.
type node struct {
	edge, backend string // base URLs
	data          string
	command       *exec.Cmd
	output        *lockedBuffer
}

// startDev starts `kith dev` on free ports and an empty data folder, and stops
// it at the end of the test.
func startDev(t testing.TB) *node {
	t.Helper()
	n := &node{data: t.TempDir()}
	n.edge, n.backend = "http://"+freeAddr(t), "http://"+freeAddr(t)
	n.start(t)
	t.Cleanup(func() { n.stop(t) })
	return n
}

func (n *node) start(t testing.TB) {
	t.Helper()
	binary := filepath.Join(root, "bin", "kith")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	n.output = &lockedBuffer{}
	n.command = exec.Command(binary, "dev")
	n.command.Env = append(os.Environ(),
		"KITH_DATA="+n.data,
		"KITH_EDGE_ADDR="+strings.TrimPrefix(n.edge, "http://"),
		"KITH_BACKEND_ADDR="+strings.TrimPrefix(n.backend, "http://"),
		"KITH_MANIFEST="+filepath.Join(root, "spin.toml"))
	n.command.Stdout, n.command.Stderr = n.output, n.output
	require.NoError(t, n.command.Start())
	n.await(t)
}

// await waits until edge and backend answer.
func (n *node) await(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		response, err := http.Get(n.edge + "/healthz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("kith dev does not answer:\n%s", n.output)
}

// stop ends the process the clean way.
func (n *node) stop(t testing.TB) {
	t.Helper()
	if n.command.ProcessState != nil {
		return
	}
	require.NoError(t, n.command.Process.Signal(syscall.SIGTERM))
	_ = n.command.Wait()
}

// loadEdge loads the component in this process, on the node's database and in
// front of its backend.
func (n *node) loadEdge(t testing.TB, fresh bool) *host.Host {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(n.data, "master.key"))
	require.NoError(t, err)
	h, err := host.Load(context.Background(), filepath.Join(root, "spin.toml"), host.Options{
		Variables: map[string]string{"master_key": strings.TrimSpace(string(key)), "backend_url": n.backend},
		Databases: map[string]host.Database{"default": {URL: "file:" + filepath.Join(n.data, "kith.db")}},
		Fresh:     fresh,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// lockedBuffer keeps what a process prints.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var _ io.Writer = (*lockedBuffer)(nil)
var _ = bufio.ErrTooLong
