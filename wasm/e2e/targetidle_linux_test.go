package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// idleConnections is how many connections without traffic a busy server has.
const idleConnections = 10_000

// BenchmarkTarget_Idle opens 10,000 connections to a new kith dev, each of which is
// answered once, and reports its growth per connection. Then it sends share links at 2,000
// per second without and with so many connections beside them. Connections of the same
// machine have no limit (KITH_MAX_CONNECTIONS).
func BenchmarkTarget_Idle(b *testing.B) {
	var files unix.Rlimit
	require.NoError(b, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	require.Greater(b, files.Cur, uint64(idleConnections+1000), "run ulimit -n 20000")
	s := newSite(b)
	node := s.dev(b)
	mustCall(b, http.StatusFound, "GET", s.edge+linkPath, "", visitor...)
	b.Run("memory", func(b *testing.B) {
		w := watchedProcess{pid: node.command.Process.Pid}
		before := w.measure()
		s.connectIdle(b)
		b.ReportMetric(float64(w.measure()-before)/1e3/idleConnections, "kB/connection")
		b.ReportMetric(0, "ns/op")
	})
	steady := func(b *testing.B) { links(s.edge, steadyClients).steady(b, frequent, steadyFor).report(b) }
	alternate(b, "links", side{"alone", steady}, side{"beside", func(b *testing.B) {
		s.connectIdle(b)
		steady(b)
	}})
}

// connectIdle opens idleConnections connections to the edge until the benchmark ends. Each
// is answered once. After opening and closing them a second passes, in which the server
// finishes what they caused.
func (s *site) connectIdle(b *testing.B) {
	b.Helper()
	b.Cleanup(func() { time.Sleep(time.Second) })
	request := link("demo")(0)
	for range idleConnections {
		fd, err := connect(s.edge)
		require.NoError(b, err)
		b.Cleanup(func() { _ = unix.Close(fd) })
		require.NoError(b, ask(fd, request))
	}
	time.Sleep(time.Second)
}

// askOnce connects and sends a request that must be answered with a redirect.
func askOnce(base string, request []byte) error {
	fd, err := connect(base)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return ask(fd, request)
}

// ask sends a request and reads its answer, which one read returns.
func ask(fd int, request []byte) error {
	if _, err := unix.Write(fd, request); err != nil {
		return err
	}
	in := make([]byte, 16<<10)
	n, err := unix.Read(fd, in)
	for err == unix.EINTR { // a read with a time limit is not restarted after a signal
		n, err = unix.Read(fd, in)
	}
	if err != nil {
		return err
	}
	if size, status, err := answerSize(in[:n]); err != nil || size != n || status != http.StatusFound {
		return fmt.Errorf("%d bytes of %d, status %d: %w", n, size, status, err)
	}
	return nil
}
