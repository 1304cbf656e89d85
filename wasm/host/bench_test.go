package host

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser has the headers that a browser sends when a user follows a link.
var browser = http.Header{
	"Accept":                    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
	"Accept-Encoding":           {"gzip, deflate, br, zstd"},
	"Accept-Language":           {"en-US,en;q=0.5"},
	"Cookie":                    {"consent=yes; session=0123456789abcdef0123456789abcdef"},
	"Referer":                   {"https://shop.example/"},
	"Sec-Fetch-Dest":            {"document"},
	"Sec-Fetch-Mode":            {"navigate"},
	"Sec-Fetch-Site":            {"cross-site"},
	"Upgrade-Insecure-Requests": {"1"},
	"User-Agent":                {"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"},
}

// BenchmarkServe calls ServeHTTP without a socket, with a browser's headers: "redirect"
// answers with a cookie and a location, "read" with one row. "harness" is answered
// without a guest: it measures the cost of the benchmark itself.
func BenchmarkServe(b *testing.B) {
	for _, mode := range []string{"reused", "fresh"} {
		h := start(b, probe(b), "1", func(o *Options) { o.Fresh = mode == "fresh" })
		require.Equal(b, 200, h.sql(b, "CREATE TABLE codes (k TEXT PRIMARY KEY, v TEXT)").status)
		require.Equal(b, 200, h.sql(b, "INSERT INTO codes VALUES ('ANNA10', 'anna')").status)
		b.Run(mode+"/harness", func(b *testing.B) { serve(b, h.host, "OPTIONS", "*", "", 404) })
		b.Run(mode+"/redirect", func(b *testing.B) {
			serve(b, h.host, "GET", "/respond?status=302&header=Location:/landing&header=Set-Cookie:a%3D1&header=Cache-Control:private", "", 302)
		})
		b.Run(mode+"/read", func(b *testing.B) {
			serve(b, h.host, "POST", "/sql", "SELECT v FROM codes WHERE k = ?", 200, "Database", "default", "Param", "t:ANNA10")
		})
	}
}

func serve(b *testing.B, h *Host, method, path, body string, status int, headers ...string) {
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header = browser.Clone()
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status {
			b.Fatal(w.Code, w.Body)
		}
	}
}
