package host

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServe_RequestReachesGuestUnchanged(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "1", change)
		for range 2 {
			got := b.do(t, "PUT", "/echo?a=%2F&b=c+d", "body", "X-One", "1", "X-One", "2", "Cookie", "a=b")
			require.Equal(t, 200, got.status)
			require.Equal(t, "body", got.body)
			require.Equal(t, "PUT", got.header.Get("Probe-Method"))
			require.Equal(t, "/echo?a=%2F&b=c+d", got.header.Get("Probe-Uri"))
			require.Equal(t, []string{"1", "2"}, got.header["Echo-X-One"])
			require.Equal(t, "a=b", got.header.Get("Echo-Cookie"))
			require.Equal(t, b.url, "http://"+got.header.Get("Echo-Host"))
		}
	})
}

func TestServe_URIKeepsItsEncoding(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	for _, uri := range []string{"/%2e%2E/a%2Fb", "/a//b;c=d", `/{"x"}|y`, "/?", "/a?b?c=%zz", "/%C3%BC"} {
		require.Equal(t, "no such path: "+uri, raw(t, b, "GET "+uri+" HTTP/1.1\r\nHost: h\r\n\r\n").body)
	}
	got := raw(t, b, "GET http://h.example/x%2Fy?z HTTP/1.1\r\nHost: h\r\n\r\n")
	require.Equal(t, "no such path: /x%2Fy?z", got.body)
	got = raw(t, b, "GET http://h.example HTTP/1.1\r\nHost: h\r\n\r\n")
	require.Equal(t, "no such path: /", got.body)
}

// raw sends bytes unchanged and reads one response.
func raw(t *testing.T, b *bench, request string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(body)}
}

func TestServe_SpinHeadersAreTheHosts(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	got := b.do(t, "GET", "/echo?q", "", "Spin-Client-Addr", "6.6.6.6:6", "Spin-Forged", "x", "Spin-Full-Url", "http://evil/")
	require.Empty(t, got.header["Echo-Spin-Forged"])
	require.Equal(t, []string{b.url + "/echo?q"}, got.header["Echo-Spin-Full-Url"])
	require.Len(t, got.header["Echo-Spin-Client-Addr"], 1)
	require.True(t, strings.HasPrefix(got.header.Get("Echo-Spin-Client-Addr"), "127.0.0.1:"))
	require.Equal(t, []string{"/echo"}, got.header["Echo-Spin-Path-Info"])
	require.Equal(t, []string{"/..."}, got.header["Echo-Spin-Matched-Route"])
}

func TestServe_HopByHopHeadersStay(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	got := raw(t, b, "GET /echo HTTP/1.1\r\nHost: h\r\nConnection: x-mine, close\r\nX-Mine: 1\r\nTE: trailers\r\nX-Other: 2\r\n\r\n")
	require.Empty(t, got.header["Echo-Connection"])
	require.Empty(t, got.header["Echo-X-Mine"])
	require.Empty(t, got.header["Echo-Te"])
	require.Equal(t, "2", got.header.Get("Echo-X-Other"))
	got = b.do(t, "GET", "/respond?status=200&header=Connection:x-a&header=X-A:1&header=Upgrade:h2c&header=X-B:2", "")
	require.Empty(t, got.header["X-A"])
	require.Empty(t, got.header["Upgrade"])
	require.Equal(t, "2", got.header.Get("X-B"))
}

func TestServe_TwoCookiesStayTwo(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "1", change)
		for range 2 {
			got := b.do(t, "GET", "/respond?status=302&header=Set-Cookie:a%3D1&header=Set-Cookie:b%3D2&header=Location:/x", "")
			require.Equal(t, 302, got.status)
			require.Equal(t, []string{"a=1", "b=2"}, got.header["Set-Cookie"])
			require.Empty(t, got.header["Content-Type"])
		}
	})
}

func TestServe_Header64KiB(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "1", change)
		value := strings.Repeat("v", 64*kib)
		require.Equal(t, value, b.do(t, "GET", "/echo", "", "X-Large", value).header.Get("Echo-X-Large"))
		require.Equal(t, "", b.do(t, "GET", "/echo", "", "X-Large", "").header.Get("Echo-X-Large"))
	})
}

func TestServe_BodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 64 * kib
	b := start(t, probe(t), "1", func(o *Options) { o.MaxBody = limit })
	for size, want := range map[int]int{0: 200, 1: 200, limit - 1: 200, limit: 200, limit + 1: 413} {
		body := strings.Repeat("b", size)
		chunked := fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size, body)
		if size == 0 {
			chunked = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
		}
		for _, got := range []answer{b.do(t, "POST", "/echo", body), raw(t, b, chunked)} {
			require.Equal(t, want, got.status, size)
			if want == 200 {
				require.Equal(t, body, got.body)
			} else {
				require.Equal(t, `{"message":"the body is larger than 65536 bytes","statusCode":413,"apiErrorCode":"PAYLOAD_TOO_LARGE"}`, got.body)
			}
		}
	}
}

