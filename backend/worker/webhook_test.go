package worker_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/sender"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/worker"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/webhook"
)

const tenant core.TenantAlias = "test_shop"

// hooks is a test tenant that may send events to loopback addresses.
type hooks struct {
	*app.Engine
	clock *atomic.Int64
	log   *buffer
}

func openHooks(t testing.TB, url string) hooks {
	t.Helper()
	h := reopenHooks(t, url)
	require.NoError(t, h.DB.Migrate(t.Context(), now))
	require.NoError(t, h.Tenants.Create(t.Context(), tenants.NewTenant{
		Alias: tenant, Key: "TEST_KEY", Policy: link.Policy{Consent: link.ConsentOff},
		Program: referral.DefaultProgram("https://shop.example/"),
	}))
	require.NoError(t, h.SigningKeys.Ensure(t.Context()))
	require.NoError(t, h.Deliveries.AllowAddresses(t.Context(), tenant, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, false))
	return h
}

// reopenHooks opens the same database again, as another process does.
func reopenHooks(t testing.TB, url string) hooks {
	t.Helper()
	db, err := store.Open(url, "")
	require.NoError(t, err)
	db.SetTimeout(sqldtest.Deadline)
	t.Cleanup(func() { _ = db.Close() })
	keys, err := auth.ParseKeyring(strings.Repeat("a", 64))
	require.NoError(t, err)
	h := hooks{clock: new(atomic.Int64), log: &buffer{}}
	h.clock.Store(int64(now))
	h.Engine = app.New(base.Base{
		DB: db, Keys: keys,
		Now:     func() core.Time { return core.Time(h.clock.Load()) },
		Entropy: func(p []byte) { _, _ = rand.Read(p) },
	})
	return h
}

// work runs the worker; stop stops it and waits for its end. Attempts have no real
// time limit, so that no test depends on the speed of the machine.
func (h hooks) work(t testing.TB) (stop func()) {
	t.Helper()
	stop, _ = h.workUntil(t)
	return stop
}

// workUntil is like work, and also returns a channel that is closed when stop is called.
func (h hooks) workUntil(t testing.TB) (stop func(), stopping <-chan struct{}) {
	t.Helper()
	webhooks := sender.NewSender(sender.Options{Now: h.Now, Timeout: time.Hour})
	worker := worker.NewWebhooks(&h.Deliveries, &h.SigningKeys, webhooks, slog.New(slog.NewTextHandler(h.log, nil)))
	worker.Finish = sqldtest.Deadline
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { worker.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop, ctx.Done()
}

// endpoint starts a server and subscribes its URL to events.
func (h hooks) endpoint(t testing.TB, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	_, err := h.Webhooks.Subscribe(context.Background(), tenant, webhook.Request{Endpoint: server.URL})
	require.NoError(t, err)
	return server.URL
}

func (h hooks) emit(t testing.TB, url string, n int) {
	t.Helper()
	for range n {
		_, err := h.Webhooks.Test(context.Background(), tenant, url)
		require.NoError(t, err)
	}
}

// await waits until n deliveries to an endpoint are in a state. A delivery may enter the
// state after the page was read and before it was counted.
func (h hooks) await(t testing.TB, url string, state webhook.State, n int) []webhook.Delivery {
	t.Helper()
	var page []webhook.Delivery
	require.Eventually(t, func() bool {
		var total int
		var err error
		page, total, err = h.Deliveries.List(context.Background(), webhook.Queue{Tenant: tenant, Endpoint: webhook.Endpoint(url)}, state, base.Page{Limit: 1000})
		return err == nil && total == n && len(page) == n
	}, sqldtest.Deadline, time.Millisecond, "%s: %d %s", url, n, state)
	return page
}

// inbox counts the requests that arrived, by webhook-id.
type inbox struct {
	mu  sync.Mutex
	ids map[string]int
}

func (b *inbox) take(r *http.Request) int {
	_, _ = io.Copy(io.Discard, r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids == nil {
		b.ids = map[string]int{}
	}
	b.ids[r.Header.Get(sender.IDHeader)]++
	return b.ids[r.Header.Get(sender.IDHeader)]
}

func (b *inbox) requireOnce(t *testing.T, n int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(t, b.ids, n)
	for id, times := range b.ids {
		require.Equal(t, 1, times, id)
	}
}

// A failed attempt is repeated when its delay is over, with the same id.
func TestWebhooks_RetriesWithTheSameID(t *testing.T) {
	t.Parallel()
	h := openHooks(t, storetest.File(t))
	var in inbox
	url := h.endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if in.take(r) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	h.work(t)
	h.emit(t, url, 1)
	for i, delay := range []core.Time{5 * core.Second, 5 * core.Minute} {
		require.Eventually(t, func() bool { return len(h.await(t, url, "", 1)[0].Attempts) == i+1 }, sqldtest.Deadline, time.Millisecond)
		waiting := h.await(t, url, webhook.Waiting, 1)[0]
		require.GreaterOrEqual(t, waiting.Due, h.Now()+delay)
		h.clock.Store(int64(waiting.Due))
	}
	delivered := h.await(t, url, webhook.Delivered, 1)[0]
	require.Equal(t, map[string]int{delivered.Event: 3}, in.ids)
	require.Equal(t, []int{503, 503, 200}, []int{delivered.Attempts[0].Status, delivered.Attempts[1].Status, delivered.Attempts[2].Status})
}

// With workers of several processes on one database, each event arrives once as long
// as nothing fails.
func TestWebhooks_ProcessesDeliverOnce(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"file": storetest.File(t), "server": sqldtest.Start(t).PrimaryURL()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := openHooks(t, url)
			second := reopenHooks(t, url)
			var in inbox
			to := first.endpoint(t, func(_ http.ResponseWriter, r *http.Request) { in.take(r) })
			stops := []func(){first.work(t), second.work(t)}
			const events = 200
			first.emit(t, to, events)
			first.await(t, to, webhook.Delivered, events)
			for _, stop := range stops {
				stop()
			}
			in.requireOnce(t, events)
			require.NotContains(t, first.log.String()+second.log.String(), "lease")
		})
	}
}

