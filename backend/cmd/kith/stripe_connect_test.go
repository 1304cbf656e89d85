package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"
	"github.com/tidwall/gjson"

	"kith/backend/app"
	"kith/backend/app/payments"
	"kith/backend/demo"
	"kith/backend/file"
	"kith/backend/store/storetest"
	"kith/backend/stripelab"
	"kith/core"
	"kith/core/billing"
)

// connectStage is a service and a lab of Stripe that sends webhooks, and a tenant that is
// not connected.
type connectStage struct {
	engine         *app.Engine
	clock          storyClock
	lab            *stripelab.Lab
	api            *sdk.Client
	database       string
	labURL, origin string
}

func newConnectStage(t *testing.T) *connectStage {
	t.Helper()
	s := &connectStage{database: storetest.File(t)}
	s.engine = openStory(t, s.database, &s.clock)
	s.engine.Files.Store = file.Dir(t.TempDir())
	t.Cleanup(func() { _ = s.engine.DB.Close() })
	require.NoError(t, demo.Seed(t.Context(), s.engine, "https://shop.example", "https://test.shop.example"))
	s.startLab(t)
	s.origin = serveStory(t, func(e *env, l net.Listener) error { return backendOf(s.engine, l).serve(e) })
	return s
}

// startLab starts a lab, whose account is that of the time of its start.
func (s *connectStage) startLab(t *testing.T) {
	t.Helper()
	var err error
	s.lab, err = stripelab.New(stripelab.Options{Now: func() time.Time { return time.UnixMilli(int64(s.clock.now())) }})
	require.NoError(t, err)
	go s.lab.Run(t.Context())
	server := httptest.NewServer(s.lab)
	t.Cleanup(server.Close)
	s.labURL = server.URL
	s.api = sdk.NewClient(stripelab.SecretKey, sdk.WithBackends(&sdk.Backends{API: sdk.GetBackendWithConfig(sdk.APIBackend, &sdk.BackendConfig{
		URL: sdk.String(server.URL), LeveledLogger: &sdk.LeveledLogger{Level: sdk.LevelNull},
	})}))
}

// key writes a key with all permissions but one into a file.
func (s *connectStage) key(t *testing.T, without string) (name, key string) {
	t.Helper()
	var names []string
	for _, p := range billing.StripePermissions() {
		if p.Name != without {
			names = append(names, p.Name)
		}
	}
	key, err := s.lab.NewKey(names...)
	require.NoError(t, err)
	name = filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(name, []byte(key+"\n"), 0o600))
	return name, key
}

// connect runs kith gateway connect stripe for the test tenant.
func (s *connectStage) connect(t *testing.T, args ...string) (out, errOut string, status int) {
	t.Helper()
	return runKith(t, append([]string{"gateway", "connect", "stripe", "--tenant", string(demo.TestTenant), "--public-url", s.origin, "--base-url", s.labURL, "--database-url", s.database}, args...)...)
}

func (s *connectStage) endpoints(t *testing.T) (urls []string) {
	t.Helper()
	for e, err := range s.api.V1WebhookEndpoints.List(t.Context(), &sdk.WebhookEndpointListParams{}).All(t.Context()) {
		require.NoError(t, err)
		urls = append(urls, e.URL)
	}
	return urls
}

// marked returns the labels of the lines that begin with a mark.
func marked(out, mark string) (labels []string) {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, mark+" "); ok {
			label, _, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), ": open the key")
			label, _, _ = strings.Cut(label, ": no test event")
			label, _, _ = strings.Cut(label, ": http")
			labels = append(labels, label)
		}
	}
	return labels
}

