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
	"regexp"
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

// Guarantee: backends share work through leases, and a backend that was paused beyond its
// lease changes nothing when it continues. Each test pauses a backend in the middle of its
// work (SIGSTOP), lets the other finish the work, and resumes the first.

// newPair returns two backends on one database server, with the same data folder and the
// demo tenants. The first connects to the server through a tap.
func newPair(t *testing.T) (first, second *site, line *tap) {
	t.Helper()
	cluster := sqldtest.Start(t)
	first, second = newSite(t), newSite(t)
	second.data, second.keys = first.data, first.keys
	second.backendDatabase, second.edgeDatabase = cluster.PrimaryURL(), cluster.PrimaryURL()
	line = newTap(t, strings.TrimPrefix(cluster.PrimaryURL(), "ws://"))
	first.backendDatabase = "ws://" + line.listener.Addr().String()
	second.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	return first, second, line
}

// pause suspends a process, and returns when none of its threads runs; resume continues it.
func (p *process) pause(t testing.TB) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGSTOP))
	await(t, func() error {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.command.Process.Pid))
		if err != nil || len(threads) == 0 {
			return fmt.Errorf("the process has no threads: %w", err)
		}
		for _, thread := range threads {
			if status, err := os.ReadFile(thread); err == nil && !bytes.Contains(status, []byte("State:\tT")) {
				return errors.New("the process still runs")
			}
		}
		return nil
	})
}
func (p *process) resume(t testing.TB) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGCONT))
}

// killWhen waits for a condition and kills the process while the condition is true.
func (p *process) killWhen(t testing.TB, holds func() error) {
	t.Helper()
	await(t, func() error { return p.killIf(t, holds) })
}

// killIf kills a process if a condition is true, or returns the condition's error. It
// pauses the process and checks the condition again before the kill, so that the process
// cannot move on in between.
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

// reached waits until another process has reached a point.
func reached(t testing.TB, point <-chan struct{}) {
	t.Helper()
	select {
	case <-point:
	case <-time.After(deadline):
		t.Fatal("the point was not reached")
	}
}

// until waits for a point in a handler of a server, with a time limit.
func until(t testing.TB, point <-chan struct{}) {
	select {
	case <-point:
	case <-t.Context().Done():
	}
}

// waitLog waits until a process has printed a text.
func (p *process) waitLog(t testing.TB, text string) {
	t.Helper()
	p.waitOutput(t, regexp.MustCompile(regexp.QuoteMeta(text)))
}

// waitOutput waits until a process has printed a text that matches, and returns the match
// and its groups.
func (p *process) waitOutput(t testing.TB, pattern *regexp.Regexp) (found []string) {
	t.Helper()
	await(t, func() error {
		if found = pattern.FindStringSubmatch(fmt.Sprint(p.output)); found == nil {
			return fmt.Errorf("the process has not printed %s:\n%s", pattern, p.output)
		}
		return nil
	})
	return found
}

// log returns all that a process has printed, which must have ended.
func (p *process) log(t testing.TB) string {
	t.Helper()
	require.NotNil(t, p.command.ProcessState, "the process may print more: stop it, or wait for the text")
	return fmt.Sprint(p.output)
}

// tap is a proxy to the database server that can pause at a chosen answer.
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

// wait calls hit at the n-th further answer that contains a text, before it forwards the
// answer.
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

// look counts the text in new bytes, and returns the bytes that may begin another
// occurrence.
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

