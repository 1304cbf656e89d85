package e2e

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
	"kith/core"
	"kith/edge/serve"
	"kith/wasm/host"
)

// spin is the component in a strict host, in this process and without kith edge, and its
// log.
type spin struct {
	handler http.Handler
	log     *testenv.Log
}

func (s *site) spin(t testing.TB, change func(*host.Options)) spin {
	t.Helper()
	log := &testenv.Log{}
	return spin{log: log, handler: s.loadEdge(t, func(o *host.Options) {
		o.StrictSpin, o.Log = true, slog.New(slog.NewTextHandler(log, nil))
		if change != nil {
			change(o)
		}
	})}
}

func (s spin) call(method, uri string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, uri, nil)
	r.RemoteAddr = "192.0.2.1:1234"
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// A visitor of Spin chooses neither address nor scheme, and neither sends nor gets the
// headers between host, component and backend.
func TestSpin_VisitorsSetNoInternalHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	edge := s.spin(t, nil)
	forged := []string{"Spin-Client-Addr: 203.0.113.9:1", "Spin-Full-Url: https://evil.example/", "X-Kith-Followed: 1", "X-Kith-Guesses: 1", "X-Kith-Hop: 1.a"}
	for _, uri := range []string{"/s/demo/ANNA10", "/s/demo/NOBODY", "/api/v1/demo/open/code/ANNA10", "/api/v1/demo/open/code/NOBODY", "/api/v1/demo/users", "/nothing"} {
		got := edge.call("GET", uri, forged...)
		require.Equal(t, edge.call("GET", uri).Code, got.Code, uri)
		for name := range got.Header() {
			require.False(t, strings.HasPrefix(name, "X-Kith-"), "%s: %s", uri, name)
		}
		require.NotContains(t, got.Header().Get("Set-Cookie"), "Secure", uri)
	}
	require.Contains(t, edge.call("GET", "https://shop.example/s/demo/ANNA10").Header().Get("Set-Cookie"), "Secure")
}

// Spin's client unpacks answers: visitors get them as the backend would send them to
// clients that read no gzip.
func TestSpin_AnswersAreNotUnpacked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	spin := s.spin(t, nil)
	for _, accept := range []string{"Accept: */*", "Accept-Encoding: gzip, br", "Accept-Encoding: identity"} {
		got := spin.call("GET", "/docs", accept)
		plain, err := http.NewRequest("GET", s.backend+"/docs", nil)
		require.NoError(t, err)
		plain.Header.Set("Accept-Encoding", "identity")
		want, err := http.DefaultClient.Do(plain)
		require.NoError(t, err)
		defer want.Body.Close()
		require.Equal(t, 200, got.Code, "%s: %s", accept, got.Body)
		require.Equal(t, want.Header.Get("ETag"), got.Header().Get("ETag"), accept)
		require.Empty(t, got.Header().Get("Content-Encoding"), accept)
		require.EqualValues(t, want.ContentLength, got.Body.Len(), accept)
	}
}

// Spin's client rewrites some URLs: the backend gets what the edge signed. The answers are
// those of kith edge.
func TestSpin_OddPaths(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	spin := s.spin(t, nil)
	for uri, want := range map[string]int{
		"/api/v1/demo/./users": 404, "/api/v1/demo/x/../users": 404, "/api/v1/demo/%2E%2e/demo/users": 404, "/s/demo/..": 404, "/s/demo/.%2e": 302,
		"/api/v1/demo/account/%2e%2e": 404, "/...": 404, "/api/v1/demo/open/account/a.b/user/..c": 404,
		"/api/v1/demo/users?query=O'Brien": 200, `/api/v1/demo/users?query="<>'^{|}\`: 200, "/api/v1/demo/users?query=%zz": 400,
		"/api/v1/demo/open/account/a\\b/user/a\\b": 404, "/api/v1/demo/open/account/a^b/user/`{|}\"<>": 404, "/api/v1/demo/open/account/café/user/é": 404,
		"//x": 404, "/api/v1//demo/users": 404, "/api/v1/demo/account/%/x": 400, "/a%zz": 400,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.RequestURI = "192.0.2.1:1234", uri
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(":LIVE_DEMO_KEY_0123456789")))
		w := httptest.NewRecorder()
		spin.handler.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, "%s: %s", uri, w.Body)
		if !strings.Contains(uri, "%zz") {
			edge, err := net.Dial("tcp", strings.TrimPrefix(s.edge, "http://"))
			require.NoError(t, err)
			defer edge.Close()
			_, err = fmt.Fprintf(edge, "GET %s HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\nAuthorization: %s\r\n\r\n", uri, r.Header.Get("Authorization"))
			require.NoError(t, err)
			got, err := http.ReadResponse(bufio.NewReader(edge), r)
			require.NoError(t, err)
			require.Equal(t, want, got.StatusCode, "kith edge: %s", uri)
		}
	}
}

