package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
	"kith/core/auth"
)

// allow lets the test tenant's events be sent to this machine.
func (s *site) allowAddress(t testing.TB, addresses ...string) {
	t.Helper()
	s.ok(t, append([]string{"webhook", "allow", "--tenant", "test_demo"}, addresses...)...)
}

// subscribe subscribes an endpoint by kith api, and returns its secret.
func (s *site) subscribe(t testing.TB, tenant, endpoint string) string {
	t.Helper()
	return strings.TrimSpace(s.ok(t, "api", "POST", "/subscription", "--tenant", tenant, "endpointUrl="+endpoint, "--value", "secret"))
}

// testEvent stores a test event for an endpoint by kith api, so that no service need run.
func (s *site) testEvent(t testing.TB, tenant, endpoint string) {
	t.Helper()
	s.ok(t, "api", "POST", "/subscription/{endpointUrl}/test", "--tenant", tenant, "endpointUrl="+endpoint)
}

// subscription returns the path of an endpoint's subscription.
func subscription(endpoint string) string {
	return "/api/v1/test_demo/subscription/" + url.QueryEscape(endpoint)
}

// mail has the ids of the events that an endpoint received.
type mail struct {
	mu  sync.Mutex
	ids []string
}

func (m *mail) take(r *http.Request) int {
	_, _ = io.Copy(io.Discard, r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids = append(m.ids, r.Header.Get("webhook-id"))
	return len(m.ids)
}

// all returns the received ids, and how often each was received.
func (m *mail) all() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	times := map[string]int{}
	for _, id := range m.ids {
		times[id]++
	}
	return times
}

// endpoint starts a server to which the test tenant may send events.
func (s *site) endpoint(t testing.TB, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s.allowAddress(t, "127.0.0.1")
	s.subscribe(t, "test_demo", server.URL)
	return server.URL
}

// consumer is a consumer of webhooks in Node; see testdata/consumer.
type consumer struct {
	port  int
	in    io.Writer
	lines *bufio.Scanner
}

// received is the consumer's result for an event.
type received struct {
	ID, Type, ContentType, Standard, JWS, Legacy string
	Forged                                       []string
}

func (s *site) consumer(t testing.TB, keySet string) *consumer {
	t.Helper()
	node := exec.Command("node", "consumer.js")
	node.Dir = "testdata/consumer"
	node.Env = append(node.Environ(), "JWKS_URI="+keySet, "API_KEY="+s.keys["test_demo"])
	in, err := node.StdinPipe()
	require.NoError(t, err)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	errOut := &testenv.Log{}
	node.Stderr = errOut
	require.NoError(t, node.Start())
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait()
		require.Empty(t, errOut.String())
	})
	c := &consumer{in: in, lines: bufio.NewScanner(out)}
	c.port = nextLine[struct{ Port int }](t, c, errOut).Port
	return c
}

// nextLine returns the consumer's next line.
func nextLine[T any](t testing.TB, c *consumer, why ...any) (v T) {
	t.Helper()
	read := make(chan bool, 1)
	go func() { read <- c.lines.Scan() }()
	await(t, func() error {
		select {
		case ok := <-read:
			require.True(t, ok, why...)
			return nil
		default:
			return fmt.Errorf("the consumer prints nothing")
		}
	})
	require.NoError(t, json.Unmarshal(c.lines.Bytes(), &v), c.lines.Text())
	return v
}

// verified returns the next event. All three of its signatures must be valid, and none may
// be valid after a change of a byte.
func (c *consumer) verified(t testing.TB) received {
	t.Helper()
	r := nextLine[received](t, c)
	require.Equal(t, []string{"ok", "ok", "ok"}, []string{r.Standard, r.JWS, r.Legacy})
	require.Equal(t, "application/json; charset=UTF-8", r.ContentType)
	require.Len(t, r.Forged, 3)
	for _, outcome := range r.Forged {
		require.NotEqual(t, "ok", outcome)
	}
	return r
}

