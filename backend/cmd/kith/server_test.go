package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/demo"
	"kith/wasm/transcript"
)

// Edge and backend answer the same to requests that a transcript cannot express.
func TestServers_RawRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	plain, withPages := f.stage(t), f.stageWith(t, demo.Landing)
	for name, server := range map[string]transcript.Target{
		"backend": plain.backendTarget("backend"), "edge": plain.edgeTarget(t),
		"backend with pages": withPages.backendTarget("backend"), "edge with pages": withPages.edgeTarget(t),
	} {
		t.Run(name, func(t *testing.T) { testRawRequests(t, server) })
	}
	got, body := send(t, withPages.backend, "POST /welcome")
	require.Equal(t, 405, got.StatusCode, string(body))
	require.Equal(t, "GET, HEAD", got.Header.Get("Allow"))
}

func testRawRequests(t *testing.T, server transcript.Target) {
	const page = "\r\nOrigin: https://any.example"
	for request, want := range map[string]struct {
		status  int
		message string
	}{
		"GET /%zz" + page:                                                {400, "the request is not valid HTTP (400 Bad Request); check the path and the headers: a path has %25 for %"},
		"GET /api/v1/demo/open/code/%zz" + page:                          {400, "the request is not valid HTTP (400 Bad Request); check the path and the headers: a path has %25 for %"},
		"GET /healthz\r\nX-Large: " + strings.Repeat("a", 80<<10) + page: {431, "headers: must not have more than 64 KiB together; send fewer or shorter ones"},
		"GET /nope" + page:                                               {404, "this path does not exist"},
		"GET /s" + page:                                                  {404, "this path does not exist"},
		"GET /s/demo" + page:                                             {404, "this path does not exist"},
		"GET /a/demo/nope" + page:                                        {404, "this path does not exist"},
		"GET //api/v1/demo/code/ANNA10" + page:                           {404, "there is no //api/v1/demo/code/ANNA10; did you mean /api/v1/demo/code/ANNA10?"},
		"GET /openapi.json" + page:                                       {404, "there is no /openapi.json; did you mean /api/v1/openapi.json?"},
		"GET /api/openapi.json" + page:                                   {404, "there is no /api/openapi.json; did you mean /api/v1/openapi.json?"},
		"POST /api/v1/demo/open/account/anna/user/anna\r\nContent-Type: text/plain\r\nContent-Type: application/json": {400, "Content-Type: occurs twice; send it once"},
		"GET /welcome/../api/v1/demo/code/ANNA10" + page:                                                              {404, "this path does not exist"},
		"POST /nope" + page:  {404, "this path does not exist"},
		"TRACE /nope" + page: {404, "this path does not exist"},
		"GET /api/v1/demo/nothing\r\nReferer: http://caf\xe9.example/" + page:            {404, "this path does not exist"},
		"TRACE /api/v1/demo/code/ANNA10":                                                 {405, "TRACE is not allowed on this path; use a method of the Allow header"},
		"PROPFIND /api/v1/demo/open/account/anna/user/anna":                              {405, "PROPFIND is not allowed on this path; use a method of the Allow header"},
		"PATCH /api/v1/demo/code/ANNA10\r\nUser-Agent: M\xfcller/1.0":                    {405, "PATCH is not allowed on this path; use a method of the Allow header"},
		"GET /api/v1/demo/code/ANN%FF\r\nAuthorization: Basic " + server.Values["basic"]: {404, "there is no such referral code"},
	} {
		got, body := send(t, server.Base, request)
		var failure struct {
			Message    string
			StatusCode int
		}
		require.NoError(t, json.Unmarshal(body, &failure), "%.80q: %s", request, body)
		require.Equal(t, want.status, got.StatusCode, "%.80q", request)
		require.Equal(t, want.message, failure.Message, "%.80q", request)
		require.Equal(t, want.status, failure.StatusCode, "%.80q", request)
		require.Equal(t, "application/json", got.Header.Get("Content-Type"), "%.80q", request)
		if strings.Contains(request, "Origin") {
			require.Contains(t, []string{"*", "https://any.example"}, got.Header.Get("Access-Control-Allow-Origin"), "%.80q", request)
		}
		if want.status == 405 {
			require.Contains(t, []string{"GET, HEAD", "GET, HEAD, POST, PUT, DELETE"}, got.Header.Get("Allow"), "%.80q", request)
		}
	}
}

// A share link works for a visitor who sends a header that is not UTF-8.
func TestServers_LatinHeaders(t *testing.T) {
	t.Parallel()
	stage := newFixture(t).stage(t)
	for name, server := range map[string]transcript.Target{"backend": stage.backendTarget("backend"), "edge": stage.edgeTarget(t)} {
		got, _ := send(t, server.Base, "GET /s/demo/ANNA10\r\nReferer: http://caf\xe9.example/\r\nUser-Agent: M\xfcller\r\nCookie: caf\xe9=\xe9")
		require.Equal(t, 302, got.StatusCode, name)
		require.True(t, strings.HasPrefix(got.Header.Get("Location"), "https://shop.example/welcome?rsCode=ANNA10"), name)
		got, _ = send(t, server.Base, "GET /api/v1/demo/open/code/ANNA10\r\nX-Shop: \xff\xfe")
		require.Equal(t, 200, got.StatusCode, name)
	}
}

