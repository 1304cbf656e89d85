package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// visitedSite returns a site with a running backend, on which anna has the code ANNA10.
func visitedSite(t *testing.T) (s *site, backend *process) {
	t.Helper()
	s = demoSite(t)
	backend = s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	return s, backend
}

// follow follows a share link many times from many clients; all must be answered. On a busy
// machine a replica may take longer than an edge waits for it, which answers 503 then.
func follow(t *testing.T, tenant string, times int, bases ...string) {
	t.Helper()
	hammer(t, bases, readers, times, http.StatusFound, times, link(tenant))
}

// counted returns how many visits of ANNA10 by people are stored.
func (s *site) counted(t *testing.T, tenant string) int {
	t.Helper()
	db := s.open(t)
	defer db.Close()
	return countedIn(t, db, tenant)
}

func countedIn(t *testing.T, db *sql.DB, tenant string) int {
	t.Helper()
	return number(t, db, `SELECT coalesce(sum(visits), 0) FROM visit WHERE tenant = ? AND code = 'ANNA10' AND share_medium = 'FACEBOOK'`, tenant)
}

func (s *site) awaitCounted(t *testing.T, tenant string, want int) {
	t.Helper()
	db := s.open(t)
	defer db.Close()
	await(t, func() error {
		if n := countedIn(t, db, tenant); n != want {
			return fmt.Errorf("%d visits are stored, want %d", n, want)
		}
		return nil
	})
}

// After SIGTERM all share links that were answered are counted, those of the edge and
// those of the backend.
func TestStop_CountsEachVisit(t *testing.T) {
	t.Parallel()
	s, backend := visitedSite(t)
	edge := s.serveEdge(t)
	follow(t, "demo", 700, s.edge, s.backend)
	edge.stop(t)
	backend.stop(t)
	require.Equal(t, 700, s.counted(t, "demo"))
	require.Equal(t, []string{"visit"}, texts(t, s.open(t), `SELECT DISTINCT CASE bot_visits WHEN 0 THEN 'visit' ELSE 'bot' END FROM visit`))
}

// The same for both in one process.
func TestStopDev_CountsEachVisit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.dev(t)
	follow(t, "demo", 500, s.edge, s.backend)
	node.stop(t)
	require.Equal(t, 500, s.counted(t, "demo"))
}

// A killed edge loses what it has counted since it last stored visits, which it does each
// second, and nothing that was stored before. Nothing is counted twice.
func TestKillEdge_LosesVisitsOfTheLastSecond(t *testing.T) {
	t.Parallel()
	s, _ := visitedSite(t)
	least, most := 0, 0
	for range 3 {
		edge := s.serveEdge(t)
		before := s.counted(t, "demo")
		follow(t, "demo", 300, s.edge)
		s.awaitCounted(t, "demo", before+300)
		follow(t, "demo", 100, s.edge)
		edge.kill()
		least, most = least+300, most+400
		stored := s.counted(t, "demo")
		require.GreaterOrEqual(t, stored, least)
		require.LessOrEqual(t, stored, most)
	}
	edge := s.serveEdge(t)
	before := s.counted(t, "demo")
	follow(t, "demo", 50, s.edge)
	edge.stop(t)
	require.Equal(t, before+50, s.counted(t, "demo"))
}

// An edge stores visits without a backend, and the series has them when there is one
// again.
func TestVisits_BackendIsDown(t *testing.T) {
	t.Parallel()
	s, backend := visitedSite(t)
	s.serveEdge(t)
	backend.kill()
	follow(t, "demo", 200, s.edge)
	s.awaitCounted(t, "demo", 200)
	s.serve(t)
	a := mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/analytics/series", "", s.auth("demo"))
	series := decode[struct{ Points []struct{ Visits int } }](t, a)
	require.Len(t, series.Points, 30)
	sum := 0
	for _, p := range series.Points {
		sum += p.Visits
	}
	require.Equal(t, 200, sum)
}

// Visits of a fleet are counted exactly once, though the primary is killed while edges
// and backends store them. While it is away, edges count in memory.
func TestFleet_VisitsAreCountedOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	edges := []string{f.nodes[0].edge, f.nodes[1].edge}
	total := 0
	visit := func(times int, bases ...string) {
		follow(t, f.tenant, times, bases...)
		total += times
	}
	visit(400, f.bases()...)
	f.nodes[0].awaitCounted(t, f.tenant, total)
	for range 4 {
		// A batch was just stored, and others are on their way.
		db := f.nodes[0].open(t)
		for before := countedIn(t, db, f.tenant); countedIn(t, db, f.tenant) == before; {
			visit(40, edges...)
		}
		f.cluster.KillPrimary(t)
		visit(200, edges...)
		f.cluster.StartPrimary(t)
		// Until a replica has copied the database it forwards reads to the primary: killing
		// that again would be a second fault.
		f.cluster.WaitForSync(t)
	}
	f.nodes[0].awaitCounted(t, f.tenant, total)
	visit(100, f.bases()...)
	for i := range f.nodes {
		f.edges[i].stop(t)
		f.backends[i].stop(t)
	}
	require.Equal(t, total, f.nodes[0].counted(t, f.tenant))
}

// losing is a proxy to a database server that loses answers: it closes a connection when
// the server answers a request that has a text.
type losing struct {
	text []byte
	left atomic.Int64
}

// newLosing returns a proxy that loses the next answers, and its address.
func newLosing(t *testing.T, target, text string, answers int64) (p *losing, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p = &losing{text: []byte(text)}
	p.left.Store(answers)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.join(client, target)
		}
	}()
	return p, l.Addr().String()
}

func (p *losing) join(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	var asked atomic.Bool
	go func() {
		defer server.Close()
		buffer := make([]byte, 256<<10)
		for {
			n, err := client.Read(buffer)
			if bytes.Contains(buffer[:n], p.text) {
				asked.Store(true)
			}
			if err != nil {
				return
			}
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || asked.Swap(false) && p.left.Add(-1) >= 0 {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// An edge that gets no answer stores the batch again, and it counts once.
func TestVisits_AnswerIsLost(t *testing.T) {
	t.Parallel()
	server := sqldtest.Start(t)
	const lost = 3
	proxy, addr := newLosing(t, strings.TrimPrefix(server.PrimaryURL(), "ws://"), "INSERT INTO visit_batch", lost)
	s := newSite(t)
	s.backendDatabase, s.edgeDatabase = server.PrimaryURL(), "http://"+addr
	s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	edge := s.serveEdge(t)
	total := 0
	for proxy.left.Load() > 0 {
		follow(t, "demo", 20, s.edge)
		total += 20
	}
	s.awaitCounted(t, "demo", total)
	follow(t, "demo", 20, s.edge)
	edge.stop(t)
	require.Equal(t, total+20, s.counted(t, "demo"))
	require.GreaterOrEqual(t, strings.Count(edge.log(t), "counts of share links could not be stored"), lost)
}
