package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// redirectRead is the only statement of a redirect (edge/serve). The benchmark runs it
// alone, to separate its cost from that of host and guest.
const redirectRead = `SELECT t.alias, t.consent, t.consent_cookie, p.key, p.landing_url, p.allowed_hosts, p.cookie_life, c.code
	FROM tenant t
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN program p ON p.tenant = c.tenant AND p.key = c.program
	WHERE t.alias = ?1`

// BenchmarkEvents sends event calls with an idempotency key to the component, by REST and
// by GraphQL in its plain form. For comparison it inserts a row of the same size into the
// same database.
func BenchmarkEvents(b *testing.B) {
	s := newSite(b)
	p := s.dev(b)
	b.Cleanup(func() { p.stop(b) })
	b.Run("insert-alone", func(b *testing.B) { s.benchmarkInsert(b) })
	edge := s.loadEdge(b, nil)
	b.Run("component-reused", func(b *testing.B) {
		benchmarkEvents(b, edge, "/open/account/anna/user/anna/events", func(sent int) string { return fmt.Sprintf(eventBody, sent) })
	})
	b.Run("component-reused-graphql", func(b *testing.B) {
		benchmarkEvents(b, edge, "/graphql", func(sent int) string { return fmt.Sprintf(graphQLEvents, fmt.Sprintf("graph-%08d", sent), "purchase") })
	})
}

// eventsSent counts the keys of all runs, which share a database.
var eventsSent int

const eventBody = `{"idempotencyKey":"order-%08d","events":[{"key":"purchase","fields":{"revenue":29.00,"currency":"USD"}}]}`

func (s *site) benchmarkInsert(b *testing.B) {
	db := s.open(b)
	db.SetMaxOpenConns(1)
	_, err := db.Exec("PRAGMA synchronous = NORMAL") // the setting of the programs
	require.NoError(b, err)
	_, err = db.Exec("CREATE TABLE baseline (seq INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL) STRICT")
	require.NoError(b, err)
	statement, err := db.Prepare("INSERT INTO baseline (body) VALUES (?)")
	require.NoError(b, err)
	for b.Loop() {
		if _, err := statement.Exec(eventBody); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkEvents sends bodies that differ in their idempotency key.
func benchmarkEvents(b *testing.B, edge http.Handler, path string, body func(sent int) string) {
	b.ReportAllocs()
	for b.Loop() {
		eventsSent++
		r := httptest.NewRequest(http.MethodPost, "/api/v1/demo"+path, strings.NewReader(body(eventsSent)))
		r.RemoteAddr = "192.0.2.1:1234"
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth("", "LIVE_DEMO_KEY_0123456789")
		w := httptest.NewRecorder()
		edge.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
}

func (s *site) benchmarkRead(b *testing.B) {
	db := s.open(b)
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