func TestServe_LargeBodyOfEightMiB(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "1", change)
		body := strings.Repeat("0123456789abcdef", 512*kib)
		got := b.do(t, "POST", "/echo", body)
		require.Equal(t, 200, got.status)
		require.True(t, body == got.body)
	})
}

func TestServe_Methods(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		got := b.do(t, method, "/echo", "")
		require.Equal(t, method, got.header.Get("Probe-Method"))
	}
	head := b.do(t, "HEAD", "/respond?status=200&size=10", "")
	require.Equal(t, "10", head.header.Get("Content-Length"))
	require.Empty(t, head.body)
	head = b.do(t, "HEAD", "/respond?status=200&header=Content-Length:77", "")
	require.Equal(t, "77", head.header.Get("Content-Length"))
	for _, method := range []string{"TRACE", "PROPFIND", "get"} {
		got := b.do(t, method, "/respond?status=405&size=5&header=Allow:GET,%20HEAD", "ignored")
		require.Equal(t, 405, got.status)
		require.Equal(t, "GET, HEAD", got.header.Get("Allow"))
		require.Equal(t, `{"message":"`+method+` is not allowed on this path; use a method of the Allow header","statusCode":405,"apiErrorCode":"METHOD_NOT_ALLOWED"}`, got.body)
		require.Equal(t, 405, b.do(t, method, "/respond?status=200", "").status)
		require.Equal(t, 404, b.do(t, method, "/nothing", "").status)
	}
	// The length of the answer to GET is unknown, so HEAD has no Content-Length.
	require.NotContains(t, b.do(t, "HEAD", "/respond?status=200", "").header, "Content-Length")
}

func TestServe_Statuses(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	for _, status := range []int{200, 204, 304, 404, 409, 500, 599} {
		got := b.do(t, "GET", "/respond?status="+strconv.Itoa(status), "")
		require.Equal(t, status, got.status)
	}
	for _, status := range []int{0, 99, 100, 101, 199, 600, 999} {
		got := b.do(t, "GET", "/respond?status="+strconv.Itoa(status), "")
		require.Equal(t, 503, got.status, status)
	}
	got := b.do(t, "GET", "/respond?status=200&size=5&header=Content-Length:999", "")
	require.Equal(t, "bbbbb", got.body)
}

func TestServe_InvalidHeaderText(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	got := raw(t, b, "GET /echo HTTP/1.1\r\nHost: h\r\nReferer: http://caf\xe9/\r\nX-Good: caf\xc3\xa9\r\n\r\n")
	require.Equal(t, 200, got.status)
	require.Equal(t, []string{"http://café/"}, got.header["Echo-Referer"])
	require.Equal(t, []string{"café"}, got.header["Echo-X-Good"])
	require.Equal(t, "no such path: /caf%E9", raw(t, b, "GET /caf\xe9 HTTP/1.1\r\nHost: h\r\n\r\n").body)
	require.Equal(t, "no such path: /café", raw(t, b, "GET /caf\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n").body)
}

func TestServe_ClockAndRandom(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123)
	b := start(t, probe(t), "1", func(o *Options) { o.Now = func() time.Time { return at } })
	require.Equal(t, "1700000000123", b.do(t, "GET", "/clock", "").body)
	one, two := b.do(t, "GET", "/random", "").body, b.do(t, "GET", "/random", "").body
	require.Len(t, one, 16)
	require.NotEqual(t, one, two)
}

func TestServe_OutputIsLoggedByLine(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	b.do(t, "POST", "/print", strings.Repeat("b", 2*maxLine))
	require.Contains(t, b.log.String(), "line="+strings.Repeat("x", maxLine)+"\n")
	require.NotContains(t, b.log.String(), strings.Repeat("x", maxLine+1))
	require.Contains(t, b.log.String(), `line="second line"`)
}

func TestVariables(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "9", change)
		for range 2 {
			require.Equal(t, answerText(200, "key=secret, url=http://127.0.0.1:9"), text(b.do(t, "GET", "/variable?greeting", "")))
			require.Equal(t, answerText(500, "error: no variable is named unknown"), text(b.do(t, "GET", "/variable?unknown", "")))
			require.Equal(t, answerText(500, "error: no variable is named Not-Valid"), text(b.do(t, "GET", "/variable?Not-Valid", "")))
			require.Equal(t, answerText(500, "error: no variable is named master_key"), text(b.do(t, "GET", "/variable?master_key", "")))
		}
	})
}

// text returns an answer without its headers.
func text(a answer) answer { return answerText(a.status, a.body) }

func answerText(status int, body string) answer { return answer{status: status, body: body} }

