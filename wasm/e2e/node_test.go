// Package e2e runs the built programs: the real component, the real binary, the
// real libSQL server.
package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	turso "github.com/tursodatabase/libsql-client-go/libsql"

	"kith/backend/libsql"
	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
	"kith/wasm/host"
)

const (
	// root is the top of the repository, relative to this folder.
	root = "../.."
	// deadline bounds every wait. A test that passes never waits that long.
	deadline = 2 * time.Minute
)

// longTimeouts are settings with time limits that are longer than anything takes, so that
// no test depends on the speed of the machine.
var longTimeouts = []string{
	"KITH_EDGE_TIMEOUT=" + (2 * deadline).String(), "KITH_READ_TIMEOUT=" + deadline.String(), "KITH_WRITE_TIMEOUT=" + deadline.String(), "KITH_HEALTH_TIMEOUT=" + deadline.String(), "KITH_STOP_TIMEOUT=" + deadline.String(),
}

func TestMain(m *testing.M) {
	if addr := os.Getenv(controlEnv); addr != "" {
		fmt.Fprintln(os.Stderr, serveControl(addr))
		os.Exit(1)
	}
	if orders := os.Getenv(constantEnv); orders != "" {
		fmt.Fprintln(os.Stderr, serveConstant(orders))
		os.Exit(1)
	}
	if orders := os.Getenv(besiegeEnv); orders != "" {
		if err := besiege(orders); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	sqldtest.MainWith(m, sqldtest.Options{Replicas: 1})
}

// The binaries that these tests run were built from this tree.
func TestComponent_IsBuiltFromThisTree(t *testing.T) {
	component := filepath.Join(root, "bin", "edge.wasm")
	code, err := os.ReadFile(component)
	require.NoError(t, err, "run make edge")
	sum := sha256.Sum256(code)
	t.Logf("edge.wasm: sha256 %s", hex.EncodeToString(sum[:]))
	requireEmbedded(t, "bin/edge.wasm", code)
	require.NotContains(t, string(code), ".llvm.", "names depend on the folder of the build; see wasm/finish")
	manifest, err := os.ReadFile(filepath.Join(root, "spin.toml"))
	require.NoError(t, err)
	requireEmbedded(t, "spin.toml", manifest)
	built, err := os.Stat(component)
	require.NoError(t, err)
	for _, dir := range []string{"edge", "core"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") && filepath.Base(path) != "kith.js" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := d.Info()
			if err == nil && source.ModTime().After(built.ModTime()) {
				err = fmt.Errorf("%s is newer than edge.wasm: run make edge", path)
			}
			return err
		}))
	}
}

// Instances of the component begin as the build has initialized it: _initialize calls nothing of
// the host, and changes nothing.
func TestComponent_IsInitialized(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile(filepath.Join(root, "bin", "edge.wasm"))
	require.NoError(t, err, "run make edge")
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	component, err := r.CompileModule(ctx, code)
	require.NoError(t, err)
	hosts := map[string]wazero.HostModuleBuilder{}
	for _, f := range component.ImportedFunctions() {
		from, name, _ := f.Import()
		if hosts[from] == nil {
			hosts[from] = r.NewHostModuleBuilder(from)
		}
		called := api.GoModuleFunc(func(context.Context, api.Module, []uint64) { t.Errorf("%s %s is called", from, name) })
		hosts[from].NewFunctionBuilder().WithGoModuleFunction(called, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, h := range hosts {
		_, err := h.Instantiate(ctx)
		require.NoError(t, err)
	}
	instance, err := r.InstantiateModule(ctx, component, wazero.NewModuleConfig().WithStartFunctions())
	require.NoError(t, err)
	memory := func() []byte {
		all, ok := instance.ExportedMemory("memory").Read(0, instance.ExportedMemory("memory").Size())
		require.True(t, ok)
		return bytes.Clone(all)
	}
	before := memory()
	_, err = instance.ExportedFunction("_initialize").Call(ctx)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, memory()))
	require.Greater(t, len(bytes.TrimRight(before, "\x00")), len(before)/4, "it has data")
}

// requireEmbedded fails unless bin/kith embeds the file: the linker copies it into the
// binary unchanged.
func requireEmbedded(t *testing.T, name string, file []byte) {
	t.Helper()
	binary, err := os.ReadFile(filepath.Join(root, "bin", "kith"))
	require.NoError(t, err, "run make build")
	require.True(t, bytes.Contains(binary, file), "bin/kith embeds another %s: run make build", name)
}

