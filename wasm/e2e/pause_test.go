package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/core/job"
)

// Guarantee: backends share work through leases, and one that was paused beyond
// its lease and wakes up changes nothing. Each test stops a backend in the
// middle of its work (SIGSTOP), lets the other finish it, and wakes the first.

// newPair is two backends on one database server, with one data folder, and the
// demo tenants. The first reaches the server through a tap.
func newPair(t *testing.T) (first, second *site, line *tap) {
	t.Helper()
	cluster := sqldtest.StartWith(t, sqldtest.Options{})
	first, second = newSite(t), newSite(t)
	second.data, second.keys = first.data, first.keys
	second.backendDatabase, second.edgeDatabase = cluster.PrimaryURL(), cluster.PrimaryURL()
	line = newTap(t, strings.TrimPrefix(cluster.PrimaryURL(), "ws://"))
	first.backendDatabase = "ws://" + line.listener.Addr().String()
	second.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	return first, second, line
}

// pause stops a process where it is, and returns when none of its threads runs;
// resume lets it go on.
func (p *process) pause(t testing.TB) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGSTOP))
	await(t, func() error {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.command.Process.Pid))
		if err != nil || len(threads) == 0 {
			return fmt.Errorf("it has no threads: %w", err)
		}
		for _, thread := range threads {
			if status, err := os.ReadFile(thread); err == nil && !bytes.Contains(status, []byte("State:\tT")) {
				return errors.New("it runs")
			}
		}
		return nil
	})
}
func (p *process) resume(t testing.TB) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGCONT))
}

// killWhen waits for a condition and kills the process while it holds.
func (p *process) killWhen(t testing.TB, holds func() error) {
	t.Helper()
	await(t, func() error { return p.killIf(t, holds) })
}

// killIf kills a process if a condition holds, or returns why it does not. It pauses
// the process and looks again before it kills, so that what the kill meets does not
// depend on how soon the test comes.
func (p *process) killIf(t testing.TB, holds func() error) error {
	t.Helper()
	if err := holds(); err != nil {
		return err
	}
	p.pause(t)
	err := holds()
	if err == nil {
		p.kill()
	} else {
		p.resume(t)
	}
	return err
}

// reached waits until a point in another process was reached.
func reached(t testing.TB, point <-chan struct{}) {
	t.Helper()
	select {
	case <-point:
	case <-time.After(deadline):
		t.Fatal("the point was not reached")
	}
}

// until waits within a server, whose end waits for its handlers.
func until(t testing.TB, point <-chan struct{}) {
	select {
	case <-point:
	case <-t.Context().Done():
	}
}

// waitLog waits until a process has logged a text.
func (p *process) waitLog(t testing.TB, text string) {
	t.Helper()
	await(t, func() error {
		if !strings.Contains(p.output.String(), text) {
			return fmt.Errorf("it has not logged %q:\n%s", text, p.output)
		}
		return nil
	})
}

// tap is a line to the database server on which one answer can be waited for.
type tap struct {
	listener net.Listener
	target   string

	mu   sync.Mutex
	text []byte
	left int
	hit  func()
}

func newTap(t *testing.T, target string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tp := &tap{listener: l, target: target}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go tp.join(c)
		}
	}()
	return tp
}

// wait has hit called at the n-th answer from now on that holds a text, before
// the answer is passed on.
func (tp *tap) wait(text string, n int, hit func()) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.text, tp.left, tp.hit = []byte(text), n, hit
}

