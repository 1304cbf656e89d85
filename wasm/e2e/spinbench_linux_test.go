package e2e

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
	"kith/backend/store/sqldtest"
	"kith/wasm/host"
)

// BenchmarkSpin answers calls over HTTP in strict mode, as Spin does: without a database, on a
// file and on a libSQL server. "kept" is a share link from the key-value store; for "cold" the
// clock advances by 3 seconds with each request, so that each is read and stored again; "unkept"
// stores nothing. "lookup" is a look-up of a code that is not stored, "known" one from the store,
// "event" a new event, and "script" reads nothing. Each is measured in turn with another component
// of the same compiler, which does nothing: "of-empty" is the share of its requests per second
// that the row reaches. Client and server share the processors.
func BenchmarkSpin(b *testing.B) {
	// Otherwise the collector runs the less often, the more hosts are loaded: later rows would
	// be quicker than earlier ones.
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(1<<30)
	b.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	s := newSite(b)
	p := s.dev(b)
	s.ok(b, "tenant", "set", "demo", "--code-names", "off")
	script := rawRequest("GET", "/kith.js", "", append(visitor, "Accept-Encoding: gzip, deflate, br")...)
	empty := spinLoad(b, s.emptyComponent(b), http.StatusNotFound, func(int) []byte { return script })
	empty.saturate(b, saturatedFor) // makes the heap as large as it is for the later rows
	measureSpin(b, "script", empty, spinLoad(b, s.spin(b, nil).handler, http.StatusOK, func(int) []byte { return script }))
	s.benchmarkSpin(b, "none", withoutDatabase, empty)
	file := s.file()
	s.benchmarkSpin(b, "file", onDatabase(b, "file:"+file), empty)
	p.stop(b) // after this the database file is complete
	server := sqldtest.StartWith(b, sqldtest.Options{File: file})
	s.benchmarkSpin(b, "libsql", onDatabase(b, "http"+strings.TrimPrefix(server.PrimaryURL(), "ws")), empty)
}

// onDatabase makes a host use a database by a connection for each read.
func onDatabase(b *testing.B, url string) func(*host.Options) {
	return func(o *host.Options) { o.Databases = databases(b, libsql.Config{URL: url, PerRequest: true}) }
}

func (s *site) benchmarkSpin(b *testing.B, name string, on func(*host.Options), empty loadgen) {
	b.Helper()
	var passed atomic.Int64 // in milliseconds
	events := newThroughput()
	for _, row := range []struct {
		name, age string
		now       func() time.Time
		status    int
		request   func(int) []byte
	}{
		{"kept", "2000", time.Now, http.StatusFound, link("demo")},
		{"cold", "2000", func() time.Time { return time.UnixMilli(passed.Add(3000)) }, http.StatusFound, link("demo")},
		{"unkept", "0", time.Now, http.StatusFound, link("demo")},
		{"lookup", "0", time.Now, http.StatusOK, lookUp("demo", s.auth("demo"))},
		{"known", "2000", time.Now, http.StatusOK, lookUp("demo", s.auth("demo"))},
		{"event", "2000", time.Now, http.StatusOK, events.event("demo", s.auth("demo"))},
	} {
		if name == "none" && row.name == "cold" {
			continue // the backend refuses what a clock of the future has signed
		}
		edge := s.spin(b, func(o *host.Options) {
			on(o)
			o.Now, o.Variables["link_max_age_ms"] = row.now, row.age
		})
		measureSpin(b, name+"-"+row.name, empty, spinLoad(b, edge.handler, row.status, row.request))
	}
}

// emptyComponent returns the component of the tests of wasm/host, which answers an unknown path
// without a call of the host.
func (s *site) emptyComponent(b *testing.B) http.Handler {
	b.Helper()
	module, err := filepath.Abs(filepath.Join(root, "bin", "probe.wasm"))
	require.NoError(b, err)
	manifest := filepath.Join(b.TempDir(), "spin.toml")
	text := "spin_manifest_version = 2\n[[trigger.http]]\nroute = \"/...\"\ncomponent = \"empty\"\n[component.empty]\nsource = \"" + module + "\"\n"
	require.NoError(b, os.WriteFile(manifest, []byte(text), 0o600))
	h, err := host.Load(b.Context(), manifest, host.Options{StrictSpin: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	return h
}

// spinLoad returns the load of 8 clients on a server of its own.
func spinLoad(b *testing.B, handler http.Handler, status int, request func(int) []byte) loadgen {
	b.Helper()
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	sent := 0
	next := func(int) []byte { sent++; return request(sent) } // each load sends other requests
	return loadgen{bases: []string{server.URL}, connections: 8, status: status, request: next}
}

// measureSpin reports the requests per second of a load, and those of the empty component in turn
// with it: the machine's speed changes from second to second.
func measureSpin(b *testing.B, name string, empty, load loadgen) {
	const turns = 15
	var beside float64
	b.Run(name, func(b *testing.B) {
		rate := 0.0
		for range turns {
			beside += empty.saturate(b, saturatedFor/turns).rate / turns
			rate += load.saturate(b, saturatedFor/turns).rate / turns
		}
		b.ReportMetric(rate, "requests/s")
		b.ReportMetric(rate/beside, "of-empty")
		b.ReportMetric(0, "ns/op")
	})
	b.Run(name+"-empty", func(b *testing.B) {
		b.ReportMetric(beside, "requests/s")
		b.ReportMetric(0, "ns/op")
	})
}