// site has the addresses and the data folder of a test's processes, which stay the same
// when a process is restarted.
type site struct {
	edge, backend string // base URLs
	// sftp is the address of the SFTP server, or off.
	sftp string
	data string
	// edgeDatabase and backendDatabase are URLs; empty means the file in data.
	edgeDatabase, backendDatabase string
	// databaseToken is the token for the database servers, if they require one.
	databaseToken string
	// keys are the API keys of the tenants that createTenant made.
	keys map[string]string
	// env are settings of every process: longTimeouts in tests, none in benchmarks.
	env []string
	// edgeHost and backendHost start processes on hosts of their own; nil means on this one.
	edgeHost, backendHost func(*exec.Cmd) error
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{
		edge: "http://" + freeAddr(t), backend: "http://" + freeAddr(t), sftp: "off", data: t.TempDir(),
		keys: map[string]string{"demo": "LIVE_DEMO_KEY_0123456789", "test_demo": "TEST_DEMO_KEY_0123456789"},
	}
	if _, measures := t.(*testing.B); !measures {
		s.env = longTimeouts
	}
	return s
}

// compiledComponents returns the folder with the compiled component, which all processes of
// tests share: to compile it takes a second of a processor.
func compiledComponents(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", "wasm-cache"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(path, 0o700))
	return path
}

// process is a running kith. It answers before what it prints has arrived here: waitLog and
// waitOutput wait for a text, and log has all of it when the process has ended.
type process struct {
	command *exec.Cmd
	output  *testenv.Log
}

// dev starts edge and backend in one process, with the demo tenants.
func (s *site) dev(t testing.TB, env ...string) *process {
	t.Helper()
	return s.start(t, s.edge+"/healthz", append(env, "KITH_DATABASE_URL="+s.backendDatabase), "dev")
}

// serve starts only the backend.
func (s *site) serve(t testing.TB, env ...string) *process {
	t.Helper()
	return s.start(t, s.backend+"/healthz", append(env, "KITH_DATABASE_URL="+s.backendDatabase), "serve")
}

// serveEdge starts only the edge. It is ready when it answers at all, since its backend may
// be down.
func (s *site) serveEdge(t testing.TB, env ...string) *process {
	t.Helper()
	return s.start(t, s.edge+"/healthz", append(env, "KITH_DATABASE_URL="+s.edgeDatabase, "KITH_BACKEND_URL="+s.backend), "edge")
}

func (s *site) start(t testing.TB, probe string, env []string, args ...string) *process {
	t.Helper()
	p := s.launch(t, env, args...)
	await(t, func() error {
		response, err := noRedirect.Get(probe)
		if err != nil {
			return fmt.Errorf("kith %s: %w\n%s", args[0], err, p.output)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK && args[0] != "edge" {
			return fmt.Errorf("kith %s is not healthy: %s\n%s", args[0], response.Status, p.output)
		}
		return nil
	})
	return p
}

// launch starts a process and does not wait for it.
func (s *site) launch(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	p := &process{output: &testenv.Log{}, command: s.command(t, args...)}
	p.command.Env = append(p.command.Env, env...)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	start := s.backendHost
	if args[0] == "edge" {
		start = s.edgeHost
	}
	if s.env != nil && (args[0] == "edge" || args[0] == "dev") { // not in benchmarks
		// It may be there already, or the process makes the folder of the data.
		_ = os.Symlink(compiledComponents(t), filepath.Join(s.data, "wasm-cache"))
	}
	if start == nil {
		start = (*exec.Cmd).Start
	}
	require.NoError(t, start(p.command))
	t.Cleanup(p.kill)
	return p
}

// command returns a command for a kith, without the variables in the environment that
// would configure it.
func (s *site) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join(root, "bin", "kith"))
	require.NoError(t, err)
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	c := exec.Command(binary, args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "KITH_") && !strings.HasPrefix(entry, "OTEL_") {
			c.Env = append(c.Env, entry)
		}
	}
	// The gateway labs and SFTP have fixed default addresses, which concurrent tests
	// cannot share.
	c.Env = append(c.Env, "KITH_LAB_ADDR=off", "KITH_STRIPE_LAB_ADDR=off", "KITH_SFTP_ADDR="+s.sftp, "KITH_DATA="+s.data, "KITH_DATABASE_TOKEN="+s.databaseToken,
		"KITH_EDGE_ADDR="+strings.TrimPrefix(s.edge, "http://"), "KITH_BACKEND_ADDR="+strings.TrimPrefix(s.backend, "http://"))
	c.Env = append(c.Env, s.env...)
	return c
}

