package main

import (
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

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
	s.origin = serveStory(t, func(e *env, l net.Listener) error { return backendOf(s.engine, l).serve(e) })
	return s
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
	all = append(all, "The webhook endpoint exists", "A test event has arrived")

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
			missing = append(missing, "A test event has arrived")
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
	} {
		out, errOut, status := s.connect(t, c.args...)
		require.Equal(t, 1, status, out)
		require.Contains(t, errOut, c.want)
	}
	_, errOut, status := runKith(t, "gateway", "connect", "stripe", "--tenant", "demo", "--api-key", "rk_test_x", "--public-url", s.origin, "--database-url", s.database)
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
