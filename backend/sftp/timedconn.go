package sftp

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// timedConn is a connection that ends when it is idle for too long.
type timedConn struct {
	net.Conn
	// last is the time of the last read or write, in nanoseconds of the machine's clock.
	last atomic.Int64
	// uploads counts the open files.
	uploads atomic.Int32
	// pending is true until the client has authenticated; the server's mutex guards it.
	pending bool
}

// from returns the network by which connections are counted: an IPv4 address, or an
// IPv6 network (/64), since one client may have all addresses of it.
func (c *timedConn) from() netip.Prefix {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	address, bits := at.Addr().Unmap(), 32
	if address.Is6() {
		bits = 64
	}
	network, _ := address.WithZone("").Prefix(bits)
	return network
}

func (c *timedConn) touch() { c.last.Store(time.Now().UnixNano()) }

// ended records that an open file was closed.
func (c *timedConn) ended() {
	c.touch()
	c.uploads.Add(-1)
}

// quiet returns the time since the last read or write.
func (c *timedConn) quiet() time.Duration {
	return time.Duration(time.Now().UnixNano() - c.last.Load())
}

func (c *timedConn) Read(p []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(idleTime))
	n, err := c.Conn.Read(p)
	c.touch()
	return n, err
}

func (c *timedConn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(idleTime))
	n, err := c.Conn.Write(p)
	c.touch()
	return n, err
}
