package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkRedirect compares a share link answered by the component with the
// database read that it needs, made by the probe guest through the same host:
// what is left is the cost of host and guest.
func BenchmarkRedirect(b *testing.B) {
	n := startDev(b)
	for _, fresh := range []bool{false, true} {
		name := "reused"
		if fresh {
			name = "fresh"
		}
		edge := n.loadEdge(b, fresh)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:3000/s/demo/ANNA10?rsShareMedium=FACEBOOK", nil)
				r.RequestURI = "/s/demo/ANNA10?rsShareMedium=FACEBOOK"
				r.RemoteAddr = "192.0.2.1:1234"
				r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
				w := httptest.NewRecorder()
				edge.ServeHTTP(w, r)
				if w.Code != http.StatusFound || w.Header().Get("Set-Cookie") == "" {
					b.Fatalf("status %d, header %v", w.Code, w.Header())
				}
			}
		})
	}
}