// The other backend takes over an import, and the rows that the first was working on are
// imported once.
func TestPause_ImportIsTakenOver(t *testing.T) {
	t.Parallel()
	const rows = 6000
	env := []string{"KITH_JOB_WORKERS=1", "KITH_JOB_LEASE=1s"}
	first, second, line := newPair(t)
	a := first.serve(t, env...)
	db := second.open(t)
	// The pause is within the third batch: only batches read this value.
	paused := make(chan struct{})
	line.wait(`"name":"untracking"`, 3, func() { a.pause(t); close(paused) })
	id := first.beginJob(t, "MUTATION/USER", "users.csv", userRows(0, rows))
	reached(t, paused)
	b := second.serve(t, env...)
	done := second.ended(t, id)
	require.EqualValues(t, rows, done.Stats.RecordsProcessed)
	result, left := second.download(t, id, job.ResultFile), state(t, db)
	require.Equal(t, rows-int(done.Stats.Errors), number(t, db, `SELECT count(*) FROM user WHERE tenant = 'demo'`))

	// The first backend works again. It has one worker, which must have left the first job.
	b.stop(t)
	a.resume(t)
	eventually(t, http.StatusOK, "GET", first.backend+"/healthz", "")
	next := first.beginJob(t, "MUTATION/USER_EVENT", "events.jsonl", `{"accountId":"a00000","userId":"u00000","event":{"key":"later"}}`+"\n")
	require.EqualValues(t, 1, first.ended(t, next).Stats.RecordsProcessed)
	require.Equal(t, result, first.download(t, id, job.ResultFile))
	require.Equal(t, left, state(t, db)[:len(left)], "the event is at the end")
	require.Equal(t, []string{"COMPLETED 2"}, texts(t, db, `SELECT status || ' ' || attempt FROM job WHERE type = 'MUTATION/USER'`))
}

// The result of a webhook attempt is ignored if another backend has repeated it.
func TestPause_DeliveryIsMadeByAnother(t *testing.T) {
	t.Parallel()
	first, second, _ := newPair(t)
	var in mail
	var a atomic.Pointer[process]
	resume, paused := make(chan struct{}), make(chan struct{})
	endpoint := second.endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if in.take(r) == 1 {
			a.Load().pause(t)
			close(paused)
			until(t, resume)
			http.Error(w, "this answer is late", http.StatusGone) // which would disable the endpoint
		}
	})
	a.Store(first.serve(t))
	second.testEvent(t, "test_demo", endpoint)
	reached(t, paused)
	db := second.open(t)
	require.Equal(t, []string{"sending 1"}, texts(t, db, `SELECT state || ' ' || attempt FROM webhook_delivery`))
	second.serve(t, "KITH_JOB_LEASE=1s")
	await(t, func() error {
		if s := texts(t, db, `SELECT state || ' ' || attempt FROM webhook_delivery`); s[0] != "delivered 2" {
			return fmt.Errorf("the delivery is %s", s[0])
		}
		return nil
	})
	close(resume)
	a.Load().resume(t)
	a.Load().waitLog(t, "leases of webhook attempts expired")
	require.Equal(t, []string{"delivered 2"}, texts(t, db, `SELECT state || ' ' || attempt FROM webhook_delivery`))
	require.Equal(t, []string{"2 200"}, texts(t, db, `SELECT number || ' ' || status FROM webhook_attempt`))
	require.Zero(t, number(t, db, `SELECT count(*) FROM webhook_subscription WHERE failing_since IS NOT NULL OR disabled_at IS NOT NULL`))
	require.Equal(t, map[string]int{texts(t, db, `SELECT id FROM webhook_event`)[0]: 2}, in.all())
}

// A backend is paused within the transaction that turns event calls into events, while it
// has the write lock. The server ends the transaction, and the other backend does the work.
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
		// The answer with the cursor, after which only the commit is left.
		line.wait(`"name":"processed"`, 1, func() { a.pause(t); close(paused) })
		reached(t, paused)
		behind := sending.calls()
		await(t, func() error {
			if n := sending.calls() - behind; n < 100 {
				return fmt.Errorf("%d calls were accepted while a paused backend has the lock", n)
			}
			return nil
		})
		before := number(t, db, `SELECT seq FROM intake_cursor`)
		await(t, func() error {
			if number(t, db, `SELECT seq FROM intake_cursor`) == before {
				return errors.New("no backend processes the calls")
			}
			return nil
		})
		a.resume(t)
		eventually(t, http.StatusOK, "GET", first.backend+"/healthz", "")
	}
	sending.end(t)
	waitProcessed(t, db)
	a.stop(t)
	sending.requireProcessedOnce(t, db)
}

