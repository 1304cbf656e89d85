package e2e

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// While 8 clients call without a pause, each call on a connection of its own, a process is
// stopped (SIGTERM) and started again. Each call is answered, or its connection is refused
// before it has sent anything. In make test there are some thousand calls, in make soak
// 100,000.
func TestSoakStop_AnswersNewConnections(t *testing.T) {
	t.Parallel()
	calls := int64(2000)
	if long() {
		calls = 100_000
	}
	for _, part := range []struct {
		name  string
		start func(*testing.T, *site) (p *process, base string)
	}{
		{"backend", func(t *testing.T, s *site) (*process, string) { return s.serve(t), s.backend }},
		{"edge", func(t *testing.T, s *site) (*process, string) { return s.serveEdge(t), s.edge }},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			s := demoSite(t)
			if part.name == "edge" {
				s.serve(t)
			}
			var answered, lost atomic.Int64
			var first sync.Map
			rounds := int64(0)
			for ; answered.Load() < calls; rounds++ {
				p, base := part.start(t, s)
				addr := strings.TrimPrefix(base, "http://")
				goal := min(answered.Load()+calls/4, calls)
				stopped := make(chan struct{})
				var once sync.Once
				var clients sync.WaitGroup
				for range 8 {
					clients.Go(func() {
						for {
							c, err := net.Dial("tcp", addr)
							if err != nil {
								if !errors.Is(err, syscall.ECONNREFUSED) {
									lost.Add(1)
									first.LoadOrStore("dial", err.Error())
								}
								return
							}
							if err := callOnce(c); err != nil {
								lost.Add(1)
								first.LoadOrStore("call", err.Error())
							} else if answered.Add(1) == goal {
								once.Do(func() { close(stopped) })
							}
						}
					})
				}
				<-stopped
				p.stop(t)
				clients.Wait()
			}
			text, _ := first.Load("call")
			require.Zero(t, lost.Load(), "of %d calls, such as: %v", answered.Load(), text)
			t.Logf("%d calls answered, %d stops", answered.Load(), rounds)
		})
	}
}

// callOnce sends one request on a connection, and reads the whole answer.
func callOnce(c net.Conn) error {
	defer c.Close()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	if err == nil && !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		err = errors.New("no answer")
	}
	return err
}
