package main

import (
	"fmt"
	"maps"
	"math"
	"regexp"
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
}

const (
	perSecond = "req/s"
	perCall   = "ns/op"
	p50, p99  = "p50-ms", "p99-ms"
)

// unflushed is a baseline on a database file that may lose its last rows in a power
// failure. Kith flushes the disk before it answers.
const unflushed = "transaction of one row, without a flush of the disk"

// fleetLimit is the promise of docs/guarantees.md, in milliseconds.
const fleetLimit = 2000

var sections = []section{
	{
		title: "Requests over HTTP",
		intro: "Many clients at once over kept connections, on the machine of the servers: 12 that read, 48 that send events (40 to a fleet). The baseline runs the same handlers compiled by Go instead of WebAssembly, in the process of the clients. A fleet is a database server with two replicas, two edges and two backends.",
		rows: []row{
			{of: `Throughput/file/links/kith`, work: "share links, edge and backend in one process", unit: perSecond, also: []string{p50, p99}, against: "Throughput/file/links/native", as: "handlers alone, native"},
			{of: `Throughput/file/links/edge`, work: "share links, component alone", unit: perSecond, also: []string{p50, p99}, against: "Throughput/file/links/native", as: "handlers alone, native"},
			{of: `Throughput/file/codes/kith`, work: "code look-ups, edge and backend in one process", unit: perSecond, also: []string{p50, p99}, against: "Throughput/file/codes/native", as: "handlers alone, native"},
			{of: `Throughput/file/codes/edge`, work: "code look-ups, component alone", unit: perSecond, also: []string{p50, p99}, against: "Throughput/file/codes/native", as: "handlers alone, native"},
			{of: `Throughput/file/events/kith`, work: "event calls, edge and backend in one process", unit: perSecond, also: []string{p50, p99}, against: "Throughput/file/events/native", as: "handlers alone, native"},
			{of: `Throughput/file/events/edge`, work: "event calls, component alone", unit: perSecond, also: []string{p50, p99}, against: "Throughput/file/events/native", as: "handlers alone, native"},
			{of: `Throughput/file/(links|codes|events)/native`, work: "$1, handlers alone, native (baseline)", unit: perSecond, also: []string{p50, p99}},
			{of: `Throughput/cluster/links/kith`, work: "share links, one edge of a fleet", unit: perSecond, also: []string{p50, p99}},
			{of: `Throughput/cluster/codes/kith`, work: "code look-ups, one edge of a fleet", unit: perSecond, also: []string{p50, p99}},
			{of: `Throughput/cluster/events/kith`, work: "event calls, both edges of a fleet", unit: perSecond, also: []string{p50, p99}},
		},
	},
	{
		title: "Pages of the portal",
		intro: "At the server, without a network, in a tenant with 1,000,000 users, 100,000 referrals of a year, and 730,000 rows of visits; the median of a page.",
		rows: []row{
			{of: `Pages/(.+)`, work: "page $1", unit: "p50-ms", limit: 100},
			{of: `Find/(.+)`, work: "search of people: $1", unit: perCall},
		},
	},
	{
		title: "One request in the component",
		intro: "One request at a time, without a network, so that the cost of WebAssembly can be separated from that of the database.",
		rows: []row{
			{of: `Redirect/component-reused`, work: "share link, reused instance", unit: perCall, against: "Redirect/database-read-alone", as: "its database read alone"},
			{of: `Redirect/component-fresh`, work: "share link, new instance for each request", unit: perCall, against: "Redirect/database-read-alone", as: "its database read alone"},
			{of: `Events/component-reused`, work: "event call by REST", unit: perCall, against: "Events/insert-alone", as: unflushed},
			{of: `Events/component-reused-graphql`, work: "event call by GraphQL", unit: perCall, against: "Events/insert-alone", as: unflushed},
			{of: `Visits`, work: "share links per second of a processor with visits counted, as a part of those without; at least 0.95", unit: "ratio", also: []string{"on-req/s", "off-req/s"}},
			{of: `Serve/(reused|fresh)/redirect`, work: "smallest test component answers a redirect, $1 instance", unit: perCall, against: "Serve/$1/harness", as: "answer without a component"},
			{of: `Serve/(reused|fresh)/read`, work: "smallest test component reads one row, $1 instance", unit: perCall, against: "Serve/$1/harness", as: "answer without a component"},
			{of: `Read`, work: "read of one row of a database file", unit: perCall},
		},
	},
	{
		title: "Calls of the backend",
		intro: "One call at a time, without HTTP, on a database file and on a libSQL server on the same machine. The baseline is a transaction that stores one row: no call that writes can be faster.",
		rows: []row{
			{of: `Identify/(file|server)/converts`, work: "identify a new referred user who pays, on a $1", unit: perCall, against: "Identify/$1/baseline", as: "transaction of one row"},
			{of: `Identify/(file|server)/again,_referred`, work: "identify a referred user again, on a $1", unit: perCall, against: "Identify/$1/baseline", as: "transaction of one row"},
			{of: `Identify/(file|server)/again,_not_referred`, work: "identify a user without a referrer again, on a $1", unit: perCall, against: "Identify/$1/baseline", as: "transaction of one row"},
			{of: `SyncAccount/(file|server)/attributes`, work: "account sync that attributes a referral, on a $1", unit: perCall, against: "SyncAccount/$1/baseline", as: "transaction of one row"},
			{of: `SyncAccount/(file|server)/again`, work: "account sync without a change, on a $1", unit: perCall, against: "SyncAccount/$1/baseline", as: "transaction of one row"},
			{of: `Redeem/(file|server)/one_reward`, work: "redeem credit of one reward, on a $1", unit: perCall, against: "Redeem/$1/bare_update", as: "transaction that changes one row"},
			{of: `Redeem/(file|server)/a_user_of_100_rewards`, work: "redeem credit of a user with 100 rewards, on a $1", unit: perCall, against: "Redeem/$1/bare_update", as: "transaction that changes one row"},
			{of: `Balances/(file|server)/balances`, work: "read the balances of an account with 100 rewards, on a $1", unit: perCall, against: "Balances/$1/bare_update", as: "transaction that changes one row"},
			{of: `Balances/(file|server)/discount`, work: "read the discount of an account with 100 rewards, on a $1", unit: perCall, against: "Balances/$1/bare_update", as: "transaction that changes one row"},
			{of: `RedeemWithin/(file|server)`, work: "redemptions, 500 in one transaction, on a $1", unit: "draws/s"},
			{of: `AppendIntake/(file)`, work: "store an event call, on a file", unit: perCall, against: "AppendIntake/$1/baseline", as: unflushed},
			{of: `AppendIntake/(server)`, work: "store an event call, on a server", unit: perCall, against: "AppendIntake/$1/baseline", as: "transaction of one row"},
			{of: `AppendIntake_ManyAtOnce/(file)`, work: "store an event call, 32 callers per core, on a file", unit: perCall, against: "AppendIntake_ManyAtOnce/$1/baseline", as: unflushed},
			{of: `AppendIntake_ManyAtOnce/(server)`, work: "store an event call, 32 callers per core, on a server", unit: perCall, against: "AppendIntake_ManyAtOnce/$1/baseline", as: "transaction of one row, one caller"},
			{of: `ProcessIntake/(file|server)`, work: "process stored events in batches of 500, on a $1", unit: "rows/s"},
			{of: `Orders/(file|server)/(.*orders.*)`, work: "process events and decide $2, on a $1", unit: "events/s", against: "Orders/$1/other_events", as: "events that no program names"},
		},
	},
	{
		title: "Imports",
		intro: "Rows of a CSV file, from the upload to the result file. `KITH_BENCH_ROWS` is the number of users (100,000 if unset); the other types import a tenth of them. The baselines load the same rows and do nothing else: sqlite3's .import into a table with the same indexes, and bare INSERT statements on a server.",
		rows: []row{
			{of: `Import_Users/file`, work: "users, on a file", unit: "rows/s", against: "Import_Users/file/sqlite3-import", as: "sqlite3 .import"},
			{of: `Import_Users/server`, work: "users, on a server", unit: "rows/s", against: "Import_Users/server/bare-insert", as: "bare INSERT statements"},
			{of: `Import_Referred/(file|server)/tenth`, work: "users, every tenth referred, on a $1", unit: "rows/s", against: "Import_Referred/$1/none", as: "the same, none referred"},
			{of: `Import_Referred/(file|server)/all`, work: "users, all referred, on a $1", unit: "rows/s", against: "Import_Referred/$1/none", as: "the same, none referred"},
			{of: `Import_Referred/(file|server)/converted`, work: "users, all referred and converted, on a $1", unit: "rows/s", against: "Import_Referred/$1/none", as: "the same, none referred"},
			{of: `Import_OtherTypes/(file|server)/(\S+)`, work: "$2, on a $1", unit: "rows/s"},
			{of: `Import_BesideEvents/rows=(\d+)`, work: "$1 users, beside 8 senders of event calls that rest 10 ms on average", unit: "rows/s", also: []string{"event-p99-ms", "peak-MiB"}},
			{of: `Import_BesideEvents/seldom=(\d+)`, work: "$1 users, beside 2 senders of event calls that rest 0.5 s on average", unit: "rows/s", also: []string{"event-p99-ms", "peak-MiB"}},
			{of: `Import_BesideEvents/quiet`, work: "event calls of 8 senders, without an import", unit: "event-p99-ms", also: []string{"event-p50-ms"}},
			{of: `XLSX`, work: "write one row of an XLSX result file", unit: perCall},
		},
	},
	{
		title: "Webhooks",
		intro: "Deliveries to endpoints on the same machine, at most 8 at a time to each endpoint. The baseline sends posts of the same size without leases, records and signatures.",
		rows: []row{
			{of: `Webhooks/(file|server)/one-endpoint`, work: "one endpoint, on a $1", unit: "deliveries/s", against: "Webhooks/posts-alone", as: "bare posts"},
			{of: `Webhooks/(file|server)/eight-endpoints`, work: "eight endpoints, on a $1", unit: "deliveries/s", against: "Webhooks/posts-alone", as: "bare posts"},
		},
	},
	{
		title: "A fleet that lags or fails",
		intro: "A database server with two replicas, two edges and two backends, on one machine. The limits are those of [guarantees.md](guarantees.md); a ratio of 1 or more meets the limit, and the benchmark fails below it.",
		rows: []row{
			{of: `Fleet_Staleness/edits=100`, work: "until 99 of 100 edits are visible at the other edge", unit: p99, also: []string{p50}, limit: fleetLimit},
			{of: `Fleet_Prompt/(\S+)`, work: "longest answer of an edge: $1", unit: "longest-ms", limit: fleetLimit},
		},
	},
	{
		title: "The component as Spin runs it",
		intro: "The strict mode of wazero: a new instance for each request, a new database connection for each read. The baseline is the same component when it reads nothing. \"From the store\" is a share link from the key-value store, \"read and stored\" one that was not there.",
		rows: []row{
			{of: `Spin/(file|libsql)-kept`, work: "share link from the store ($1)", unit: "requests/s", against: "Spin/empty", as: "nothing read"},
			{of: `Spin/(file|libsql)-cold`, work: "share link read and stored ($1)", unit: "requests/s", against: "Spin/empty", as: "nothing read"},
			{of: `Spin/(file|libsql)-unkept`, work: "share link with link_max_age_ms 0 ($1)", unit: "requests/s", against: "Spin/empty", as: "nothing read"},
		},
	},
}

