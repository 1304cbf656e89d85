package main

import (
	"fmt"
	"strings"
)

// drift returns a table of the figures that two commits have on one machine, and the number of
// those that fell by more than the tolerance. A figure that is compared with another one counts
// by their ratio, which depends less on the machine. Rows without a figure of both are left out.
func drift(base, now results) (table string, fallen int) {
	var out strings.Builder
	out.WriteString("| work | base | now | change |\n|---|---|---|---|\n")
	listed := map[string]bool{}
	for _, s := range sections {
		for _, w := range s.rows {
			before := map[string]measurement{}
			for _, m := range w.measurements(base) {
				before[m.name] = m
			}
			for _, m := range w.measurements(now) {
				old, ok := before[m.name]
				if !ok || listed[m.name+" "+w.unit] {
					continue
				}
				listed[m.name+" "+w.unit] = true
				change := m.value / old.value
				if m.other > 0 && old.other > 0 { // else one of them is compared in a later form of the benchmark
					change = m.relative() / old.relative()
				}
				if !isRate(w.unit) {
					change = 1 / change
				}
				verdict := ""
				if change < 1-tolerance {
					fallen++
					verdict = " **worse**"
				}
				fmt.Fprintf(&out, "| %s | %s | %s | %+.0f %%%s |\n", m.work, old.shown(w.unit), m.shown(w.unit), 100*(change-1), verdict)
			}
		}
	}
	return out.String(), fallen
}

// relative is the figure divided by what it is compared with, if there is such.
func (m measurement) relative() float64 {
	if m.other > 0 {
		return m.value / m.other
	}
	return m.value
}

// shown is the figure, with its ratio if it is compared.
func (m measurement) shown(unit string) string {
	if m.other > 0 {
		return figure(unit, m.value) + " (" + number(m.relative()) + ")"
	}
	return figure(unit, m.value)
}
