package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/wasm/e2e/lan"
)

var (
	faultsFor  = flag.Duration("faults", 0, "how long TestFaults causes faults at random; 0: each kind once. make soak SOAK_FAULTS=1 takes ten minutes")
	faultsSeed = flag.Uint64("faults-seed", 0, "the seed that chooses the faults of TestFaults; 0: another one each time, and in a short run always the same")
)

// TestFaults causes faults in a fleet under load, one after the other: parts are killed and
// restarted, or paused and resumed, and the network between two parts is cut in one
// direction or both, delays packets, or loses some. Each part has a host of its own. At the
// end it compares each answer with what is stored.
//
// make soak SOAK_FAULTS=1 causes them at random for ten minutes, and also checks how long
// links, look-ups and events were interrupted. In make test each kind of fault happens once,
// and these times are only printed, since they depend on the machine.
func TestFaults(t *testing.T) {
	if *faultsFor == 0 {
		t.Parallel()
	}
	if !lan.Inside() {
		lan.Rerun(t)
		return
	}
	seed := *faultsSeed
	switch {
	case seed != 0:
	case *faultsFor == 0:
		seed = shortSeed
	default:
		seed = rand.Uint64()
	}
	t.Logf("seed %d: repeat with -args -faults=%v -faults-seed=%d", seed, *faultsFor, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	f := newFaultFleet(t, seed)
	l := f.newLoad()
	l.start()
	pause(quiet)
	for began, n := time.Now(), 0; ; n++ {
		kinds := faultKinds
		if *faultsFor == 0 {
			if n == len(kinds) {
				break
			}
			kinds = kinds[n : n+1]
		} else if time.Since(began) > *faultsFor {
			break
		}
		f.cause(t, random, kinds[random.IntN(len(kinds))])
	}
	l.stop()
	f.verdict(t, l)
}

const (
	// quiet is the time before the first fault, and the least between two of them.
	quiet = time.Second
	// shortFault is how long a fault lasts in make test; in make soak it is up to longFault.
	shortFault, longFault = time.Second, 8 * time.Second
	// shortSeed chooses the faults of a short run.
	shortSeed = 2
)

func pause(d time.Duration) { time.Sleep(d) }

// faultFleet is a fleet whose parts have hosts of their own.
type faultFleet struct {
	*fleet
	network *lan.Network
	hosts   map[string]*lan.Host
	// control is the URL of a server on a host of its own that needs no part of the fleet:
	// its interruptions are those of this machine.
	control string
	began   time.Time
	caused  []caused
}

// caused is a fault that was caused.
type caused struct {
	kind, what string
	// edge is the index of the edge that was itself killed or paused, or -1.
	edge       int
	begin, end time.Time
}

// parts are the parts of a fleet, and the last numbers of their addresses.
var parts = []struct {
	name   string
	number byte
}{
	{"primary", 10}, {"replica1", 11}, {"replica2", 12}, {"backend1", 21}, {"backend2", 22}, {"edge1", 31}, {"edge2", 32},
}

// paths are the pairs of parts that connect to each other.
var paths = [][2]string{
	{"edge1", "replica1"}, {"edge2", "replica2"}, {"edge1", "replica2"}, {"edge2", "replica1"},
	{"edge1", "backend1"}, {"edge2", "backend2"},
	{"replica1", "primary"}, {"replica2", "primary"}, {"backend1", "primary"}, {"backend2", "primary"},
}

func newFaultFleet(t *testing.T, seed uint64) *faultFleet {
	f := &faultFleet{fleet: &fleet{}, network: lan.New(seed), hosts: map[string]*lan.Host{}}
	t.Cleanup(f.network.Close)
	_, err := f.network.Here()
	require.NoError(t, err)
	for _, p := range parts {
		f.hosts[p.name], err = f.network.Add(p.name, p.number)
		require.NoError(t, err)
	}
	f.startControl(t)
	databases := sqldtest.Options{Replicas: 2, Auth: true}
	for _, p := range parts[:3] {
		databases.Hosts = append(databases.Hosts, sqldtest.Host{IP: f.hosts[p.name].IP, Start: f.hosts[p.name].Start})
	}
	f.cluster = sqldtest.StartWith(t, databases)
	for i := range f.nodes {
		edge, backend := f.hosts[fmt.Sprint("edge", i+1)], f.hosts[fmt.Sprint("backend", i+1)]
		s := newSite(t)
		s.env = nil // the default time limits
		s.edge, s.backend = "http://"+edge.IP+":3000", "http://"+backend.IP+":8080"
		s.edgeHost, s.backendHost = edge.Start, backend.Start
		s.backendDatabase, s.edgeDatabase, s.databaseToken = f.cluster.PrimaryURL(), f.cluster.Replicas[i].URL(), f.cluster.Token()
		if i > 0 {
			s.data, s.keys = f.nodes[0].data, f.nodes[0].keys
		}
		f.nodes[i] = s
	}
	f.tenant = alias(t, f.nodes[0], "faults")
	for i := range f.nodes {
		f.startBackend(t, i)
		f.startEdge(t, i)
	}
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	return f
}

// trustLAN makes the load a trusted proxy of the edges, and the edges those of the
// backends: the number of connections of any other address is limited.
const trustLAN = "KITH_TRUSTED_PROXIES=10.77.0.0/24"

func (f *faultFleet) startBackend(t *testing.T, i int) { f.backends[i] = f.nodes[i].serve(t, trustLAN) }

func (f *faultFleet) startEdge(t *testing.T, i int) {
	f.edges[i] = f.nodes[i].serveEdge(t, trustLAN, "KITH_DATABASE_FALLBACK_URL="+f.cluster.Replicas[1-i].URL())
}

func (f *faultFleet) startControl(t *testing.T) {
	host, err := f.network.Add("control", 40)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	addr := host.IP + ":8080"
	f.control = "http://" + addr
	c := exec.Command(self)
	c.Env = append(os.Environ(), controlEnv+"="+addr)
	require.NoError(t, host.Start(c))
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	eventually(t, http.StatusOK, "GET", f.control, "")
}

// faultKind causes a fault and returns what it did, and the function that ends it.
type faultKind struct {
	name  string
	begin func(*faultFleet, *testing.T, *rand.Rand) (what string, edge int, end func())
}

var faultKinds = []faultKind{
	{"kill", func(f *faultFleet, t *testing.T, r *rand.Rand) (string, int, func()) {
		p := f.processes(t)[r.IntN(len(parts))]
		p.kill()
		return p.name, p.edge, p.start
	}},
	{"pause", func(f *faultFleet, t *testing.T, r *rand.Rand) (string, int, func()) {
		p := f.processes(t)[r.IntN(len(parts))]
		p.pause()
		return p.name, p.edge, p.resume
	}},
	network("cut", func(*rand.Rand) (lan.Fault, lan.Fault) { return lan.Fault{Cut: true}, lan.Fault{Cut: true} }),
	network("one-way cut of requests", func(*rand.Rand) (lan.Fault, lan.Fault) { return lan.Fault{Cut: true}, lan.Fault{} }),
	network("one-way cut of answers", func(*rand.Rand) (lan.Fault, lan.Fault) { return lan.Fault{}, lan.Fault{Cut: true} }),
	network("delay", func(r *rand.Rand) (lan.Fault, lan.Fault) {
		delay := lan.Fault{Delay: time.Duration(10+r.IntN(190)) * time.Millisecond}
		return delay, delay
	}),
	network("loss", func(r *rand.Rand) (lan.Fault, lan.Fault) {
		loss := lan.Fault{Loss: 0.02 + 0.2*r.Float64()}
		return loss, loss
	}),
}

// network returns a fault of the network between two parts that connect to each other.
func network(name string, choose func(*rand.Rand) (there, back lan.Fault)) faultKind {
	return faultKind{name, func(f *faultFleet, _ *testing.T, r *rand.Rand) (string, int, func()) {
		path := paths[r.IntN(len(paths))]
		there, back := choose(r)
		from, to := f.hosts[path[0]], f.hosts[path[1]]
		f.network.Set(from, to, there)
		f.network.Set(to, from, back)
		what := path[0] + "-" + path[1]
		switch {
		case there.Delay > 0:
			what += fmt.Sprint(", ", there.Delay)
		case there.Loss > 0:
			what += fmt.Sprintf(", %.0f %%", 100*there.Loss)
		}
		return what, -1, f.network.Heal
	}}
}

// running is a part that can be killed and paused.
type running struct {
	name                       string
	edge                       int
	kill, start, pause, resume func()
}

// processes returns the parts, in the order of parts.
func (f *faultFleet) processes(t *testing.T) (all []running) {
	c := f.cluster
	all = append(all, running{"primary", -1, func() { c.KillPrimary(t) }, func() { c.StartPrimary(t) },
		func() { c.PausePrimary(t) }, func() { c.ResumePrimary(t) }})
	for i, r := range c.Replicas {
		all = append(all, running{fmt.Sprint("replica", i+1), -1, func() { r.Kill(t) }, func() { r.Start(t) },
			func() { r.Pause(t) }, func() { r.Resume(t) }})
	}
	for i := range f.nodes {
		all = append(all, running{fmt.Sprint("backend", i+1), -1, func() { f.backends[i].kill() }, func() { f.startBackend(t, i) },
			func() { f.backends[i].pause(t) }, func() { f.backends[i].resume(t) }})
	}
	for i := range f.nodes {
		all = append(all, running{fmt.Sprint("edge", i+1), i, func() { f.edges[i].kill() }, func() { f.startEdge(t, i) },
			func() { f.edges[i].pause(t) }, func() { f.edges[i].resume(t) }})
	}
	return all
}

// cause causes a fault, ends it after some time, and waits until the fleet is well.
func (f *faultFleet) cause(t *testing.T, r *rand.Rand, kind faultKind) {
	long := *faultsFor > 0
	hold, rest := shortFault, quiet/2
	if long {
		hold, rest = randomUpTo(r, longFault), quiet+randomUpTo(r, 3*quiet)
	}
	c := caused{kind: kind.name, begin: time.Now()}
	var end func()
	c.what, c.edge, end = kind.begin(f, t, r)
	pause(hold)
	end()
	c.end = time.Now()
	f.caused = append(f.caused, c)
	t.Logf("%7.1f s  %s: %s, %.1f s", c.begin.Sub(f.began).Seconds(), c.kind, c.what, c.end.Sub(c.begin).Seconds())
	pause(rest)
}

func randomUpTo(r *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(d)))
}

// down returns the times in which an edge was itself killed or paused.
func (f *faultFleet) down(edge int) []caused {
	return slices.DeleteFunc(slices.Clone(f.caused), func(c caused) bool { return c.edge != edge })
}
