package metrics

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// The kinds of families, as the text format names them.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
	summary   = "summary"
)

// family is a metric: what has one name.
type family struct {
	name, help, kind string
	// write writes the samples. A family without samples is left out.
	write func(context.Context, *text)
}

// text is the samples of a family in the text format of Prometheus, version 0.0.4.
type text struct {
	name string
	buf  []byte
}

var (
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// sample writes one line: the name of the family with a suffix, pairs of labels, and a
// value.
func (t *text) sample(suffix string, value float64, labels ...string) {
	t.buf = append(append(t.buf, t.name...), suffix...)
	for i := 0; i+1 < len(labels); i += 2 {
		sign := byte(',')
		if i == 0 {
			sign = '{'
		}
		t.buf = append(append(append(t.buf, sign), labels[i]...), `="`...)
		t.buf = append(append(t.buf, escapeLabel.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD"))...), '"')
	}
	if len(labels) > 0 {
		t.buf = append(t.buf, '}')
	}
	t.buf = append(t.buf, ' ')
	t.buf = append(append(t.buf, number(value)...), '\n')
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Handler serves the metrics. It reads all families at once, since some ask a database.
func (o *Observer) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
		defer cancel()
		o.mu.Lock()
		families := slices.SortedFunc(slices.Values(o.families), func(a, b family) int { return cmp.Compare(a.name, b.name) })
		o.mu.Unlock()
		texts := make([]text, len(families))
		var reading sync.WaitGroup
		for i, f := range families {
			texts[i].name = f.name
			reading.Go(func() { f.write(ctx, &texts[i]) })
		}
		reading.Wait()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		for i, f := range families {
			if len(texts[i].buf) == 0 {
				continue
			}
			head := "# HELP " + f.name + " " + escapeHelp.Replace(f.help) + "\n# TYPE " + f.name + " " + f.kind + "\n"
			if _, err := w.Write(append([]byte(head), texts[i].buf...)); err != nil {
				return
			}
		}
	})
}

// maxLabels is how many labels a series has at most.
const maxLabels = 4

// key is the label values of a series, in the order of the names of the labels.
type key [maxLabels]string

// series are the series of a family by their labels. It is safe for concurrent use.
type series[T any] struct {
	labels []string
	mu     sync.RWMutex
	all    map[key]*T
}

func newSeries[T any](labels ...string) *series[T] {
	return &series[T]{labels: labels, all: map[key]*T{}}
}

// of returns the series with some label values.
func (s *series[T]) of(k key) *T {
	s.mu.RLock()
	one := s.all[k]
	s.mu.RUnlock()
	if one != nil {
		return one
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one = s.all[k]; one == nil {
		one = new(T)
		s.all[k] = one
	}
	return one
}

// each calls do for each series, with pairs of labels, in the order of their values.
func (s *series[T]) each(do func(one *T, labels []string)) {
	s.mu.RLock()
	all := maps.Clone(s.all)
	s.mu.RUnlock()
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b key) int { return slices.Compare(a[:], b[:]) }) {
		var labels []string
		for i, name := range s.labels {
			labels = append(labels, name, k[i])
		}
		do(all[k], labels)
	}
}

// counts returns the family of counters.
func counts(name, help string, s *series[atomic.Int64]) family {
	return family{name, help, counter, func(_ context.Context, out *text) {
		s.each(func(n *atomic.Int64, labels []string) { out.sample("", float64(n.Load()), labels...) })
	}}
}

// buckets are the upper bounds of request times in seconds: the edge answers in less
// than a millisecond, and an upload may take a minute.
var buckets = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}

// times counts durations by bucket. The last one has those above all bounds.
type times struct {
	buckets [len(buckets) + 1]atomic.Int64
	// sum is the bits of a float64, in seconds.
	sum atomic.Uint64
}

func (t *times) observe(seconds float64) {
	i, _ := slices.BinarySearch(buckets[:], seconds)
	t.buckets[i].Add(1)
	for {
		was := t.sum.Load()
		if t.sum.CompareAndSwap(was, math.Float64bits(math.Float64frombits(was)+seconds)) {
			return
		}
	}
}

// durations returns the family of durations.
func durations(name, help string, s *series[times]) family {
	return family{name, help, histogram, func(_ context.Context, out *text) {
		s.each(func(t *times, labels []string) {
			n := int64(0)
			for i := range t.buckets {
				bound := math.Inf(1)
				if i < len(buckets) {
					bound = buckets[i]
				}
				n += t.buckets[i].Load()
				out.sample("_bucket", float64(n), append(slices.Clip(labels), "le", number(bound))...)
			}
			out.sample("_sum", math.Float64frombits(t.sum.Load()), labels...)
			out.sample("_count", float64(n), labels...)
		})
	}}
}