// The libraries that consumers use accept the signatures: standardwebhooks, and
// jsonwebtoken with jwks-rsa on the published keys, which the edge serves.
func TestWebhook_PublishedLibrariesVerify(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	c := s.consumer(t, s.edge+"/.well-known/jwks.json")
	s.allowAddress(t, "127.0.0.1")
	endpoint := fmt.Sprintf("http://127.0.0.1:%d/hook", c.port)
	secret := s.subscribe(t, "test_demo", endpoint)
	fmt.Fprintln(c.in, secret)

	s.identify(t, s.edge, "test_demo", "ben", `{"firstName":"Jürgen","lastName":"\"\\ 🧑‍🚀 </script>\u2028"}`)
	types := []string{c.verified(t).Type, c.verified(t).Type}
	require.ElementsMatch(t, []string{"coupon.created", "user.created"}, types)

	test := func() received {
		mustCall(t, http.StatusNoContent, "POST", s.edge+subscription(endpoint)+"/test", "", s.auth("test_demo"))
		return c.verified(t)
	}
	tested := test()
	require.Equal(t, "test", tested.Type)
	await(t, func() error { // until its arrival is recorded
		page := mustCall(t, http.StatusOK, "GET", s.edge+subscription(endpoint)+"/deliveries?state=delivered", "", s.auth("test_demo"))
		if !strings.Contains(page.body, tested.ID) {
			return fmt.Errorf("%s", page.body)
		}
		return nil
	})
	mustCall(t, http.StatusOK, "POST", s.edge+subscription(endpoint)+"/replay", `{"id":"`+tested.ID+`"}`, s.auth("test_demo"))
	require.Equal(t, tested, c.verified(t), "a replay has the same event")
	rotated := decode[struct{ Secret string }](t, mustCall(t, http.StatusOK, "POST", s.edge+subscription(endpoint)+"/secret", "", s.auth("test_demo")))
	require.NotEqual(t, secret, rotated.Secret)
	test() // signed with the old secret
	fmt.Fprintln(c.in, rotated.Secret)
	test() // signed with the new secret
	_, errOut, status := s.run(t, nil, "webhook", "rotate-key")
	require.Zero(t, status, errOut)
	test() // signed with a key that is new to the consumer
}

// When the backend is killed after the endpoint has received an event, and before that was
// recorded, the next backend sends the event again, with the same id.
func TestKillBackend_WebhookIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	var in mail
	first := make(chan struct{})
	url := s.endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		if in.take(r) == 1 {
			close(first)
			<-r.Context().Done()
		}
	})
	backend := s.serve(t)
	s.testEvent(t, "test_demo", url)
	<-first
	backend.kill()
	db := s.open(t)
	require.Equal(t, []string{"sending"}, texts(t, db, `SELECT state FROM webhook_delivery`))
	s.serve(t, "KITH_JOB_LEASE=1s")
	await(t, func() error {
		if states := texts(t, db, `SELECT state || attempt FROM webhook_delivery`); states[0] != "delivered2" {
			return fmt.Errorf("the delivery is %v", states)
		}
		return nil
	})
	require.Equal(t, map[string]int{texts(t, db, `SELECT id FROM webhook_event`)[0]: 2}, in.all())
}

// With two backends on one database, each event arrives once as long as neither fails.
func TestWebhook_TwoBackendsDeliverOnce(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	var in mail
	s.endpoint(t, func(_ http.ResponseWriter, r *http.Request) { in.take(r) })
	other := *s
	other.backend = "http://" + freeAddr(t)
	backends := []*process{s.serve(t), other.serve(t)}
	const users = 30
	for i := range users {
		base := []string{s.backend, other.backend}[i%2]
		s.identify(t, base, "test_demo", fmt.Sprint("user", i), `{}`)
	}
	db := s.open(t)
	await(t, func() error {
		if n := number(t, db, `SELECT count(*) FROM webhook_delivery WHERE state = 'delivered'`); n != 2*users {
			return fmt.Errorf("%d were delivered", n)
		}
		return nil
	})
	for _, b := range backends {
		b.stop(t)
	}
	times := in.all()
	require.Len(t, times, 2*users)
	for id, n := range times {
		require.Equal(t, 1, n, id)
	}
}

