// Package drain closes listeners without resetting connections.
//
// When a listener is closed, the kernel resets the connections that wait in its queue,
// whose clients may have sent a request already. A Listener first has the kernel ignore
// new connections, accepts those that wait, and closes then. A client whose connection was
// ignored repeats it after a second: it is refused before it has sent anything, or reaches
// the process that has the address by then.
package drain

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// quiet is how long no connection must arrive before the queue counts as empty. It bounds
// the round trip of a client whose connection is being established.
const quiet = 250 * time.Millisecond

// Listener is a TCP listener that can be drained.
type Listener struct {
	*net.TCPListener

	draining atomic.Bool
}

// Listen listens on a TCP address.
func Listen(addr string) (*Listener, error) {
	// Linux has no filter for Multipath TCP, which is Go's default.
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Listener{TCPListener: l.(*net.TCPListener)}, nil
}

// Drain ends the acceptance of new connections: Accept returns those that wait, and then
// net.ErrClosed. It does not wait.
func (l *Listener) Drain() {
	l.draining.Store(true)
	// On other systems than Linux, new connections are accepted until there is a pause.
	_ = ignoreNew(l.TCPListener)
	_ = l.SetDeadline(time.Now().Add(quiet))
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if l.draining.Load() {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, net.ErrClosed
		}
		_ = l.SetDeadline(time.Now().Add(quiet))
	}
	return c, err
}
