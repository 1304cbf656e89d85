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
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
	"kith/backend/store/sqldtest"
	"kith/wasm/host"
)

// BenchmarkSpin answers calls in strict mode, as Spin does: without a database, on a file and on
// a libSQL server. "kept" is a share link from the key-value store; for "cold" the clock advances
// by 3 seconds with each request, so that each is read and stored again; "unkept" stores
// nothing. "lookup" is a look-up of a code that is not stored, "known" one from the store, "event" a
// new event, and "script" reads nothing. "empty" is another component of the same compiler, which does nothing: "of-empty" is
// the share of its requests per second that the others reach, and "of-empty-cpu" the same by the
// processor time of this process.
func BenchmarkSpin(b *testing.B) {
	// Otherwise the collector runs the less often, the more hosts are loaded: later rows would
	// be quicker than earlier ones.
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(1<<30)
	b.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	s := newSite(b)
	p := s.dev(b)
	s.ok(b, "tenant", "set", "demo", "--code-names", "off")
	empty := measureSpin(b, "empty", s.emptyComponent(b), get("/"), http.StatusNotFound, cost{})
	measureSpin(b, "script", s.spin(b, nil).handler, get("/kith.js"), http.StatusOK, empty)
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

func (s *site) benchmarkSpin(b *testing.B, name string, on func(*host.Options), empty cost) {
	b.Helper()
	var passed atomic.Int64 // in milliseconds
	withKey := func(method, uri, body string) func() *http.Request {
		return func() *http.Request {
			r := httptest.NewRequest(method, "/api/v1/demo"+uri, strings.NewReader(body))
			r.SetBasicAuth("", "LIVE_DEMO_KEY_0123456789")
			return r
		}
	}
	event := `{"events":[{"key":"seen"}]}`
	for _, row := range []struct {
		name, age string
		now       func() time.Time
		request   func() *http.Request
		status    int
	}{
		{"kept", "2000", time.Now, get(benchLink), http.StatusFound},
		{"cold", "2000", func() time.Time { return time.UnixMilli(passed.Add(3000)) }, get(benchLink), http.StatusFound},
		{"unkept", "0", time.Now, get(benchLink), http.StatusFound},
		{"lookup", "0", time.Now, withKey("GET", "/code/ANNA10", ""), http.StatusOK},
		{"known", "2000", time.Now, withKey("GET", "/code/ANNA10", ""), http.StatusOK},
		{"event", "2000", time.Now, withKey("POST", "/open/account/anna/user/anna/events", event), http.StatusOK},
	} {
		if name == "none" && row.name == "cold" {
			continue // the backend refuses what a clock of the future has signed
		}
		edge := s.spin(b, func(o *host.Options) {
			on(o)
			o.Now, o.Variables["link_max_age_ms"] = row.now, row.age
		})
		measureSpin(b, name+"-"+row.name, edge.handler, row.request, row.status, empty)
	}
}

// get returns a function that makes a GET request.
func get(uri string) func() *http.Request {
	return func() *http.Request { return httptest.NewRequest(http.MethodGet, uri, nil) }
}

const benchLink = "/s/demo/ANNA10?rsShareMedium=FACEBOOK"

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

// cost is the time of a request, and its processor time in this process, which does not
// depend on other load.
type cost struct{ wall, cpu float64 }

// measureSpin returns the cost of a request in seconds, and reports its share of the empty
// component's requests per second, by time and by processor time.
func measureSpin(b *testing.B, name string, handler http.Handler, request func() *http.Request, status int, empty cost) (c cost) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		began := processorTime(b)
		b.RunParallel(func(loop *testing.PB) {
			for loop.Next() {
				r := request()
				r.RemoteAddr = "192.0.2.1:1234"
				r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
				w := discarded{header: http.Header{}}
				handler.ServeHTTP(&w, r)
				if w.status != status {
					b.Errorf("status %d", w.status)
					return
				}
			}
		})
		c = cost{b.Elapsed().Seconds() / float64(b.N), (processorTime(b) - began).Seconds() / float64(b.N)}
		b.ReportMetric(1/c.wall, "requests/s")
		if empty.wall > 0 {
			b.ReportMetric(empty.wall/c.wall, "of-empty")
			b.ReportMetric(empty.cpu/c.cpu, "of-empty-cpu")
		}
	})
	return c
}

// discarded is a response of which only the status is kept.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
