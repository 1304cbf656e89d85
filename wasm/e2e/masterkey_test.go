package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// traffic calls the running nodes continuously with all kinds of calls that depend on the
// master key: links, look-ups and events by key and by token, and forwarded calls.
type traffic struct {
	f      *fleet
	cookie string
	token  string
	// down is the node that is being restarted, or -1. A running call locks the mutex of
	// its node.
	down  atomic.Int32
	nodes [2]sync.RWMutex

	calls atomic.Int64
	mu    sync.Mutex
	wrong []string
	stop  chan struct{}
	all   sync.WaitGroup
}

func newTraffic(t *testing.T, f *fleet) *traffic {
	t.Helper()
	x := &traffic{f: f, stop: make(chan struct{})}
	x.down.Store(-1)
	a := mustCall(t, http.StatusFound, "GET", f.nodes[0].edge+"/s/"+f.tenant+"/ANNA10", "")
	x.cookie, _, _ = strings.Cut(a.header.Get("Set-Cookie"), ";")
	out, errOut, status := f.nodes[0].run(t, nil, "token", "--tenant", f.tenant, "--account", "anna", "--user", "anna")
	require.Zero(t, status, errOut)
	x.token = "Authorization: Bearer " + strings.TrimSpace(out)
	for i := range 4 {
		x.all.Go(func() { x.run(i) })
	}
	return x
}