// The file of the master key has two lines while it is being replaced. kith spin passes it
// as it is.
func TestSpin_TakesTheKeysOfAFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	edge := s.spin(t, func(o *host.Options) { o.Variables["master_key"] += "\n" + strings.Repeat("2", 64) + "\n" })
	require.NotEmpty(t, edge.call("GET", "/s/demo/ANNA10").Header()["Set-Cookie"])
	require.Equal(t, 401, edge.call("GET", "/api/v1/demo/users").Code)
}

// The component's own answers have an id, like forwarded ones, and HEAD has the length of
// GET. Spin itself would not add them.
func TestSpin_OwnAnswersAreComplete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	edge := s.spin(t, nil)
	for _, uri := range []string{"/s/demo/ANNA10", "/s/demo/NOBODY", "/kith.js", "/readyz", "/healthz", "/api/v1/demo/open/code/ANNA10"} {
		for _, id := range []string{"", "not one, with blanks"} {
			got := edge.call("GET", uri, "X-Request-Id: "+id)
			require.Regexp(t, `^[A-Za-z0-9_.-]{10,64}$`, got.Header().Get("X-Request-Id"), uri)
		}
		got := edge.call("GET", uri, "X-Request-Id: mine-1")
		require.Equal(t, []string{"mine-1"}, got.Header()["X-Request-Id"], uri)
		head := edge.call("HEAD", uri)
		if uri == "/api/v1/demo/open/code/ANNA10" {
			continue // the edge offers it only to GET
		}
		require.Equal(t, got.Code, head.Code, uri)
		require.Equal(t, []string{strconv.Itoa(got.Body.Len())}, head.Header()["Content-Length"], uri)
		require.Zero(t, head.Body.Len())
	}
	// Of several cookies Spin sends the last: the service's own.
	got := edge.call("GET", "https://shop.example/s/demo/ANNA10")
	require.Len(t, got.Header()["Set-Cookie"], 1)
	require.True(t, strings.HasPrefix(got.Header().Get("Set-Cookie"), "kith_demo="), got.Header())
}

// With a wrong path in Spin's configuration the database is empty: requests that need a
// database are refused, and probe and log give the reason.
func TestSpin_DatabaseWithoutSchema(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	edges := map[string]string{
		"file":   "file:" + filepath.Join(t.TempDir(), "elsewhere.db"),
		"server": "http" + strings.TrimPrefix(sqldtest.Start(t).PrimaryURL(), "ws"),
	}
	for name, url := range edges {
		t.Run(name, func(t *testing.T) {
			edge := s.spin(t, func(o *host.Options) { o.Databases = databases(t, libsql.Config{URL: url, PerRequest: true}) })
			for _, uri := range []string{"/readyz", "/s/demo/ANNA10", "/s/demo/NOBODY", "/?rsCode=ANNA10", "/api/v1/demo/open/code/ANNA10"} {
				got := edge.call("GET", uri)
				require.Equal(t, http.StatusServiceUnavailable, got.Code, uri)
				require.Contains(t, got.Body.String(), "the database does not have the schema of this edge; check its path")
				require.Equal(t, "1", got.Header().Get("Retry-After"))
			}
			require.Contains(t, edge.log.String(), "no such table: schema_version")
			require.Equal(t, http.StatusOK, edge.call("GET", "/healthz").Code, "requests that need no database are forwarded")
		})
	}
	require.Equal(t, http.StatusOK, s.spin(t, nil).call("GET", "/readyz").Code)
}