func (tp *tap) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", tp.target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	buffer := make([]byte, 64<<10)
	var tail []byte
	for {
		n, err := server.Read(buffer)
		tail = tp.look(append(tail, buffer[:n]...))
		if n > 0 {
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// look counts the text in what was seen and not counted before, and returns what
// may be the beginning of another.
func (tp *tap) look(seen []byte) []byte {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	for tp.left > 0 {
		_, behind, found := bytes.Cut(seen, tp.text)
		if !found {
			break
		}
		seen = behind
		if tp.left--; tp.left == 0 {
			tp.hit()
		}
	}
	return bytes.Clone(seen[max(0, len(seen)-max(0, len(tp.text)-1)):])
}

// An import: the other backend takes it over, and the rows that the first had in
// its hands are done once.
func TestPause_ImportIsTakenOver(t *testing.T) {
	t.Parallel()
	const rows = 6000
	env := []string{"KITH_JOB_WORKERS=1", "KITH_JOB_LEASE=1s"}
	first, second, line := newPair(t)
	a := first.serve(t, env...)
	db := second.open(t)
	// Within the third batch: what this answer tells is asked for by batches alone.
	paused := make(chan struct{})
	line.wait(`"name":"untracking"`, 3, func() { a.pause(t); close(paused) })
	id := first.beginJob(t, "MUTATION/USER", "users.csv", userRows(0, rows))
	reached(t, paused)
	b := second.serve(t, env...)
	done := second.ended(t, id)
	require.EqualValues(t, rows, done.Stats.RecordsProcessed)
	result, left := second.download(t, id, job.ResultFile), state(t, db)
	require.Equal(t, rows-int(done.Stats.Errors), number(t, db, `SELECT count(*) FROM user WHERE tenant = 'demo'`))

	a.resume(t)
	a.waitLog(t, "a job outlived its lease")
	require.Equal(t, result, second.download(t, id, job.ResultFile))
	require.Equal(t, left, state(t, db))
	require.Equal(t, []string{"COMPLETED 2"}, texts(t, db, `SELECT status || ' ' || attempt FROM job`))

	// It is of use again.
	b.stop(t)
	id = first.beginJob(t, "MUTATION/USER_EVENT", "events.jsonl", `{"accountId":"a00000","userId":"u00000","event":{"key":"later"}}`+"\n")
	require.EqualValues(t, 1, first.ended(t, id).Stats.RecordsProcessed)
}

// A delivery: the result of the first attempt comes too late, whatever it is.
func TestPause_DeliveryIsMadeByAnother(t *testing.T) {
	t.Parallel()
	first, second, _ := newPair(t)
	var in mail
	var a atomic.Pointer[process]
	goOn, paused := make(chan struct{}), make(chan struct{})
	endpoint := second.endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if in.take(r) == 1 {
			a.Load().pause(t)
			close(paused)
			until(t, goOn)
			http.Error(w, "this answer is late", http.StatusGone) // which would disable the endpoint
		}
	})
	a.Store(first.serve(t))
	second.webhook(t, "test", endpoint)
	reached(t, paused)
	db := second.open(t)
	require.Equal(t, []string{"sending 1"}, texts(t, db, `SELECT state || ' ' || attempt FROM webhook_delivery`))
	// The lease lasts for a minute, which has passed now.
	_, err := db.Exec(`UPDATE webhook_delivery SET due_at = 1`)
	require.NoError(t, err)
	second.serve(t)
	await(t, func() error {
		if s := texts(t, db, `SELECT state || ' ' || attempt FROM webhook_delivery`); s[0] != "delivered 2" {
			return fmt.Errorf("it is %s", s[0])
		}
		return nil
	})
	close(goOn)
	a.Load().resume(t)
	a.Load().waitLog(t, "webhook attempts outlived their lease")
	require.Equal(t, []string{"delivered 2"}, texts(t, db, `SELECT state || ' ' || attempt FROM webhook_delivery`))
	require.Equal(t, []string{"2 200"}, texts(t, db, `SELECT number || ' ' || status FROM webhook_attempt`))
	require.Zero(t, number(t, db, `SELECT count(*) FROM webhook_subscription WHERE failing_since IS NOT NULL OR disabled_at IS NOT NULL`))
	require.Equal(t, map[string]int{texts(t, db, `SELECT id FROM webhook_event`)[0]: 2}, in.all())
}

// Event calls: a backend is stopped within the transaction that turns them into
// events, with the write lock in its hands. The server takes the lock away, and
// the other backend does the work.
func TestPause_IntakeIsProcessedByAnother(t *testing.T) {
	t.Parallel()
	first, second, line := newPair(t)
	second.serve(t)
	second.identify(t, second.backend, "demo", "anna", `{}`)
	second.serveEdge(t)
	a := first.serve(t)
	sending := second.stream(2, 3, false)
	db := second.open(t)
	for range 2 {
		paused := make(chan struct{})
		// The answer that tells how far the batch goes.
		line.wait(`"upto"`, 1, func() { a.pause(t); close(paused) })
		reached(t, paused)
		behind := sending.calls()
		await(t, func() error {
			if n := sending.calls() - behind; n < 100 {
				return fmt.Errorf("%d calls were accepted while a backend sleeps with the lock", n)
			}
			return nil
		})
		before := number(t, db, `SELECT seq FROM intake_cursor`)
		await(t, func() error {
			if number(t, db, `SELECT seq FROM intake_cursor`) == before {
				return errors.New("nobody processes")
			}
			return nil
		})
		a.resume(t)
		mustCall(t, http.StatusOK, "GET", first.backend+"/healthz", "")
	}
	sending.end(t)
	waitProcessed(t, db)
	a.stop(t)
	sending.requireProcessedOnce(t, db)
}

