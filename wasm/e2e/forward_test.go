package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/auth"
)

// arrived is a request as received by the backend.
type arrived struct {
	Method, URI, Host string
	Header            http.Header
	Body              string // sha256
	Length            int
}

// echoSite is an edge in front of a server that answers with the request that arrived. The
// headers of the request change the answer: Echo-Status sets the status, each Echo-Header
// "Name=value" adds a header, and Echo-Body returns the body itself.
func echoSite(t *testing.T, env ...string) *site {
	t.Helper()
	s := demoSite(t)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		for _, h := range r.Header["Echo-Header"] {
			name, value, _ := strings.Cut(h, "=")
			w.Header().Add(name, value)
		}
		status := http.StatusOK
		if s := r.Header.Get("Echo-Status"); s != "" {
			_, _ = fmt.Sscan(s, &status)
		}
		s.writeEnvelope(t, w, r, status)
		if status == http.StatusNoContent || status == http.StatusNotModified {
			return
		}
		if r.Header.Get("Echo-Body") != "" {
			_, _ = w.Write(body)
			return
		}
		sum := sha256.Sum256(body)
		uri := r.RequestURI
		if given := r.Header.Get(auth.URIHeader); given != "" {
			uri, _ = url.PathUnescape(given)
		}
		_ = json.NewEncoder(w).Encode(arrived{r.Method, uri, r.Host, r.Header, hex.EncodeToString(sum[:]), len(body)})
	}))
	t.Cleanup(echo.Close)
	s.backend = echo.URL
	s.createTenant(t, "shop", "--landing-url", "https://shop.example/") // and the schema
	s.serveEdge(t, env...)
	return s
}

// writeEnvelope begins an answer in the form in which the backend of the site answers an edge.
func (s *site) writeEnvelope(t testing.TB, w http.ResponseWriter, r *http.Request, status int) {
	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	if err != nil {
		t.Error(err)
	}
	keys, err := auth.ParseKeyring(string(key))
	if err != nil {
		t.Error(err)
	}
	envelope := auth.Envelope{Hop: r.Header.Get(auth.HopHeader), Status: fmt.Sprint(status), Location: w.Header().Get("Location")}
	w.Header().Del("Location")
	w.Header().Set(auth.StatusHeader, envelope.Status)
	if envelope.Location != "" {
		w.Header().Set(auth.LocationHeader, envelope.Location)
	}
	w.Header().Set(auth.EnvelopeHeader, envelope.Sign(keys.Hop()))
	if status >= 300 && status < 400 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
}

// raw sends the exact bytes of a request, and reads the answer.
func raw(t *testing.T, base, request string) answer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n"))
	require.NoError(t, err)
	method, _, _ := strings.Cut(request, " ")
	return readAnswer(t, bufio.NewReader(c), method)
}

// The backend sees method, path, query and headers as the client sent them.
func TestForward_RequestUnchanged(t *testing.T) {
	t.Parallel()
	s := echoSite(t)
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		for _, uri := range []string{
			"/api/v1/demo/account/a%2Fb%40c", "/api/v1/demo/account/a@b", "/a%20b%C3%BC/%2e%2e/x;y=1", "//double//slash/",
			"/x?q=%20&&a;b=c&a=%2F&=&rs%43ode=1&z", "/x?", "/x?q=%ZZ", "/./../x",
		} {
			a := raw(t, s.edge, method+" "+uri+" HTTP/1.1\nHost: shop.example:81\nConnection: close\nX-One: 1\nx-two: b\nX-Two: a\nx-two: \nAccept: */*\nCookie: a=1\nCookie: b=2\n\n")
			got := decode[arrived](t, a)
			require.Equal(t, method, got.Method)
			require.Equal(t, uri, got.URI)
			require.Equal(t, []string{"1"}, got.Header["X-One"])
			require.Equal(t, []string{"b", "a", ""}, got.Header["X-Two"])
			require.Equal(t, []string{"*/*"}, got.Header["Accept"])
			require.Equal(t, "a=1; b=2", strings.Join(got.Header["Cookie"], "; "))
			require.NotContains(t, got.Header, "User-Agent")
			require.NotContains(t, got.Header, "Accept-Encoding")
		}
	}
}

// HEAD gets the headers that the backend would send with a body, including its length.
func TestForward_Head(t *testing.T) {
	t.Parallel()
	s := echoSite(t)
	a := raw(t, s.edge, "HEAD /x HTTP/1.1\nHost: x\nConnection: close\nEcho-Header: X-Twice=1\nEcho-Header: Content-Length=7\n\n")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, []string{"1"}, a.header["X-Twice"])
	require.Empty(t, a.body)
}

