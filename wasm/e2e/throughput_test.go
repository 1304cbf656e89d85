package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// The numbers of connections for reads and for writes. Writes have more, since writes that
// wait for a commit, a flush or the primary are grouped.
const readers, writers, fleetWriters = 12, 48, 40

// throughput counts the event calls of one run, since each has a key of its own.
type throughput struct {
	run  string
	sent int
}

func newThroughput() *throughput { return &throughput{run: fmt.Sprint(time.Now().UnixNano())} }

// BenchmarkThroughput measures many concurrent clients over real HTTP with persistent
// connections: of the program on a file (edge and backend in one process), and of a fleet.
// Clients and servers share the machine. BenchmarkTarget_Component measures the component
// alone.
func BenchmarkThroughput(b *testing.B) {
	t := newThroughput()
	s := newSite(b)
	s.dev(b)
	t.bench(b, "file/events/kith", []string{s.edge}, writers, http.StatusOK, t.event("demo", s.auth("demo")))
	t.bench(b, "file/links/kith", []string{s.edge}, readers, http.StatusFound, link("demo"))
	t.bench(b, "file/codes/kith", []string{s.edge}, readers, http.StatusOK, lookUp("demo", s.auth("demo")))
	f := newFleet(b)
	f.identify(b, "anna", `{"referralCode":"ANNA10"}`)
	edges := []string{f.nodes[0].edge, f.nodes[1].edge}
	t.bench(b, "cluster/events/kith", edges, fleetWriters, http.StatusOK, t.event(f.tenant, f.auth()))
	t.bench(b, "cluster/links/kith", edges[:1], readers, http.StatusFound, link(f.tenant))
	t.bench(b, "cluster/codes/kith", edges[:1], readers, http.StatusOK, lookUp(f.tenant, f.auth()))
}

// event returns event calls with distinct keys.
func (t *throughput) event(tenant, auth string) func(int) []byte {
	return func(i int) []byte {
		return rawRequest("POST", "/api/v1/"+tenant+"/open/account/anna/user/anna/events",
			fmt.Sprintf(`{"idempotencyKey":"%s-%d","events":[{"key":"purchase","fields":{"revenue":29.00,"currency":"USD"}}]}`, t.run, i), auth)
	}
}

func link(tenant string) func(int) []byte {
	request := rawRequest("GET", "/s/"+tenant+"/ANNA10?rsShareMedium=FACEBOOK", "", visitor...)
	return func(int) []byte { return request }
}

func lookUp(tenant, auth string) func(int) []byte {
	request := rawRequest("GET", "/api/v1/"+tenant+"/code/ANNA10", "", auth)
	return func(int) []byte { return request }
}

func (t *throughput) bench(b *testing.B, name string, bases []string, clients, status int, request func(int) []byte) {
	b.Run(name, func(b *testing.B) { t.measure(b, bases, clients, status, request) })
}

func (t *throughput) measure(b *testing.B, bases []string, clients, status int, request func(int) []byte) {
	first := t.sent
	t.sent += b.N
	b.ResetTimer()
	hammer(b, bases, clients, b.N, status, 0, func(i int) []byte { return request(first + i) }).report(b)
	b.ReportMetric(0, "ns/op")
}