// A share link is cached in the key-value store for a second by default, and never for
// longer than two seconds; with 0 it is not cached. Unknown or blocked codes, and codes in
// another spelling, are not cached.
func TestSpin_ShareLinkIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	db := s.open(t)
	for _, row := range []struct {
		setting string
		age     time.Duration
	}{{"", time.Second}, {"1700", 1700 * time.Millisecond}, {"60000", 2 * time.Second}, {"0", 0}, {"wrong", 0}} {
		now := time.Now()
		edge := s.spin(t, func(o *host.Options) {
			o.Now = func() time.Time { return now }
			if row.setting != "" {
				o.Variables["link_max_age_ms"] = row.setting
			}
		})
		leadsTo := func(uri, page string) {
			t.Helper()
			got := edge.call("GET", uri)
			require.Equal(t, http.StatusFound, got.Code)
			require.True(t, strings.HasPrefix(got.Header().Get("Location"), page), "%s leads to %s", uri, got.Header().Get("Location"))
		}
		land := func(page string) {
			t.Helper()
			_, err := db.Exec("UPDATE program SET landing_url = ? WHERE tenant = 'demo'", page)
			require.NoError(t, err)
		}
		land("https://first.example/")
		leadsTo("/s/demo/ANNA10", "https://first.example/?rsCode=ANNA10")
		leadsTo("/s/demo/anna10", "https://first.example/?rsCode=ANNA10")
		leadsTo("/s/demo/NOBODY", "https://first.example/")
		land("https://second.example/")
		if row.age > 0 {
			leadsTo("/s/demo/ANNA10", "https://first.example/?rsCode=ANNA10")
			now = now.Add(row.age - time.Millisecond)
			leadsTo("/s/demo/ANNA10", "https://first.example/?rsCode=ANNA10")
		}
		leadsTo("/s/demo/anna10", "https://second.example/?rsCode=ANNA10")
		leadsTo("/s/demo/NOBODY", "https://second.example/")
		now = now.Add(time.Millisecond)
		leadsTo("/s/demo/ANNA10", "https://second.example/?rsCode=ANNA10")
		// Setting the clock back does not extend the time.
		land("https://third.example/")
		now = now.Add(-time.Hour)
		leadsTo("/s/demo/ANNA10", "https://third.example/?rsCode=ANNA10")
	}
}

// kith spin prints one command with absolute paths of existing files, which use the
// database in the data folder.
func TestCLI_Spin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, errOut, status := s.run(t, nil, "spin")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "there is no database")
	s.createTenant(t, "shop", "--landing-url", "https://shop.example/")

	out, errOut, status := s.run(t, []string{"KITH_BACKEND_URL=http://10.0.0.1:8080"}, "spin")
	require.Zero(t, status, errOut)
	// The shell runs a fake spin that prints its arguments.
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "spin"), []byte("#!/bin/sh\nenv | grep ^SPIN_ | sort; for a; do echo \"$a\"; done\n"), 0o700))
	shell := exec.Command("sh", "-c", out)
	shell.Env, shell.Dir = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, t.TempDir()
	said, err := shell.CombinedOutput()
	require.NoError(t, err, string(said))
	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	require.NoError(t, err)
	dir := filepath.Join(s.data, "spin")
	require.Equal(t, []string{
		"SPIN_VARIABLE_BACKEND_URL=http://10.0.0.1:8080", "SPIN_VARIABLE_MASTER_KEY=" + strings.TrimSpace(string(key)),
		"up", "--from", filepath.Join(dir, "spin.toml"), "--runtime-config-file", filepath.Join(dir, "runtime-config.toml"),
		"--listen", strings.TrimPrefix(s.edge, "http://"),
	}, strings.Split(strings.TrimSpace(string(said)), "\n"))
	require.NotContains(t, out, strings.TrimSpace(string(key)))

	configured, err := host.ReadRuntimeConfig(filepath.Join(dir, "runtime-config.toml"))
	require.NoError(t, err)
	require.Equal(t, map[string]host.RuntimeDatabase{"default": {URL: "file:" + s.file()}}, configured)
	written, err := os.ReadFile(filepath.Join(dir, "bin", "edge.wasm"))
	require.NoError(t, err)
	built, err := os.ReadFile(filepath.Join(root, "bin", "edge.wasm"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(built, written))
	manifest, err := os.ReadFile(filepath.Join(dir, "spin.toml"))
	require.NoError(t, err)
	require.NotContains(t, string(manifest), "make", "spin up --build would have nothing to build")

	out, errOut, status = s.run(t, nil, "spin", "--without-database")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "SPIN_VARIABLE_LINK_MAX_AGE_MS=300000 ")
	for _, name := range []string{"spin.toml", "runtime-config.toml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotContains(t, string(text), "sqlite_database")
	}

	server := sqldtest.Start(t)
	_, errOut, status = s.run(t, []string{"KITH_DATABASE_URL=" + server.PrimaryURL()}, "spin")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "schema")
}

