package e2e

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No request line makes edge or backend panic, and one answer is all that it gets.
func TestAttack_RequestLines(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t, "KITH_RATE_LIMIT=0")
	edge := s.serveEdge(t, "KITH_RATE_LIMIT=0")
	targets := []string{
		"", "*", "/", "//", "/./", "/../portal", "/%", "/%zz", "/\x00", "/%00", "?q", "/?%", "x", "x:1", "x:", "http:", "http://", "http:x", "http://h", "http://h?x", "http://h/../portal/signin",
		"http://h//s/demo/ANNA10", "https://h", "http://[::1", "http://h:99999", "http://h:x", "mailto:a@b", "/portal", "//portal", "/portal/../x", "\\", `/api/v1/demo/code/\`, `/api/v1/demo/code/"<>^{|}`, "/s/demo/`\xff[]", "/api/v1/demo/open/code/ä", `//x\`, "/s/demo/" + strings.Repeat("A", 9000),
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		letters := "/:?#%*@.hx1 [\\"
		target := ""
		for range random.IntN(8) {
			target += string(letters[random.IntN(len(letters))])
		}
		targets = append(targets, target)
	}
	for _, base := range []string{s.edge, s.backend} {
		for i, target := range targets {
			for _, method := range []string{"GET", "POST", "CONNECT", "OPTIONS", "BREW", "get"} {
				if i >= 37 && method != "GET" && method != "CONNECT" {
					continue // the random ones
				}
				lines := []string{fmt.Sprintf("%s %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", method, target)}
				if i < 37 {
					lines = append(lines, fmt.Sprintf("%s %s HTTP/1.0\r\n\r\n", method, target), fmt.Sprintf("%s %s HTTP/9.9\r\n\r\n", method, target), fmt.Sprintf("%s %s\r\n\r\n", method, target))
				}
				for _, line := range lines {
					status := sendLine(t, base, line)
					assert.True(t, status >= 200 && status < 500 || status == 505, "%s %q: %d", base, line, status)
				}
			}
		}
	}
	for _, p := range []*process{edge, backend} {
		p.stop(t)
		for line := range strings.Lines(p.log(t)) {
			require.NotRegexp(t, "panic|level=ERROR", line)
		}
	}
}

// sendLine sends a request on its own connection and returns the status of the answer.
func sendLine(t *testing.T, base, request string) int {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(deadline)))
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err, "%q", request)
	return answer.StatusCode
}

// Forged signatures of an edge write at most one line a second to the log, and the next
// line has the number of those that were not written.
func TestAttack_ForgedHopsInTheLog(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	p := s.serve(t)
	const sent = 300
	began := time.Now()
	for range sent {
		require.Equal(t, http.StatusServiceUnavailable, sendLine(t, s.backend, "GET /s/demo/ANNA10 HTTP/1.1\r\nHost: h\r\nX-Kith-Hop: 1."+strings.Repeat("x", 43)+"\r\nConnection: close\r\n\r\n"))
	}
	most := int(time.Since(began).Seconds()) + 1
	p.stop(t)
	require.Zero(t, strings.Count(p.log(t), "level=ERROR"))
	require.LessOrEqual(t, strings.Count(p.log(t), "level=WARN"), most)
	require.Contains(t, p.log(t), "x-kith-hop")
}
