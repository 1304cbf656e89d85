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
// "event" a new event, and "script" reads nothing. "empty" is another component of the same
// compiler, which does nothing: "of-empty" is the share of its requests per second that the
// others reach. Client and server share the processors.
func BenchmarkSpin(b *testing.B) {
	// Otherwise the collector runs the less often, the more hosts are loaded: later rows would
	// be quicker than earlier ones.
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(1<<30)
	b.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	s := newSite(b)
	p := s.dev(b)
	s.ok(b, "tenant", "set", "demo", "--code-names", "off")
	script := rawRequest("GET", "/kith.js", "", append(visitor, "Accept-Encoding: gzip, deflate, br")...)
	empty := measureSpin(b, "empty", s.emptyComponent(b), http.StatusNotFound, func(int) []byte { return script }, 0)
	measureSpin(b, "script", s.spin(b, nil).handler, http.StatusOK, func(int) []byte { return script }, empty)
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

func (s *site) benchmarkSpin(b *testing.B, name string, on func(*host.Options), empty float64) {
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
		measureSpin(b, name+"-"+row.name, edge.handler, row.status, row.request, empty)
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

// measureSpin returns how many requests a second a host answers to 8 clients, and reports its share
// of the empty component's.
func measureSpin(b *testing.B, name string, handler http.Handler, status int, request func(int) []byte, empty float64) (rate float64) {
	b.Helper()
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	b.Run(name, func(b *testing.B) {
		rate = loadgen{bases: []string{server.URL}, connections: 8, status: status, request: request}.saturate(b, saturatedFor).rate
		b.ReportMetric(rate, "requests/s")
		b.ReportMetric(0, "ns/op")
		if empty > 0 {
			b.ReportMetric(rate/empty, "of-empty")
		}
	})
	return rate
}