// The payment gateway: a call of the first backend, about to be sent, reaches the
// gateway after those of the other, which knew better. It is put right.
func TestPause_GatewayIsSetByAnother(t *testing.T) {
	t.Parallel()
	first, second, _ := newPair(t)
	lab := second.lab(t)
	var a atomic.Pointer[process]
	goOn, paused := make(chan struct{}), make(chan struct{})
	target, err := url.Parse(lab)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	var met sync.Once
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.Method == http.MethodPut && bytes.Contains(body, []byte("10.00")) {
			met.Do(func() {
				a.Load().pause(t)
				close(paused)
				until(t, goOn)
				r = r.WithContext(t.Context())
			})
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	second.gateway(t, "connect", "--merchant-id", "lab_merchant", "--public-key", "lab_public_key", "--private-key", "lab_private_key", "--base-url", front.URL)
	a.Store(first.serve(t))
	api, auth := second.backend+"/api/v1/test_demo", second.auth("test_demo")
	first.identify(t, first.backend, "test_demo", "anna", `{"paymentProviderId":"anna"}`)
	credit := func(cents int) {
		mustCall(t, http.StatusCreated, "POST", first.backend+"/api/v1/test_demo/rewards/account/anna/user/anna",
			fmt.Sprintf(`{"type":"CREDIT","unit":"CENTS","assignedCredit":%d}`, cents), auth)
	}
	discount := func(want string) {
		await(t, func() error {
			if got := discountAt(t, lab, "a1"); got != want {
				return fmt.Errorf("the discount is %s", got)
			}
			return nil
		})
	}
	credit(300)
	labCall(t, lab, "webhook", "url="+url.QueryEscape(first.backend+"/api/v1/test_demo/gateway/braintree/webhook"))
	labCall(t, lab, "customers", "id=anna")
	labCall(t, lab, "subscriptions", "id=a1&customer=anna&plan=pro")
	discount("3.00")
	credit(700)
	reached(t, paused)
	db := second.open(t)
	second.serve(t)
	mustCall(t, http.StatusOK, "POST", api+"/credit/bulkredeem", `{"accountId":"anna","unit":"CENTS","amount":400}`, auth)
	_, err = db.Exec(`UPDATE gateway_subscription SET leased_until = 1`) // five minutes have passed
	require.NoError(t, err)
	discount("6.00")
	close(goOn)
	discount("10.00") // as the first had wanted
	a.Load().resume(t)
	discount("6.00")
	await(t, func() error {
		if n := number(t, db, `SELECT count(*) FROM gateway_subscription WHERE leased_until IS NOT NULL`); n > 0 {
			return errors.New("somebody is still at it")
		}
		return nil
	})
	require.Equal(t, "6.00", discountAt(t, lab, "a1"))
	require.Equal(t, []string{"600 600"}, texts(t, db, `SELECT wanted || ' ' || folded FROM gateway_subscription`))
}

// lab starts a gateway lab and returns its address.
func (s *site) lab(t *testing.T) string {
	t.Helper()
	lab := "http://" + freeAddr(t)
	s.start(t, lab+"/", []string{"KITH_LAB_ADDR=" + strings.TrimPrefix(lab, "http://")}, "gatewaylab")
	return lab
}

// gateway runs `kith gateway` for the test tenant, which must succeed.
func (s *site) gateway(t *testing.T, args ...string) {
	t.Helper()
	_, errOut, status := s.run(t, nil, append([]string{"gateway"}, append(args, "--tenant", "test_demo")...)...)
	require.Zero(t, status, errOut)
}

func labCall(t *testing.T, lab, control, form string) {
	t.Helper()
	mustCall(t, http.StatusOK, "POST", lab+"/lab/"+control, form, "Content-Type: application/x-www-form-urlencoded")
}

// discountAt is the discount that a subscription has at the gateway.
func discountAt(t *testing.T, lab, subscription string) string {
	t.Helper()
	state := decode[struct {
		Subscriptions []struct {
			ID        string
			Discounts map[string]string
		}
	}](t, mustCall(t, http.StatusOK, "GET", lab+"/lab/state", ""))
	for _, s := range state.Subscriptions {
		if s.ID == subscription {
			return s.Discounts["svc_discount"]
		}
	}
	return "none"
}