// One command connects Stripe: the endpoint is made, and a test event arrives through the
// service. Another key replaces the key, and a key that lacks a permission is named.
func TestGatewayConnectStripe(t *testing.T) {
	t.Parallel()
	s := newConnectStage(t)
	all := []string{"Stripe accepts the key"}
	for _, p := range billing.StripePermissions() {
		all = append(all, "Permission "+p.Label())
	}
	all = append(all, "The webhook endpoint exists", "An event has arrived by the webhook")

	name, key := s.key(t, "")
	out, errOut, status := s.connect(t, "--api-key-file", name, "--credit", "balance", "--count-shipping")
	require.Zero(t, status, out+errOut)
	require.Equal(t, all, marked(out, "✓"))
	require.Contains(t, out, "Stripe is connected.")
	require.NotContains(t, out+errOut, key)
	require.Equal(t, []string{s.origin + payments.StripeWebhook(demo.TestTenant)}, s.endpoints(t))
	first, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Equal(t, key, first.Keys[0].Private)
	require.Equal(t, billing.CreditBalance, first.Credit)
	require.Equal(t, []bool{false, true}, []bool{first.CountTax, first.CountShipping})
	shown := requireKith(t, "gateway", "show", "--tenant", string(demo.TestTenant), "--database-url", s.database)
	require.Contains(t, shown, first.MerchantID)
	require.Contains(t, shown, "with shipping, without tax")
	require.NotContains(t, shown, key)
	require.NotContains(t, shown, first.Keys[1].Private)

	for _, p := range billing.StripePermissions() {
		name, key := s.key(t, p.Name)
		out, errOut, status := s.connect(t, "--api-key-file", name)
		require.Equal(t, 1, status, out)
		missing := []string{"Permission " + p.Label()}
		switch p.Name {
		case "webhook_write":
			missing = append(missing, "The webhook endpoint exists: the endpoint cannot be read without the permission Webhook Endpoints: Write")
		case "coupon_write":
			missing = append(missing, "An event has arrived by the webhook")
		}
		require.Equal(t, missing, marked(out, "✗"), p.Name)
		require.Len(t, marked(out, "✓"), len(all)-len(missing))
		require.Contains(t, errOut, "checks failed")
		require.NotContains(t, out+errOut, key)
	}

	// The settings and the endpoint were kept all the time.
	out, errOut, status = s.connect(t, "--api-key-file", name, "--no-count-shipping")
	require.Zero(t, status, out+errOut)
	second, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Equal(t, first.Keys, second.Keys)
	require.Equal(t, first.Endpoint, second.Endpoint)
	require.Equal(t, billing.CreditBalance, second.Credit)
	require.False(t, second.CountShipping)

	out, errOut, status = s.connect(t, "--roll-secret")
	require.Zero(t, status, out+errOut)
	require.Contains(t, out, " (until ")
	require.Equal(t, []string{s.origin + payments.StripeWebhook(demo.TestTenant)}, s.endpoints(t))
	requireKith(t, "gateway", "test", "--tenant", string(demo.TestTenant), "--database-url", s.database)
	requireKith(t, "gateway", "disconnect", "--tenant", string(demo.TestTenant), "--database-url", s.database)
	require.Empty(t, s.endpoints(t))
}

// The former secret of a webhook verifies for 24 hours, and no longer.
func TestConnectStripe_FormerSecretExpires(t *testing.T) {
	t.Parallel()
	s := newConnectStage(t)
	_, key := s.key(t, "")
	settings := payments.StripeSettings{APIKey: key, BaseURL: s.labURL}
	webhook := s.origin + payments.StripeWebhook(demo.TestTenant)
	_, err := s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, settings, webhook)
	require.NoError(t, err)
	first, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	settings.Roll = true
	_, err = s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, settings, webhook)
	require.NoError(t, err)
	rolled, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Len(t, rolled.Keys, 3)
	require.Equal(t, first.Keys[1].Private, rolled.Keys[2].Private)
	require.NotEqual(t, first.Endpoint, rolled.Endpoint)
	s.clock.advance(time.Duration(billing.SecretOverlap)*time.Millisecond - time.Second)
	later, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Len(t, later.Keys, 3)
	s.clock.advance(time.Second)
	later, err = s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Equal(t, rolled.Keys[:2], later.Keys)
}

