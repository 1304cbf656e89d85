package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// statementCounter is a proxy in front of a database server. It counts statements that
// have one of some arguments.
type statementCounter struct {
	url       string // of the proxy, ws://host:port
	server    *url.URL
	arguments []any
	counted   atomic.Int64
	// connections counts the WebSocket connections since the start.
	connections atomic.Int64
}

// countStatements starts a proxy in front of the server at a ws:// URL.
func countStatements(t testing.TB, server string, arguments ...any) *statementCounter {
	t.Helper()
	to, err := url.Parse(strings.Replace(server, "ws://", "http://", 1))
	require.NoError(t, err)
	c := &statementCounter{server: to, arguments: arguments}
	proxy := httptest.NewServer(c)
	t.Cleanup(proxy.CloseClientConnections)
	c.url = strings.Replace(proxy.URL, "http://", "ws://", 1)
	return c
}

// ServeHTTP relays the messages of a WebSocket, or one of the protocol over HTTP.
func (c *statementCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		c.relay(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.count(body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	httputil.NewSingleHostReverseProxy(c.server).ServeHTTP(w, r)
}

func (c *statementCounter) relay(w http.ResponseWriter, r *http.Request) {
	protocol := r.Header.Get("Sec-WebSocket-Protocol")
	server, _, err := websocket.Dial(r.Context(), c.server.String(), &websocket.DialOptions{Subprotocols: []string{protocol}})
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.CloseNow()
	client, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
	if err != nil {
		return
	}
	defer client.CloseNow()
	c.connections.Add(1)
	go pass(r, client, server, func([]byte) {})
	pass(r, server, client, c.count)
}

// pass forwards messages from one side to the other until either ends.
func pass(r *http.Request, to, from *websocket.Conn, seen func([]byte)) {
	defer to.CloseNow()
	from.SetReadLimit(-1)
	for {
		kind, message, err := from.Read(r.Context())
		if err != nil {
			return
		}
		seen(message)
		if to.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}

type (
	countedRequest struct {
		Stmt  countedStatement
		Batch struct {
			Steps []struct{ Stmt countedStatement }
		}
	}
	countedStatement struct{ Args []struct{ Value any } }
)

func (c *statementCounter) count(message []byte) {
	var m struct {
		Request  countedRequest
		Requests []countedRequest
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	for _, r := range append(m.Requests, m.Request) {
		c.countOne(r.Stmt)
		for _, step := range r.Batch.Steps {
			c.countOne(step.Stmt)
		}
	}
}

func (c *statementCounter) countOne(s countedStatement) {
	for _, arg := range s.Args {
		if slices.Contains(c.arguments, arg.Value) {
			c.counted.Add(1)
			return
		}
	}
}

// Guesses of a network without attempts left cause no database statements, at edge and
// backend. Only for keys and tokens the API keys of the tenant are read, once a second,
// since a key may be new.
func TestGuesses_RefusedWithoutStatements(t *testing.T) {
	t.Parallel()
	const limit = 20
	s := newSite(t)
	c := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	primary, replica := countStatements(t, c.PrimaryURL(), "demo", "shop.example"), countStatements(t, c.Replicas[0].URL(), "demo", "shop.example")
	s.backendDatabase, s.edgeDatabase = primary.url, replica.url
	s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	settings := []string{"KITH_TRUSTED_PROXIES=127.0.0.0/8", "KITH_RATE_LIMIT=" + strconv.Itoa(limit)}
	s.serve(t, settings...)
	s.serveEdge(t, settings...)
	require.NotZero(t, primary.counted.Load(), "creating the tenant runs statements")
	identify := "/api/v1/demo/open/account/a/user/a"
	for i, row := range []struct {
		name, method, path, body string
		headers                  []string
		keys                     bool // may be read once a second
	}{
		{"share link", "GET", "/s/demo/NOBODY", "", nil, false},
		{"page", "GET", "/shoes?rsCode=NOBODY", "", []string{"Host: shop.example"}, false},
		{"open code", "GET", "/api/v1/demo/open/code/NOBODY", "", nil, false},
		{"no credentials", "GET", identify, "", nil, false},
		{"cookie user", "PUT", "/api/v1/demo/open/user/cookie_user", "{}", nil, false},
		{"GraphQL", "POST", "/api/v1/demo/graphql", `{"query":"{__typename}"}`, nil, false},
		{"key", "GET", "/api/v1/demo/code/NOBODY", "", []string{"Authorization: Basic eDp4"}, true},
		{"key of a cookie user", "PUT", "/api/v1/demo/open/user/cookie_user", "{}", []string{"Authorization: Basic eDp4"}, true},
		{"token", "PUT", identify, "{}", []string{"Authorization: Bearer eyJhbGciOiJub25lIn0.e30."}, true},
		{"token with events", "POST", identify + "/events", "{}", []string{"Authorization: Bearer eyJhbGciOiJub25lIn0.e30."}, true},
		{"no form of credentials", "GET", identify, "", []string{"Authorization: Basic ?"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			headers := append(row.headers, fmt.Sprintf("X-Forwarded-For: 198.51.%d.1", i))
			// A new minute gives new attempts, so a measurement over its beginning is
			// repeated.
			for minute := int64(0); minute != time.Now().Unix()/60; {
				minute = time.Now().Unix() / 60
				// Alternately, so that the edge must learn the refusals of the backend.
				for range 4 * limit {
					try(t, s, row.method, row.path, row.body, headers)
				}
				began, atPrimary, atReplica := time.Now(), primary.counted.Load(), replica.counted.Load()
				refused := 0
				for range limit {
					refused += try(t, s, row.method, row.path, row.body, headers)
				}
				if minute != time.Now().Unix()/60 {
					continue
				}
				require.Equal(t, 2*limit, refused)
				require.Equal(t, atReplica, replica.counted.Load(), "statements at the replica")
				if row.keys {
					atPrimary += 1 + int64(time.Since(began).Seconds())
				}
				require.LessOrEqual(t, primary.counted.Load(), atPrimary, "statements at the primary")
			}
		})
	}
}

// try makes an attempt at edge and backend, and returns how many of them refused it.
func try(t testing.TB, s *site, method, path, body string, headers []string) (refused int) {
	t.Helper()
	for _, base := range []string{s.edge, s.backend} {
		a, err := call(method, base+path, body, headers...)
		require.NoError(t, err)
		if a.status == http.StatusTooManyRequests {
			refused++
		}
	}
	return refused
}
