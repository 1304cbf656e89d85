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
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/auth"
)

// webhook runs `kith webhook` for the test tenant; it must succeed.
func (s *site) webhook(t testing.TB, args ...string) string {
	t.Helper()
	out, errOut, status := s.run(t, nil, append([]string{"webhook"}, append(args, "--tenant", "test_demo")...)...)
	require.Zero(t, status, errOut)
	return out
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
	s.webhook(t, "allow", "127.0.0.1")
	s.webhook(t, "add", server.URL)
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
	errOut := &lockedBuffer{}
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
	s.webhook(t, "allow", "127.0.0.1")
	endpoint := fmt.Sprintf("http://127.0.0.1:%d/hook", c.port)
	secret := strings.TrimSpace(s.webhook(t, "add", endpoint, "--name", "Shop"))
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
	s.webhook(t, "test", url)
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
	s.webhook(t, "allow", "127.0.0.1", "::1")
	s.serve(t)
	for _, endpoint := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		_, errOut, status := s.run(t, nil, "webhook", "add", endpoint, "--tenant", "demo")
		require.Equal(t, 1, status)
		require.Contains(t, errOut, "endpointUrl: must not be localhost or an address that is not public")
		s.storeEndpoint(t, "demo", endpoint)
		_, errOut, status = s.run(t, nil, "webhook", "test", endpoint, "--tenant", "demo")
		require.Zero(t, status, errOut)
		await(t, func() error {
			shown, _, _ := s.run(t, nil, "webhook", "deliveries", endpoint, "--tenant", "demo")
			if !strings.Contains(shown, "ms  the host has no public address; correct the URL, or allow the address for a test tenant with kith webhook allow\n") {
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
	s.webhook(t, "test", url)
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

var clockText = regexp.MustCompile(`2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// masked hides ids, times and durations.
func masked(text string) string {
	text = clockText.ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`[0-9a-f]{24}`).ReplaceAllString(text, "ID")
	text = regexp.MustCompile(`\d+ ms`).ReplaceAllString(text, "N ms")
	return regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`).ReplaceAllString(text, "SECRET")
}

func TestCLI_Webhook(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	var in mail
	url := s.endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if in.take(r) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "no\n\x1b[2J")
		}
	})
	require.Equal(t, "127.0.0.1/32\n", s.webhook(t, "allow"))
	require.Equal(t, "subscribed already; the secret is unchanged\n", s.webhook(t, "add", url, "--name", "Shop"))
	require.Equal(t, url+"  nothing sent  all events  Shop\n", s.webhook(t, "list"))
	require.Equal(t, "SECRET\n", masked(s.webhook(t, "secret", url)))
	require.Empty(t, s.webhook(t, "test", url))
	require.Equal(t, "ID  TIME  test  waiting\n    next       TIME\n1 of 1\n", masked(s.webhook(t, "deliveries", url)))

	// A failed attempt is repeated after 5 s, before this test may have checked it. Here
	// the delay is an hour.
	_, err := s.open(t).Exec(`CREATE TRIGGER later AFTER UPDATE ON webhook_delivery WHEN OLD.state = 'sending' AND NEW.state = 'waiting'
		BEGIN UPDATE webhook_delivery SET due_at = due_at + 3600000 WHERE rowid = NEW.rowid; END`)
	require.NoError(t, err)
	s.serve(t)
	var shown string
	await(t, func() error {
		if shown = s.webhook(t, "deliveries", url); !strings.Contains(shown, "attempt 1") {
			return fmt.Errorf("%s", shown)
		}
		return nil
	})
	require.Equal(t, "ID  TIME  test  waiting\n    attempt 1  TIME  N ms  500 \"no\\n\\x1b[2J\"\n    next       TIME\n1 of 1\n", masked(shown))
	require.Equal(t, url+"  failing since TIME  all events  Shop\n", masked(s.webhook(t, "list")))

	id, _, _ := strings.Cut(shown, " ")
	require.Empty(t, s.webhook(t, "replay", url, "--event", id))
	await(t, func() error {
		if shown = s.webhook(t, "deliveries", url, "--state", "delivered"); !strings.HasSuffix(shown, "\n1 of 1\n") {
			return fmt.Errorf("%s", shown)
		}
		return nil
	})
	require.Equal(t, "ID  TIME  test  delivered\n    attempt 1  TIME  N ms  500 \"no\\n\\x1b[2J\"\n    attempt 2  TIME  N ms  200 \"\"\n1 of 1\n", masked(shown))
	require.Equal(t, "0 events are sent again\n", s.webhook(t, "replay", url, "--since", "24h"))
	require.Empty(t, s.webhook(t, "allow", "127.0.0.1", "--remove"))
	require.Empty(t, s.webhook(t, "remove", url))
	require.Empty(t, s.webhook(t, "list"))

	for _, wrong := range []struct {
		args []string
		says string
	}{
		{[]string{"add", "http://shop.example/", "--tenant", "demo"}, "only a test tenant may use http"},
		{[]string{"add", "shop.example", "--tenant", "test_demo"}, "endpointUrl: must be an absolute http or https URL"},
		{[]string{"allow", "127.0.0.1", "--tenant", "demo"}, "only a test tenant's events"},
		{[]string{"allow", "localhost", "--tenant", "test_demo"}, "address: must be an IP address or a prefix"},
		{[]string{"list", "--tenant", "nobody"}, "there is no tenant with this alias"},
		{[]string{"remove", url, "--tenant", "test_demo"}, "there is no subscription of this endpoint URL"},
		{[]string{"test", url, "--tenant", "test_demo"}, "there is no subscription of this endpoint URL"},
		{[]string{"secret", url, "--tenant", "test_demo"}, "there is no subscription of this endpoint URL"},
		{[]string{"deliveries", url, "--tenant", "test_demo"}, "there is no subscription of this endpoint URL"},
		{[]string{"deliveries", url, "--state", "lost", "--tenant", "test_demo"}, "state: must be one of"},
		{[]string{"replay", url, "--tenant", "test_demo"}, "give --event or --since"},
		{[]string{"replay", url, "--event", id, "--tenant", "test_demo"}, "this event was not sent to this endpoint"},
	} {
		_, errOut, status := s.run(t, nil, append([]string{"webhook"}, wrong.args...)...)
		require.Equal(t, 1, status, "%v", wrong.args)
		require.Contains(t, errOut, wrong.says)
	}
}