// A webhook endpoint keeps its URL until the operator gives another one, however Stripe is
// connected again: by the command, by the API and with another secret. The API shows the
// URL that is registered.
func TestGatewayConnectStripe_KeepsTheURL(t *testing.T) {
	t.Parallel()
	s := newConnectStage(t)
	webhook := s.origin + payments.StripeWebhook(demo.TestTenant)
	name, key := s.key(t, "")
	out, errOut, status := s.connect(t, "--api-key-file", name)
	require.Zero(t, status, out+errOut)
	require.Contains(t, out, "✓ The webhook endpoint exists: "+webhook)
	again := func(args ...string) (out, errOut string, status int) {
		return runKith(t, append([]string{"gateway", "connect", "stripe", "--tenant", string(demo.TestTenant), "--database-url", s.database}, args...)...)
	}
	for _, args := range [][]string{{"--credit", "balance"}, {"--roll-secret"}, {"--api-key", key}} {
		out, errOut, status := again(args...)
		require.Zero(t, status, out+errOut)
		require.Equal(t, []string{webhook}, s.endpoints(t), args)
	}
	call := func(method, body string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, s.origin+"/api/v1/"+string(demo.TestTenant)+"/gateway/stripe/connection", strings.NewReader(body))
		require.NoError(t, err)
		req.Host = "localhost:1"
		req.SetBasicAuth("", demo.TestKey)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		answer, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, string(text))
		return gjson.GetBytes(text, "webhookUrl").String()
	}
	require.Equal(t, webhook, call(http.MethodPut, `{"creditForm":"coupon","newSecret":true}`))
	require.Equal(t, webhook, call(http.MethodGet, ""))
	require.Equal(t, []string{webhook}, s.endpoints(t))

	const other = "http://other.example"
	_, _, status = again("--public-url", other, "--wait", "1ms")
	require.Equal(t, 1, status, "no event arrives there")
	moved := other + payments.StripeWebhook(demo.TestTenant)
	require.Equal(t, []string{moved}, s.endpoints(t))
	require.Equal(t, moved, call(http.MethodGet, ""))
	c, err := s.engine.Gateways.Connection(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	for i, k := range c.Keys[1:] {
		require.Equal(t, i > 0, k.Until != 0, "a former secret expires")
	}

	// An endpoint that a person made stays the only one.
	requireKith(t, "gateway", "disconnect", "--tenant", string(demo.TestTenant), "--database-url", s.database)
	for _, args := range [][]string{{"--api-key", key, "--base-url", s.labURL, "--signing-secret", "whsec_myown"}, {"--credit", "balance"}} {
		_, errOut, _ := again(append(args, "--wait", "1ms")...)
		require.Contains(t, errOut, "1 of 14 checks failed", "no event arrives")
		require.Empty(t, s.endpoints(t))
	}
}

// A new secret is taken however often it is replaced: the oldest ones make room for it.
func TestGatewayConnectStripe_RollsOften(t *testing.T) {
	t.Parallel()
	s := newConnectStage(t)
	_, key := s.key(t, "")
	settings := payments.StripeSettings{APIKey: key, BaseURL: s.labURL}
	webhook := s.origin + payments.StripeWebhook(demo.TestTenant)
	var before []billing.Key
	for i := range billing.MaxKeys + 1 {
		settings.Roll = i > 0
		_, err := s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, settings, webhook)
		require.NoError(t, err, i)
		now, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
		require.NoError(t, err)
		require.Len(t, now.Keys, min(i+2, billing.MaxKeys))
		for at, k := range now.Keys[2:] {
			require.Equal(t, before[at+1].Private, k.Private)
		}
		before = now.Keys
	}
	settings.Secrets, settings.Roll = []string{"whsec_myown"}, false
	_, err := s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, settings, webhook)
	require.NoError(t, err)

	// One that leaked ends at once, and so do all others.
	settings.Secrets, settings.Revoke = nil, true
	_, err = s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, settings, webhook)
	require.ErrorContains(t, err, "revokeSecrets: needs another secret")
	settings.Roll = true
	_, err = s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, settings, webhook)
	require.NoError(t, err)
	now, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Len(t, now.Keys, 2)
	require.Zero(t, now.Keys[1].Until)
	require.NotContains(t, before, now.Keys[1])
	require.Len(t, s.endpoints(t), 1)
}