// An endpoint that fails now and then gets each event, and each request is an attempt: what a slot
// did not send counts for nothing.
func TestWebhooks_EachRequestIsRecorded(t *testing.T) {
	t.Parallel()
	h := openHooks(t, storetest.File(t))
	var in inbox
	var asked atomic.Int64
	url := h.endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		in.take(r)
		if asked.Add(1)%7 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	const events = 150
	h.emit(t, url, events)
	stop := h.work(t)
	queue := webhook.Queue{Tenant: tenant, Endpoint: webhook.Endpoint(url)}
	require.Eventually(t, func() bool {
		h.clock.Add(int64(core.Minute))
		_, delivered, err := h.Deliveries.List(t.Context(), queue, webhook.Delivered, base.Page{Limit: 1})
		return err == nil && delivered == events
	}, sqldtest.Deadline, time.Millisecond)
	stop()
	made := map[string]int{}
	for _, d := range h.await(t, url, webhook.Delivered, events) {
		made[d.Event] = len(d.Attempts)
		for i, a := range d.Attempts {
			require.Equal(t, i+1, a.Number)
		}
	}
	require.Equal(t, in.ids, made)
}

// Endpoints that never answer do not delay the deliveries to others.
func TestWebhooks_SlowEndpointsDelayNoOthers(t *testing.T) {
	t.Parallel()
	h := openHooks(t, storetest.File(t))
	var hanging atomic.Int64
	var servers []string
	hang := make(chan struct{})
	for range 10 {
		servers = append(servers, h.endpoint(t, func(http.ResponseWriter, *http.Request) { hanging.Add(1); <-hang }))
	}
	release := sync.OnceFunc(func() { close(hang) })
	t.Cleanup(release)
	for _, slow := range servers {
		h.emit(t, slow, 10)
	}
	stop := h.work(t)
	require.Eventually(t, func() bool { return hanging.Load() >= 40 }, sqldtest.Deadline, time.Millisecond, "hanging attempts use all slots that they may use")
	url := h.endpoint(t, func(http.ResponseWriter, *http.Request) {})
	h.emit(t, url, 20)
	h.await(t, url, webhook.Delivered, 20)
	release()
	stop()
}

// A stop waits for running attempts, and records them.
func TestWebhooks_StopRecordsRunningAttempts(t *testing.T) {
	t.Parallel()
	h := openHooks(t, storetest.File(t))
	stop, stopping := h.workUntil(t)
	asked := make(chan struct{})
	url := h.endpoint(t, func(http.ResponseWriter, *http.Request) { close(asked); <-stopping })
	h.emit(t, url, 1)
	<-asked
	stop()
	h.await(t, url, webhook.Delivered, 1)
	require.Empty(t, h.log.String(), "a clean stop logs nothing")
}

// Attempts that were made while the database was unavailable are recorded when it is
// back, and are not repeated.
func TestWebhooks_SurviveADatabaseOutage(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	h := openHooks(t, c.PrimaryURL())
	var in inbox
	url := h.endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		if in.take(r) == 1 {
			c.KillPrimary(t)
		}
	})
	h.work(t)
	h.emit(t, url, 1)
	h.log.await(t, "worker stopped; trying again")
	c.StartPrimary(t)
	h.await(t, url, webhook.Delivered, 1)
	in.requireOnce(t, 1)
}

// No answer of an endpoint can stop the deliveries to others.
func TestWebhooks_HostileAnswersAreRecorded(t *testing.T) {
	t.Parallel()
	h := openHooks(t, storetest.File(t))
	want := map[string]webhook.State{}
	for answer, state := range map[string]webhook.State{
		"HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n":                webhook.Waiting,
		"HTTP/1.1 999 Nothing\r\nContent-Length: 0\r\n\r\n":                webhook.Waiting,
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x00\xff\xfe'":        webhook.Delivered,
		"HTTP/1.1 500 No\r\nContent-Length: 15\r\n\r\n'; DROP TABLE --":    webhook.Waiting,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n":           webhook.Waiting,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n":     webhook.Delivered,
		"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n":                   webhook.Failed,
		"HTTP/1.1 307 Over there\r\nLocation: http://127.0.0.1:1/\r\n\r\n": webhook.Waiting,
	} {
		url := h.endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_, _ = io.WriteString(c, answer)
				c.Close()
			}
		})
		h.emit(t, url, 1)
		want[url] = state
	}
	h.work(t)
	for url, state := range want {
		require.Eventually(t, func() bool { return len(h.await(t, url, "", 1)[0].Attempts) == 1 }, sqldtest.Deadline, time.Millisecond)
		h.await(t, url, state, 1)
	}
}

func TestForget_AtItsStart(t *testing.T) {
	t.Parallel()
	h := openHooks(t, storetest.File(t))
	url := h.endpoint(t, func(http.ResponseWriter, *http.Request) {})
	h.emit(t, url, 3)
	stop := h.work(t)
	h.await(t, url, webhook.Delivered, 3)
	stop()
	h.clock.Add(int64(webhook.Kept) + 1)
	worker := worker.NewForget(&h.Deliveries, &h.Events, &h.Analytics, &h.Audits, &h.Erasures, slog.New(slog.NewTextHandler(h.log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { worker.Run(ctx) })
	h.log.await(t, "old records removed")
	cancel()
	running.Wait()
	h.await(t, url, webhook.Delivered, 0)
}
