package drain_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/drain"
)

// Each connection that waits when the listener is drained is answered; later ones are
// refused before they have sent anything.
func TestListener_AnswersWhatWaits(t *testing.T) {
	t.Parallel()
	const waiting = 100
	l, err := drain.Listen("127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	var clients []net.Conn
	for range waiting {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		clients = append(clients, c)
	}
	l.Drain()
	refused := make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		refused <- err
	}()
	served := make(chan error, 1)
	go func() { served <- http.Serve(l, http.NotFoundHandler()) }()
	require.ErrorIs(t, <-served, net.ErrClosed)
	for _, c := range clients {
		answer, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Contains(t, string(answer), "404 Not Found")
	}
	require.ErrorIs(t, <-refused, syscall.ECONNREFUSED)
}

// While clients connect as fast as they can, none of their requests is lost.
func TestListener_DrainsUnderLoad(t *testing.T) {
	t.Parallel()
	var answered, lost atomic.Int64
	for range 5 {
		l, err := drain.Listen("127.0.0.1:0")
		require.NoError(t, err)
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for {
					c, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						if !errors.Is(err, syscall.ECONNREFUSED) {
							lost.Add(1)
						}
						return
					}
					_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
					if answer, err := io.ReadAll(c); err != nil || len(answer) == 0 {
						lost.Add(1)
					}
					answered.Add(1)
					_ = c.Close()
				}
			})
		}
		time.AfterFunc(100*time.Millisecond, l.Drain)
		require.ErrorIs(t, http.Serve(l, http.NotFoundHandler()), net.ErrClosed)
		clients.Wait()
	}
	require.Zero(t, lost.Load(), "of %d", answered.Load())
	t.Logf("%d answered", answered.Load())
}
