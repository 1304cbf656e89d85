package store_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// flakyProxy forwards connections to a server. It can close a connection instead of
// forwarding a response that contains a given text: the server has run the
// statement, and the client cannot know.
type flakyProxy struct {
	listener net.Listener
	to       string
	dropping atomic.Pointer[string]
	// every is how many responses have the text for one that is dropped.
	every, seen atomic.Int64
}

func newFlakyProxy(t *testing.T, url string) *flakyProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &flakyProxy{listener: listener, to: strings.TrimPrefix(url, "ws://")}
	p.dropResponsesWith("")
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(from)
		}
	}()
	return p
}

func (p *flakyProxy) url() string { return "ws://" + p.listener.Addr().String() }

// dropResponsesWith drops responses that contain a text from now on; "" drops none.
func (p *flakyProxy) dropResponsesWith(text string) { p.dropOneOf(1, text) }

// dropOneOf drops one of so many responses that contain a text.
func (p *flakyProxy) dropOneOf(every int64, text string) {
	p.every.Store(every)
	p.dropping.Store(&text)
}

func (p *flakyProxy) forward(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		defer to.Close()
		_, _ = io.Copy(to, from)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := to.Read(buf)
		lost := *p.dropping.Load()
		if err != nil || lost != "" && bytes.Contains(buf[:n], []byte(lost)) && p.seen.Add(1)%p.every.Load() == 0 {
			return
		}
		if _, err := from.Write(buf[:n]); err != nil {
			return
		}
	}
}
