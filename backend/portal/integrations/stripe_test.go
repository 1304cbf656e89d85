package integrations_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/payments"
	"kith/backend/portal/portaltest"
	"kith/core"
	"kith/core/billing"
	"kith/core/operation"
	"kith/core/people"
)

// Stripe is connected by a form that says what is wrong, and keeps all but the key. The
// audit log has what was asked for, and no key. Only members who may change integrations see
// the form.
func TestStripe(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	w.Portal.URL = "https://go.example"
	gateways := &w.Engine.Gateways
	var refusal error
	webhook := "https://go.example/api/v1/acme/gateway/stripe/webhook"
	gateways.Prepare = func(_ context.Context, _ core.TenantAlias, c billing.Connection, url string) (billing.Connection, error) {
		require.Equal(t, webhook, url)
		c.MerchantID, c.Endpoint = "acct_1", "we_1"
		c.Keys = append(c.Keys[:1:1], billing.StripeSecret("whsec_verysecret"))
		return c, refusal
	}
	gateways.Registered = func(context.Context, core.TenantAlias, billing.Connection) (string, error) { return webhook, nil }
	gateways.Tidy = func(context.Context, core.TenantAlias, billing.Connection, string, string) error { return nil }
	released := 0
	gateways.Release = func(context.Context, core.TenantAlias, billing.Connection) error { released++; return nil }
	gateways.SendTest = func(context.Context, core.TenantAlias, billing.Connection) error {
		return &core.Error{Code: core.CodeInvalid, Message: "the key may not"}
	}
	gateways.Try = func(context.Context, core.TenantAlias, billing.Connection, string) ([]billing.Check, error) {
		return []billing.Check{
			{Name: billing.CheckKeys, OK: true}, {Name: "coupon_write", Label: "Permission Coupons: Write", Help: "set Coupons to Write"}, {Name: billing.CheckWebhook, OK: true},
		}, nil
	}

	b := w.SignedIn(t, portaltest.Owner)
	page := section + "/gateway"
	form := page + "?kind=stripe"
	require.Contains(t, b.Get(page).Body, "Connect Stripe")
	body := b.Get(form).Body
	for _, p := range billing.StripePermissions() {
		require.Contains(t, body, p.Resource)
		require.Contains(t, body, p.Label()+"\n", "it is in the text that is copied")
	}
	for _, c := range []struct{ key, want string }{
		{"", "The restricted key is required"},
		{"pk_live_verysecret", "The restricted key must be a restricted key of Stripe"},
		{"rk_test_verysecret", "The restricted key is a test key, and this tenant is live"},
	} {
		got := b.Post(t, form, page+"/stripe", "kind", "stripe", "apiKey", c.key, "creditForm", "balance", "revenue", "tax")
		require.Equal(t, http.StatusUnprocessableEntity, got.Status)
		require.Contains(t, got.Body, c.want)
		require.NotContains(t, got.Body, "verysecret")
		require.Regexp(t, `value="balance"[^>]* checked`, got.Body)
		require.Regexp(t, `value="tax"[^>]* checked`, got.Body)
	}
	refusal = &core.Error{Code: core.CodeUnavailable, RS: "RS018", Message: "the payment gateway does not answer; try again"}
	got := b.Post(t, form, page+"/stripe", "kind", "stripe", "apiKey", "rk_live_verysecret", "creditForm", "balance")
	require.Contains(t, got.Body, "The payment gateway does not answer; try again.")
	require.Equal(t, 1, released, "the endpoint that was made is deleted")
	actions, _ := entries(t, w)
	require.Empty(t, actions, "what failed changes nothing")

	refusal = nil
	got = b.Post(t, form, page+"/stripe", "kind", "stripe", "apiKey", "rk_live_verysecret", "creditForm", "balance", "revenue", "tax")
	require.Equal(t, page+"/check?done=stripe-connected", got.Header.Get("Location"))
	got = b.Get(page + "/check")
	require.Contains(t, got.Body, "<strong>Permission Coupons: Write</strong> is missing")
	require.Contains(t, got.Body, "Set Coupons to Write.")
	require.NotContains(t, got.Body, "verysecret")
	webhook = "https://registered.example/hook"
	require.Equal(t, page+"/check?done=stripe-rolled", b.Post(t, page, page+"/stripe/roll").Header.Get("Location"))
	require.Equal(t, page+"/check?done=stripe-revoked", b.Post(t, page, page+"/stripe/roll", "revoke", "true").Header.Get("Location"))
	require.Equal(t, page+"/check?done=test-event-sent", b.Post(t, page, page+"/test").Header.Get("Location"))

	w.Add(t, "viewer@acme.example", people.Viewer)
	viewer := w.SignedIn(t, "viewer@acme.example")
	require.NotContains(t, viewer.Get(page).Body, "Restricted key")
	for _, path := range []string{"/stripe", "/stripe/roll", "/test", "/disconnect"} {
		require.Equal(t, http.StatusForbidden, viewer.Post(t, section, page+path).Status, path)
	}

	require.Equal(t, page+"?done=gateway-disconnected", b.Post(t, page, page+"/disconnect").Header.Get("Location"))
	require.Equal(t, 2, released)
	actions, all := entries(t, w)
	require.Equal(t, []people.Action{operation.DisconnectGateway.Action, operation.ConnectGateway.Action, operation.ConnectGateway.Action, operation.ConnectGateway.Action}, actions)
	require.NotContains(t, all, "verysecret")
	require.Contains(t, all, `"newSecret":true`)
	require.Contains(t, all, `"revokeSecrets":true`)
}

