package sftp

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// line is a connection that ends when it stands still.
type line struct {
	net.Conn
	// last is when something passed, in nanoseconds of the machine's clock.
	last atomic.Int64
	// uploads counts the files that are open.
	uploads atomic.Int32
	// waiting is true while the client has not shown who it is; the server's lock
	// guards it.
	waiting bool
}

// from is what connections are counted by: an address, or an IPv6 network (/64),
// in which one client may have all addresses.
func (l *line) from() netip.Prefix {
	at, err := netip.ParseAddrPort(l.RemoteAddr().String())
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

func (l *line) touch() { l.last.Store(time.Now().UnixNano()) }

// ended counts out a file that was open.
func (l *line) ended() {
	l.touch()
	l.uploads.Add(-1)
}

// quiet is for how long nothing has passed.
func (l *line) quiet() time.Duration { return time.Duration(time.Now().UnixNano() - l.last.Load()) }

func (l *line) Read(p []byte) (int, error) {
	_ = l.SetReadDeadline(time.Now().Add(idleTime))
	n, err := l.Conn.Read(p)
	l.touch()
	return n, err
}

func (l *line) Write(p []byte) (int, error) {
	_ = l.SetWriteDeadline(time.Now().Add(idleTime))
	n, err := l.Conn.Write(p)
	l.touch()
	return n, err
}
