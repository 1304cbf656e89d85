package braintreelab_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/gateway/braintree"
)

// start is the time at which the labs of these tests begin. Their clocks run only when
// they are advanced.
var start = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// bundle is a lab and its address.
type bundle struct {
	*braintreelab.Lab
	url string
}

func newLab(t testing.TB, change ...func(*braintreelab.Options)) bundle {
	t.Helper()
	o := braintreelab.Options{Now: func() time.Time { return start }}
	for _, c := range change {
		c(&o)
	}
	lab, err := braintreelab.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(lab)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, lab.Close())
	})
	return bundle{lab, server.URL}
}

var labKey = braintree.Key{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}

// client returns a client of package gateway.
func (b bundle) client(t testing.TB, change ...func(*braintree.Config)) *braintree.Client {
	t.Helper()
	c := braintree.Config{MerchantID: braintreelab.MerchantID, Key: labKey, Test: true, BaseURL: b.url}
	for _, f := range change {
		f(&c)
	}
	made, err := braintree.New(c)
	require.NoError(t, err)
	return made
}

// own is a client whose connections httptest.Server.Close leaves alone, as it does not those of
// the default transport: a call that arrives then would fail.
var own = &http.Client{Timeout: time.Minute, Transport: http.DefaultTransport.(*http.Transport).Clone()}

// control uses a control of the lab and returns its error, or "".
func (b bundle) control(t testing.TB, name string, form ...string) string {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	response, err := own.PostForm(b.url+"/lab/"+name, values)
	require.NoError(t, err)
	defer response.Body.Close()
	var said struct{ Error string }
	decode(t, response.Body, &said)
	if response.StatusCode != http.StatusOK {
		require.NotEmpty(t, said.Error)
	}
	return said.Error
}

// must uses a control that must succeed.
func (b bundle) must(t testing.TB, name string, form ...string) {
	t.Helper()
	require.Empty(t, b.control(t, name, form...), "%s %q", name, form)
}

// subscribe creates a customer and a subscription with the given id; form has further
// fields of the control.
func (b bundle) subscribe(t testing.TB, customer, id, plan string, form ...string) {
	t.Helper()
	b.must(t, "customers", "id", customer, "email", customer+"@example.com")
	b.must(t, "subscriptions", append([]string{"id", id, "customer", customer, "plan", plan}, form...)...)
}

// kinds returns the notifications that were made, such as "subscription_canceled s1".
func (b bundle) kinds() (all []string) {
	for _, n := range b.State().Notifications {
		all = append(all, strings.TrimSpace(string(n.Kind)+" "+n.Subject))
	}
	return all
}

// inbox is a service that verifies and stores notifications.
type inbox struct {
	url string
	mu  sync.Mutex
	// keys are those of the connection. answers are the statuses of the next answers;
	// after these it answers 200.
	keys    braintree.Keys
	answers []int
	got     []braintree.Notification
	raw     []string
}

func newInbox(t testing.TB, keys ...braintree.Key) *inbox {
	t.Helper()
	in := &inbox{keys: keys}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	in.url = server.URL + "/webhook"
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if r.Method == http.MethodGet {
		answer, err := in.keys.AnswerChallenge(r.URL.Query().Get("bt_challenge"))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(answer))
		return
	}
	signature, payload := r.PostFormValue("bt_signature"), r.PostFormValue("bt_payload")
	n, err := braintree.ParseNotification(payload)
	if in.keys.Verify(signature, payload) != nil || err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if len(in.answers) > 0 {
		status := in.answers[0]
		in.answers = in.answers[1:]
		w.WriteHeader(status)
		if status != http.StatusOK {
			return
		}
	}
	in.got, in.raw = append(in.got, n), append(in.raw, payload)
}

// kinds returns the notifications that arrived, in order.
func (in *inbox) kinds() (all []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, n := range in.got {
		subject := ""
		if n.Subscription != nil {
			subject = " " + n.Subscription.ID
		}
		all = append(all, string(n.Kind)+subject)
	}
	return all
}
