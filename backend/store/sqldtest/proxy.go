package sqldtest

import (
	"io"
	"net"
	"sync"
)

// proxy forwards the connections of a replica to the primary, and can be disconnected. While
// it does not listen, connections are refused, as by a primary that does not run.
type proxy struct {
	addr, to string

	mu       sync.Mutex
	listener net.Listener // nil while it does not listen
	down     bool
	conns    map[net.Conn]bool
}

func newProxy(to string) (*proxy, error) {
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	p := &proxy{addr: addr, to: to, conns: map[net.Conn]bool{}}
	return p, p.listen()
}

// listen accepts connections again.
func (p *proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	// A process that was being started when the last listener was closed has a copy of it
	// until it runs its own program.
	return within(Deadline, func() error {
		listener, err := net.Listen("tcp", p.addr)
		if err != nil {
			return err
		}
		p.listener = listener
		go p.serve(listener)
		return nil
	})
}

// refuse refuses connections until listen is called.
func (p *proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

func (p *proxy) serve(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		go p.forward(from)
	}
}

func (p *proxy) forward(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer to.Close()
	if !p.add(from, to) {
		return
	}
	defer p.remove(from, to)
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// add registers a pair of connections. It returns false if the proxy is disconnected.
func (p *proxy) add(from, to net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return false
	}
	p.conns[from], p.conns[to] = true, true
	return true
}

func (p *proxy) remove(from, to net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, from)
	delete(p.conns, to)
}

func (p *proxy) disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) reconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

func (p *proxy) close() {
	p.refuse()
	p.disconnect()
}