// The client sees status, headers and body as the backend sent them.
func TestForward_AnswerUnchanged(t *testing.T) {
	t.Parallel()
	s := echoSite(t)
	for _, status := range []int{200, 201, 202, 204, 206, 301, 302, 304, 307, 308, 400, 401, 404, 418, 429, 500, 502, 503, 599} {
		a := mustCall(t, status, "PUT", s.edge+"/x", "a\x00b\r\n\xff", "Echo-Status: "+fmt.Sprint(status), "Echo-Body: yes",
			"Echo-Header: Set-Cookie=a=1; Path=/", "Echo-Header: Set-Cookie=b=2", "Echo-Header: Location=/y?z#f", "Echo-Header: X-Empty=",
			"Echo-Header: Content-Type=application/x", "Echo-Header: WWW-Authenticate=Basic", "Echo-Header: Cache-Control=max-age=1")
		require.Equal(t, []string{"a=1; Path=/", "b=2"}, a.header["Set-Cookie"])
		require.Equal(t, []string{"/y?z#f"}, a.header["Location"])
		require.Equal(t, []string{""}, a.header["X-Empty"])
		require.Equal(t, []string{"Basic"}, a.header["Www-Authenticate"])
		require.Equal(t, []string{"max-age=1"}, a.header["Cache-Control"])
		if status != http.StatusNoContent && status != http.StatusNotModified {
			require.Equal(t, "a\x00b\r\n\xff", a.body)
			require.Equal(t, []string{"application/x"}, a.header["Content-Type"])
		}
	}
}

// An answer without an envelope does not come from the backend, but from a proxy that
// redirects or, on Spin, from the target of the redirect.
func TestForward_AnswerWithoutEnvelope(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") }))
	t.Cleanup(page.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("Location", page.URL)
		w.WriteHeader(max(status, 200))
	}))
	t.Cleanup(proxy.Close)
	for _, env := range []string{"KITH_STRICT_SPIN=false", "KITH_STRICT_SPIN=true"} {
		s := demoSite(t)
		s.backend = proxy.URL
		s.serveEdge(t, env)
		for _, status := range []string{"200", "204", "301", "302", "307", "308", "401", "404"} {
			a := mustCall(t, http.StatusBadGateway, "GET", s.edge+"/"+status, "")
			require.Equal(t, "BAD_GATEWAY", decode[failure](t, a).APIErrorCode)
			require.NotContains(t, a.body, "a page")
			require.Empty(t, a.header["Location"])
		}
		for _, status := range []string{"500", "502", "503", "504"} {
			a := mustCall(t, http.StatusServiceUnavailable, "GET", s.edge+"/"+status, "")
			require.Equal(t, []string{"1"}, a.header["Retry-After"])
		}
	}
}

// Bodies up to the limit are forwarded unchanged; a larger one is refused with the address
// of the backend, which accepts it.
func TestForward_Body(t *testing.T) {
	t.Parallel()
	s := echoSite(t, "KITH_BACKEND_PUBLIC_URL=https://backend.example/")
	body := make([]byte, 8<<20+1)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(body)
	for _, size := range []int{0, 1, 64 << 10, 1<<20 + 1, 8 << 20} {
		sum := sha256.Sum256(body[:size])
		a := mustCall(t, http.StatusOK, "POST", s.edge+"/upload", string(body[:size]))
		require.Equal(t, hex.EncodeToString(sum[:]), decode[arrived](t, a).Body)
		a = mustCall(t, http.StatusOK, "POST", s.edge+"/upload", string(body[:size]), "Echo-Body: yes")
		require.True(t, bytes.Equal(body[:size], []byte(a.body)), "a body of %d bytes came back changed", size)
	}
	for _, size := range []int{8<<20 + 1} {
		a := mustCall(t, http.StatusRequestEntityTooLarge, "POST", s.edge+"/upload?a=1", string(body[:size]))
		require.Equal(t, failure{
			Message:    "the body is larger than 8 MiB, the limit of the edge; a file may be larger at https://backend.example/upload",
			StatusCode: 413, APIErrorCode: "PAYLOAD_TOO_LARGE",
		}, decode[failure](t, a))
	}
	chunked := raw(t, s.edge, "POST /x HTTP/1.1\nHost: x\nConnection: close\nTransfer-Encoding: chunked\n\n3\nabc\n2\nde\n0\n\n")
	sum := sha256.Sum256([]byte("abcde"))
	require.Equal(t, hex.EncodeToString(sum[:]), decode[arrived](t, chunked).Body)
}

