package e2e

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// The benchmarks whose names begin with Target measure what docs/performance.md has
// targets for. Each side runs several times, in turn with the other, since the speed of a
// machine changes; wasm/bench compares the medians.
const (
	// saturatedFor and steadyFor are how long a run lasts. Both must exceed a second: the
	// testing package repeats shorter ones.
	saturatedFor, steadyFor = 3 * time.Second, 5 * time.Second
	// linkClients and steadyClients are the connections of a load of share links.
	linkClients, steadyClients = 32, 64
	// frequent and calm are loads in requests per second.
	frequent, calm = 2000, 1000
	linkPath       = "/s/demo/ANNA10?rsShareMedium=FACEBOOK"
)

// side is one of the two sides of a comparison.
type side struct {
	name string
	run  func(*testing.B)
}

// alternate runs the sides one after the other, testenv.BenchRuns times.
func alternate(b *testing.B, name string, sides ...side) {
	b.Helper()
	for range testenv.BenchRuns(b) {
		for _, s := range sides {
			b.Run(name+"/"+s.name, func(b *testing.B) {
				s.run(b)
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// links is the load of share links on a server.
func links(base string, connections int) loadgen {
	return loadgen{bases: []string{base}, connections: connections, status: http.StatusFound, request: link("demo")}
}

// BenchmarkTarget_Link compares share links of kith dev on a file with a constant answer
// that has the same header: "saturated" by many connections, "steady" at 2,000 per second,
// and "cost" at 1,000 per second, in processor time and context switches per request.
func BenchmarkTarget_Link(b *testing.B) {
	s := newSite(b)
	node := s.dev(b)
	baseline, base := constant(b, mustCall(b, http.StatusFound, "GET", s.edge+linkPath, "", visitor...), "")
	servers := []struct {
		name, base string
		process    *process
	}{{"kith", s.edge, node}, {"constant", base, baseline}}
	var saturated, steady, cost []side
	for _, to := range servers {
		links(to.base, linkClients).saturate(b, time.Second) // makes instances, fills caches
		saturated = append(saturated, side{to.name, func(b *testing.B) { links(to.base, linkClients).saturate(b, saturatedFor).report(b) }})
		steady = append(steady, side{to.name, func(b *testing.B) { links(to.base, steadyClients).steady(b, frequent, steadyFor).report(b) }})
		cost = append(cost, side{to.name, func(b *testing.B) {
			before := usageOf(b, to.process)
			m := links(to.base, linkClients).steady(b, calm, steadyFor)
			after := usageOf(b, to.process)
			requests := m.rate * m.wall.Seconds()
			b.ReportMetric(float64((after.cpu-before.cpu).Microseconds())/requests, "cpu-us")
			b.ReportMetric(float64(after.switches-before.switches)/requests, "switches")
		}})
	}
	alternate(b, "saturated", saturated...)
	alternate(b, "steady", steady...)
	alternate(b, "cost", cost...)
}

// usage is what a process has used since its start.
type usage struct {
	cpu      time.Duration
	switches int64
}

// usageOf adds up the threads of a process. Threads that have ended are missing; the
// threads of a Go program hardly ever end.
func usageOf(t testing.TB, p *process) (u usage) {
	t.Helper()
	u.cpu = cpuTime(t, p)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.command.Process.Pid))
	require.NoError(t, err)
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "voluntary_ctxt_switches") {
				n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				require.NoError(t, err)
				u.switches += n
			}
		}
	}
	require.NotZero(t, u.switches)
	return u
}

// BenchmarkTarget_Memory sends share links at 2,000 per second for KITH_BENCH_MINUTES (1;
// the targets are for 10), and reports the resident memory at the end, and by how much it
// grew in the second half.
func BenchmarkTarget_Memory(b *testing.B) {
	minutes, err := strconv.Atoi(cmp.Or(os.Getenv("KITH_BENCH_MINUTES"), "1"))
	require.NoError(b, err, "KITH_BENCH_MINUTES")
	s := newSite(b)
	seeded := s.dev(b)
	seeded.stop(b)
	for _, c := range []struct {
		name  string
		start func(testing.TB, ...string) *process
	}{{"edge", s.serveEdge}, {"dev", s.dev}} {
		b.Run(c.name, func(b *testing.B) {
			p := c.start(b)
			defer p.kill()
			w := watchedProcess{name: c.name, pid: p.command.Process.Pid}
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				for range 60 * minutes {
					time.Sleep(time.Second)
					w.measure()
				}
			}()
			links(s.edge, steadyClients).steady(b, frequent, time.Duration(minutes)*time.Minute)
			<-stop
			middle, end, _ := w.grown()
			require.NotZero(b, end, "the process has ended")
			b.ReportMetric(float64(end)/1e6, "resident-MB")
			b.ReportMetric(float64(slices.Max(w.sizes))/1e6, "peak-MB")
			b.ReportMetric(float64(end-middle)/1e6, "growth-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
