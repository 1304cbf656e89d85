package sqldtest

import (
	"io"
	"net"
	"sync"
)

// proxy carries the replica's connections to the primary, and can be cut.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

func newProxy(to string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &proxy{listener: listener, to: to, conns: map[net.Conn]bool{}}
	go l.serve()
	return l, nil
}

func (l *proxy) addr() string { return l.listener.Addr().String() }

func (l *proxy) serve() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.forward(from)
	}
}

func (l *proxy) forward(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer to.Close()
	if !l.add(from, to) {
		return
	}
	defer l.remove(from, to)
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// add takes note of a pair of connections, unless the line is cut.
func (l *proxy) add(from, to net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return false
	}
	l.conns[from], l.conns[to] = true, true
	return true
}

func (l *proxy) remove(from, to net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, from)
	delete(l.conns, to)
}

func (l *proxy) disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for c := range l.conns {
		_ = c.Close()
	}
}

func (l *proxy) reconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

func (l *proxy) close() {
	_ = l.listener.Close()
	l.disconnect()
}
