package host

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func strict(o *Options) { o.StrictSpin = true }

// Like Spin's client, a strict host follows redirects to any host, and sends the
// component's headers there.
func TestStrict_OutboundFollowsRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := backend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Got-Hop"] = r.Header["X-Kith-Hop"]
		w.Header().Set("Got-Method", r.Method)
		w.Header().Set("Got-Accept", r.Header.Get("Accept"))
		_, _ = w.Write([]byte("the page behind the redirect"))
	})
	port := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://localhost:"+elsewhere+"/page")
		w.Header().Set("Set-Cookie", "a=1")
		w.WriteHeader(http.StatusFound)
	})
	url := "/send?http://127.0.0.1:" + port + "/"
	got := start(t, probe(t), port, strict).do(t, "POST", url, "body", "X-Kith-Hop", "signature")
	require.Equal(t, answer{200, got.header, "the page behind the redirect"}, got)
	require.Equal(t, []string{"signature"}, got.header["Got-Hop"])
	require.Equal(t, []string{"GET"}, got.header["Got-Method"])
	require.Equal(t, []string{"*/*"}, got.header["Got-Accept"])
	require.Empty(t, got.header["Set-Cookie"])

	got = start(t, probe(t), port, nil).do(t, "POST", url, "body")
	require.Equal(t, 302, got.status)

	got = start(t, probe(t), elsewhere, strict).do(t, "GET", url, "")
	require.Equal(t, answerText(502, "abi: http destination not allowed"), text(got), "the first URL is checked")
}

func TestStrict_OutboundFails(t *testing.T) {
	t.Parallel()
	port := backend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/around" {
			w.Header().Set("Location", "/around")
			w.WriteHeader(http.StatusFound)
		}
		w.Header()["X-Odd"] = []string{"grüße", "plain"}
	})
	b := start(t, probe(t), port, strict)
	require.Equal(t, answerText(502, "abi: http runtime error"), text(b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/around", "")))
	require.Equal(t, []string{"plain"}, b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/", "").header["X-Odd"])
}

// Like Spin, a strict host passes on the headers spin-* of a client, before its own.
func TestStrict_SpinHeadersOfAClient(t *testing.T) {
	t.Parallel()
	got := start(t, probe(t), "1", strict).do(t, "GET", "/echo?q", "", "Spin-Client-Addr", "6.6.6.6:6", "Spin-Forged", "x", "Spin-Full-Url", "https://evil/")
	require.Equal(t, []string{"x"}, got.header["Echo-Spin-Forged"])
	require.True(t, strings.HasPrefix(got.header.Get("Echo-Spin-Client-Addr"), "127.0.0.1:"), "of repeated headers of an answer the last is sent")
	require.True(t, strings.HasPrefix(got.header.Get("Echo-Spin-Full-Url"), "http://127.0.0.1:"))
}

// A strict host gives Spin's own answers, before and after a component is called.
func TestStrict_Requests(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", strict)
	var many []string
	for range strictHeaders - 1 {
		many = append(many, "X-Header", "v")
	}
	for _, row := range []struct {
		method, path string
		headers      []string
		want         answer
	}{
		{"TRACE", "/echo", nil, answer{status: 405}},
		{"GET", "/echo", many, answer{status: 431}},
		{"GET", "/respond?status=200", many[:len(many)-8], answer{status: 200}},
		{"GET", "/trap", nil, answer{status: 500}},
		{"GET", "/echo", []string{"Referer", "http://caf\xe9.example/"}, answer{status: 500}},
	} {
		got := b.do(t, row.method, row.path, "", row.headers...)
		require.Equal(t, row.want.status, got.status, row.path)
		require.Empty(t, got.body)
		require.Empty(t, got.header["Content-Type"])
		require.Empty(t, got.header["Allow"])
	}
	got := b.do(t, "GET", "/respond?status=200&header=Set-Cookie:a&header=X-One:1&header=set-cookie:b", "")
	require.Equal(t, []string{"b"}, got.header["Set-Cookie"])
	require.Equal(t, []string{"1"}, got.header["X-One"])
	require.Empty(t, b.do(t, "HEAD", "/respond?status=302", "").header["Content-Length"])
	require.Equal(t, []string{"7"}, b.do(t, "HEAD", "/respond?status=200&header=Content-Length:7", "").header["Content-Length"])
	stats := b.host.Stats()
	require.Zero(t, stats.Reused)
}

// Each connection has its own state; rows that one request wrote are visible to the next.
func TestStrict_OwnConnections(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", strict)
	require.Equal(t, 200, b.sql(t, "CREATE TABLE t (k TEXT)").status)
	require.Equal(t, answerText(200, "k\nt:a;\n"), b.sql(t, "INSERT INTO t VALUES ('a') RETURNING k"))
	require.Equal(t, answerText(200, "k\nt:a;\n"), b.sql(t, "SELECT k FROM t"))
	require.Equal(t, answerText(500, "abi: no such database"), text(b.do(t, "POST", "/sql", "SELECT 1", "Database", "unconfigured")))
	require.Equal(t, answerText(500, "abi: access to database denied"), text(b.do(t, "POST", "/sql", "SELECT 1", "Database", "other")))
	require.Equal(t, answerText(500, "abi: invalid database connection"), text(b.do(t, "POST", "/sql", "SELECT 1", "Database", "default", "Closed", "yes")))
}

// A strict host implements key-value stores; other hosts have none.
func TestKeyValue(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", strict)
	call := func(b *bench, method, store, key, value string) answer {
		t.Helper()
		return text(b.do(t, method, "/kv?"+key, value, "Store", store))
	}
	require.Equal(t, answerText(500, "abi: no such key"), call(b, "GET", "default", "a", ""))
	for _, value := range []string{"one", "", "two\x00 grüße", strings.Repeat("x", 100_000)} {
		require.Equal(t, answerText(200, value), call(b, "PUT", "default", "a", value))
		require.Equal(t, answerText(200, value), call(b, "GET", "default", "a", ""))
	}
	require.Equal(t, answerText(500, "abi: no such key"), call(b, "GET", "default", "A", ""))
	require.Equal(t, answerText(500, "abi: access to key-value store denied"), call(b, "GET", "other", "a", ""))
	require.Equal(t, answerText(500, "abi: no such key-value store"), call(start(t, probe(t), "1", nil), "GET", "default", "a", ""))
}