// Where the process runs a Stripe lab, the form offers it for a test tenant, with the key of
// the lab. A live tenant cannot connect to it, and no tenant can where no lab runs.
func TestStripe_OffersTheLabOfTheProcess(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	w.Portal.URL = "http://127.0.0.1:3000"
	gateways := &w.Engine.Gateways
	var asked []billing.Connection
	gateways.Prepare = func(_ context.Context, _ core.TenantAlias, c billing.Connection, _ string) (billing.Connection, error) {
		asked = append(asked, c)
		return c, &core.Error{Code: core.CodeInvalid, Field: "apiKey", Message: "is not accepted by Stripe"}
	}
	b := w.SignedIn(t, portaltest.Owner)
	const live, test = section + "/gateway", "/portal/t/test_acme/integrations/gateway"
	connect := func(page, key, host string) string {
		return b.Post(t, page+"?kind=stripe", page+"/stripe", "kind", "stripe", "apiKey", key, "creditForm", "balance", "host", host).Body
	}
	const offer, unreachable = "The Stripe lab that this process runs", "which Stripe cannot reach"
	require.NotContains(t, b.Get(test+"?kind=stripe").Body, offer)
	require.Contains(t, connect(test, "rk_test_key", "lab"), unreachable)

	gateways.StripeLab = payments.StripeSettings{APIKey: "sk_test_lab", BaseURL: "http://127.0.0.1:8091"}
	require.NotContains(t, b.Get(live+"?kind=stripe").Body, offer)
	require.Contains(t, connect(live, "rk_live_key", "lab"), "for test tenants")
	require.Contains(t, connect(test, "rk_test_key", "stripe"), unreachable)
	require.Empty(t, asked)
	body := b.Get(test + "?kind=stripe").Body
	require.Contains(t, body, offer)
	require.Regexp(t, `value="lab"[^>]* checked`, body)
	require.NotContains(t, body, "sk_test_lab")
	for _, key := range []string{"", "rk_test_key"} {
		body := connect(test, key, "lab")
		require.Contains(t, body, "The restricted key is not accepted by Stripe")
		require.Regexp(t, `value="lab"[^>]* checked`, body)
	}
	require.Len(t, asked, 2)
	for i, key := range []string{"sk_test_lab", "rk_test_key"} {
		require.Equal(t, key, asked[i].Keys[0].Private)
		require.Equal(t, "http://127.0.0.1:8091", asked[i].BaseURL)
	}
}
