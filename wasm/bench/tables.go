package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// section is one table of the document.
type section struct {
	title, intro string
	rows         []row
}

// row is one row of a table for each benchmark whose name matches.
type row struct {
	// of matches the whole name of a benchmark. The groups of the match replace $1
	// and $2 in the other fields.
	of string
	// work is what the benchmark does, in words.
	work string
	// unit is the unit of the figure, and also are further units to show.
	unit string
	also []string
	// against is the benchmark that the figure is compared with, and as what that
	// one does, in words. Empty: the row is not compared.
	against, as string
	// limit is the value that the figure must not exceed, in its unit. 0: no limit.
	limit float64
	// The target is times × the figure of against, + plus in the row's unit; the figure
	// must be at least that for a rate, and at most that for all else. Both are 0: the row
	// has no target.
	times, plus float64
	// each: the worst run must reach the target, not only the median.
	each bool
}

// tables are the tables of all results. A result that no row shows or compares with is
// listed by its name at the end.
func tables(r results) string {
	var out strings.Builder
	shown, compares := map[string]bool{}, map[string]bool{}
	for _, s := range sections {
		var body strings.Builder
		header := "| work | figure | compared with | ratio |\n|---|---|---|---|\n"
		for _, row := range s.rows {
			if row.hasTarget() {
				header = "| work | figure | compared with | ratio | target | |\n|---|---|---|---|---|---|\n"
			}
			row.write(&body, r, shown, compares)
		}
		if body.Len() > 0 {
			fmt.Fprintf(&out, "\n## %s\n\n%s\n\n%s%s", s.title, s.intro, header, body.String())
		}
	}
	var others strings.Builder
	for _, name := range r.names {
		if shown[name] || compares[name] || strings.HasSuffix(name, "/baseline") {
			continue
		}
		var figures []string
		for _, unit := range slices.Sorted(maps.Keys(r.values[name])) {
			if value, _ := r.value(name, unit); unit != "B/op" && unit != "allocs/op" {
				figures = append(figures, figure(unit, value))
			}
		}
		fmt.Fprintf(&others, "| `%s` | %s | | |\n", name, strings.Join(figures, ", "))
	}
	if others.Len() > 0 {
		fmt.Fprintf(&out, "\n## Other benchmarks\n\n| benchmark | figure | compared with | ratio |\n|---|---|---|---|\n%s", others.String())
	}
	return out.String()
}

// write writes a row for each benchmark that matches and of which the unit was not shown
// before, and notes which benchmarks are shown and which are compared with.
func (w row) write(out *strings.Builder, r results, shown, compares map[string]bool) {
	for _, m := range w.measurements(r) {
		if shown[m.name+" "+w.unit] {
			continue
		}
		shown[m.name], shown[m.name+" "+w.unit] = true, true
		shows := []string{figure(w.unit, m.value)}
		for _, unit := range w.also {
			if also, ok := r.value(m.name, unit); ok {
				shows = append(shows, figure(unit, also))
			}
		}
		compared, ratio := "", ""
		if m.other > 0 {
			compares[m.against] = true
			compared, ratio = fmt.Sprintf("%s: %s", m.as, figure(w.unit, m.other)), speed(w.unit, m.value, m.other)
		}
		if w.limit > 0 {
			compared, ratio = fmt.Sprintf("limit: %s", figure(w.unit, w.limit)), speed(w.unit, m.value, w.limit)
		}
		if w.hasTarget() {
			if ratio != "" {
				ratio = number(m.value / m.other)
			}
			ratio = strings.Join([]string{ratio, w.target(), m.verdict()}, " | ")
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", m.work, strings.Join(shows, ", "), compared, ratio)
	}
}

// speed is how many times as fast a figure is as another one.
func speed(unit string, value, other float64) string {
	if !isRate(unit) {
		value, other = other, value
	}
	return fmt.Sprintf("%.2f", value/other)
}

// figure is a value with its unit, in words.
func figure(unit string, value float64) string {
	switch unit {
	case perCall:
		switch {
		case value < 1e3:
			return number(value) + " ns"
		case value < 1e6:
			return number(value/1e3) + " µs"
		}
		return number(value/1e6) + " ms"
	case perSecond:
		return number(value) + " requests/s"
	case "draws/s":
		return number(value) + " redemptions/s"
	case p50, "event-p50-ms":
		return "median " + number(value) + " ms"
	case p99:
		return "99 of 100 within " + number(value) + " ms"
	case "event-p99-ms":
		return "99 of 100 event calls within " + number(value) + " ms"
	case "longest-ms", "ready-ms":
		return number(value) + " ms"
	case "cpu-us":
		return number(value) + " µs of a processor"
	case "resident-MB":
		return number(value) + " MB resident"
	case "peak-MB":
		return "at most " + number(value) + " MB"
	case "growth-MB":
		return number(value) + " MB more"
	case "kB/connection":
		return number(value) + " kB per connection"
	case "peak-MiB":
		return "at most " + number(value) + " MiB resident"
	}
	return number(value) + " " + unit
}

// number is a value with three significant digits, and commas between thousands.
func number(value float64) string {
	if value == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(value))))
	scale := math.Pow(10, float64(digits))
	text := strconv.FormatFloat(math.Round(value*scale)/scale, 'f', max(0, digits), 64)
	whole, fraction, pointed := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if pointed {
		return whole + "." + fraction
	}
	return whole
}