// The response to HEAD has the length of the response to GET.
func TestServers_Head(t *testing.T) {
	t.Parallel()
	stage := newFixture(t).stage(t)
	for name, server := range map[string]transcript.Target{"backend": stage.backendTarget("backend"), "edge": stage.edgeTarget(t)} {
		for _, path := range []string{"/api/v1/demo/open/code/ANNA10", "/api/v1/demo/open/account/anna/user/anna", "/api/v1/demo/code/NONE", "/healthz", "/api/v1/openapi.json"} {
			rest := " " + path + "\r\nAuthorization: Basic " + server.Values["basic"]
			get, body := send(t, server.Base, "GET"+rest)
			head, none := send(t, server.Base, "HEAD"+rest)
			require.Empty(t, none)
			require.Equal(t, get.StatusCode, head.StatusCode, "%s %s", name, path)
			require.Equal(t, int64(len(body)), get.ContentLength, "%s %s", name, path)
			require.Equal(t, get.ContentLength, head.ContentLength, "%s %s", name, path)
		}
	}
}

// The size limits of GraphQL documents are those that the OpenAPI document states.
func TestServers_LongGraphQL(t *testing.T) {
	t.Parallel()
	stage := newFixture(t).stage(t)
	for name, server := range map[string]transcript.Target{"backend": stage.backendTarget("backend"), "edge": stage.edgeTarget(t)} {
		for _, c := range []struct {
			method string
			size   int
			key    bool
			status int
			says   string
		}{
			{"GET", 60 << 10, true, 200, `{"data":{"jwks":`},
			{"GET", 80 << 10, true, 431, "headers: must not have more than 64 KiB"},
			{"GET", 23 << 10, false, 200, `{"data":{"jwks":`},
			{"GET", 24 << 10, false, 413, "the body is larger than 24576 bytes"},
			{"POST", 128 << 10, true, 200, `{"data":{"jwks":`},
			{"POST", 128<<10 + 1, true, 200, "query: is larger than 128 KiB"},
			{"POST", 23 << 10, false, 200, `{"data":{"jwks":`},
			{"POST", 24 << 10, false, 413, "the body is larger than 24576 bytes"},
		} {
			basic := ""
			if c.key {
				basic = server.Values["basic"]
			}
			status, text := askGraphQL(t, server.Base, c.method, basic, "{jwks}"+strings.Repeat(" ", c.size-len("{jwks}")))
			require.Equal(t, c.status, status, "%s: %+v: %.200s", name, c, text)
			require.Contains(t, text, c.says, "%s: %+v", name, c)
		}
	}
}

// askGraphQL sends a document to the tenant demo, with the API key unless basic is
// empty.
func askGraphQL(t *testing.T, base, method, basic, document string) (status int, answer string) {
	t.Helper()
	target, body := base+"/api/v1/demo/graphql", `{"query":"`+document+`"}`
	if method == http.MethodGet {
		target, body = target+"?query="+url.QueryEscape(document), ""
	}
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	if basic != "" {
		r.Header.Set("Authorization", "Basic "+basic)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// send sends a request as written, adds the missing headers, and reads the response.
func send(t *testing.T, base, request string) (*http.Response, []byte) {
	t.Helper()
	line, headers, _ := strings.Cut(request, "\r\n")
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	if headers != "" {
		headers += "\r\n"
	}
	_, err = io.WriteString(conn, line+" HTTP/1.1\r\nHost: shop.example\r\n"+headers+"Connection: close\r\n\r\n")
	require.NoError(t, err)
	method, _, _ := strings.Cut(line, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(t, err, "%.80q", request)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, body
}

// A client that reads nothing holds a stop no longer than stopTimeout: its connection is closed.
func TestServeHTTP_StopsDespiteAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	for _, small := range []bool{true, false} {
		ctx, stop := context.WithCancel(t.Context())
		e := newEnv(ctx, io.Discard, slog.New(slog.DiscardHandler))
		e.stopTimeout = 100 * time.Millisecond
		l, err := listen("addr", "127.0.0.1:0")
		require.NoError(t, err)
		begun, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- e.serveHTTP(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				close(begun)
				w.Header().Set("Content-Length", strconv.Itoa(64<<20))
				_, _ = w.Write(make([]byte, 64<<20)) // more than any socket buffers
			}), small)
		}()
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		<-begun
		stop()
		require.ErrorContains(t, <-ended, "their connections were closed")
		require.NoError(t, c.Close())
	}
}
