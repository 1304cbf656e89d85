package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
	"kith/backend/testenv"
	"kith/wasm/host"
)

// BenchmarkTarget_Component compares the component with its handlers compiled by the
// standard Go compiler, on one file. Both are in the process of the clients, so that
// nothing but the component differs.
func BenchmarkTarget_Component(b *testing.B) {
	t := newThroughput()
	s := newSite(b)
	s.dev(b)
	h := httptest.NewServer(s.loadEdge(b, nil))
	b.Cleanup(h.Close)
	native := s.native(b)
	for _, work := range []struct {
		name            string
		clients, status int
		request         func(int) []byte
	}{
		{"links", readers, http.StatusFound, link("demo")},
		{"codes", readers, http.StatusOK, lookUp("demo", s.auth("demo"))},
		{"events", writers, http.StatusOK, t.event("demo", s.auth("demo"))},
	} {
		alternate(b, work.name,
			side{"edge", func(b *testing.B) { t.measure(b, []string{h.URL}, work.clients, work.status, work.request) }},
			side{"native", func(b *testing.B) { t.measure(b, []string{native.URL}, work.clients, work.status, work.request) }})
	}
}

// BenchmarkTarget_Instance answers a share link with the component, on a reused instance
// and on a new one for each request, as Spin does. For comparison it runs the database
// read alone: the difference is the cost of host and guest.
func BenchmarkTarget_Instance(b *testing.B) {
	s := newSite(b)
	p := s.dev(b)
	b.Cleanup(func() { p.stop(b) })
	reused, fresh := s.loadEdge(b, nil), s.loadEdge(b, func(o *host.Options) { o.Fresh = true })
	for range testenv.BenchRuns(b) {
		b.Run("read", func(b *testing.B) { s.benchmarkRead(b) })
		b.Run("reused", func(b *testing.B) { benchmarkLink(b, reused) })
		b.Run("fresh", func(b *testing.B) { benchmarkLink(b, fresh) })
	}
}

// load is the load of event calls on servers.
func (t *throughput) load(bases []string, clients int, tenant, auth string) loadgen {
	request := t.event(tenant, auth)
	return loadgen{bases: bases, connections: clients, status: http.StatusOK, request: func(int) []byte {
		t.sent++
		return request(t.sent)
	}}
}

// BenchmarkTarget_Events sends event calls to kith dev on a file, which answers when they
// are on the disk. It is compared with as many callers that insert rows of the same size,
// each in a transaction of its own, and wait for the same shared flush, and with a server
// that does nothing but answer after such an insert. "steady" sends 2,000 per second.
func BenchmarkTarget_Events(b *testing.B) {
	t := newThroughput()
	s := newSite(b)
	s.dev(b)
	load := t.load([]string{s.edge}, writers, "demo", s.auth("demo"))
	load.saturate(b, time.Second)
	insert := s.inserter(b)
	_, bare := constant(b, mustCall(b, http.StatusOK, "POST", s.edge+"/api/v1/demo/open/account/anna/user/anna/events",
		fmt.Sprintf(eventBody, 0), s.auth("demo")), s.file())
	served := t.load([]string{bare}, writers, "demo", s.auth("demo"))
	served.saturate(b, time.Second)
	alternate(b, "saturated",
		side{"kith", func(b *testing.B) { load.saturate(b, saturatedFor).report(b) }},
		side{"http", func(b *testing.B) { served.saturate(b, saturatedFor).report(b) }},
		side{"insert", func(b *testing.B) { insertFor(b, saturatedFor, insert).report(b) }})
	alternate(b, "steady", side{"kith", func(b *testing.B) { load.steady(b, frequent, steadyFor).report(b) }})
}

// inserter makes the table baseline, and returns a function that inserts a row there.
func (s *site) inserter(b *testing.B) func() error {
	_, err := s.open(b).Exec("CREATE TABLE baseline (seq INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL) STRICT")
	require.NoError(b, err)
	insert, err := newInserter(s.file())
	require.NoError(b, err)
	return func() error { return insert([]byte(eventBody)) }
}

// newInserter returns a function that inserts a row into the table baseline of a database
// file, and returns when it is on the disk. Only one transaction runs at a time, as SQLite
// requires; flushes are shared.
func newInserter(file string) (func(body []byte) error, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(120000)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	statement, err := db.Prepare("INSERT INTO baseline (body) VALUES (?)")
	if err != nil {
		return nil, err
	}
	log, err := libsql.NewLog("file:" + file)
	if err != nil {
		return nil, err
	}
	return func(body []byte) error {
		if _, err := statement.Exec(string(body)); err != nil {
			return err
		}
		return log.Wait()
	}, nil
}

// insertFor calls insert from as many goroutines as there are senders of event calls.
func insertFor(b *testing.B, d time.Duration, insert func() error) measured {
	b.Helper()
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	took := make([][]time.Duration, writers)
	began := time.Now()
	for i := range writers {
		all.Go(func() {
			for began := began; time.Since(began) < d && failed.Load() == nil; {
				asked := time.Now()
				if err := insert(); err != nil {
					failed.Store(&err)
				}
				took[i] = append(took[i], time.Since(asked))
			}
		})
	}
	all.Wait()
	wall := time.Since(began)
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	times := slices.Concat(took...)
	slices.Sort(times)
	return measured{rate: float64(len(times)) / wall.Seconds(), wall: wall, p50: quantile(times, 50), p99: quantile(times, 99)}
}

// BenchmarkTarget_Fleet sends event calls to both edges of a fleet.
func BenchmarkTarget_Fleet(b *testing.B) {
	t := newThroughput()
	f := newFleet(b)
	f.identify(b, "anna", `{"referralCode":"ANNA10"}`)
	load := t.load([]string{f.nodes[0].edge, f.nodes[1].edge}, fleetWriters, f.tenant, f.auth())
	load.saturate(b, time.Second)
	alternate(b, "events", side{"kith", func(b *testing.B) { load.saturate(b, steadyFor).report(b) }})
}

// BenchmarkTarget_Start measures the time from the start of kith edge, which finds a
// compiled component in its data folder, to the answer of its first share link.
func BenchmarkTarget_Start(b *testing.B) {
	s := newSite(b)
	seeded := s.dev(b)
	seeded.stop(b)
	s.serveEdge(b).stop(b) // compiles the component, if kith dev did not
	request := link("demo")(0)
	start := func() time.Duration {
		began := time.Now()
		p := s.launch(b, []string{"KITH_DATABASE_URL=", "KITH_BACKEND_URL=" + s.backend}, "edge")
		await(b, func() error { return askOnce(s.edge, request) })
		took := time.Since(began)
		p.stop(b)
		return took
	}
	alternate(b, "edge", side{"kith", func(b *testing.B) {
		var took []time.Duration
		for began := time.Now(); len(took) < 5 || time.Since(began) < saturatedFor; {
			took = append(took, start())
		}
		slices.Sort(took)
		b.ReportMetric(ms(quantile(took, 50)), "ready-ms")
	}})
}
