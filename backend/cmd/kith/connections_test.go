package main

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each address has its own limit of connections. A closed connection does not count.
func TestLimitedListener(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &limitedListener{Listener: inner, most: 2, open: map[netip.Prefix]int{},
		exempt: func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.9") }}
	defer l.Close()
	accepted := make(chan net.Conn, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(2*time.Minute)))
		return c
	}
	dial("127.0.0.2")
	dial("127.0.0.2")
	first := <-accepted
	<-accepted
	_, err = dial("127.0.0.2").Read(make([]byte, 1))
	require.Error(t, err, "a third connection is closed")
	for _, from := range []string{"127.0.0.3", "127.0.0.9", "127.0.0.9", "127.0.0.9"} {
		dial(from)
		<-accepted
	}
	first.Close()
	first.Close()
	dial("127.0.0.2")
	<-accepted
	_, err = dial("127.0.0.2").Read(make([]byte, 1))
	require.Error(t, err, "a connection that is closed twice is subtracted once")
}