func (x *traffic) run(seed int) {
	const json = "Content-Type: application/json"
	for i := seed; ; i++ {
		select {
		case <-x.stop:
			return
		default:
		}
		n := i % 2
		if int(x.down.Load()) == n {
			continue
		}
		x.nodes[n].RLock()
		base := x.f.nodes[n].edge
		if i%3 == 0 {
			base = x.f.nodes[n].backend
		}
		user := fmt.Sprintf("/open/account/u%d-%d/user/u", seed, i)
		x.expect(http.StatusFound, "GET", base+"/s/"+x.f.tenant+"/ANNA10", "")
		x.expect(http.StatusOK, "GET", x.f.api(base)+"/code/ANNA10", "", x.f.auth())
		x.expect(http.StatusOK, "POST", x.f.api(base)+"/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`, x.token, json)
		x.expect(http.StatusOK, "PUT", x.f.api(base)+user, `{}`, x.f.auth(), json, "Cookie: "+x.cookie)
		x.nodes[n].RUnlock()
	}
}

func (x *traffic) expect(status int, method, url, body string, headers ...string) {
	a, err := call(method, url, body, headers...)
	x.calls.Add(1)
	if err == nil && a.status == status && !(method == "PUT" && !strings.Contains(a.body, `"referredBy":{"code":"ANNA10"`)) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.wrong = append(x.wrong, fmt.Sprintf("%s %s: %v %d %s", method, url, err, a.status, a.body))
}

// restart restarts a node. Its calls go to the other node meanwhile, as behind a load
// balancer.
func (x *traffic) restart(t *testing.T) {
	t.Helper()
	for n := range x.f.nodes {
		x.down.Store(int32(n))
		x.nodes[n].Lock()
		x.f.edges[n].stop(t)
		x.f.backends[n].stop(t)
		x.f.backends[n] = x.f.nodes[n].serve(t)
		x.f.edges[n] = x.f.nodes[n].serveEdge(t)
		x.nodes[n].Unlock()
		x.down.Store(-1)
		x.served(t)
	}
}

// served waits for some calls, and fails if one had a wrong answer.
func (x *traffic) served(t *testing.T) {
	t.Helper()
	until := x.calls.Load() + 40
	await(t, func() error {
		if n := x.calls.Load(); n < until {
			return fmt.Errorf("%d of %d calls", n, until)
		}
		return nil
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	require.Empty(t, x.wrong)
}

// Replacing the master key under traffic, with the steps of kith master-key --help, causes
// no wrong answer.
func TestMasterKey_IsReplacedUnderTraffic(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := f.nodes[0]
	f.identify(t, "anna", `{"referralCode":"ANNA10"}`)
	f.identify(t, "gone", `{}`)
	mustCall(t, http.StatusNoContent, "DELETE", f.api(s.backend)+"/open/account/gone/user/gone?doNotTrack=true", "", f.auth())
	f.cluster.WaitForSync(t)
	file := filepath.Join(s.data, "master.key")
	keys := func() []string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Fields(string(text))
	}
	old := keys()[0]
	x := newTraffic(t, f)
	stop := sync.OnceFunc(func() { close(x.stop); x.all.Wait() })
	t.Cleanup(stop)
	x.served(t)

	require.Contains(t, s.ok(t, "master-key", "new"), "master.key.new")
	require.Contains(t, s.refused(t, "master-key", "new"), "already")
	x.restart(t)

	// The rotation is killed when it has encrypted the API keys, and run again.
	line := newTap(t, strings.TrimPrefix(s.backendDatabase, "ws://"))
	middle, killed := make(chan struct{}), make(chan struct{})
	line.wait(`"name":"name"`, 2, func() { close(middle); until(t, killed) })
	rotation := s.launch(t, []string{"KITH_DATABASE_URL=ws://" + line.listener.Addr().String()}, "master-key", "rotate")
	reached(t, middle)
	rotation.kill()
	close(killed)
	require.Equal(t, 1, number(t, s.open(t), `SELECT count(*) FROM master_key WHERE next <> ''`), "the rotation was interrupted")
	s.ok(t, "master-key", "rotate")
	require.Len(t, keys(), 2)
	require.Equal(t, old, keys()[1])
	x.served(t)
	s.ok(t, "key", "create", f.tenant, "--name", "late", "--role", "tokens")

	x.restart(t)
	require.Contains(t, s.ok(t, "master-key", "rotate"), "No secret needs the further keys")
	x.served(t)
	stop()
	t.Logf("%d calls", x.calls.Load())

	// After the old key is removed everything works, except cookies that it signed.
	require.NoError(t, os.WriteFile(file, []byte(keys()[0]+"\n"), 0o600))
	for n, node := range f.nodes {
		f.edges[n].stop(t)
		f.backends[n].stop(t)
		f.backends[n], f.edges[n] = node.serve(t), node.serveEdge(t)
		for _, base := range []string{node.edge, node.backend} {
			mustCall(t, http.StatusOK, "POST", f.api(base)+"/open/account/anna/user/anna/events", `{"events":[{"key":"visit"}]}`, x.token)
			a := mustCall(t, http.StatusOK, "PUT", f.api(base)+"/open/account/late"+fmt.Sprint(n)+"/user/u", `{}`, f.auth(), "Cookie: "+x.cookie)
			require.NotContains(t, a.body, "ANNA10")
			a = mustCall(t, http.StatusForbidden, "PUT", f.api(base)+"/open/account/gone/user/gone", `{}`, f.auth())
			require.Equal(t, "RS050", decode[failure](t, a).RSCode)
		}
	}
	// A process that has only the old key does not start.
	require.Contains(t, (&site{edge: s.edge, backend: s.backend, sftp: "off", data: t.TempDir(), backendDatabase: s.backendDatabase,
		databaseToken: s.databaseToken, env: append(s.env, "KITH_MASTER_KEY="+old)}).refused(t, "tenant", "show", f.tenant), "does not belong to this database")
}

// A backup under an older key can be restored with that key as a further key, and the next
// rotation seals its secrets again.
func TestMasterKey_OlderBackupsAreRestored(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	backend.stop(t)
	file := filepath.Join(s.data, "master.key")
	old, err := os.ReadFile(file)
	require.NoError(t, err)
	backup := filepath.Join(t.TempDir(), "old.tar.gz")
	s.ok(t, "backup", backup)
	s.ok(t, "master-key", "new")
	s.ok(t, "master-key", "rotate")
	both, err := os.ReadFile(file)
	require.NoError(t, err)
	next, _, _ := strings.Cut(string(both), "\n")

	restored := newSite(t)
	restored.keys = s.keys
	restored.env = append(restored.env, "KITH_MASTER_KEY="+next)
	require.Contains(t, restored.refused(t, "restore", backup), "is not that of the time of the backup")
	restored.env = append(restored.env, "KITH_MASTER_KEY="+next+","+strings.TrimSpace(string(old)))
	restored.ok(t, "restore", backup)
	require.Contains(t, restored.ok(t, "master-key", "rotate"), "secrets were encrypted again")
	restored.env = append(restored.env, "KITH_MASTER_KEY="+next)
	restored.serve(t)
	restored.serveEdge(t)
	mustCall(t, http.StatusOK, "GET", restored.edge+"/api/v1/demo/code/ANNA10", "", restored.auth("demo"))
	token := "Authorization: Bearer " + restored.token(t, "anna")
	mustCall(t, http.StatusOK, "GET", restored.backend+"/api/v1/demo/open/account/anna/user/anna", "", token)
}
