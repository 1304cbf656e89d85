package smallhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/smallhttp"
)

// server serves a handler through a Listener, and counts the connections that net/http got.
type server struct {
	addr   string
	passed atomic.Int64
	small  *smallhttp.Listener
	inner  net.Listener
	log    chan string
}

// Write makes a line of the log available.
func (s *server) Write(line []byte) (int, error) {
	s.log <- string(line)
	return len(line), nil
}

// Accept counts a connection.
func (s *server) Accept() (net.Conn, error) {
	c, err := s.small.Accept()
	if err == nil {
		s.passed.Add(1)
	}
	return c, err
}

func (s *server) Close() error   { return s.small.Close() }
func (s *server) Addr() net.Addr { return s.inner.Addr() }

func start(t testing.TB, handler http.HandlerFunc) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{addr: l.Addr().String(), inner: l, log: make(chan string, 1)}
	s.small = smallhttp.New(l, smallhttp.Options{
		Handler: handler, FirstTimeout: time.Minute, IdleTimeout: time.Minute, WriteTimeout: time.Minute,
		Log: slog.New(slog.NewTextHandler(s, nil)),
	})
	other := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = other.Serve(s) }()
	t.Cleanup(func() {
		require.NoError(t, other.Close())
		<-s.small.Done()
	})
	return s
}

// dial connects to a server. A test that would wait forever fails after a minute.
func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c.(*net.TCPConn)
}

// exchange sends bytes, then the end of the connection, and returns all answers.
func exchange(t testing.TB, addr string, sent []byte) string {
	t.Helper()
	c := dial(t, addr)
	// The server may close the connection before it has read all: then the rest is lost.
	_, _ = c.Write(sent)
	_ = c.CloseWrite()
	got, err := io.ReadAll(c)
	if err != nil {
		got = append(got, "reset"...)
	}
	return present.ReplaceAllString(string(got), "Date: now\r\n")
}

// present is a Date header of the server.
var present = regexp.MustCompile(`Date: [^\r]+ 20\d\d [^\r]+\r\n`)

// answer answers by the path. By default it writes all that it sees of a request.
func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	body, err := io.ReadAll(r.Body)
	text := fmt.Sprintf("%s %q %q %q %q %d %q %v %v\n", r.Method, r.RequestURI, r.URL.Path, r.URL.RawQuery, r.Host, r.ContentLength, body, err, r.Proto)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		text += fmt.Sprintf("%s: %q\n", name, r.Header[name])
	}
	switch r.URL.Path {
	case "/204", "/304", "/499":
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.WriteHeader(status)
		return
	case "/empty":
		return
	case "/unsized":
	case "/long":
		text = strings.Repeat("long ", 20_000)
		fallthrough
	default:
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	case "/short":
		w.Header().Set("Content-Length", "100000")
	case "/over":
		w.Header().Set("Content-Length", "3")
	case "/close":
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	case "/dated":
		w.Header().Set("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
	case "/headers":
		w.Header()["X-Two"] = []string{"1", "2"}
		w.Header()["X-None"] = nil
		w.Header().Set("X-Lines", "a\r\nX-Injected: b")
		w.Header().Set("X-Bad\r\nName", "c")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
	}
	if n := len(text) / 2; r.URL.Path == "/over" {
		_, _ = io.WriteString(w, "abc")
		_, _ = io.WriteString(w, "def")
	} else {
		_, _ = io.WriteString(w, text[:n])
		_, _ = io.WriteString(w, text[n:])
	}
}

// head returns a request with a Host and further header lines.
func head(line string, fields ...string) string {
	return line + " HTTP/1.1\r\nHost: shop.example\r\n" + strings.Join(append(fields, "", ""), "\r\n")
}

// small are requests that a Listener answers itself.
var small = map[string]string{
	"link":         head("GET /s/demo/ANNA10?rsShareMedium=EMAIL", "User-Agent: Mozilla/5.0", "Accept-Encoding: gzip, deflate", "accept-LANGUAGE:en"),
	"keep-alive":   head("GET /", "Connection: Keep-Alive", "Cookie: a=b; c=d", "Cookie: e=f"),
	"head":         head("HEAD /"),
	"body":         head("POST /events", "Content-Length: 11", "Content-Type: application/json") + `{"key":"x"}`,
	"empty body":   head("POST /", "Content-Length: 0"),
	"no length":    head("DELETE /user"),
	"two":          head("GET /1") + head("POST /2", "Content-Length: 2") + "{}" + head("GET /3"),
	"204":          head("GET /499") + head("GET /204") + head("GET /304") + head("GET /empty") + head("HEAD /empty"),
	"close":        head("GET /close") + head("GET /never"),
	"headers":      head("GET /headers") + head("HEAD /headers"),
	"long":         head("GET /long") + head("HEAD /long") + head("GET /"),
	"dated":        head("GET /dated") + head("HEAD /dated"),
	"unsized":      head("GET /unsized") + head("HEAD /unsized"),
	"short":        head("GET /short") + head("GET /never"),
	"over":         head("GET /over") + head("GET /never"),
	"escapes":      head("GET /%41/%2F/a;b?x=%zz&y=+"),
	"slashes":      head("GET //evil.example/../a//b"),
	"latin-1":      head("GET /", "Referer: http://x/\xe4", "X-Empty:", "X-Tab: a\tb"),
	"options":      head("OPTIONS /", "Origin: null", "Access-Control-Request-Method: POST"),
	"colon":        head("GET /", "X: a:b: c  "),
	"ipv6":         "GET / HTTP/1.1\r\nhost: [::1]:3000\r\n\r\n",
	"leading zero": head("POST /", "Content-Length: 02") + "{}",
}

