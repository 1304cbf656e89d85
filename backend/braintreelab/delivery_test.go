package braintreelab_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/gateway/braintree"
	"kith/backend/store/sqldtest"
)

// rawInbox also stores the forms unchanged.
type rawInbox struct {
	*inbox
	url   string
	forms []url.Values
}

func (in *rawInbox) listen(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			require.NoError(t, r.ParseForm())
			in.forms = append(in.forms, r.PostForm)
		}
		in.inbox.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	in.url = server.URL
}

// A destination must prove that it has a key before anything is sent to it.
func TestWebhook_IsVerified(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	stranger := newInbox(t, braintree.Key{Public: braintreelab.PublicKey, Private: "another"})
	require.Contains(t, b.control(t, "webhook", "url", stranger.url), "does not prove")
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	require.Contains(t, b.control(t, "webhook", "url", other.URL), "404")
	require.Contains(t, b.control(t, "webhook", "url", "http://127.0.0.1:1/"), "refused")
	for _, text := range []string{"ftp://h/", "http://", "::"} {
		require.NotEmpty(t, b.control(t, "webhook", "url", text))
	}
	in := newInbox(t, labKey)
	b.must(t, "webhook", "url", in.url+"?via=tunnel")
	require.Equal(t, in.url+"?via=tunnel", b.State().Webhook)
	b.must(t, "check")
	b.Flush(t.Context())
	require.Equal(t, []string{"check"}, in.kinds())
	b.must(t, "webhook", "url", "")
	b.must(t, "check")
	b.Flush(t.Context())
	require.Len(t, in.kinds(), 1)
}

// A notification that is not answered with 2xx is sent again every hour for a day, with
// the same bytes.
func TestDelivery_Retries(t *testing.T) {
	t.Parallel()
	b, in := newLab(t), newInbox(t, labKey)
	b.must(t, "webhook", "url", in.url)
	in.answers = []int{500, 302, 404}
	b.must(t, "check")
	for _, want := range []int{0, 0, 0, 1} {
		b.Flush(t.Context())
		b.Flush(t.Context())
		require.Len(t, in.kinds(), want)
		b.must(t, "advance", "by", "1h")
	}
	var statuses []int
	for _, try := range b.State().Notifications[0].Tries {
		statuses = append(statuses, try.Status)
	}
	require.Equal(t, []int{500, 302, 404, 200}, statuses)

	in.answers = make([]int, 100)
	for i := range in.answers {
		in.answers[i] = 503
	}
	b.must(t, "check")
	for range 30 {
		b.Flush(t.Context())
		b.must(t, "advance", "by", "1h")
	}
	require.Len(t, b.State().Notifications[1].Tries, 25, "at once and 24 times more")
	require.Len(t, in.kinds(), 1)
}

func TestDelivery_NoAnswer(t *testing.T) {
	t.Parallel()
	b, in := newLab(t), newInbox(t, labKey)
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler) // the connection is closed
		}
		in.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.must(t, "webhook", "url", server.URL)
	away.Store(true)
	b.must(t, "check")
	b.Flush(t.Context())
	tries := b.State().Notifications[0].Tries
	require.Len(t, tries, 2)
	require.Contains(t, tries[0].Problem, "EOF")
	require.True(t, tries[1].Done.IsZero())
	require.Equal(t, start.Add(time.Hour), tries[1].Due)
}