// A request may have 4,096 headers; one with more, or with two types of its body, is refused without using an instance.
func TestServe_HeaderCount(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	with := func(n int) string {
		// Half of the headers have the same name.
		return "GET /clock HTTP/1.1\r\n" + strings.Repeat("A:\r\n", n/2) + func() (s string) {
			for i := range n - n/2 {
				s += "B" + strconv.Itoa(i) + ":\r\n"
			}
			return s
		}() + "Host: h\r\n\r\n"
	}
	require.Equal(t, 200, raw(t, b, with(maxHeaders)).status)
	served := b.host.Stats()
	got := raw(t, b, with(maxHeaders+1))
	require.Equal(t, answerText(431, `{"message":"headers: must not be more than 4096; send fewer","statusCode":431,"apiErrorCode":"HEADERS_TOO_LARGE"}`), text(got))
	got = raw(t, b, "POST /clock HTTP/1.1\r\nContent-Type: a/b\r\ncontent-type: application/json\r\nContent-Length: 0\r\nHost: h\r\n\r\n")
	require.Equal(t, answerText(400, `{"message":"Content-Type: occurs twice; send it once","statusCode":400,"apiErrorCode":"INVALID_JSON_REQUEST"}`), text(got))
	require.Equal(t, served, b.host.Stats())
}

// A body that is still arriving uses no instance: slow bodies are refused in the end, and
// other requests are answered meanwhile.
func TestServe_SlowBodiesTakeNoInstance(t *testing.T) {
	t.Parallel()
	const slow = 50
	b := start(t, probe(t), "1", func(o *Options) { o.Instances, o.Queue = 1, 1 })
	conns := make([]net.Conn, slow)
	for i := range conns {
		conns[i] = dial(t, b)
		_, err := io.WriteString(conns[i], "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nsl")
		require.NoError(t, err)
	}
	eventually(t, func() bool {
		b.host.mu.Lock()
		defer b.host.mu.Unlock()
		return b.host.active == slow && b.host.others == 0
	})
	require.Equal(t, 200, b.do(t, "GET", "/clock", "").status)
	require.Equal(t, 200, b.do(t, "POST", "/echo", "quick").status)
	_, err := io.WriteString(conns[0], "ow!!")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conns[0]), nil)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	for _, c := range conns {
		c.Close()
	}
}

func TestServe_BodyTooSlow(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", func(o *Options) { o.Bodies.Grace = time.Millisecond })
	got := raw(t, b, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nsl")
	require.Equal(t, 408, got.status)
	require.Contains(t, got.body, `"apiErrorCode":"REQUEST_TIMEOUT"`)
}

func TestServe_BodiesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", func(o *Options) { o.Bodies.Bytes = 100 * kib })
	got := b.do(t, "POST", "/echo", strings.Repeat("b", 90*kib))
	require.Equal(t, answerText(503, unavailableBody), text(got))
	require.Equal(t, "1", got.header.Get("Retry-After"))
	require.Equal(t, 200, b.do(t, "POST", "/echo", strings.Repeat("b", 60*kib)).status)
}

// Look-ups do not wait behind look-ups that need the backend: the latter are run again,
// in the queue of the other requests.
func TestPool_LookUpsThatAskTheBackendLeaveTheReserve(t *testing.T) {
	t.Parallel()
	port, entered, release := blockingBackend(t)
	b := start(t, probe(t), port, func(o *Options) { o.Instances, o.Queue = 4, 2 })
	answers := make(chan int, 5)
	for range 5 { // three requests run, two wait
		go func() { answers <- b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/", "").status }()
	}
	for range 3 {
		<-entered
	}
	eventually(t, func() bool {
		b.host.mu.Lock()
		defer b.host.mu.Unlock()
		return b.host.others == 2
	})
	for range 10 {
		require.Equal(t, 200, b.do(t, "GET", "/clock", "").status)
	}
	release()
	for range 5 {
		require.Equal(t, 200, <-answers)
	}
}

// A client that does not read its answer takes no place in the queue.
func TestServe_SlowReadersTakeNoPlace(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", func(o *Options) { o.Instances, o.Queue = 1, 3 })
	for range 4 {
		c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		require.NoError(t, err)
		defer c.Close()
		// The answer is larger than the send buffer of a connection.
		_, err = io.WriteString(c, strings.Repeat("GET /respond?status=200&size=1048576 HTTP/1.1\r\nHost: h\r\n\r\n", 64))
		require.NoError(t, err)
	}
	eventually(t, func() bool { return b.host.bodies.InFlight() == 4<<20 })
	require.Equal(t, 200, b.do(t, "GET", "/clock", "").status)
}

// Look-ups have their own instances, however many requests wait for a backend that does
// not answer.
func TestPool_LookUpsHaveAReserve(t *testing.T) {
	t.Parallel()
	port, entered, release := blockingBackend(t)
	b := start(t, probe(t), port, func(o *Options) { o.Instances, o.Queue = 4, 2 })
	answers := make(chan int, 5)
	for range 5 { // three requests run, two wait
		go func() { answers <- b.do(t, "POST", "/send?http://127.0.0.1:"+port+"/", "x").status }()
	}
	for range 3 {
		<-entered
	}
	eventually(t, func() bool {
		b.host.mu.Lock()
		defer b.host.mu.Unlock()
		return b.host.others == 5
	})
	require.Equal(t, 503, b.do(t, "POST", "/echo", "x").status)
	require.Equal(t, 200, b.do(t, "GET", "/clock", "").status)
	require.Equal(t, 200, b.do(t, "HEAD", "/clock", "").status)
	release()
	for range 5 {
		require.Equal(t, 200, <-answers)
	}
}
