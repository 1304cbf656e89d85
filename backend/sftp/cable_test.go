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

// cable carries connections to a server until it is cut: then neither side hears
// a word of parting.
type cable struct {
	addr string
	mu   sync.Mutex
	ends []net.Conn
}

func lay(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	c := &cable{addr: listener.Addr().String()}
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
			go carry(far, near)
			go carry(near, far)
		}
	}()
	return c
}

// carry carries what one end sends, and the news that it hung up.
func carry(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		_ = end.(*net.TCPConn).SetLinger(0)
		_ = end.Close()
	}
	c.ends = nil
}
