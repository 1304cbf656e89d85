package sftp_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func timeout() time.Time { return time.Now().Add(deadline) }

// flakyProxy forwards connections to a server until it is cut: then neither side gets
// an orderly end of the connection.
type flakyProxy struct {
	addr string
	mu   sync.Mutex
	ends []net.Conn
}

func startFlakyProxy(t *testing.T, to string) *flakyProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	c := &flakyProxy{addr: listener.Addr().String()}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.ends = append(c.ends, near, far)
			c.mu.Unlock()
			go forward(far, near)
			go forward(near, far)
		}
	}()
	return c
}

// forward copies everything from one connection to another, and its end.
func forward(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

func (c *flakyProxy) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		_ = end.(*net.TCPConn).SetLinger(0)
		_ = end.Close()
	}
	c.ends = nil
}
