package stripelab_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v86"
	"github.com/stripe/stripe-go/v86/webhook"

	"kith/backend/stripelab"
)

// start is the time of the labs of all tests.
var start = time.Date(2026, time.January, 15, 10, 0, 0, 0, time.UTC)

// bundle is a lab with what tests need of it.
type bundle struct {
	*stripelab.Lab
	url string
	// api is the official client.
	api *stripe.Client
}

func newLab(t testing.TB) bundle {
	t.Helper()
	return newLabWith(t, stripelab.Options{})
}

func newLabWith(t testing.TB, o stripelab.Options) bundle {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	if !testing.Short() {
		// Not while a client waits: both take seconds on a busy machine.
		_, _ = published()
		mock.once.Do(startMock)
	}
	o.Silence = 50 * time.Millisecond
	lab, err := stripelab.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(checked(t, lab))
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, lab.Close())
	})
	return bundle{lab, server.URL, client(server.URL, stripelab.SecretKey, 0)}
}

// own is a client whose connections httptest.Server.Close leaves alone, as it does not those of
// the default transport: a call that arrives then would fail.
var own = &http.Client{Timeout: time.Minute, Transport: http.DefaultTransport.(*http.Transport).Clone()}

// client returns the official client for a lab.
func client(base, key string, retries int64) *stripe.Client {
	config := &stripe.BackendConfig{
		URL: stripe.String(base), MaxNetworkRetries: stripe.Int64(retries), EnableTelemetry: stripe.Bool(false), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
		HTTPClient: own,
	}
	return stripe.NewClient(key, stripe.WithBackends(stripe.NewBackendsWithConfig(config)))
}

// control sends a form to a control, which must succeed, and returns its answer.
func (b bundle) control(t testing.TB, name string, fields ...string) map[string]any {
	t.Helper()
	status, answer := b.tryControl(t, name, fields...)
	require.Equal(t, http.StatusOK, status, "%s: %v", name, answer)
	return answer
}

func (b bundle) tryControl(t testing.TB, name string, fields ...string) (int, map[string]any) {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	answer, err := own.PostForm(b.url+"/lab/"+name, form)
	require.NoError(t, err)
	defer answer.Body.Close()
	var body map[string]any
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
	return answer.StatusCode, body
}

func (b bundle) advance(t testing.TB, by string) {
	t.Helper()
	b.control(t, "advance", "by", by)
}

// inbox is a webhook endpoint.
type inbox struct {
	url string

	mu      sync.Mutex
	secrets []string
	got     []stripe.Event
	invalid int
	answers []int
}

func newInbox(t testing.TB) *inbox {
	in := &inbox{}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	in.url = server.URL
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	in.mu.Lock()
	defer in.mu.Unlock()
	verified := false
	for _, secret := range in.secrets {
		event, err := webhook.ConstructEventWithOptions(body, r.Header.Get("Stripe-Signature"), secret, webhook.ConstructEventOptions{IgnoreTolerance: true})
		if err == nil {
			verified = true
			in.got = append(in.got, event)
			break
		}
	}
	if !verified {
		in.invalid++
	}
	if len(in.answers) > 0 {
		w.WriteHeader(in.answers[0])
		in.answers = in.answers[1:]
	}
}

// take returns the types of the events that arrived, and forgets them.
func (in *inbox) take() (kinds []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, e := range in.got {
		kinds = append(kinds, string(e.Type))
	}
	in.got = nil
	return kinds
}

// listen registers an inbox for all events.
func (b bundle) listen(t testing.TB, events ...string) *inbox {
	t.Helper()
	in := newInbox(t)
	if len(events) == 0 {
		events = []string{"*"}
	}
	endpoint, err := b.api.V1WebhookEndpoints.Create(t.Context(), &stripe.WebhookEndpointCreateParams{
		URL: stripe.String(in.url), EnabledEvents: stripe.StringSlice(events), APIVersion: stripe.String(stripe.APIVersion),
	})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(endpoint.Secret, "whsec_"), endpoint.Secret)
	in.secrets = []string{endpoint.Secret}
	return in
}