// others are requests that net/http must read.
var others = map[string]string{
	"chunked":             head("POST /", "Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n\r\n",
	"both lengths":        head("POST /", "Content-Length: 2", "Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n\r\n",
	"hidden chunked":      head("POST /", "Transfer-Encoding : chunked", "Content-Length: 2") + "{}",
	"tab chunked":         head("POST /", "Transfer-Encoding:\tchunked") + "0\r\n\r\n",
	"odd chunked":         head("POST /", "Transfer-Encoding: xchunked", "Content-Length: 2") + "{}",
	"folded":              head("GET /", "X: a", " Transfer-Encoding: chunked"),
	"two lengths":         head("POST /", "Content-Length: 2", "Content-Length: 3") + "{}",
	"same length":         head("POST /", "Content-Length: 2", "Content-Length: 2") + "{}",
	"list of lengths":     head("POST /", "Content-Length: 2, 2") + "{}",
	"signed length":       head("POST /", "Content-Length: +2") + "{}",
	"negative length":     head("POST /", "Content-Length: -1"),
	"hexadecimal length":  head("POST /", "Content-Length: 0x2") + "{}",
	"huge length":         head("POST /", "Content-Length: 99999999999999999999"),
	"no such length":      head("POST /", "Content-Length:") + "{}",
	"early end":           head("POST /", "Content-Length: 20") + "{}",
	"long body":           head("POST /", "Content-Length: 9000") + strings.Repeat("x", 9000),
	"close":               head("GET /", "Connection: close") + head("GET /never"),
	"upgrade":             head("GET /", "Connection: Upgrade", "Upgrade: websocket"),
	"named by Connection": head("GET /", "Connection: keep-alive, X-Secret", "X-Secret: 1"),
	"expects":             head("POST /", "Expect: 100-continue", "Content-Length: 2") + "{}",
	"pragma":              head("GET /", "Pragma: no-cache"),
	"http/1.0":            "GET / HTTP/1.0\r\nHost: x\r\n\r\n",
	"http/1.0 kept":       "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	"http/1.2":            "GET / HTTP/1.2\r\nHost: x\r\n\r\n",
	"http/2":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"http/0.9":            "GET /\r\n\r\n",
	"no host":             "GET / HTTP/1.1\r\n\r\n",
	"empty host":          "GET / HTTP/1.1\r\nHost:\r\n\r\n",
	"two hosts":           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
	"odd host":            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
	"absolute":            head("GET http://other.example/a"),
	"asterisk":            head("OPTIONS *"),
	"authority":           head("CONNECT other.example:443"),
	"other method":        head("PROPFIND /"),
	"small letters":       head("get /"),
	"two spaces":          head("GET  /"),
	"space in path":       head("GET /a b"),
	"fragment":            head("GET /a#b"),
	"bytes in path":       head("GET /\xe4"),
	"bad escape":          head("GET /%zz"),
	"line feeds":          "GET / HTTP/1.1\nHost: x\n\n",
	"one line feed":       head("GET /", "X: a\nContent-Length: 5"),
	"carriage return":     head("GET /", "X: a\rb"),
	"nul":                 head("GET /", "X: a\x00b"),
	"nul in name":         head("GET /", "X\x00: a"),
	"space in name":       head("GET /", "X Y: a"),
	"no name":             head("GET /", ": a"),
	"no colon":            head("GET /", "X"),
	"long header":         head("GET /", "X: "+strings.Repeat("x", 5000)),
	"many headers":        head("GET /", slices.Repeat([]string{"X: a"}, 65)...),
	"incomplete":          "GET / HTTP/1.1\r\nHost: x\r\n",
	"line break first":    "\r\n" + head("GET /"),
	"tls":                 "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}

// A Listener answers as net/http does, byte for byte, whether it recognizes a request or not.
func TestListener_LikeNetHTTP(t *testing.T) {
	t.Parallel()
	reference := reference(t)
	for name, sent := range small {
		t.Run("small/"+name, func(t *testing.T) {
			t.Parallel()
			s := start(t, answer)
			require.Equal(t, exchange(t, reference, []byte(sent)), exchange(t, s.addr, []byte(sent)))
			require.Zero(t, s.passed.Load(), "net/http got it")
		})
	}
	for name, sent := range others {
		t.Run("other/"+name, func(t *testing.T) {
			t.Parallel()
			s := start(t, answer)
			// Small requests before it must not change how it is read.
			sent = head("GET /first") + sent
			require.Equal(t, exchange(t, reference, []byte(sent)), exchange(t, s.addr, []byte(sent)))
			require.EqualValues(t, 1, s.passed.Load(), "the Listener answered it")
		})
	}
}

// reference serves answer by net/http alone, and returns the address.
func reference(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(answer), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

// Whatever bytes a client sends, the answers are those of net/http.
func FuzzListener(f *testing.F) {
	for _, requests := range []map[string]string{small, others} {
		for _, sent := range requests {
			f.Add([]byte(sent))
		}
	}
	s, reference := start(f, answer), reference(f)
	f.Fuzz(func(t *testing.T, sent []byte) {
		if len(sent) > 4096 {
			return // a server that closes before it has read all may lose its answer
		}
		require.Equal(t, exchange(t, reference, sent), exchange(t, s.addr, sent))
	})
}

// A client that closes the connection cancels the context of its request. Of one that does not,
// no byte of its next request is lost.
func TestListener_ContextOfClient(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan context.Context), make(chan bool)
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- r.Context()
			<-proceed
		}
		answer(w, r)
	})
	t.Run("closes", func(t *testing.T) {
		c := dial(t, s.addr)
		_, _ = io.WriteString(c, head("GET /slow"))
		ctx := <-arrived
		require.NoError(t, ctx.Err())
		require.NoError(t, c.Close())
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		proceed <- true
	})
	t.Run("sends more", func(t *testing.T) {
		c := dial(t, s.addr)
		_, _ = io.WriteString(c, head("GET /slow"))
		ctx := <-arrived
		require.NoError(t, ctx.Err())
		_, _ = io.WriteString(c, head("GET /next"))
		proceed <- true
		in := bufio.NewReader(c)
		for _, path := range []string{"/slow", "/next"} {
			r, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			require.Contains(t, string(body), path)
		}
		<-ctx.Done() // the answer ends it, too
	})
	t.Run("waits", func(t *testing.T) {
		c := dial(t, s.addr)
		_, _ = io.WriteString(c, head("GET /slow"))
		ctx := <-arrived
		require.NoError(t, ctx.Err())
		proceed <- true
		in := bufio.NewReader(c)
		for range 2 { // the same connection is used further, by this package
			r, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, r.Body)
			require.NoError(t, err)
			_, _ = io.WriteString(c, head("GET /"))
		}
	})
}

