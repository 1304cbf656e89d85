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
	// A process may end up this much larger than it was in the middle: the share
	// is for the garbage collector, which lets the heap double between two of its
	// runs, the rest for what a short run has not warmed up yet.
	soakGrowth, soakSlack = 1.25, 32 << 20
	// soakLines is how many lines tell of the progress.
	soakLines = 20
	// soakTold is how many failures are told of as they happen.
	soakTold = 20
)

// long reports whether the load lasts long enough to judge the machine by it.
func long() bool { return *soakFor >= time.Minute }

// soak is a constant load on a fleet, and what became of it.
type soak struct {
	f        *fleet
	run      string
	sent     [4]atomic.Int64 // by kind
	accepted atomic.Int64    // event calls
	failures atomic.Int64
	// late counts calls that were answered 503, or not at all: the fleet had no time
	// for them.
	late atomic.Int64

	mu   sync.Mutex
	took []time.Duration
}

// TestSoak puts a constant load on a fleet. In the end nothing was answered
// wrongly, no process has grown, nothing waits, and every event that was accepted
// was processed once. As a part of make test it is short, shows that it works, and
// judges nothing that depends on the machine: the bounds of time and growth are
// those of a long one.
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
	t.Logf("%v at %d requests a second", *soakFor, *soakRate)
	s.load(t, watched, ops)
	s.verdict(t, watched, ops)
}

// restartWithOps gives every node an address for operators, and returns them:
// backends first.
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

// load sends as many requests as belong to the time at the rate, or more slowly when
// the fleet does not keep up.
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
	told := began
	for i := 0; ; i++ {
		due := time.Duration(i) * every
		if due >= *soakFor {
			break
		}
		time.Sleep(time.Until(began.Add(due)))
		work <- i
		if now := time.Now(); now.Sub(told) >= *soakFor/soakLines {
			told = now
			s.progress(t, now.Sub(began), i+1, watched, ops)
		}
	}
	close(work)
	clients.Wait()
}

// kinds of requests, and how many of 20 are of that kind.
var soakKinds = [...]struct {
	name  string
	share int
}{{"events", 8}, {"links", 6}, {"codes", 4}, {"users", 2}}

// one sends one request by way of any node.
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
		// Links are the edges' business.
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
		if failed.Add(1) <= soakTold {
			t.Logf("%s by way of %s after %v: %v", soakKinds[kind].name, base, took.Round(time.Millisecond), err)
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

// backlog is what waits for all workers, as a backend tells.
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

// measure notes and returns the resident memory in bytes; of a process that has
// ended it is 0.
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

// grown compares what a process took in the middle with what it took in the end.
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

// errors tells of the first errors that a process has logged.
func (s *soak) errors(t *testing.T, p *process) {
	told := 0
	for line := range strings.Lines(p.output.String()) {
		if strings.Contains(line, "level=ERROR") && told < soakTold {
			told++
			t.Log(strings.TrimSpace(line))
		}
	}
}

// verdict prints what was found, and fails the test when it is not as it should
// be.
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
	say("answered otherwise", fmt.Sprint(s.failures.Load()), s.failures.Load() == 0)
	say("answered 503 or not at all", fmt.Sprint(s.late.Load()), s.late.Load() == 0 || !long())
	for _, p := range watched {
		warm, end, ok := p.grown()
		say(p.name+" memory", fmt.Sprintf("%d MB in the middle, %d MB in the end", warm>>20, end>>20), ok || !long() && end > 0)
	}
	left := -1.0
	end := time.Now().Add(deadline)
	for left != 0 && time.Now().Before(end) {
		if left = backlog(t, ops[0]); left != 0 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	say("backlog in the end", fmt.Sprint(left), left == 0)
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
