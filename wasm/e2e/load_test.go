package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// line is a persistent connection for one request after the other. It costs a tenth of
// net/http's client, since the clients of a benchmark run on the same machine as the
// server.
type line struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
}

// send sends a request, reads the whole answer and returns its status. After an error it
// connects again.
func (l *line) send(request []byte) (status int, err error) {
	defer func() {
		if err != nil && l.conn != nil {
			_ = l.conn.Close()
			l.conn = nil
		}
	}()
	if l.conn == nil {
		if l.conn, err = net.Dial("tcp", l.addr); err != nil {
			return 0, err
		}
		l.in = bufio.NewReader(l.conn)
	}
	if err := l.conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		return 0, err
	}
	if _, err := l.conn.Write(request); err != nil {
		return 0, err
	}
	return l.read()
}

func (l *line) read() (status int, err error) {
	first, err := l.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(first) < 12 || !bytes.HasPrefix(first, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("no status line: %q", first)
	}
	if status, err = strconv.Atoi(string(first[9:12])); err != nil {
		return 0, err
	}
	length, chunked := 0, false
	for {
		header, err := l.in.ReadSlice('\n')
		if err != nil {
			return status, err
		}
		header = bytes.TrimSpace(header)
		if len(header) == 0 {
			if chunked {
				return status, l.skipChunks()
			}
			_, err = l.in.Discard(length)
			return status, err
		}
		name, value, _ := bytes.Cut(header, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return status, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
}

// skipChunks reads a chunked body without trailer.
func (l *line) skipChunks() error {
	for {
		head, err := l.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(head)), 16, 32)
		if err != nil {
			return err
		}
		if _, err := l.in.Discard(int(size) + len("\r\n")); err != nil || size == 0 {
			return err
		}
	}
}

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

// rawRequest returns the bytes of a request.
func rawRequest(method, path, body string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: kith.test\r\n", method, path)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// visitor has the headers of a browser.
var visitor = []string{
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	"Accept-Language: en-US,en;q=0.5", "Accept-Encoding: gzip, deflate, br, zstd",
}

// measured is the result of a measurement of many requests.
type measured struct {
	rate     float64 // requests per second
	wall     time.Duration
	p50, p99 time.Duration
}

func (m measured) String() string {
	return fmt.Sprintf("%7.0f/s  p50 %6.2f ms  p99 %6.2f ms", m.rate, ms(m.p50), ms(m.p99))
}

func (m measured) report(b *testing.B) {
	b.ReportMetric(m.rate, "req/s")
	b.ReportMetric(ms(m.p50), "p50-ms")
	b.ReportMetric(ms(m.p99), "p99-ms")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// hammer sends n requests from concurrent clients, spread over servers, as fast as they
// are answered. All must be answered with the given status; those that are answered 503 are
// sent again, up to a number of them in all.
func hammer(b testing.TB, bases []string, clients, n, status, unavailable int, request func(i int) []byte) measured {
	b.Helper()
	var next, refused atomic.Int64
	var failed atomic.Pointer[error]
	took := make([][]time.Duration, clients)
	var all sync.WaitGroup
	began := time.Now()
	for c := range clients {
		all.Go(func() {
			l := line{addr: strings.TrimPrefix(bases[c%len(bases)], "http://")}
			defer l.close()
			for i := int(next.Add(1)); i <= n && failed.Load() == nil; i = int(next.Add(1)) {
				asked := time.Now()
				got, err := l.send(request(i))
				for err == nil && got == http.StatusServiceUnavailable && refused.Add(1) <= int64(unavailable) {
					got, err = l.send(request(i))
				}
				if err == nil && got != status {
					err = fmt.Errorf("status %d %s", got, http.StatusText(got))
				}
				if err != nil {
					failed.Store(&err)
					return
				}
				took[c] = append(took[c], time.Since(asked))
			}
		})
	}
	all.Wait()
	wall := time.Since(began)
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	times := slices.Concat(took...)
	slices.Sort(times)
	return measured{rate: float64(n) / wall.Seconds(), wall: wall, p50: quantile(times, 50), p99: quantile(times, 99)}
}

// quantile returns the given percentile of sorted times.
func quantile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(len(times)-1, len(times)*percent/100)]
}
