package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// The numbers of connections for reads and for writes. Writes have more, since writes that
// wait for a commit, a flush or the primary are grouped.
const readers, writers, fleetWriters = 12, 48, 40

// throughput has the measurements of one run, for the table at the end.
type throughput struct {
	run  string
	sent int
	done map[string]measured
}

// BenchmarkThroughput measures many concurrent clients over real HTTP with persistent
// connections. Clients and servers share the machine. "kith" is the program (edge and
// backend in one process), "edge" the component in the process of the clients, and "native"
// its handlers compiled by the standard Go compiler, in the same process and on the same
// file: the ratio of the last two is the cost of the component.
func BenchmarkThroughput(b *testing.B) {
	t := &throughput{run: fmt.Sprint(time.Now().UnixNano()), done: map[string]measured{}}
	s := newSite(b)
	s.dev(b)
	h := httptest.NewServer(s.loadEdge(b, nil))
	b.Cleanup(h.Close)
	for _, place := range []struct{ name, base string }{{"kith", s.edge}, {"edge", h.URL}, {"native", s.native(b).URL}} {
		t.bench(b, "file/events/"+place.name, []string{place.base}, writers, http.StatusOK, t.event("demo", s.auth("demo")))
		t.bench(b, "file/links/"+place.name, []string{place.base}, readers, http.StatusFound, link("demo"))
		t.bench(b, "file/codes/"+place.name, []string{place.base}, readers, http.StatusOK, lookUp("demo", s.auth("demo")))
	}
	f := newFleet(b)
	f.identify(b, "anna", `{"referralCode":"ANNA10"}`)
	edges := []string{f.nodes[0].edge, f.nodes[1].edge}
	t.bench(b, "cluster/events/kith", edges, fleetWriters, http.StatusOK, t.event(f.tenant, f.auth()))
	t.bench(b, "cluster/links/kith", edges[:1], readers, http.StatusFound, link(f.tenant))
	t.bench(b, "cluster/codes/kith", edges[:1], readers, http.StatusOK, lookUp(f.tenant, f.auth()))
	t.print()
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
	b.Run(name, func(b *testing.B) {
		first := t.sent
		t.sent += b.N
		b.ResetTimer()
		m := hammer(b, bases, clients, b.N, status, func(i int) []byte { return request(first + i) })
		b.ReportMetric(m.rate, "req/s")
		b.ReportMetric(ms(m.p50), "p50-ms")
		b.ReportMetric(ms(m.p99), "p99-ms")
		b.ReportMetric(0, "ns/op")
		t.done[name] = m // the last run is the longest
	})
}

// print prints the table and the machine.
func (t *throughput) print() {
	fmt.Printf("\n%s, %d processors, load %s, %s\n", cpuName(), runtime.NumCPU(), load(), runtime.Version())
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "on\trequests\tby\treq/s\tp50 ms\tp99 ms\tof native\t")
	for _, on := range []string{"file", "cluster"} {
		for _, what := range []string{"events", "links", "codes"} {
			for _, by := range []string{"kith", "edge", "native"} {
				m, ok := t.done[on+"/"+what+"/"+by]
				if !ok {
					continue
				}
				ratio := ""
				if native, ok := t.done[on+"/"+what+"/native"]; ok && by != "native" {
					ratio = fmt.Sprintf("%.2f", m.rate/native.rate)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\t%.2f\t%.2f\t%s\t\n", on, what, by, m.rate, ms(m.p50), ms(m.p99), ratio)
			}
		}
	}
	_ = table.Flush()
	fmt.Println()
}

// cpuName returns the name of the processor.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, name, found := strings.Cut(string(text), "model name")
	if !found {
		return runtime.GOARCH
	}
	name, _, _ = strings.Cut(strings.TrimLeft(name, "\t :"), "\n")
	return name
}

// load returns the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
