package main

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
	targets,
	{
		title: "Requests over HTTP",
		intro: "Many clients at once over kept connections, on the machine of the servers: 12 that read, 48 that send events (40 to a fleet). The baseline is that of the component's targets: its handlers compiled by Go, in the process of the clients. A fleet is a database server with two replicas, two edges and two backends.",
		rows: []row{
			{of: `Throughput/file/links/kith`, work: "share links, edge and backend in one process", unit: perSecond, also: []string{p50, p99}, against: "Target_Component/links/native", as: "handlers alone, native"},
			{of: `Throughput/file/codes/kith`, work: "code look-ups, edge and backend in one process", unit: perSecond, also: []string{p50, p99}, against: "Target_Component/codes/native", as: "handlers alone, native"},
			{of: `Throughput/file/events/kith`, work: "event calls, edge and backend in one process", unit: perSecond, also: []string{p50, p99}, against: "Target_Component/events/native", as: "handlers alone, native"},
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
			{of: `Portal_FirstView`, work: "slowest page of kith dev in Chromium without a cache, until it is interactive; the largest page with all that it loads", unit: "longest-ms", also: []string{"kB"}, limit: 300},
		},
	},
	{
		title: "One request in the component",
		intro: "One request at a time, without a network, so that the cost of WebAssembly can be separated from that of the database.",
		rows: []row{
			{of: `Target_Instance/reused`, work: "share link, reused instance", unit: perCall, against: "Target_Instance/read", as: "its database read alone"},
			{of: `Events/component-reused`, work: "event call by REST", unit: perCall, against: "Events/insert-alone", as: unflushed},
			{of: `Events/component-reused-graphql`, work: "event call by GraphQL", unit: perCall, against: "Events/insert-alone", as: unflushed},
			{of: `Visits`, work: "share links per second of a processor with visits counted, as a part of those without; at least 0.95", unit: "ratio", also: []string{"on-req/s", "off-req/s"}},
			{of: `Serve/(reused|fresh)/redirect`, work: "smallest test component answers a redirect, $1 instance", unit: perCall, against: "Serve/$1/harness", as: "answer without a component"},
			{of: `Serve/(reused|fresh)/read`, work: "smallest test component reads one row, $1 instance", unit: perCall, against: "Serve/$1/harness", as: "answer without a component"},
			{of: `Listener/kith`, work: "constant redirect over HTTP, 16 connections per core", unit: perCall, against: "Listener/net-http", as: "net/http"},
			{of: `Read`, work: "read of one row of a database file", unit: perCall},
			{of: `ShareLink/(off|always_off|always_on)`, work: "handler that reads one row, with traces: $1", unit: perCall, against: "ShareLink/none", as: "the same without code for traces"},
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
			{of: `UserList_BesideCodes`, work: "code look-ups beside eight readers of lists of many users, as a part of those without", unit: "of-alone", also: []string{"codes/s"}},
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
			{of: `Copy/(as_it_is|semicolons|Windows-1252|UTF-16|workbook)`, work: "receive a file of 300,000 rows (of 50,000 in a workbook): $1", unit: perCall, against: "Copy/alone", as: "copying the bytes in memory"},
			{of: `XLSX`, work: "write one row of an XLSX result file", unit: perCall},
		},
	},
	{
		title: "Webhooks",
		intro: "Deliveries to endpoints on the same machine, at most 8 at a time to each endpoint. The baseline sends posts of the same size without leases, records and signatures. Two thirds of the processor time of a delivery are its RSA signature, which existing receivers verify.",
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
		intro: "The strict mode of wazero, over HTTP, with 8 clients that share the processors: a new instance for each request, a new database connection for each read. Each row is measured in turn with a component of the same compiler that does nothing; it has a fifth of the code, and wazero's cost of an instance grows with the module, which Spin's hardly does. \"From the store\" is from the key-value store, \"read and stored\" is a link that was not there. Look-ups name no person. Without a database, the backend on the same machine answers what is not in the store.",
		rows: []row{
			{of: `Spin/script`, work: "`/kith.js`", unit: "requests/s", against: "Spin/script-empty", as: "empty"},
			{of: `Spin/(none|file|libsql)-kept`, work: "share link from the store; database: $1", unit: "requests/s", against: "Spin/$1-kept-empty", as: "empty"},
			{of: `Spin/(none|file|libsql)-cold`, work: "share link read and stored; database: $1", unit: "requests/s", against: "Spin/$1-cold-empty", as: "empty"},
			{of: `Spin/(none|file|libsql)-unkept`, work: "share link with link_max_age_ms 0; database: $1", unit: "requests/s", against: "Spin/$1-unkept-empty", as: "empty"},
			{of: `Spin/(none|file|libsql)-known`, work: "code look-up from the store; database: $1", unit: "requests/s", against: "Spin/$1-known-empty", as: "empty"},
			{of: `Spin/(none|file|libsql)-lookup`, work: "code look-up that is not in it; database: $1", unit: "requests/s", against: "Spin/$1-lookup-empty", as: "empty"},
			{of: `Spin/(none|file|libsql)-event`, work: "event call; database: $1", unit: "requests/s", against: "Spin/$1-event-empty", as: "empty"},
		},
	},
}