// A live tenant cannot reach the service's own machine, even if a test tenant may: it
// cannot subscribe such an endpoint, nothing is sent to one that was subscribed earlier,
// and the error gives the reason.
func TestWebhook_LiveTenantReachesNothingLocal(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.allowAddress(t, "127.0.0.1", "::1")
	s.serve(t)
	for _, endpoint := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		require.Contains(t, s.refused(t, "api", "POST", "/subscription", "--tenant", "demo", "endpointUrl="+endpoint), "endpointUrl: must not be localhost or an address that is not public")
		s.storeEndpoint(t, "demo", endpoint)
		s.testEvent(t, "demo", endpoint)
		await(t, func() error {
			shown := s.ok(t, "api", "GET", "/subscription/{endpointUrl}/deliveries", "--tenant", "demo", "endpointUrl="+endpoint)
			if !strings.Contains(shown, `"the host is unknown or has no public address; correct the URL, or allow the address for a test tenant with kith webhook allow"`) {
				return errors.New(shown)
			}
			return nil
		})
	}
	require.Zero(t, connections.Load())
}

// storeEndpoint writes a subscription into the database as an older version of kith did,
// which accepted any host.
func (s *site) storeEndpoint(t *testing.T, tenant, endpoint string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	require.NoError(t, err)
	keys, err := auth.ParseKeyring(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	sealed, err := keys.Seal("tenant/"+tenant+"/webhook/"+endpoint, secret, [auth.NonceSize]byte{1})
	require.NoError(t, err)
	_, err = s.open(t).Exec(`INSERT INTO webhook_subscription (tenant, url, name, secret, created_at) VALUES (?, ?, '', ?, 0)`, tenant, endpoint, sealed)
	require.NoError(t, err)
}

// After SIGTERM the backend waits for the answer of an endpoint and records it.
func TestStopBackend_RecordsRunningWebhook(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	asked, hang := make(chan struct{}), make(chan struct{})
	url := s.endpoint(t, func(http.ResponseWriter, *http.Request) { close(asked); <-hang })
	release := sync.OnceFunc(func() { close(hang) })
	t.Cleanup(release) // otherwise the endpoint would wait forever
	backend := s.serve(t)
	s.testEvent(t, "test_demo", url)
	<-asked
	stopped := make(chan struct{})
	go func() { defer close(stopped); backend.stop(t) }()
	await(t, func() error {
		if _, err := call("GET", s.backend+"/healthz", ""); err == nil {
			return fmt.Errorf("it still accepts requests")
		}
		return nil
	})
	release()
	<-stopped
	require.Equal(t, []string{"delivered1"}, texts(t, s.open(t), `SELECT state || attempt FROM webhook_delivery`))
}

func TestCLI_WebhookAllow(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	allow := func(args ...string) string {
		return s.ok(t, append([]string{"webhook", "allow", "--tenant", "test_demo"}, args...)...)
	}
	require.Equal(t, "10.1.0.0/16\n127.0.0.1/32\n", allow("10.1.0.0/16", "127.0.0.1"))
	require.Equal(t, "10.1.0.0/16\n", allow("127.0.0.1", "--remove"))
	require.Equal(t, "10.1.0.0/16\n", allow())
	require.Contains(t, s.refused(t, "webhook", "allow", "127.0.0.1", "--tenant", "demo"), "only a test tenant's events")
	require.Contains(t, s.refused(t, "webhook", "allow", "localhost", "--tenant", "test_demo"), "address: must be an IP address or a prefix")
}
