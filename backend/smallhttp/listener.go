// Package smallhttp answers small HTTP/1.1 requests in half the time that net/http takes.
//
// A request is small if its first read has all of it, at most 4 KiB, and nothing in it is
// unusual. A Listener answers small requests. At any other request, the connection, with what
// was read of it, goes to net/http for good. So this package decides nothing that is ambiguous,
// such as where a chunked body ends: it accepts less than net/http does, and both call one
// handler.
//
// What net/http does for each request, and this package does not: a goroutine that waits for
// the client to close the connection, a buffered body, a copy of the headers for sorting, and
// several small allocations. For a share link that was a quarter of all processor time.
package smallhttp

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Listener. All fields are required.
type Options struct {
	// Handler answers requests. It sets Content-Type, which is not guessed. An answer without
	// a Content-Length is held in memory until the handler returns. The handler must not use
	// the http.ResponseWriter, or the http.Header of it, after it has returned.
	Handler http.Handler
	// FirstTimeout bounds the wait for the first request of a connection, and IdleTimeout that
	// for each other one. WriteTimeout bounds the time of handler and answer.
	FirstTimeout, IdleTimeout, WriteTimeout time.Duration
	Log                                     *slog.Logger
}

// stopTimeout is how long a client that has connected, and has sent nothing, may take to send
// its request when the Listener stops. It is the time that net/http gives.
const stopTimeout = 5 * time.Second

// Listener answers small requests. Its Accept returns the connections with other ones, for
// http.Server.
type Listener struct {
	net.Listener
	options Options
	results chan result

	stopping atomic.Bool
	closing  sync.Once
	closed   chan struct{} // by Close
	done     chan struct{} // once all connections have ended or were passed to Accept
	err      error         // of the inner listener, which ended this one; set before done
	serving  sync.WaitGroup
	mu       sync.Mutex
	conns    map[*conn]struct{}
}

// result is a result of Accept.
type result struct {
	conn net.Conn
	err  error
}

// New returns a Listener for the connections of l, and begins to answer them. l ends with
// net.ErrClosed.
func New(l net.Listener, o Options) *Listener {
	s := &Listener{Listener: l, options: o, results: make(chan result), closed: make(chan struct{}), done: make(chan struct{}), conns: map[*conn]struct{}{}}
	go s.acceptAll()
	return s
}

// Accept returns the next connection whose request is not small. Once the inner listener has
// ended, it waits for the small requests in progress, and returns net.ErrClosed then.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case r := <-l.results:
		return r.conn, r.err
	case <-l.done:
		return nil, l.err
	}
}

// Close closes the inner listener and idle connections. Done reports when the requests in
// progress have been answered.
func (l *Listener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// CloseConns closes all connections that it answers, also those with a request in progress.
func (l *Listener) CloseConns() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

// Done returns a channel that is closed when the inner listener has ended and all small
// requests have been answered.
func (l *Listener) Done() <-chan struct{} { return l.done }

// acceptAll serves the connections of the inner listener until that has ended.
func (l *Listener) acceptAll() {
	for {
		inner, err := l.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			l.err = err
			break
		}
		if err != nil {
			// http.Server waits before it calls Accept again, or closes the Listener.
			l.pass(result{err: err})
			continue
		}
		c := &conn{Conn: inner, listener: l, remote: inner.RemoteAddr().String()}
		c.fresh.Store(true)
		l.mu.Lock()
		l.conns[c] = struct{}{}
		l.mu.Unlock()
		l.serving.Go(c.serve)
	}
	l.stop()
	l.serving.Wait()
	close(l.done)
}

// stop ends the connections that wait for a request.
func (l *Listener) stop() {
	l.stopping.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.wake()
	}
}

// pass gives a result to Accept.
func (l *Listener) pass(r result) {
	select {
	case l.results <- r:
	case <-l.closed:
		if r.conn != nil {
			_ = r.conn.Close()
		}
	}
}

// readSize is the most bytes of a small request.
const readSize = 4 << 10

// conn is a connection on which each request so far has been small.
type conn struct {
	net.Conn
	listener *Listener
	remote   string
	// fresh is true until the first request.
	fresh atomic.Bool
	// in are bytes that were read, of requests that were not answered.
	in []byte
	// posted is true if the last request was a POST.
	posted bool
}

// past is a deadline that ends a read.
var past = time.Unix(1, 0)

// wake ends the wait for a request: of a fresh connection after stopTimeout.
func (c *conn) wake() {
	at := past
	if c.fresh.Load() {
		at = time.Now().Add(stopTimeout)
	}
	_ = c.SetReadDeadline(at)
}

// serve answers small requests until the connection ends or is passed to Accept.
func (c *conn) serve() {
	defer func() {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		delete(c.listener.conns, c)
	}()
	c.in = make([]byte, 0, readSize)
	for c.next() {
		r, size := parse(c.in)
		if r == nil {
			c.listener.pass(result{conn: &passedConn{Conn: c.Conn, read: c.in}})
			return
		}
		c.posted = r.Method == http.MethodPost
		c.in = append(c.in[:0], c.in[size:]...)
		if !c.answer(r) {
			break
		}
	}
	_ = c.Close()
}

// next waits for a request, or for its first bytes. As in net/http, fewer than 4 bytes after a
// request are ignored, and line breaks after POST, which old clients send.
func (c *conn) next() bool {
	fresh := c.fresh.Load()
	if len(c.in) < 8 { // else nothing is read here
		timeout := c.listener.options.IdleTimeout
		if fresh {
			timeout = c.listener.options.FirstTimeout
		}
		_ = c.SetReadDeadline(time.Now().Add(timeout))
		if c.listener.stopping.Load() {
			c.wake() // in case that stop woke it before the deadline was set
		}
	}
	if fresh {
		defer c.fresh.Store(false)
		return c.read(1)
	}
	if !c.read(4) {
		return false
	}
	if c.posted {
		breaks := 0
		for breaks < 4 && (c.in[breaks] == '\r' || c.in[breaks] == '\n') {
			breaks++
		}
		c.in = append(c.in[:0], c.in[breaks:]...)
	}
	return c.read(1)
}

// read reads until c.in has at least so many bytes.
func (c *conn) read(least int) bool {
	for len(c.in) < least {
		n, err := c.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+n]
		if n == 0 && err != nil {
			return false
		}
	}
	return true
}

// answer calls the handler and sends the answer. It returns false if the connection must be
// closed.
func (c *conn) answer(r *http.Request) (open bool) {
	client := &clientContext{conn: c}
	r = r.WithContext(client)
	r.RemoteAddr = c.remote
	w := newResponse(c.Conn, r.Method == http.MethodHead)
	defer func() {
		failure := recover()
		client.end()
		w.free()
		if failure != nil && failure != http.ErrAbortHandler {
			c.listener.options.Log.Error("a handler panicked", "remote", c.remote, "panic", failure, "stack", string(debug.Stack()))
		}
	}()
	_ = c.SetWriteDeadline(time.Now().Add(c.listener.options.WriteTimeout))
	c.listener.options.Handler.ServeHTTP(w, r)
	return w.finish()
}

// passedConn is a connection of which some bytes have been read.
type passedConn struct {
	net.Conn
	read []byte
}

// Read returns the bytes that have been read first.
func (c *passedConn) Read(b []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.read)
	if c.read = c.read[n:]; len(c.read) == 0 {
		c.read = nil // frees the buffer
	}
	return n, nil
}
