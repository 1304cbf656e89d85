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

// line is a connection that is kept, for one request after the other. It does
// what net/http's client does at a tenth of its cost: whoever measures a server
// on the machine that the clients run on wants them to be cheap.
type line struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
}

// send sends a request and returns the status of the answer, of which it reads
// all. After an error the connection is made anew.
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

// skipChunks reads a body in chunks, which has no trailer.
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

// request is a request as it goes over the line.
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

// visitor is what a browser sends along.
var visitor = []string{
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	"Accept-Language: en-US,en;q=0.5", "Accept-Encoding: gzip, deflate, br, zstd",
}

// measured is what many requests took.
type measured struct {
	rate     float64 // a second
	p50, p99 time.Duration
}

func (m measured) String() string {
	return fmt.Sprintf("%7.0f/s  p50 %6.2f ms  p99 %6.2f ms", m.rate, ms(m.p50), ms(m.p99))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// hammer has clients, spread over servers, send n requests as fast as they are
// answered. All must be answered with that status.
func hammer(b testing.TB, bases []string, clients, n, status int, request func(i int) []byte) measured {
	b.Helper()
	var next atomic.Int64
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
	return measured{rate: float64(n) / wall.Seconds(), p50: quantile(times, 50), p99: quantile(times, 99)}
}

// quantile is the time that percent of sorted times do not exceed.
func quantile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(len(times)-1, len(times)*percent/100)]
}