// A body above twice the limit is not read, but the request is still answered.
func TestForward_BodyFarAboveTheBound(t *testing.T) {
	t.Parallel()
	s := echoSite(t, "KITH_MAX_BODY=1000")
	a := mustCall(t, http.StatusRequestEntityTooLarge, "POST", s.edge+"/x", strings.Repeat("x", 1001))
	require.Contains(t, a.body, "a file may be larger at "+s.backend+"/x")
	a = mustCall(t, http.StatusRequestEntityTooLarge, "POST", s.edge+"/x", strings.Repeat("x", 2001))
	require.Equal(t, "PAYLOAD_TOO_LARGE", decode[failure](t, a).APIErrorCode)
	require.Contains(t, a.body, "the body is larger than 1000 bytes; a file may be larger at "+s.backend+"/x")
}

// Forwarding and hop headers of a client are dropped; the edge sends its own.
func TestForward_HopHeadersAreTheEdges(t *testing.T) {
	t.Parallel()
	const request = "GET /x HTTP/1.1\nHost: shop.example\nConnection: close, X-Mine\nX-Mine: 1\nKeep-Alive: 5\nTE: trailers\nUpgrade: x\nProxy-Connection: keep-alive\n" +
		"X-Forwarded-For: 203.0.113.9\nX-Forwarded-For: 203.0.113.10\nX-Forwarded-Proto: https\nX-Forwarded-Host: evil.example\nX-Kith-Hop: 1.x\nSpin-Client-Addr: 203.0.113.9:1\nSpin-Full-Url: https://evil.example/\nspin-x: 1\n\n"
	for _, way := range []struct {
		name                   string
		env                    []string
		address, scheme, host_ string
	}{
		{"no proxy is trusted", nil, "127.0.0.1", "http", "shop.example"},
		{"another proxy is trusted", []string{"KITH_TRUSTED_PROXIES=10.0.0.0/8"}, "127.0.0.1", "http", "shop.example"},
		{"a proxy is trusted", []string{"KITH_TRUSTED_PROXIES=10.0.0.0/8, 127.0.0.1"}, "203.0.113.10", "https", "evil.example"},
		{"two proxies are trusted", []string{"KITH_TRUSTED_PROXIES=127.0.0.0/8,203.0.113.10"}, "203.0.113.9", "https", "evil.example"},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := echoSite(t, way.env...)
			got := decode[arrived](t, raw(t, s.edge, request)).Header
			require.Equal(t, []string{way.address}, got["X-Forwarded-For"])
			require.Equal(t, []string{way.scheme}, got["X-Forwarded-Proto"])
			require.Equal(t, []string{way.host_}, got["X-Forwarded-Host"])
			require.Len(t, got["X-Kith-Hop"], 1)
			require.NotEqual(t, "1.x", got.Get("X-Kith-Hop"))
			for name := range got {
				require.False(t, strings.HasPrefix(name, "Spin-"), name)
				require.False(t, slices.Contains([]string{"Connection", "X-Mine", "Keep-Alive", "Te", "Upgrade", "Proxy-Connection"}, name), name)
			}
		})
	}
}

// The backend trusts forwarding headers only if its own edge has signed them.
func TestForward_BackendBelievesItsEdgeOnly(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	a := mustCall(t, http.StatusServiceUnavailable, "GET", s.backend+"/api/v1/demo/code/X", "", "X-Kith-Hop: 1."+strings.Repeat("x", 43), s.auth("demo"))
	require.Contains(t, decode[failure](t, a).Message, "x-kith-hop")
	// Without a signed hop, the host is that of the connection, whatever the headers say.
	mustCall(t, http.StatusNotFound, "GET", s.backend+"/?rsCode=X", "", "Host: other.example", "X-Forwarded-Host: shop.example")
	mustCall(t, http.StatusFound, "GET", s.backend+"/?rsCode=X", "", "Host: shop.example")
	// The backend does not accept an edge with another master key.
	other := ownKeySite(t)
	other.backend = s.backend
	other.createTenant(t, "shop", "--landing-url", "https://shop.example/") // and a key of its own
	other.serveEdge(t)
	a = mustCall(t, http.StatusServiceUnavailable, "GET", other.edge+"/api/v1/demo/code/X", "", s.auth("demo"))
	require.NotEmpty(t, a.header.Get("Retry-After"))
}