// Calls at once leave one endpoint, that of the stored connection. Others may be refused.
func TestGatewayConnectStripe_AtOnce(t *testing.T) {
	t.Parallel()
	s := newConnectStage(t)
	_, key := s.key(t, "")
	webhook := s.origin + payments.StripeWebhook(demo.TestTenant)
	for range 4 {
		settings := payments.StripeSettings{APIKey: key, BaseURL: s.labURL, Roll: true}
		errs := make([]error, 5)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { _, errs[i] = s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, settings, webhook) })
		}
		all.Wait()
		require.Contains(t, errs, error(nil))
		for _, err := range errs {
			if err != nil {
				require.ErrorContains(t, err, "was changed meanwhile")
			}
		}
		require.Equal(t, []string{webhook}, s.endpoints(t))
		c, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
		require.NoError(t, err)
		url, err := s.engine.Gateways.Registered(t.Context(), demo.TestTenant, c)
		require.NoError(t, err)
		require.Equal(t, webhook, url)
	}
}

// What cannot be connected is refused with the way out, and nothing is stored.
func TestGatewayConnectStripe_Refuses(t *testing.T) {
	t.Parallel()
	s := newConnectStage(t)
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "- Charges and Refunds: Write: Kith reads refunds"},
		{[]string{"--api-key-file", empty}, "api-key-file: is empty"},
		{[]string{"--api-key", "rk_live_x"}, "apiKey: is a live key, and this tenant is a test tenant"},
		{[]string{"--api-key", "pk_test_x"}, "apiKey: must be a restricted key of Stripe"},
		{[]string{"--api-key", "rk_test_unknown"}, "apiKey: is not accepted by Stripe"},
		{[]string{"--api-key", "rk_test_x", "--credit", "cash"}, "credit: must be coupon or balance"},
		{[]string{"--api-key", "rk_test_x", "--signing-secret", "secret"}, "signingSecrets: must be the signing secret"},
		{[]string{"--api-key", "rk_test_x", "--signing-secret", "whsec_"}, "signingSecrets: must be the signing secret"},
	} {
		out, errOut, status := s.connect(t, c.args...)
		require.Equal(t, 1, status, out)
		require.Contains(t, errOut, c.want)
	}
	_, errOut, status := s.connect(t, "--signing-secret", "whsec_1234", "--roll-secret")
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "--signing-secret and --roll-secret can't be used together")
	_, errOut, status = runKith(t, "gateway", "connect", "stripe", "--tenant", "demo", "--api-key", "rk_test_x", "--public-url", s.origin, "--database-url", s.database)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "apiKey: is a test key, and this tenant is live")
	_, errOut, status = runKith(t, "gateway", "connect", "stripe", "--tenant", "demo", "--api-key", "rk_live_x", "--public-url", s.origin, "--database-url", s.database)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "which Stripe cannot reach")
	for _, tenant := range []core.TenantAlias{"demo", demo.TestTenant} {
		_, err := s.engine.Gateways.Connection(t.Context(), tenant)
		require.Equal(t, core.NotFound("this tenant has no payment gateway; connect it first"), err)
	}
	require.Empty(t, s.endpoints(t))
}

