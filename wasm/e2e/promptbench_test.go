package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The time limits of docs/guarantees.md hold on a machine that runs nothing else, so
// benchmarks measure and check them. The tests of a fleet check which node answers.

// staleness is the maximum age of 99 of 100 answers of an edge. prompt is the maximum time
// in which a node answers or refuses, whatever other process is unavailable.
const staleness, prompt = 2 * time.Second, 2 * time.Second

// BenchmarkFleet_Staleness measures how soon a change through one edge is seen through the
// other.
func BenchmarkFleet_Staleness(b *testing.B) {
	f := newFleet(b)
	f.identify(b, "anna", `{"referralCode":"ANNA10"}`)
	b.Run("edits=100", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			took = took[:0]
			for range 100 {
				began := time.Now()
				f.edit(b, fmt.Sprintf("Anna%d", began.UnixNano()))
				took = append(took, time.Since(began))
			}
		}
		slices.Sort(took)
		b.ReportMetric(ms(quantile(took, 50)), "p50-ms")
		b.ReportMetric(ms(took[98]), "p99-ms")
		b.ReportMetric(0, "ns/op")
		require.LessOrEqual(b, took[98], staleness)
	})
}

// stopwatch makes calls, and records the longest time of an answer.
type stopwatch struct {
	b    *testing.B
	most time.Duration
}

func (w *stopwatch) call(status int, method, url, body string, headers ...string) {
	w.b.Helper()
	began := time.Now()
	mustCall(w.b, status, method, url, body, headers...)
	w.most = max(w.most, time.Since(began))
}

// BenchmarkFleet_Prompt measures the longest time of a link, a look-up and an event call at
// an edge while other processes are unavailable.
func BenchmarkFleet_Prompt(b *testing.B) {
	for _, c := range []struct {
		name     string
		fallback bool
		// link, code and event are the expected statuses.
		link, code, event int
		leave             func(*fleet)
	}{
		{"backends-killed", false, 302, 200, 200, func(f *fleet) { f.killBackends() }},
		{"primary-killed", false, 302, 200, 503, func(f *fleet) { f.killBackends(); f.cluster.KillPrimary(b) }},
		{"replica-killed", false, 302, 200, 200, func(f *fleet) { f.cluster.Replicas[0].Kill(b) }},
		{"replica-and-backends-killed", false, 503, 503, 503, func(f *fleet) { f.cluster.Replicas[0].Kill(b); f.killBackends() }},
		{"replica-killed/fallback", true, 302, 200, 200, func(f *fleet) { f.killBackends(); f.cluster.Replicas[0].Kill(b) }},
		{"replica-paused/fallback", true, 302, 200, 200, func(f *fleet) { f.killBackends(); f.cluster.Replicas[0].Pause(b) }},
		{"replicas-paused/fallback", true, 503, 503, 503, func(f *fleet) {
			f.killBackends()
			f.cluster.Replicas[0].Pause(b)
			f.cluster.Replicas[1].Pause(b)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var most time.Duration
			for b.Loop() {
				f := newFleet(b)
				f.identify(b, "anna", `{"referralCode":"ANNA10"}`)
				if c.fallback {
					f.fallBack(b)
				}
				w := stopwatch{b: b}
				edge := f.nodes[0].edge
				w.call(http.StatusFound, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
				c.leave(f)
				for i := range 3 {
					w.call(c.link, "GET", edge+"/s/"+f.tenant+"/ANNA10", "")
					w.call(c.code, "GET", f.api(edge)+"/code/ANNA10", "", f.auth())
					w.call(c.event, "POST", f.api(edge)+"/open/account/anna/user/anna/events",
						fmt.Sprintf(`{"idempotencyKey":"prompt-%d","events":[{"key":"visit"}]}`, i), f.auth())
				}
				most = max(most, w.most)
			}
			b.ReportMetric(ms(most), "longest-ms")
			b.ReportMetric(0, "ns/op")
			require.Less(b, most, prompt)
		})
	}
}

func (f *fleet) killBackends() {
	for _, p := range f.backends {
		p.kill()
	}
}
