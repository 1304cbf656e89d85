package stripe_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway"
	"kith/backend/gateway/stripe"
	"kith/backend/stripelab"
	"kith/core/billing"
)

// lab is a lab of Stripe, and the client of a tenant whose key has all permissions that
// Kith needs and no others.
type lab struct {
	*stripelab.Lab
	url string
}

func newLab(t *testing.T) lab {
	t.Helper()
	l, err := stripelab.New(stripelab.Options{Now: time.Now})
	require.NoError(t, err)
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return lab{l, server.URL}
}

// dial returns the client of a connection to the lab.
func (l lab) dial(t *testing.T, c billing.Connection) gateway.Itemizer {
	t.Helper()
	c.Kind, c.BaseURL = billing.Stripe, l.url
	client, err := stripe.Adapter.Dial(gateway.Settings{Tenant: "test_acme", Test: true, Connection: c})
	require.NoError(t, err)
	return client.(gateway.Itemizer)
}

// key returns a key of the lab with all permissions but one.
func (l lab) key(t *testing.T, without string) billing.Key {
	t.Helper()
	var names []string
	for _, p := range billing.StripePermissions() {
		if p.Name != without {
			names = append(names, p.Name)
		}
	}
	key, err := l.NewKey(names...)
	require.NoError(t, err)
	return billing.StripeKey(key)
}

const webhook = "https://go.example/api/v1/test_acme/gateway/stripe/webhook"

// A key with exactly the permissions of the list passes each check. A key without one of
// them fails the check of this one, whose text names it as the Dashboard does, and the
// checks that depend on it.
func TestCheck_NamesEachMissingPermission(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	connected, err := l.dial(t, billing.Connection{Keys: []billing.Key{l.key(t, "")}}).Connect(t.Context(), webhook)
	require.NoError(t, err)
	want := []string{billing.CheckKeys}
	for _, p := range billing.StripePermissions() {
		want = append(want, p.Name)
	}
	want = append(want, billing.CheckWebhook)
	checks, err := l.dial(t, connected).Check(t.Context())
	require.NoError(t, err)
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
		require.True(t, c.OK, c)
	}
	require.Equal(t, want, names)

	for _, p := range billing.StripePermissions() {
		c := connected
		c.Keys = append([]billing.Key{l.key(t, p.Name)}, connected.Keys[1:]...)
		checks, err := l.dial(t, c).Check(t.Context())
		require.NoError(t, err)
		missing := billing.Missing(checks)
		require.NotEmpty(t, missing, p.Name)
		require.Equal(t, p.Name, missing[0].Name)
		require.Contains(t, missing[0].Help, p.Resource+" to "+p.Level)
		require.Contains(t, missing[0].Help, p.Reason)
		if p.Name == "webhook_write" {
			require.Equal(t, billing.CheckWebhook, missing[1].Name)
			missing = missing[1:]
		}
		require.Len(t, missing, 1)
	}
}

// The permission to read does not replace that to write.
func TestCheck_ReadIsNotWrite(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var names []string
	for _, p := range billing.StripePermissions() {
		names = append(names, strings.Replace(p.Name, "_write", "_read", 1))
	}
	key, err := l.NewKey(names...)
	require.NoError(t, err)
	checks, err := l.dial(t, billing.Connection{Keys: []billing.Key{billing.StripeKey(key)}}).Check(t.Context())
	require.NoError(t, err)
	for _, p := range billing.StripePermissions() {
		require.Equal(t, p.Level == "Read", billing.Passed(checks, p.Name), p.Name)
	}
}

// Stripe rejects a key that was revoked: nothing else is asked.
func TestCheck_RejectedKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	client := l.dial(t, billing.Connection{Keys: []billing.Key{billing.StripeKey("rk_test_nobody")}})
	checks, err := client.Check(t.Context())
	require.NoError(t, err)
	require.Len(t, checks, 1)
	require.False(t, billing.Passed(checks, billing.CheckKeys))
	_, err = client.Connect(t.Context(), webhook)
	require.True(t, gateway.Is(err, gateway.SetUp), err)
}

// endpoints returns the ids of the webhook endpoints of the lab.
func (l lab) endpoints(t *testing.T) (ids []string) {
	t.Helper()
	for e, err := range api(l).V1WebhookEndpoints.List(t.Context(), &sdk.WebhookEndpointListParams{}).All(t.Context()) {
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	return ids
}

// Connecting makes one endpoint and keeps it; what an interrupted call and a former URL
// have left is deleted, and the endpoints of others stay.
func TestConnect_ReplacesItsOwnEndpoints(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	key := l.key(t, "")
	foreign := l.foreignEndpoint(t, "https://shop.example/stripe", "")
	other := l.foreignEndpoint(t, "https://staging.example/api/v1/test_acme/gateway/stripe/webhook", "test_acme")
	lost, err := l.dial(t, billing.Connection{Keys: []billing.Key{key}}).Connect(t.Context(), webhook)
	require.NoError(t, err)
	require.Equal(t, "acct_", lost.MerchantID[:5], "the refusal of the account names it")

	// The connection was not stored: the endpoint is made again.
	first, err := l.dial(t, billing.Connection{Keys: []billing.Key{key}}).Connect(t.Context(), webhook)
	require.NoError(t, err)
	require.NotEqual(t, lost.Endpoint, first.Endpoint)
	require.NoError(t, l.dial(t, first).Tidy(t.Context(), webhook, ""))
	require.ElementsMatch(t, []string{foreign, other, first.Endpoint}, l.endpoints(t))

	again, err := l.dial(t, first).Connect(t.Context(), webhook)
	require.NoError(t, err)
	require.Equal(t, first.Keys, again.Keys, "the endpoint stays")
	require.Equal(t, first.Endpoint, again.Endpoint)

	moved, err := l.dial(t, again).Connect(t.Context(), "https://new.example/webhook")
	require.NoError(t, err)
	require.Len(t, moved.Keys, 3, "the former secret follows the new one")
	require.Equal(t, again.Keys[1], moved.Keys[2])
	require.NoError(t, l.dial(t, moved).Tidy(t.Context(), "https://new.example/webhook", again.Endpoint))
	require.ElementsMatch(t, []string{foreign, other, moved.Endpoint}, l.endpoints(t))
	require.NoError(t, l.dial(t, moved).Disconnect(t.Context()))
	require.NoError(t, l.dial(t, moved).Disconnect(t.Context()), "it is gone already")
	require.ElementsMatch(t, []string{foreign, other}, l.endpoints(t))
}

// A key without the permission makes no endpoint, and loses none.
func TestConnect_WithoutPermissionForWebhooks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	key := l.key(t, "webhook_write")
	c, err := l.dial(t, billing.Connection{Keys: []billing.Key{key}}).Connect(t.Context(), webhook)
	require.NoError(t, err)
	require.Empty(t, c.Endpoint)
	require.Equal(t, []billing.Key{key}, c.Keys)
	require.NoError(t, l.dial(t, c).Tidy(t.Context(), webhook, ""))
}
