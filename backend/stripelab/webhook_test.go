package stripelab_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v86"

	"kith/backend/labkit"
	"kith/backend/stripelab"
)

// customers creates customers, each of which is an event.
func (b bundle) customers(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		b.must(t, "POST", "/v1/customers", "name="+name)
	}
}

// names returns the names of the customers in the events that arrived.
func (in *inbox) names(t testing.TB) (all []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, e := range in.got {
		var c stripe.Customer
		require.NoError(t, json.Unmarshal(e.Data.Raw, &c))
		all = append(all, c.Name)
	}
	in.got = nil
	return all
}

// Each mode sends the events that are made while it is set in its own way.
func TestWebhooks_Modes(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	in := b.listen(t, "customer.created", "customer.updated")
	for mode, want := range map[labkit.Mode][]string{
		labkit.Normal: {"a", "b", "c"}, labkit.Duplicate: {"a", "a", "b", "b", "c", "c"}, labkit.Reorder: {"c", "b", "a"}, labkit.Drop: nil,
	} {
		b.control(t, "mode", "mode", string(mode))
		b.customers(t, "a", "b", "c")
		b.Flush(ctx)
		require.Equal(t, want, in.names(t), mode)
	}
	b.control(t, "mode", "mode", "hold")
	b.customers(t, "a", "b")
	b.Flush(ctx)
	require.Empty(t, in.names(t))
	b.control(t, "mode", "mode", "shuffle")
	b.Flush(ctx)
	got := in.names(t)
	slices.Sort(got)
	require.Equal(t, []string{"a", "b"}, got)
	b.control(t, "mode", "mode", "stale")
	id := b.must(t, "POST", "/v1/customers", "name=first").Get("id").String()
	b.must(t, "POST", "/v1/customers/"+id, "name=second")
	b.Flush(ctx)
	require.Equal(t, []string{"first", "second", "first"}, in.names(t))
	status, _ := b.tryControl(t, "mode", "mode", "slow")
	require.Equal(t, http.StatusBadRequest, status)
	// Whatever was lost can be listed.
	require.Len(t, b.must(t, "GET", "/v1/events", "types[]=customer.created&limit=100").Get("data").Array(), 15)
}

// An event that was not accepted is sent again, with pauses, for about three days.
func TestWebhooks_Retries(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	in := b.listen(t, "customer.created")
	in.answers = []int{500, 302, 404}
	b.customers(t, "a")
	b.Flush(ctx)
	require.Equal(t, []string{"a"}, in.names(t))
	for _, by := range []string{"1h", "1h", "2h"} {
		b.advance(t, by)
		b.Flush(ctx)
	}
	require.Equal(t, []string{"a", "a", "a"}, in.names(t))
	event := b.must(t, "GET", "/v1/events", "types[]=customer.created").Get("data.0")
	require.Zero(t, event.Get("pending_webhooks").Int())
	b.advance(t, "1w")
	b.Flush(ctx)
	require.Empty(t, in.names(t))

	in.answers = slices.Repeat([]int{500}, 100)
	b.customers(t, "b")
	for range 20 {
		b.Flush(ctx)
		b.advance(t, "12h")
	}
	require.Len(t, in.names(t), 10)
}

// While a secret is rolled, events are signed with both; then only with the new one.
func TestWebhooks_RolledSecret(t *testing.T) {
	t.Parallel()
	b, ctx := newLab(t), t.Context()
	in := b.listen(t, "customer.created")
	id := b.must(t, "GET", "/v1/webhook_endpoints", "").Get("data.0.id").String()
	fresh, _ := b.control(t, "roll", "endpoint", id, "hours", "2")["secret"].(string)
	old := in.secrets
	for _, secrets := range [][]string{old, {fresh}} {
		in.secrets = secrets
		b.customers(t, "a")
		b.Flush(ctx)
		require.Equal(t, []string{"a"}, in.names(t))
	}
	b.advance(t, "3h")
	b.customers(t, "b")
	b.Flush(ctx)
	require.Equal(t, []string{"b"}, in.names(t))
	in.secrets = old
	b.customers(t, "c")
	b.Flush(ctx)
	require.Empty(t, in.names(t))
	require.Equal(t, 1, in.invalid)
}