// Close answers what is in progress and what a client that has just connected sends, and closes
// idle connections.
func TestListener_Close(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan bool), make(chan bool)
	finish := sync.OnceFunc(func() { close(proceed) })
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- true
			<-proceed
		}
		answer(w, r)
	})
	defer finish()
	read := func(c net.Conn) string {
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(body)
	}
	idle, busy, fresh := dial(t, s.addr), dial(t, s.addr), dial(t, s.addr)
	_, _ = io.WriteString(idle, head("GET /idle"))
	require.Contains(t, read(idle), "/idle")
	_, _ = io.WriteString(busy, head("GET /slow"))
	<-arrived
	// The listener accepts in order: a later connection has been accepted once this one is answered.
	last := dial(t, s.addr)
	_, _ = io.WriteString(last, head("GET /last"))
	require.Contains(t, read(last), "/last")
	require.NoError(t, s.Close())
	for _, c := range []net.Conn{idle, last} {
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}
	_, _ = io.WriteString(fresh, head("GET /fresh"))
	require.Contains(t, read(fresh), "/fresh")
	select {
	case <-s.small.Done():
		t.Fatal("done before the answer")
	default:
	}
	finish()
	require.Contains(t, read(busy), "/slow")
	<-s.small.Done()
	_, err := s.small.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// A handler that panics costs its client the connection, and no other client anything.
func TestListener_Panic(t *testing.T) {
	t.Parallel()
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Before", "1")
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/panic":
			panic("an example")
		}
		answer(w, r)
	})
	require.Empty(t, exchange(t, s.addr, []byte(head("GET /abort"))))
	require.Empty(t, s.log)
	require.Empty(t, exchange(t, s.addr, []byte(head("GET /panic"))))
	require.Contains(t, <-s.log, "an example")
	require.Contains(t, exchange(t, s.addr, []byte(head("GET /"))), "200 OK")
}

// BenchmarkListener compares a Listener with net/http: a constant redirect for 16 clients per core.
func BenchmarkListener(b *testing.B) {
	redirect := func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Location"] = []string{"https://shop.example/?rsCode=ANNA10"}
		w.Header()["Content-Length"] = []string{"0"}
		w.WriteHeader(http.StatusFound)
	}
	request := []byte(small["link"])
	run := func(b *testing.B, addr string) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			answer := make([]byte, 4096)
			for pb.Next() {
				if _, err := c.Write(request); err != nil {
					b.Error(err)
				}
				if _, err := c.Read(answer); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("kith", func(b *testing.B) { run(b, start(b, redirect).addr) })
	b.Run("net-http", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		s := &http.Server{Handler: http.HandlerFunc(redirect), ReadHeaderTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
		go func() { _ = s.Serve(l) }()
		defer s.Close()
		run(b, l.Addr().String())
	})
}
