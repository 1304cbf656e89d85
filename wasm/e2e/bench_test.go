package e2e

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tursodatabase/libsql-client-go/libsql"
)

// redirectRead is the one statement of a redirect (edge/serve), so that what it
// costs can be told from what host and guest cost.
const redirectRead = `SELECT t.alias, t.consent, t.consent_cookie, p.key, p.landing_url, p.allowed_hosts, p.cookie_life, c.code
	FROM tenant t
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN program p ON p.tenant = c.tenant AND p.key = c.program
	WHERE t.alias = ?1`

// BenchmarkRedirect is a share link answered by the component, on an instance
// that is used again and on a new one for each request, beside the database
// read that it needs: the difference is the cost of host and guest.
func BenchmarkRedirect(b *testing.B) {
	s := newSite(b)
	p := s.dev(b)
	b.Cleanup(func() { p.stop(b) })
	b.Run("database-read-alone", func(b *testing.B) { s.benchmarkRead(b) })
	b.Run("component-reused", func(b *testing.B) { benchmarkLink(b, s.loadEdge(b, false)) })
	b.Run("component-fresh", func(b *testing.B) { benchmarkLink(b, s.loadEdge(b, true)) })
}

func (s *site) benchmarkRead(b *testing.B) {
	connector, err := libsql.NewConnector("file:" + filepath.Join(s.data, "kith.db"))
	require.NoError(b, err)
	db := sql.OpenDB(connector)
	defer db.Close()
	statement, err := db.Prepare(redirectRead)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		var life int64
		var text [7]string
		err := statement.QueryRow("demo", "ANNA10").Scan(&text[0], &text[1], &text[2], &text[3], &text[4], &text[5], &life, &text[6])
		if err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkLink(b *testing.B, edge http.Handler) {
	const uri = "/s/demo/ANNA10?rsShareMedium=FACEBOOK"
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, uri, nil)
		r.RemoteAddr = "192.0.2.1:1234"
		r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
		w := httptest.NewRecorder()
		edge.ServeHTTP(w, r)
		if w.Code != http.StatusFound || w.Header().Get("Set-Cookie") == "" {
			b.Fatalf("status %d, header %v", w.Code, w.Header())
		}
	}
}
