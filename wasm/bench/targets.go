package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tolerance is the part of a target by which a figure may miss it before make bench fails.
const tolerance = 0.25

const (
	cpu, switches    = "cpu-us", "switches"
	resident, growth = "resident-MB", "growth-MB"
	constant302      = "constant 302 of net/http, same headers"
)

// targets are the rows whose figures must reach a target.
var targets = section{
	title: "Targets",
	intro: "Both sides of a comparison ran five times, in turn; figures are medians, unless the row says \"each of five runs\". Here the ratio is the figure divided by what it is compared with. The program is `kith dev` on a database file. At a constant rate a request's time counts from when it was due.",
	rows: []row{
		{of: `Target_Link/saturated/kith`, work: "share link, whole program, 32 connections", unit: perSecond, also: []string{p50, p99}, against: "Target_Link/saturated/constant", as: constant302, times: 0.45},
		{of: `Target_Link/steady/kith`, work: "share link, whole program, 2,000 per second", unit: p99, also: []string{p50}, against: "Target_Link/steady/constant", as: constant302, times: 2, plus: 2},
		{of: `Target_Link/cost/kith`, work: "share link, whole program, 1,000 per second", unit: cpu, against: "Target_Link/cost/constant", as: constant302, times: 2},
		{of: `Target_Link/cost/kith`, work: "share link, whole program, 1,000 per second", unit: switches, against: "Target_Link/cost/constant", as: constant302, plus: 6},
		{of: `Target_Memory/edge`, work: "`kith edge` after minutes at 2,000 share links per second", unit: resident, also: []string{"peak-MB"}, plus: 100},
		{of: `Target_Memory/dev`, work: "`kith dev` after minutes at 2,000 share links per second", unit: resident, also: []string{"peak-MB"}, plus: 150},
		{of: `Target_Memory/(edge|dev)`, work: "`kith $1`, growth in the second half", unit: growth, plus: 10},
		{of: `Target_Component/links/edge`, work: "share links, component alone, 12 connections", unit: perSecond, also: []string{p50, p99}, against: "Target_Component/links/native", as: "handlers compiled by Go", times: 0.75},
		{of: `Target_Component/codes/edge`, work: "code look-ups, component alone, 12 connections", unit: perSecond, also: []string{p50, p99}, against: "Target_Component/codes/native", as: "handlers compiled by Go", times: 0.9},
		{of: `Target_Component/events/edge`, work: "event calls, component alone, 48 connections", unit: perSecond, also: []string{p50, p99}, against: "Target_Component/events/native", as: "handlers compiled by Go", times: 1},
		{of: `Target_Instance/fresh`, work: "share link, new instance for each request", unit: perCall, against: "Target_Instance/reused", as: "reused instance", times: 1, plus: 200e3},
		{of: `Target_Among/(links|look-ups)/users=(\d+)`, work: "$1 of random codes among $2 users, whole program, 32 connections", unit: perSecond, also: []string{p50, p99}, against: "Target_Among/$1/users=10000", as: "among 10,000", times: 0.77},
		{of: `Codes_Among/users=(\d+)`, work: "look-up of a random code among $1 users", unit: perCall, against: "Codes_Among/users=10000", as: "among 10,000", times: 1.3},
		{of: `UserList/(\S+)/users=(\d+)`, work: "page of a list of $2 users: $1", unit: perCall, against: "UserList/$1/users=10000", as: "of 10,000", plus: 50e6},
		{of: `Import_Among/users=(\d+)`, work: "import of users beside $1", unit: "rows/s", against: "Import_Among/users=10000", as: "beside 10,000", times: 0.8},
		{of: `Target_Events/saturated/kith`, work: "event calls, whole program, 48 connections", unit: perSecond, also: []string{p50, p99}, against: "Target_Events/saturated/insert", as: "bare inserts of as many senders, same flush", times: 0.6},
		// What HTTP alone takes away from the insert.
		{of: `Target_Events/saturated/http`, work: "net/http that does the bare insert and nothing else, 48 connections", unit: perSecond, also: []string{p50, p99}, against: "Target_Events/saturated/insert", as: "bare inserts of as many senders, same flush"},
		{of: `Target_Events/steady/kith`, work: "event calls, whole program, 2,000 per second", unit: p99, also: []string{p50}, plus: 30},
		{of: `Target_Fleet/events/kith`, work: "event calls to both edges of a fleet, each of five runs", unit: perSecond, plus: 1500, each: true},
		{of: `Target_Fleet/events/kith`, work: "event calls to both edges of a fleet, each of five runs", unit: p99, plus: 50, each: true},
		{of: `Target_Start/edge/kith`, work: "`kith edge` with a compiled component, from its start to its first answer", unit: "ready-ms", plus: 200},
		{of: `Target_Bulk/redemptions`, work: "redemptions, 500 in one transaction", unit: "draws/s", plus: 20e3},
		{of: `Target_Bulk/deletions`, work: "deletions of users from a CSV file", unit: "rows/s", plus: 15e3},
		{of: `Target_Bulk/converted`, work: "import of users who are all referred and converted", unit: "rows/s", plus: 5e3},
		{of: `Target_Bulk/payer`, work: "identify a new referred user who pays, one call after the other", unit: perCall, plus: 1.5e6},
		{of: `Target_Bulk/import/kith`, work: "import of users from a CSV file", unit: "rows/s", against: "Target_Bulk/import/sqlite3-import", as: "sqlite3 .import", times: 0.5},
		{of: `Target_Webhooks/kith`, work: "webhooks to one endpoint, each with an RSA signature", unit: "deliveries/s", against: "Target_Webhooks/posts", as: "bare posts", plus: 5e3},
		{of: `Target_Idle/links/beside`, work: "share link, 2,000 per second, beside 10,000 idle connections", unit: p99, also: []string{p50}, against: "Target_Idle/links/alone", as: "without them", times: 1.5},
		{of: `Target_Idle/memory`, work: "memory of 10,000 idle connections", unit: "kB/connection", plus: 100},
	},
}

