package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/client"
	"kith/core/job"
)

// One round of the webhook load is an import of users and concurrent calls of senders. Each
// user causes one event or two, and each event a delivery to every receiver.
const (
	webhookSenders = 16
	// refusedReceipts is the number of receipts of which one is refused.
	refusedReceipts = 200
	// quietEvents is the number of events of a round that go only to the quiet receiver:
	// fewer than it may get at once, so that an attempt whose lease has expired would be
	// repeated soon, and not wait behind a backlog.
	quietEvents = 6
)

// imported and called return how many users a round imports, and each sender identifies.
func imported() int { return map[bool]int{false: 300, true: 1800}[long()] }
func called() int   { return map[bool]int{false: 10, true: 50}[long()] }

// receiver is an endpoint that counts what it receives.
type receiver struct {
	tenant, url string
	// slow is the longest time that it takes to answer, until hurry is closed.
	slow  time.Duration
	hurry <-chan struct{}
	// refuses is true when it answers some events with 503, once each.
	refuses bool

	mu            sync.Mutex
	came, refused map[string]int
	receipts      int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	refused := r.take(request.Header.Get("webhook-id"))
	if r.slow > 0 {
		select {
		case <-time.After(rand.N(r.slow)):
		case <-r.hurry:
		}
	}
	if refused {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// take counts an event and reports whether to refuse it.
func (r *receiver) take(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.came[id]++
	r.receipts++
	if !r.refuses || r.receipts%refusedReceipts != 0 || r.refused[id] > 0 {
		return false
	}
	r.refused[id]++
	return true
}

// receivers returns two endpoints that answer at once, one that also refuses some events,
// one that is slow until hurry is closed, and one of another tenant that is slow and gets
// few events.
func (s *site) receivers(t *testing.T, slow time.Duration, hurry <-chan struct{}) (all []*receiver) {
	t.Helper()
	s.createTenant(t, "quiet", "--landing-url", "https://quiet.example/")
	for _, r := range []*receiver{
		{tenant: "test_demo"}, {tenant: "test_demo"}, {tenant: "test_demo", refuses: true},
		{tenant: "test_demo", slow: slow, hurry: hurry}, {tenant: "test_quiet", slow: slow},
	} {
		r.came, r.refused = map[string]int{}, map[string]int{}
		server := httptest.NewServer(r)
		t.Cleanup(server.Close)
		r.url = server.URL
		s.ok(t, "webhook", "allow", "127.0.0.1", "--tenant", r.tenant)
		s.subscribe(t, r.tenant, r.url)
		all = append(all, r)
	}
	return all
}

// test makes the service send a test event to a receiver.
func (s *site) test(t *testing.T, r *receiver) {
	t.Helper()
	mustCall(t, http.StatusNoContent, "POST", s.backend+"/api/v1/"+r.tenant+"/subscription/"+url.QueryEscape(r.url)+"/test", "", s.auth(r.tenant))
}

// burst imports users and at the same time identifies others by calls.
func (s *site) burst(t *testing.T, round int) {
	t.Helper()
	c := s.client("test_demo")
	ref, err := c.Upload(t.Context(), "users.csv", strings.NewReader(userRows(round*imported(), imported())))
	require.NoError(t, err)
	made, err := c.CreateJob(t.Context(), client.Input{Type: job.Type("MUTATION/USER"), FileRef: ref})
	require.NoError(t, err)
	answers := atOnce(webhookSenders, func(sender int) (o outcome) {
		for i := 0; i < called() && o.err == nil && (i == 0 || o.status == http.StatusOK); i++ {
			id := fmt.Sprintf("called-%d-%d-%d", round, sender, i)
			o.answer, o.err = call("PUT", s.backend+"/api/v1/test_demo/open/account/"+id+"/user/"+id, "{}", s.auth("test_demo"))
		}
		return o
	})
	require.Equal(t, map[int]int{http.StatusOK: webhookSenders}, statuses(t, answers))
	await(t, func() error {
		j, err := c.Job(t.Context(), made.ID)
		if err == nil && j.Status != "COMPLETED" {
			err = fmt.Errorf("the import is %s", j.Status)
		}
		return err
	})
}

// allCame waits until a receiver has received the given number of events, and those that
// it refused once more.
func (r *receiver) allCame(t *testing.T, events int) {
	t.Helper()
	await(t, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.came) < events || r.receipts < events+len(r.refused) {
			return fmt.Errorf("%d events expected, %d received, %d receipts", events, len(r.came), r.receipts)
		}
		return nil
	})
}

// While an import runs, bursts of events go to receivers, of which some are slow: no lease
// expires, and no receiver gets an event again that it has not refused. In make test it is
// one small round.
func TestSoak_WebhooksAreDeliveredOnce(t *testing.T) {
	slow := 4 * time.Second
	if long() {
		slow = 14 * time.Second // an endpoint may take 15
	} else {
		t.Parallel()
	}
	s := demoSite(t)
	hurry := make(chan struct{})
	hurried := sync.OnceFunc(func() { close(hurry) })
	t.Cleanup(hurried)
	receivers := s.receivers(t, slow, hurry)
	backend := s.serve(t)
	s.bursts(t, receivers)
	hurried()
	backend.stop(t)
	require.NotContains(t, backend.log(t), "leases of webhook attempts expired")
	for _, r := range receivers {
		r.verify(t)
	}
}

// bursts sends one round of events after another, each after the receivers without a
// backlog have received the last round, and waits for the last round at the end.
func (s *site) bursts(t *testing.T, receivers []*receiver) {
	t.Helper()
	db, quiet := s.open(t), receivers[len(receivers)-1]
	end := time.Now().Add(*soakFor)
	for round := 0; round == 0 || long() && time.Now().Before(end); round++ {
		began := time.Now()
		for range quietEvents {
			s.test(t, quiet)
		}
		s.burst(t, round)
		events := number(t, db, `SELECT count(*) FROM webhook_event WHERE tenant = 'test_demo'`)
		require.Greater(t, events, (round+1)*(imported()+webhookSenders*called()))
		sent := time.Since(began)
		for _, r := range receivers[:3] {
			r.allCame(t, events)
		}
		quiet.allCame(t, (round+1)*quietEvents)
		t.Logf("round %d: %d events; sent within %.1f s, delivered within %.1f s", round+1, events, sent.Seconds(), time.Since(began).Seconds())
	}
}

// verify checks that no event arrived more often than necessary.
func (r *receiver) verify(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%s: %d events, %d receipts, %d refused; slow: %v", r.tenant, len(r.came), r.receipts, len(r.refused), r.slow)
	require.NotEmpty(t, r.came)
	require.Equal(t, r.refuses, len(r.refused) > 0)
	for id, n := range r.came {
		require.LessOrEqual(t, n, 1+r.refused[id], "event %s", id)
	}
}