// A page with a code and an open look-up are cached like share links; a look-up with the
// name of a person is not.
func TestSpin_CodeIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	db := s.open(t)
	now := time.Now()
	edge := s.spin(t, func(o *host.Options) { o.Now = func() time.Time { return now } })
	exec := func(statement string) {
		t.Helper()
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	discount := func() string {
		t.Helper()
		got := edge.call("GET", "/api/v1/demo/open/code/ANNA10")
		require.Equal(t, http.StatusOK, got.Code)
		_, rest, _ := strings.Cut(got.Body.String(), `"discountId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	exec("UPDATE tenant SET discount_id = 'first' WHERE alias = 'demo'")
	require.Equal(t, "first", discount())
	exec("UPDATE tenant SET discount_id = 'second' WHERE alias = 'demo'")
	require.Equal(t, "second", discount(), "the answer names Anna")
	exec("UPDATE user SET first_name = '', last_name = '' WHERE tenant = 'demo'")
	require.Equal(t, "second", discount())
	exec("UPDATE tenant SET discount_id = 'third' WHERE alias = 'demo'")
	require.Equal(t, "second", discount())
	now = now.Add(time.Second)
	require.Equal(t, "third", discount())

	exec("INSERT INTO site (host, tenant) VALUES ('kept.example', 'demo') ON CONFLICT DO NOTHING")
	cookie := func() string {
		return edge.call("GET", "http://kept.example/?rsCode=ANNA10").Header().Get("Set-Cookie")
	}
	require.Contains(t, cookie(), "kith_demo=")
	exec("UPDATE tenant SET consent = 'opt-in', consent_cookie = 'agreed' WHERE alias = 'demo'")
	require.Contains(t, cookie(), "kith_demo=")
	now = now.Add(time.Second)
	require.Empty(t, cookie())
}

// Each answer reads only the variables that it needs: on Spin, reading one costs a tenth of
// an answer.
func TestSpin_VariablesAreReadWhenNeeded(t *testing.T) {
	s := newSite(t)
	s.dev(t)
	s.native(t)
	for _, row := range []struct {
		method, uri, header string
		want                []string
	}{
		{"GET", "/s/demo/ANNA10", "", []string{"master_key"}},
		{"GET", "/s/demo/ANNA10", "X-Forwarded-Proto: https", []string{"trusted_proxies", "master_key"}},
		{"HEAD", "/s/demo/ANNA10", "", nil},
		{"GET", "/s/demo/ANNA10", "Sec-GPC: 1", nil},
		{"GET", "/s/demo/ANNA10", "Purpose: prefetch", nil},
		{"GET", "/api/v1/demo/open/code/ANNA10", "", nil},
		{"GET", "/api/v1/demo/code/ANNA10", s.auth("demo"), nil},
		{"GET", "/kith.js", "", nil},
		{"GET", "/readyz", "", []string{"master_key"}}, // which is wrong here
		{"GET", "/healthz", "", []string{"master_key", "backend_url"}},
	} {
		var read []string
		edge := &serve.Edge{
			Variable: func(name string) (string, error) { read = append(read, name); return strings.Repeat("00", 32), nil },
			Now:      func() core.Time { return core.Time(time.Now().UnixMilli()) },
		}
		r := httptest.NewRequest(row.method, row.uri, nil)
		if name, value, ok := strings.Cut(row.header, ": "); ok {
			r.Header.Set(name, value)
		}
		serveNative(edge, httptest.NewRecorder(), r)
		require.Equal(t, row.want, read, "%s %s %s", row.method, row.uri, row.header)
	}
}