// tables are the tables of all results. A result that no row shows or compares with is
// listed by its name at the end.
func tables(r results) string {
	var out strings.Builder
	shown, compares := map[string]bool{}, map[string]bool{}
	for _, s := range sections {
		var body strings.Builder
		for _, row := range s.rows {
			row.write(&body, r, shown, compares)
		}
		if body.Len() > 0 {
			fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| work | figure | compared with | ratio |\n|---|---|---|---|\n%s", s.title, s.intro, body.String())
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

// write writes a row for each benchmark that matches and was not shown before, and
// notes which benchmarks are shown and which are compared with.
func (w row) write(out *strings.Builder, r results, shown, compares map[string]bool) {
	match := regexp.MustCompile("^(?:" + w.of + ")$")
	for _, name := range r.names {
		groups := match.FindStringSubmatchIndex(name)
		value, ok := r.value(name, w.unit)
		if groups == nil || !ok || shown[name] {
			continue
		}
		shown[name] = true
		expand := func(template string) string { return string(match.ExpandString(nil, template, name, groups)) }
		shows := figure(w.unit, value)
		for _, unit := range w.also {
			if also, ok := r.value(name, unit); ok {
				shows += ", " + figure(unit, also)
			}
		}
		compared, ratio := "", ""
		if other, ok := r.value(expand(w.against), w.unit); ok {
			compares[expand(w.against)] = true
			compared, ratio = expand(w.as)+": "+figure(w.unit, other), speed(w.unit, value, other)
		}
		if w.limit > 0 {
			compared, ratio = "limit: "+figure(w.unit, w.limit), speed(w.unit, value, w.limit)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", expand(w.work), shows, compared, ratio)
	}
}

// speed is how many times as fast a figure is as another one.
func speed(unit string, value, other float64) string {
	if !strings.HasSuffix(unit, "/s") {
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
	case "longest-ms":
		return number(value) + " ms"
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
