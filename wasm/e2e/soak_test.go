package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	soakFor  = flag.Duration("soak", 5*time.Second, "how long TestSoak lasts; make soak takes ten minutes")
	soakRate = flag.Int("soak-rate", 100, "requests a second of TestSoak, over all nodes")
)

const (
	soakClients = 8
	// A process may grow by this much between the middle and the end: by a share, since
	// the heap may double between two garbage collections, and by a constant, since a
	// short run may still be warming up.
	soakGrowth, soakSlack = 1.25, 32 << 20
	// soakLines is how many lines of progress are logged.
	soakLines = 20
	// soakReported is how many failures are logged as they happen.
	soakReported = 20
)

// long reports whether the load lasts long enough to check times and growth.
func long() bool { return *soakFor >= time.Minute }

// soak is a constant load on a fleet, and its results.
type soak struct {
	f        *fleet
	run      string
	sent     [4]atomic.Int64 // by kind
	accepted atomic.Int64    // event calls
	failures atomic.Int64
	// late counts calls that were answered with 503 or not at all, since the fleet was
	// overloaded.
	late atomic.Int64

	mu   sync.Mutex
	took []time.Duration
}

// TestSoak puts a constant load on a fleet. At the end no answer was wrong, no process has
// grown, no work is left, and every accepted event was processed once. In make test it is
// short and checks nothing that depends on the machine; a long run also checks times and
// growth.
func TestSoak(t *testing.T) {
	f := newFleet(t)
	if long() {
		for _, n := range f.nodes {
			n.env = nil
		}
	}
	ops := f.restartWithOps(t)
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	s := &soak{f: f, run: strconv.FormatInt(time.Now().UnixNano(), 36)}
	watched := watch(t, f)
	t.Logf("%v at %d requests per second", *soakFor, *soakRate)
	s.load(t, watched, ops)
	s.verdict(t, watched, ops)
}

// restartWithOps restarts every node with an operations address, and returns these
// addresses, backends first.
func (f *fleet) restartWithOps(t *testing.T) (ops []string) {
	for i, n := range f.nodes {
		f.edges[i].kill()
		f.backends[i].kill()
		backend, edge := freeAddr(t), freeAddr(t)
		f.backends[i] = n.serve(t, "KITH_OPS_ADDR="+backend)
		f.edges[i] = n.serveEdge(t, "KITH_OPS_ADDR="+edge)
		ops = append(ops, backend, edge)
	}
	slices.SortStableFunc(ops, func(a, b string) int { return slices.Index(ops, a)%2 - slices.Index(ops, b)%2 })
	return ops
}

// load sends requests at the constant rate, or more slowly if the fleet is overloaded.
func (s *soak) load(t *testing.T, watched []*watchedProcess, ops []string) {
	began := time.Now()
	work := make(chan int, soakClients)
	var clients sync.WaitGroup
	for range soakClients {
		clients.Go(func() {
			lines := map[string]*line{}
			for i := range work {
				s.one(t, lines, i)
			}
			for _, l := range lines {
				l.close()
			}
		})
	}
	every := time.Second / time.Duration(*soakRate)
	reported := began
	for i := 0; ; i++ {
		due := time.Duration(i) * every
		if due >= *soakFor {
			break
		}
		time.Sleep(time.Until(began.Add(due)))
		work <- i
		if now := time.Now(); now.Sub(reported) >= *soakFor/soakLines {
			reported = now
			s.progress(t, now.Sub(began), i+1, watched, ops)
		}
	}
	close(work)
	clients.Wait()
}

// soakKinds are the kinds of requests, and how many of 20 have that kind.
var soakKinds = [...]struct {
	name  string
	share int
}{{"events", 8}, {"links", 6}, {"codes", 4}, {"users", 2}}

// one sends one request to any node.
func (s *soak) one(t *testing.T, lines map[string]*line, i int) {
	bases := s.f.bases()
	base := bases[rand.IntN(len(bases))]
	kind, place := 0, rand.IntN(20)
	for place >= soakKinds[kind].share {
		place -= soakKinds[kind].share
		kind++
	}
	api, auth := "/api/v1/"+s.f.tenant, s.f.auth()
	want := http.StatusOK
	var request []byte
	switch soakKinds[kind].name {
	case "events":
		request = rawRequest("POST", api+"/open/account/anna/user/anna/events", fmt.Sprintf(`{"idempotencyKey":"%s-%d","events":[{"key":"visit"}]}`, s.run, i), auth)
	case "links":
		// Only edges answer links.
		base, want = bases[rand.IntN(len(s.f.edges))], http.StatusFound
		request = rawRequest("GET", "/s/"+s.f.tenant+"/ANNA10", "", visitor...)
	case "codes":
		request = rawRequest("GET", api+"/code/ANNA10", "", auth)
	case "users":
		id := fmt.Sprintf("u%s-%d", s.run, i)
		request = rawRequest("PUT", api+"/open/account/"+id+"/user/"+id, `{"referredByCodes":["ANNA10"]}`, auth)
	}
	l := lines[base]
	if l == nil {
		l = &line{addr: strings.TrimPrefix(base, "http://")}
		lines[base] = l
	}
	began := time.Now()
	status, err := l.send(request)
	took := time.Since(began)
	s.sent[kind].Add(1)
	s.mu.Lock()
	s.took = append(s.took, took)
	s.mu.Unlock()
	failed := &s.late
	if err == nil && status != want {
		err = fmt.Errorf("status %d", status)
		if status != http.StatusServiceUnavailable {
			failed = &s.failures
		}
	}
	if err != nil {
		if failed.Add(1) <= soakReported {
			t.Logf("%s to %s after %v: %v", soakKinds[kind].name, base, took.Round(time.Millisecond), err)
		}
	} else if kind == 0 {
		s.accepted.Add(1)
	}
}