// Events have the version, the mode and the request that made them, and say what changed.
// The secret of an endpoint is answered once.
func TestWebhooks_Events(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	in := b.listen(t, "customer.updated")
	require.False(t, b.must(t, "GET", "/v1/webhook_endpoints", "").Get("data.0.secret").Exists())
	id := b.must(t, "POST", "/v1/customers", "name=a").Get("id").String()
	status, _ := b.do(t, "POST", "/v1/customers/"+id, "name=b", "Idempotency-Key", "key-1")
	require.Equal(t, http.StatusOK, status)
	b.Flush(t.Context())
	require.Len(t, in.got, 1)
	e := in.got[0]
	require.Equal(t, []any{stripelab.Version, false, "key-1", start.Unix()}, []any{e.APIVersion, e.Livemode, e.Request.IdempotencyKey, e.Created})
	require.Equal(t, "a", e.Data.PreviousAttributes["name"])
	endpoint := b.must(t, "GET", "/v1/webhook_endpoints", "").Get("data.0.id").String()
	b.must(t, "POST", "/v1/webhook_endpoints/"+endpoint, "disabled=true")
	b.must(t, "POST", "/v1/customers/"+id, "name=c")
	b.Flush(t.Context())
	require.Len(t, in.got, 1)
	b.advance(t, "31d")
	b.customers(t, "d")
	require.Len(t, b.must(t, "GET", "/v1/events", "").Get("data").Array(), 1)
}

// Without Flush, Run sends.
func TestWebhooks_Run(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	arrived := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
	t.Cleanup(server.Close)
	b.must(t, "POST", "/v1/webhook_endpoints", "url="+server.URL+"&enabled_events[]=customer.created")
	done := make(chan struct{})
	go func() {
		b.Run(t.Context())
		close(done)
	}()
	b.customers(t, "a")
	select {
	case <-arrived:
	case <-time.After(time.Minute):
		t.Fatal("no event arrived")
	}
	t.Cleanup(func() { <-done })
}

// The journal brings the whole state back, with its clock, keys and idempotency keys.
func TestJournal(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/journal"
	open := func() bundle { return newLabWith(t, stripelab.Options{Journal: path}) }
	b := open()
	in := b.listen(t, "customer.created")
	key, err := b.NewKey("customer_write")
	require.NoError(t, err)
	customer, price := b.payer(t, ""), b.monthly(t, 1000, "usd")
	b.promotion(t, "ANNA10", 10)
	link := b.must(t, "POST", "/v1/payment_links", "allow_promotion_codes=true&line_items[0][price]="+price+"&line_items[0][quantity]=1").Get("id").String()
	b.control(t, "settings", "draft", "0s")
	s := b.subscribe(t, customer, price, "trial_period_days=3").Get("id").String()
	opened := b.follow(t, link, "client_reference_id=ANNA10")
	b.control(t, "checkout", "session", opened, "email", "eve@example.com", "promotion_code", "anna10")
	_, _ = b.do(t, "POST", "/v1/customers", "colour=red")
	b.next(t)
	status, _ := b.do(t, "POST", "/v1/customers", "name=once", "Idempotency-Key", "k")
	require.Equal(t, http.StatusOK, status)
	before := b.State()
	require.NoError(t, b.Close())

	again := open()
	after := again.State()
	before.Calls, after.Calls, before.Deliveries, after.Deliveries = nil, nil, nil, nil
	left, err := json.MarshalIndent(before, "", " ")
	require.NoError(t, err)
	right, err := json.MarshalIndent(after, "", " ")
	require.NoError(t, err)
	require.Equal(t, string(left), string(right))
	require.Equal(t, []string{"1000", "0"}, again.invoices(t, s, "amount_paid"))
	_, answer := again.do(t, "POST", "/v1/customers", "name=once", "Idempotency-Key", "k")
	require.Equal(t, "once", answer.Get("name").String())
	require.Len(t, again.State().Customers, len(before.Customers))
	_, err = client(again.url, key, 0).V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{Name: stripe.String("late")})
	require.NoError(t, err)
	again.Flush(t.Context())
	require.Equal(t, []string{"late"}, in.names(t))
}

// The page shows each kind of record, and its forms are the controls.
func TestPage(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	in := b.listen(t)
	customer, price := b.payer(t, "name=%3Cb%3E"), b.monthly(t, 1000, "usd")
	s := b.subscribe(t, customer, price, "").Get("id").String()
	b.promotion(t, "ANNA10", 10)
	link := b.must(t, "POST", "/v1/payment_links", "line_items[0][price]="+price+"&line_items[0][quantity]=1")
	session := b.follow(t, link.Get("id").String(), "")
	b.Flush(t.Context())
	answer, err := own.Get(b.url + "/")
	require.NoError(t, err)
	defer answer.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	require.NoError(t, err)
	for _, want := range []string{customer, s, "ANNA10", link.Get("url").String(), session, in.url, "invoice.paid", "subscription_create", "10.00 USD", in.secrets[0]} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "<b>a")

	request, err := http.NewRequest(http.MethodPost, b.url+"/lab/advance", bytes.NewBufferString("by=never"))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "text/html")
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	back, err := c.Do(request)
	require.NoError(t, err)
	require.NoError(t, back.Body.Close())
	require.Contains(t, back.Header.Get("Location"), "/?problem=")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	request.Body = http.NoBody
	foreign, err := c.Do(request)
	require.NoError(t, err)
	require.NoError(t, foreign.Body.Close())
	require.Equal(t, http.StatusForbidden, foreign.StatusCode)
}
