package host

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv/manualclock"
)

// backend starts a server and returns its port.
func backend(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	return u.Port()
}

// blockingBackend starts a server that reports each request on entered and answers no
// request until release is called. It returns the server's port.
func blockingBackend(t testing.TB) (port string, entered chan struct{}, release func()) {
	entered = make(chan struct{}, 8)
	released := make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	port = backend(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-released
	})
	t.Cleanup(release)
	return port, entered, release
}

func dial(t testing.TB, b *bench) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(t, err)
	return conn
}

func TestOutbound_PassesEverythingBothWays(t *testing.T) {
	t.Parallel()
	port := backend(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := w.Header()
		h["Got-One"] = r.Header["X-One"]
		h.Set("Got-Uri", r.RequestURI)
		h.Set("Got-Method", r.Method)
		h["Got-Encoding"] = r.Header["Accept-Encoding"]
		h["Got-Agent"] = r.Header["User-Agent"]
		h.Add("Set-Cookie", "a=1")
		h.Add("Set-Cookie", "b=2")
		h.Set("Content-Encoding", "gzip")
		h.Set("Keep-Alive", "timeout=5")
		w.WriteHeader(418)
		_, _ = w.Write(append([]byte("not gzip "), body...))
	})
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), port, change)
		for range 2 {
			got := b.do(t, "PATCH", "/send?http://127.0.0.1:"+port+"/%2e/a%2Fb;{c}?x=%zz&&y", "the body", "X-One", "1", "X-One", "2")
			require.Equal(t, 418, got.status)
			require.Equal(t, "not gzip the body", got.body)
			require.Equal(t, []string{"a=1", "b=2"}, got.header["Set-Cookie"])
			require.Equal(t, []string{"1", "2"}, got.header["Got-One"])
			require.Equal(t, "/%2e/a%2Fb;{c}?x=%zz&&y", got.header.Get("Got-Uri"))
			require.Equal(t, "PATCH", got.header.Get("Got-Method"))
			require.Equal(t, "gzip", got.header.Get("Content-Encoding"))
			require.Empty(t, got.header["Got-Encoding"])
			require.Empty(t, got.header["Got-Agent"])
			require.Empty(t, got.header["Keep-Alive"])
		}
	})
}

func TestOutbound_RedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	port := backend(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/first", r.URL.Path)
		http.Redirect(w, r, "/second", http.StatusFound)
	})
	b := start(t, probe(t), port, nil)
	got := b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/first", "")
	require.Equal(t, 302, got.status)
	require.Equal(t, "/second", got.header.Get("Location"))
}

func TestOutbound_OtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	other := backend(t, func(http.ResponseWriter, *http.Request) { t.Error("the other host was reached") })
	port := backend(t, func(http.ResponseWriter, *http.Request) {})
	b := start(t, probe(t), port, nil)
	for target, want := range map[string]string{
		"http://127.0.0.1:" + other + "/":                  "abi: http destination not allowed",
		"https://127.0.0.1:" + port + "/":                  "abi: http destination not allowed",
		"http://localhost:" + port + "/":                   "abi: http destination not allowed",
		"http://127.0.0.1:" + port + ".evil/":              "abi: http invalid url",
		"http://127.0.0.1:" + port + "@127.0.0.1:" + other: "abi: http invalid url",
		"ftp://127.0.0.1/":                                 "abi: http invalid url",
		"/relative":                                        "abi: http invalid url",
		"":                                                 "abi: http invalid url",
	} {
		require.Equal(t, answerText(502, want), text(b.do(t, "GET", "/send?"+target, "")), target)
	}
	require.Equal(t, 200, b.do(t, "GET", "/send?http://127.0.0.1:"+port, "").status)
}

func TestOutbound_ResponseLimit(t *testing.T) {
	t.Parallel()
	const limit = 64 * kib
	port := backend(t, func(w http.ResponseWriter, r *http.Request) {
		n := map[string]int{"/under": limit - 1, "/at": limit, "/over": limit + 1}[r.URL.Path]
		_, _ = io.WriteString(w, strings.Repeat("b", n))
	})
	b := start(t, probe(t), port, func(o *Options) { o.MaxOutboundBody = limit })
	require.Len(t, b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/under", "").body, limit-1)
	require.Len(t, b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/at", "").body, limit)
	got := b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/over", "")
	require.Equal(t, answerText(502, "abi: http request failed"), text(got))
}

func TestOutbound_RefusedConnection(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	require.Equal(t, answerText(502, "abi: http request failed"), text(b.do(t, "GET", "/send?http://127.0.0.1:1", "")))
}

func TestOutbound_Deadline(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	clk := manualclock.New()
	b := start(t, probe(t), port, func(o *Options) { o.now = clk.Now })
	waiting := b.begin(t, "/send?http://127.0.0.1:"+port)
	silent, err := listener.Accept() // and never answers
	require.NoError(t, err)
	clk.Advance(b.host.options.Timeout + 1)
	require.Equal(t, answerText(503, unavailableBody), text(<-waiting))
	require.NoError(t, silent.Close())
	require.Equal(t, uint64(1), b.host.Stats().TimedOut)
}

func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		pattern, target string
		want            bool
	}{
		{"http://a.example", "http://a.example/x", true},
		{"http://a.example", "http://a.example:80/", true},
		{"http://a.example", "http://A.Example/", true},
		{"http://a.example", "http://a.example:81/", false},
		{"http://a.example", "https://a.example/", false},
		{"http://a.example/", "http://a.example/x", true},
		{"https://*.example", "https://a.example/", true},
		{"https://*.example", "https://example/", false},
		{"https://*.example", "https://evilexample/", false},
		{"*://a.example:*", "https://a.example:9/", true},
		{"http://[::1]:8080", "http://[::1]:8080/", true},
		{"http://*:8080", "http://any:8080/", true},
	} {
		a, err := parseAllowedHost(row.pattern)
		require.NoError(t, err)
		u, err := url.Parse(row.target)
		require.NoError(t, err)
		require.Equal(t, row.want, a.allows(u), row)
	}
	for _, bad := range []string{"a.example", "http://", "http://a/path", "http://u@a", "redis://a:1", "http://a:{1..2}", "*://a", "self"} {
		_, err := parseAllowedHost(bad)
		require.Error(t, err, bad)
	}
}
