package sftp

import (
	"net"
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