// A delayed call of the first backend reaches the payment gateway after newer calls of the
// other. The wrong discount is corrected.
func TestPause_GatewayIsSetByAnother(t *testing.T) {
	t.Parallel()
	first, second, _ := newPair(t)
	lab := second.lab(t)
	var a atomic.Pointer[process]
	resume, paused := make(chan struct{}), make(chan struct{})
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
				until(t, resume)
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
	second.serve(t, "KITH_JOB_LEASE=1s")
	mustCall(t, http.StatusOK, "POST", api+"/credit/bulkredeem", `{"accountId":"anna","unit":"CENTS","amount":400}`, auth)
	discount("6.00")
	close(resume)
	discount("10.00") // set by the delayed call
	a.Load().resume(t)
	discount("6.00")
	await(t, func() error {
		if n := number(t, db, `SELECT count(*) FROM gateway_subscription WHERE leased_until IS NOT NULL`); n > 0 {
			return errors.New("a backend is still working on it")
		}
		return nil
	})
	require.Equal(t, "6.00", discountAt(t, lab, "a1"))
	require.Equal(t, []string{"600 600"}, texts(t, db, `SELECT wanted || ' ' || folded FROM gateway_subscription`))
}

// A single backend is killed while it calls the payment gateway. The next one continues
// after the time of a lease, and not after the 5 minutes of a process that runs on.
func TestKillBackend_GatewayWorkContinues(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	lab := s.lab(t)
	target, err := url.Parse(lab)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	reads := make(chan struct{})
	var first sync.Once
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/subscriptions/a1") {
			hang := false
			first.Do(func() { hang = true })
			if hang {
				close(reads)
				until(t, r.Context().Done())
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.gateway(t, "connect", "--merchant-id", "lab_merchant", "--public-key", "lab_public_key", "--private-key", "lab_private_key", "--base-url", front.URL)
	backend := s.serve(t, "KITH_JOB_LEASE=1s")
	auth := s.auth("test_demo")
	s.identify(t, s.backend, "test_demo", "anna", `{"paymentProviderId":"anna"}`)
	mustCall(t, http.StatusCreated, "POST", s.backend+"/api/v1/test_demo/rewards/account/anna/user/anna", `{"type":"CREDIT","unit":"CENTS","assignedCredit":300}`, auth)
	labCall(t, lab, "webhook", "url="+url.QueryEscape(s.backend+"/api/v1/test_demo/gateway/braintree/webhook"))
	labCall(t, lab, "customers", "id=anna")
	labCall(t, lab, "subscriptions", "id=a1&customer=anna&plan=pro")
	reached(t, reads)
	backend.kill()
	require.Equal(t, 1, number(t, s.open(t), `SELECT count(*) FROM gateway_subscription WHERE leased_by IS NOT NULL`))
	s.serve(t, "KITH_JOB_LEASE=1s")
	await(t, func() error {
		if got := discountAt(t, lab, "a1"); got != "3.00" {
			return fmt.Errorf("the discount is %s", got)
		}
		return nil
	})
}

// lab starts a gateway lab and returns its address.
func (s *site) lab(t *testing.T) string {
	t.Helper()
	lab := "http://" + freeAddr(t)
	s.start(t, lab+"/", []string{"KITH_LAB_ADDR=" + strings.TrimPrefix(lab, "http://")}, "gatewaylab")
	return lab
}

// gateway runs `kith gateway` for the test tenant; it must succeed.
func (s *site) gateway(t *testing.T, args ...string) {
	t.Helper()
	_, errOut, status := s.run(t, nil, append([]string{"gateway"}, append(args, "--tenant", "test_demo")...)...)
	require.Zero(t, status, errOut)
}

func labCall(t *testing.T, lab, control, form string) {
	t.Helper()
	mustCall(t, http.StatusOK, "POST", lab+"/lab/"+control, form, "Content-Type: application/x-www-form-urlencoded")
}

// discountAt returns the discount of a subscription at the gateway.
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
