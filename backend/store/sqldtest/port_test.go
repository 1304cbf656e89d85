package sqldtest

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A port can be reserved once, by this program or by another one that runs at the same
// time.
func TestReserve(t *testing.T) {
	if text := os.Getenv("KITH_TEST_RESERVE"); text != "" {
		port, err := strconv.Atoi(text)
		require.NoError(t, err)
		require.NoError(t, reserve(port))
		return
	}
	other := func(port int) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestReserve$")
		cmd.Env = append(os.Environ(), "KITH_TEST_RESERVE="+strconv.Itoa(port))
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	addr, err := FreeAddr()
	require.NoError(t, err)
	_, text, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.ErrorContains(t, reserve(port), "reserved by this program")
	require.Contains(t, other(port), "reserved by another program")

	unused := 1 + rand.IntN(firstPort-1)
	require.Contains(t, other(unused), "PASS")
	require.NoError(t, reserve(unused), "a program that has ended reserves nothing")
}

// An address can be listened on at once, and a proxy listens again at once, while other
// tests start processes.
func TestFreeAddr_WhileProcessesStart(t *testing.T) {
	ended := make(chan struct{})
	var starts sync.WaitGroup
	for range 8 {
		starts.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					_ = exec.Command("true").Run()
				}
			}
		})
	}
	defer starts.Wait()
	defer close(ended)
	p, err := newProxy("127.0.0.1:1")
	require.NoError(t, err)
	defer p.close()
	for range 50 {
		addr, err := FreeAddr()
		require.NoError(t, err)
		l, err := net.Listen("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, l.Close())
		p.refuse()
		require.NoError(t, p.listen())
	}
}