func (s *soak) progress(t *testing.T, since time.Duration, sent int, watched []*watchedProcess, ops []string) {
	sizes := ""
	for _, p := range watched {
		sizes += fmt.Sprintf("  %s %d MB", p.name, p.measure()>>20)
	}
	s.mu.Lock()
	slices.Sort(s.took)
	p99 := quantile(s.took, 99)
	s.mu.Unlock()
	t.Logf("%6s  %7d requests  %d failed  p99 %.0f ms  backlog %.0f %s", since.Round(time.Second), sent, s.failures.Load()+s.late.Load(), ms(p99), backlog(t, ops[0]), sizes)
}

// backlog returns the number of items that wait for workers, from a backend's metrics.
func backlog(t *testing.T, ops string) (waiting float64) {
	for _, work := range []string{"intake", "webhook", "job"} {
		waiting += metric(t, ops, `kith_backlog{work="`+work+`"}`)
	}
	return waiting
}

// watchedProcess is a process whose memory is watched.
type watchedProcess struct {
	name  string
	pid   int
	sizes []int64
}

func watch(t *testing.T, f *fleet) (all []*watchedProcess) {
	for i := range f.nodes {
		all = append(all, &watchedProcess{name: fmt.Sprintf("backend%d", i+1), pid: f.backends[i].command.Process.Pid},
			&watchedProcess{name: fmt.Sprintf("edge%d", i+1), pid: f.edges[i].command.Process.Pid})
	}
	return all
}

// measure records and returns the resident memory in bytes, or 0 for a process that has
// ended.
func (p *watchedProcess) measure() int64 {
	var size int64
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "statm"))
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		size = pages * int64(os.Getpagesize())
	}
	p.sizes = append(p.sizes, size)
	return size
}

// grown compares the memory of a process in the middle and at the end.
func (p *watchedProcess) grown() (warm, end int64, ok bool) {
	fifth := max(1, len(p.sizes)/5)
	middle := func(of []int64) int64 {
		of = slices.Sorted(slices.Values(of))
		return of[len(of)/2]
	}
	if len(p.sizes) == 0 || slices.Contains(p.sizes, 0) {
		return 0, 0, false
	}
	warm = middle(p.sizes[min(2*fifth, len(p.sizes)-1) : min(3*fifth, len(p.sizes)-1)+1])
	end = middle(p.sizes[len(p.sizes)-fifth:])
	return warm, end, float64(end) <= float64(warm)*soakGrowth+soakSlack
}

// errors prints the first errors in the log of a process.
func (s *soak) errors(t *testing.T, p *process) {
	reported := 0
	for line := range strings.Lines(fmt.Sprint(p.output)) {
		if strings.Contains(line, "level=ERROR") && reported < soakReported {
			reported++
			t.Log(strings.TrimSpace(line))
		}
	}
}

// verdict prints the results, and fails the test if one is outside of its bounds.
func (s *soak) verdict(t *testing.T, watched []*watchedProcess, ops []string) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	say := func(what, found string, ok bool) {
		verdict := "ok"
		if !ok {
			verdict = "VIOLATED"
			t.Fail()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", what, found, verdict)
	}
	var sent int64
	for i, kind := range soakKinds {
		sent += s.sent[i].Load()
		say(kind.name, fmt.Sprint(s.sent[i].Load()), s.sent[i].Load() > 0)
	}
	say("wrong answers", fmt.Sprint(s.failures.Load()), s.failures.Load() == 0)
	say("answered with 503 or not at all", fmt.Sprint(s.late.Load()), s.late.Load() == 0 || !long())
	for _, p := range watched {
		warm, end, ok := p.grown()
		say(p.name+" memory", fmt.Sprintf("%d MB in the middle, %d MB at the end", warm>>20, end>>20), ok || !long() && end > 0)
	}
	left := -1.0
	end := time.Now().Add(deadline)
	for left != 0 && time.Now().Before(end) {
		if left = backlog(t, ops[0]); left != 0 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	say("backlog at the end", fmt.Sprint(left), left == 0)
	db := s.f.nodes[0].open(t)
	processed := number(t, db, `SELECT count(DISTINCT id) FROM event WHERE tenant = ?`, s.f.tenant)
	accepted := int(s.accepted.Load())
	say("events accepted, processed", fmt.Sprintf("%d, %d", accepted, processed), accepted <= processed && processed <= accepted+int(s.late.Load()))
	for _, addr := range ops[len(ops)/2:] {
		trapped := metric(t, addr, `kith_guest_instances_total{fate="trapped"}`) + metric(t, addr, `kith_guest_instances_total{fate="faulty"}`)
		say("traps of an edge", fmt.Sprint(trapped), trapped == 0)
	}
	require.NoError(t, table.Flush())
	for _, p := range append(s.f.backends[:], s.f.edges[:]...) {
		s.errors(t, p)
	}
	slices.Sort(s.took)
	t.Logf("%d requests in %v, p50 %.1f ms, p99 %.1f ms\n%s", sent, *soakFor, ms(quantile(s.took, 50)), ms(quantile(s.took, 99)), &text)
}
