package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// throughputClients are the connections that requests come on.
const throughputClients = 32

// BenchmarkThroughput is many clients at once over real HTTP, with connections
// that are kept. Clients and servers share the machine.
func BenchmarkThroughput(b *testing.B) {
	run := fmt.Sprint(time.Now().UnixNano())
	event := func(tenant, auth string) func(int) []byte {
		return func(i int) []byte {
			return rawRequest("POST", "/api/v1/"+tenant+"/open/account/anna/user/anna/events",
				fmt.Sprintf(`{"idempotencyKey":"%s-%d","events":[{"key":"purchase","fields":{"revenue":29.00,"currency":"USD"}}]}`, run, i), auth)
		}
	}
	link := func(tenant string) func(int) []byte {
		request := rawRequest("GET", "/s/"+tenant+"/ANNA10?rsShareMedium=FACEBOOK", "", visitor...)
		return func(int) []byte { return request }
	}
	code := func(tenant, auth string) func(int) []byte {
		request := rawRequest("GET", "/api/v1/"+tenant+"/code/ANNA10", "", auth)
		return func(int) []byte { return request }
	}
	sent := 0
	bench := func(name string, bases []string, status int, request func(int) []byte) {
		b.Run(name, func(b *testing.B) {
			first := sent
			sent += b.N
			b.ResetTimer()
			m := hammer(b, bases, throughputClients, b.N, status, func(i int) []byte { return request(first + i) })
			b.ReportMetric(m.rate, "req/s")
			b.ReportMetric(ms(m.p50), "p50-ms")
			b.ReportMetric(ms(m.p99), "p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
	s := newSite(b)
	s.dev(b)
	auth := s.auth("demo")
	bench("file/dev/events", []string{s.edge}, http.StatusOK, event("demo", auth))
	bench("file/dev/links", []string{s.edge}, http.StatusFound, link("demo"))
	bench("file/dev/codes", []string{s.edge}, http.StatusOK, code("demo", auth))

	h := httptest.NewServer(s.loadEdge(b, false))
	b.Cleanup(h.Close)
	bench("file/here/events", []string{h.URL}, http.StatusOK, event("demo", auth))
	bench("file/here/links", []string{h.URL}, http.StatusFound, link("demo"))

	f := newFleet(b)
	f.identify(b, "anna", `{"referralCode":"ANNA10"}`)
	edges := []string{f.nodes[0].edge, f.nodes[1].edge}
	bench("cluster/events", edges, http.StatusOK, event(f.tenant, f.auth()))
	bench("cluster/links", edges[:1], http.StatusFound, link(f.tenant))
}
