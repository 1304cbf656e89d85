package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the results of benchmarks.
type results struct {
	// cpu is the processor, as go test names it.
	cpu string
	// names are the names of the benchmarks in the order of the output.
	names []string
	// values are all values of a benchmark, by its name and the unit.
	values map[string]map[string][]float64
	// failed are the lines that report failures.
	failed []string
}

// resultLine is a line with a result. A number after # counts the runs of one benchmark.
// The number at the end of the name is GOMAXPROCS; go test leaves it out when it is 1.
var resultLine = regexp.MustCompile(`^Benchmark(\S+?)(?:#\d+)?(?:-\d+)?\s+\d+\s+(\S.*)$`)

// parse reads the output of go test -v -bench. With -v each result is one line, even
// when a benchmark prints lines of its own. Of other lines it notes failures.
func parse(in io.Reader) (r results, err error) {
	r = results{cpu: "unknown", values: map[string]map[string][]float64{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.cpu = cpu
		}
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			r.failed = append(r.failed, line)
		}
		m := resultLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if err := r.add(m[1], strings.Fields(m[2])); err != nil {
			return r, fmt.Errorf("%w: %s", err, line)
		}
	}
	return r, lines.Err()
}

// add adds the values of one result: pairs of a number and its unit.
func (r *results) add(name string, pairs []string) error {
	if r.values[name] == nil {
		r.names = append(r.names, name)
		r.values[name] = map[string][]float64{}
	}
	for pair := range slices.Chunk(pairs, 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil || len(pair) != 2 {
			return fmt.Errorf("want pairs of a number and a unit")
		}
		r.values[name][pair[1]] = append(r.values[name][pair[1]], value)
	}
	return nil
}

// value returns the median of a benchmark's values of a unit.
func (r results) value(name, unit string) (median float64, ok bool) {
	values := slices.Sorted(slices.Values(r.values[name][unit]))
	if len(values) == 0 {
		return 0, false
	}
	return values[len(values)/2], true
}

// worst returns the worst of a benchmark's values of a unit.
func (r results) worst(name, unit string) float64 {
	if isRate(unit) {
		return slices.Min(r.values[name][unit])
	}
	return slices.Max(r.values[name][unit])
}

// isRate reports whether more of a unit is better.
func isRate(unit string) bool { return strings.HasSuffix(unit, "/s") }