// createTenant creates a tenant and its test tenant with the command line.
func (s *site) createTenant(t testing.TB, alias string, args ...string) {
	t.Helper()
	c := s.command(t, append([]string{"tenant", "create", alias}, args...)...)
	c.Env = append(c.Env, "KITH_DATABASE_URL="+s.backendDatabase)
	out, err := c.Output()
	require.NoError(t, err, "%s", c.Stderr)
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) == 3 {
			s.keys[words[0]] = words[1]
		}
	}
	require.Contains(t, s.keys, alias)
	require.Contains(t, s.keys, "test_"+alias)
}

// kill kills the process with SIGKILL, if it still runs.
func (p *process) kill() {
	if p.command.ProcessState == nil {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	}
}

// stop stops the process with SIGTERM; it must exit with status 0.
func (p *process) stop(t testing.TB) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.command.Wait(), p.output)
}

// loadEdge loads the component in this process, on the site's database and in
// front of its backend, with change, if any, applied to the host's options.
func (s *site) loadEdge(t testing.TB, change func(*host.Options)) *host.Host {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	require.NoError(t, err)
	options := host.Options{
		Variables: map[string]string{"master_key": strings.TrimSpace(string(key)), "backend_url": s.backend},
		CacheDir:  filepath.Join(s.data, "wasm-cache"),
	}
	if change != nil {
		change(&options)
	}
	if options.Databases == nil {
		options.Databases = databases(t, libsql.Config{URL: "file:" + s.file(), PerRequest: options.StrictSpin})
	}
	h, err := host.Load(context.Background(), filepath.Join(root, "spin.toml"), options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// databases returns the databases that the component may open.
func databases(t testing.TB, config libsql.Config) map[string]host.Database {
	t.Helper()
	config.WriteTimeout = deadline
	database, err := libsql.Open(context.Background(), config)
	require.NoError(t, err)
	return map[string]host.Database{"default": database}
}

// file is the path of the database of kith dev.
func (s *site) file() string { return filepath.Join(s.data, "kith.db") }

// open opens the backend's database, to read the stored rows.
func (s *site) open(t testing.TB) *sql.DB {
	t.Helper()
	url := s.backendDatabase
	if url == "" {
		url = "file:" + s.file() + "?_pragma=busy_timeout(120000)"
	}
	var options []turso.Option
	if s.databaseToken != "" {
		options = append(options, turso.WithAuthToken(s.databaseToken))
	}
	connector, err := turso.NewConnector(url, options...)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// number runs a query for one number.
func number(t testing.TB, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	n, err := tryNumber(db, query, args...)
	require.NoError(t, err, query)
	return n
}

// tryNumber is number where the process that writes the file may be paused: if it was
// writing the index of the WAL, no other process can read.
func tryNumber(db *sql.DB, query string, args ...any) (n int, err error) {
	err = db.QueryRow(query, args...).Scan(&n)
	return n, err
}

// texts runs a query for one column of texts.
func texts(t testing.TB, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	require.NoError(t, err, query)
	defer rows.Close()
	for rows.Next() {
		var one string
		require.NoError(t, rows.Scan(&one))
		all = append(all, one)
	}
	require.NoError(t, rows.Err())
	return all
}

// waitProcessed waits until no event call waits in the intake.
func waitProcessed(t testing.TB, db *sql.DB) {
	t.Helper()
	await(t, func() error {
		if n := number(t, db, `SELECT count(*) FROM intake WHERE seq > (SELECT seq FROM intake_cursor)`); n > 0 {
			return fmt.Errorf("%d event calls wait", n)
		}
		return nil
	})
}

// await calls probe until it succeeds or the deadline has passed.
func await(t testing.TB, probe func() error) {
	t.Helper()
	end := time.Now().Add(deadline)
	for {
		err := probe()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %v", deadline, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// eventually repeats a call until it is answered with the given status.
func eventually(t testing.TB, status int, method, url, body string, headers ...string) (a answer) {
	t.Helper()
	await(t, func() (err error) {
		if a, err = call(method, url, body, headers...); err == nil && a.status != status {
			err = fmt.Errorf("%s %s: %d %s", method, url, a.status, a.body)
		}
		return err
	})
	return a
}

func freeAddr(t testing.TB) string {
	t.Helper()
	addr, err := sqldtest.FreeAddr()
	require.NoError(t, err)
	return addr
}
