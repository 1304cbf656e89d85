package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
	"kith/wasm/wat"
)

// cacheDir has the compiled code for all tests of one run.
var cacheDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kith-host")
	if err != nil {
		panic(err)
	}
	cacheDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// bench is a Host under a real server, and its log.
type bench struct {
	host *Host
	url  string
	log  *lockedBuffer
}

// manifestText grants the database "default" and a name without a database, and
// outbound requests to the port %s.
const manifestText = `
spin_manifest_version = 2
[application]
name = "probe"
[variables]
backend_url = { default = "http://127.0.0.1:%s" }
master_key = { required = true, secret = true }
[[trigger.http]]
route = "/..."
component = "probe"
[component.probe]
source = "%s"
sqlite_databases = ["default", "unconfigured"]
key_value_stores = ["default"]
allowed_outbound_hosts = ["{{ backend_url }}"]
[component.probe.variables]
good = "the value"
greeting = "key={{ master_key }}, url={{backend_url}}"
`

// probe returns the path of the probe guest, and fails if it is older than its sources.
func probe(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/probe.wasm")
	require.NoError(t, err)
	built, err := os.Stat(path)
	if err != nil {
		t.Fatalf("%s is missing: run make edge", path)
	}
	for _, dir := range []string{"testdata/probe", "../../edge/abi"} {
		require.NoError(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if info, statErr := os.Stat(p); err == nil && statErr == nil && !e.IsDir() && info.ModTime().After(built.ModTime()) {
				t.Fatalf("%s is newer than %s: run make edge", p, path)
			}
			return err
		}))
	}
	return path
}

// start loads the module at path with a manifest that allows outbound requests to port.
// change may modify the options.
func start(t testing.TB, path, port string, change func(*Options)) *bench {
	t.Helper()
	dir := t.TempDir()
	manifest := filepath.Join(dir, "spin.toml")
	require.NoError(t, os.WriteFile(manifest, fmt.Appendf(nil, manifestText, port, path), 0o600))
	b := &bench{log: &lockedBuffer{}}
	options := Options{
		Variables: map[string]string{"master_key": "secret"},
		Timeout:   deadline,
		CacheDir:  cacheDir,
		Log:       slog.New(slog.NewTextHandler(b.log, nil)),
	}
	if change != nil {
		change(&options)
	}
	if options.Databases == nil {
		options.Databases = databases(t, libsql.Config{PerRequest: options.StrictSpin})
	}
	h, err := Load(context.Background(), manifest, options)
	require.NoError(t, err)
	b.host = h
	server := httptest.NewServer(h)
	b.url = server.URL
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, h.Close(context.Background()))
	})
	return b
}

// databases returns a database "default", in a new file unless config says otherwise.
func databases(t testing.TB, config libsql.Config) map[string]Database {
	t.Helper()
	config.URL, config.Timeout = "file:"+filepath.Join(t.TempDir(), "test.db"), deadline
	config.WriteTimeout = deadline
	d, err := libsql.Open(context.Background(), config)
	require.NoError(t, err)
	return map[string]Database{"default": d}
}

// bothWays runs a test with a fresh instance per request and with reused instances.
func bothWays(t *testing.T, test func(t *testing.T, change func(*Options))) {
	for _, fresh := range []bool{true, false} {
		t.Run(fmt.Sprintf("fresh=%v", fresh), func(t *testing.T) {
			t.Parallel()
			test(t, func(o *Options) { o.Fresh = fresh })
		})
	}
}

// answer is a complete response.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request, with headers as name, value, name, value.
func (b *bench) do(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(got)}
}

// compileWat returns the path of a hostile guest, compiled.
func compileWat(t testing.TB, name string) string {
	t.Helper()
	prelude, err := os.ReadFile("testdata/prelude.wat")
	require.NoError(t, err)
	own, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var imports, rest []string
	for line := range strings.Lines(string(own)) {
		if strings.HasPrefix(line, "(import") { // imports must be before the memory
			imports = append(imports, line)
		} else {
			rest = append(rest, line)
		}
	}
	path := filepath.Join(t.TempDir(), "guest.wasm")
	code := wat.Compile(t, "(module\n"+strings.Join(imports, "")+string(prelude)+strings.Join(rest, "")+")\n")
	require.NoError(t, os.WriteFile(path, code, 0o600))
	return path
}

// lockedBuffer is a log that many goroutines may write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