// A connection that fails after the endpoint was made leaves none at Stripe, and what is
// stored does not change: each failure says what to do.
func TestGatewayConnectStripe_LeavesNothing(t *testing.T) {
	t.Parallel()
	s, other := newConnectStage(t), &connectStage{}
	other.clock.advance(time.Hour)
	other.startLab(t)
	name, key := s.key(t, "")
	fault := func(kind, path, times string) {
		answer, err := http.PostForm(s.labURL+"/lab/faults", url.Values{"kind": {kind}, "path": {path}, "times": {times}})
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Less(t, answer.StatusCode, 400)
	}

	// Stripe does not answer.
	fault("503", "/v1/webhook_endpoints", "100")
	out, errOut, status := s.connect(t, "--api-key-file", name)
	require.Equal(t, 1, status, out)
	require.Contains(t, errOut, "the payment gateway does not answer; try again")
	fault("", "", "0")
	require.Empty(t, s.endpoints(t))

	out, errOut, status = s.connect(t, "--api-key-file", name)
	require.Zero(t, status, out+errOut)
	before, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	unchanged := func() {
		t.Helper()
		now, err := s.engine.Gateways.Open(t.Context(), demo.TestTenant)
		require.NoError(t, err)
		require.Equal(t, before.Keys, now.Keys)
		require.Equal(t, before.Endpoint, now.Endpoint)
		require.Equal(t, before.MerchantID, now.MerchantID)
	}

	// The key is that of another account.
	foreign, _ := other.key(t, "")
	out, errOut, status = s.connect(t, "--api-key-file", foreign, "--base-url", other.labURL)
	require.Equal(t, 1, status, out)
	require.Contains(t, errOut, "apiKey: is of the account acct_")
	require.Contains(t, errOut, "or disconnect it first")
	require.Empty(t, other.endpoints(t))
	unchanged()

	// The account has as many endpoints as it may have.
	for len(s.endpoints(t)) < 16 {
		_, err := s.api.V1WebhookEndpoints.Create(t.Context(), &sdk.WebhookEndpointCreateParams{URL: sdk.String("https://other.example/"), EnabledEvents: sdk.StringSlice([]string{"*"})})
		require.NoError(t, err)
	}
	out, errOut, status = s.connect(t, "--roll-secret")
	require.Equal(t, 1, status, out)
	require.Contains(t, errOut, "You have reached the maximum of 16 test webhook endpoints")
	require.Contains(t, errOut, "delete one that is not used in the Dashboard")
	require.Len(t, s.endpoints(t), 16)
	unchanged()

	// The key is revoked: the test says so, another key replaces it, and the endpoint stays.
	answer, err := http.PostForm(s.labURL+"/lab/revoke", url.Values{"key": {key}})
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Less(t, answer.StatusCode, 400)
	out, errOut, status = runKith(t, "gateway", "test", "--tenant", string(demo.TestTenant), "--database-url", s.database, "--wait", "1ms")
	require.Equal(t, 1, status, errOut)
	require.Contains(t, out, "✗ Stripe accepts the key: Stripe rejects the key: create another restricted key, and connect with it")
	_, errOut, status = s.connect(t, "--count-tax")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "apiKey: is not accepted by Stripe: it is mistyped, was deleted or has expired; create another restricted key")
	require.NotContains(t, errOut, key)
	unchanged()
	name, _ = s.key(t, "")
	out, errOut, status = s.connect(t, "--api-key-file", name)
	require.Zero(t, status, out+errOut)
	require.Len(t, s.endpoints(t), 16)
}

// A webhook that Stripe could not reach is refused before Stripe is called.
func TestConnectStripe_URLs(t *testing.T) {
	t.Parallel()
	s := newConnectStage(t)
	path := payments.StripeWebhook(demo.TestTenant)
	for _, c := range []struct {
		tenant       core.TenantAlias
		origin, want string
	}{
		{demo.TestTenant, "http://localhost:3000", "is localhost:3000, which Stripe cannot reach: open the service by its public address, or set KITH_PUBLIC_URL"},
		{demo.TestTenant, "https://192.168.1.4", "is 192.168.1.4, which Stripe cannot reach: open the service by its public address, or set KITH_PUBLIC_URL"},
		{demo.TestTenant, "https://[::1]:3000", "is [::1]:3000, which Stripe cannot reach: open the service by its public address, or set KITH_PUBLIC_URL"},
		{demo.LiveTenant, "http://go.example", "is http://go.example, and Stripe sends live events by https only: set KITH_PUBLIC_URL to an origin that begins with https"},
	} {
		key := "rk_test_x"
		if c.tenant == demo.LiveTenant {
			key = "rk_live_x"
		}
		_, err := s.engine.Gateways.ConnectStripe(t.Context(), c.tenant, payments.StripeSettings{APIKey: key}, c.origin+path)
		require.Equal(t, core.Invalid("publicUrl", c.want), err)
	}
}