func (w row) hasTarget() bool { return w.times > 0 || w.plus > 0 }

// target is the target in words.
func (w row) target() string {
	var parts []string
	if w.times > 0 {
		parts = append(parts, strconv.FormatFloat(w.times, 'f', -1, 64)+" ×")
	}
	if w.plus > 0 {
		unit := w.unit
		if strings.HasSuffix(unit, "-ms") {
			unit = "longest-ms" // without "99 of 100 within"
		}
		parts = append(parts, figure(unit, w.plus))
	}
	word := "at most "
	if isRate(w.unit) {
		word = "at least "
	}
	return word + strings.Join(parts, " + ")
}

// measurement is the figure of one benchmark in a row.
type measurement struct {
	name, work, against, as string
	// value is the figure, and other what it is compared with, or 0.
	value, other float64
	// missed is the part of the target by which the figure misses it; 0 or less: it does
	// not.
	missed float64
}

// measurements returns the figures of a row, in the order of the output. A benchmark that
// would be compared with itself has none.
func (w row) measurements(r results) (all []measurement) {
	match := regexp.MustCompile("^(?:" + w.of + ")$")
	for _, name := range r.names {
		groups := match.FindStringSubmatchIndex(name)
		value, ok := r.value(name, w.unit)
		if groups == nil || !ok {
			continue
		}
		expand := func(template string) string { return string(match.ExpandString(nil, template, name, groups)) }
		m := measurement{name: name, work: expand(w.work), against: expand(w.against), as: expand(w.as), value: value}
		if m.against == name {
			continue
		}
		if w.each {
			m.value = r.worst(name, w.unit)
		}
		if m.other, ok = r.value(m.against, w.unit); !ok && w.times > 0 {
			continue // the target depends on the other side
		}
		if bound := w.times*m.other + w.plus; w.hasTarget() {
			m.missed = m.value/bound - 1
			if isRate(w.unit) {
				m.missed = 1 - m.value/bound
			}
		}
		all = append(all, m)
	}
	return all
}

// verdict says whether the figure reaches its target.
func (m measurement) verdict() string {
	if m.missed <= 0 {
		return "met"
	}
	return fmt.Sprintf("**missed by %.0f %%**", 100*m.missed)
}

// missedTargets lists the targets that are missed, and counts those that are missed by more
// than the tolerance. If all is true, targets without a figure are also listed and counted.
func missedTargets(r results, all bool) (lines []string, failed int) {
	for _, w := range targets.rows {
		measured := w.measurements(r)
		if len(measured) == 0 && all {
			failed++
			lines = append(lines, fmt.Sprintf("%s: not measured, target %s", w.work, w.target()))
		}
		for _, m := range measured {
			if m.missed <= 0 {
				continue
			}
			if m.missed > tolerance {
				failed++
			}
			compared := ""
			if m.other > 0 {
				compared = fmt.Sprintf(", %s: %s", m.as, figure(w.unit, m.other))
			}
			lines = append(lines, fmt.Sprintf("%s: %s%s, target %s: missed by %.0f %%", m.work, figure(w.unit, m.value), compared, w.target(), 100*m.missed))
		}
	}
	return lines, failed
}