// Each mode sends the three notifications at the end of a trial in its own way.
func TestDelivery_Modes(t *testing.T) {
	t.Parallel()
	const ended, charged, canceled = "subscription_trial_ended s1", "subscription_charged_successfully s1", "subscription_canceled s1"
	for mode, want := range map[string][]string{
		"normal":    {ended, charged, canceled},
		"duplicate": {ended, ended, charged, charged, canceled, canceled},
		"reorder":   {canceled, charged, ended},
		"stale":     {ended, charged, ended, canceled, charged},
		"hold":      nil,
		"drop":      nil,
	} {
		b, in := newLab(t), newInbox(t, labKey)
		b.must(t, "webhook", "url", in.url)
		b.must(t, "mode", "mode", mode)
		b.subscribe(t, "bob", "s1", "pro", "trial_days", "7")
		b.must(t, "advance", "by", "1w")
		b.must(t, "cancel", "subscription", "s1")
		b.Flush(t.Context())
		require.Equal(t, want, in.kinds(), mode)
		if mode == "duplicate" {
			require.Equal(t, in.raw[0], in.raw[1], "the same bytes")
		}
		b.must(t, "mode", "mode", "normal")
		b.Flush(t.Context())
		if mode == "hold" {
			want = []string{ended, charged, canceled}
		}
		require.Equal(t, want, in.kinds(), mode)
	}
	require.NotEmpty(t, newLab(t).control(t, "mode", "mode", "chaos"))
}

// A stale notification contains the state at the time when it was made.
func TestDelivery_StaleIsASnapshot(t *testing.T) {
	t.Parallel()
	b, in := newLab(t), newInbox(t, labKey)
	b.must(t, "webhook", "url", in.url)
	b.must(t, "mode", "mode", "stale")
	b.subscribe(t, "bob", "s1", "pro")
	b.must(t, "cancel", "subscription", "s1")
	b.Flush(t.Context())
	last := in.got[len(in.got)-1]
	require.Equal(t, braintree.SubscriptionWentActive, last.Kind)
	require.Equal(t, braintree.Active, last.Subscription.Status)
	require.Equal(t, braintree.Canceled, in.got[len(in.got)-2].Subscription.Status)
}

// keyNamed returns a key that the lab has added; its private key has the same name.
func keyNamed(public string) braintree.Key {
	return braintree.Key{Public: public, Private: "private" + strings.TrimPrefix(public, "public")}
}

// A key is replaced without a gap: while the merchant has two keys, both sign.
func TestKeys_Rotation(t *testing.T) {
	t.Parallel()
	b, in := newLab(t), newInbox(t, labKey)
	b.must(t, "webhook", "url", in.url)
	b.must(t, "keys", "change", "add")
	fresh := keyNamed(b.State().Keys[1])
	b.must(t, "check")
	b.Flush(t.Context())
	in.keys = braintree.Keys{fresh, labKey}
	b.must(t, "check")
	b.Flush(t.Context())
	b.must(t, "keys", "change", "retire")
	b.must(t, "check")
	b.Flush(t.Context())
	require.Len(t, in.kinds(), 3)
	_, err := b.client(t).Discounts(t.Context())
	require.Equal(t, braintree.SetUp, braintree.ActionOf(err), "the old key is not valid any more")
	_, err = b.client(t, func(c *braintree.Config) { c.Key = fresh }).Discounts(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, b.control(t, "keys", "change", "retire"))
	require.NotEmpty(t, b.control(t, "keys", "change", "burn"))
}

// Run advances the time and sends notifications.
func TestRun_SendsWhatIsMade(t *testing.T) {
	t.Parallel()
	b, in := newLab(t), newInbox(t, labKey)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	b.must(t, "webhook", "url", in.url)
	b.subscribe(t, "bob", "s1", "pro")
	require.Eventually(t, func() bool { return len(in.kinds()) == 2 }, sqldtest.Deadline, time.Millisecond)
	cancel()
	running.Wait()
}

// The clock runs with the machine's clock, and events run when they are due.
func TestClock_Runs(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	at := start
	b := newLab(t, func(o *braintreelab.Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return at }
	})
	b.subscribe(t, "bob", "s1", "pro")
	mu.Lock()
	at = at.AddDate(0, 1, 5)
	mu.Unlock()
	s := b.State()
	require.Equal(t, at, s.Now)
	require.Len(t, s.Transactions, 2)
	require.Equal(t, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), s.Transactions[1].Created)
	require.Equal(t, braintree.Settled, s.Transactions[1].Status)
	mu.Lock()
	at = at.Add(-time.Hour)
	mu.Unlock()
	require.Equal(t, s.Now, b.State().Now, "the clock does not go back")
}
