package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/braintreelab/scenario"
	"kith/backend/demo"
	"kith/backend/gateway/braintree"
	"kith/backend/labkit/sdktest"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core/auth"
	"kith/core/billing"
)

// allKinds are the notifications that a merchant selects, and the check.
var allKinds = []braintree.Kind{
	braintree.Check, braintree.SubscriptionTrialEnded, braintree.SubscriptionChargedSuccessfully, braintree.SubscriptionChargedUnsuccessfully,
	braintree.SubscriptionBillingSkipped, braintree.SubscriptionWentActive, braintree.SubscriptionWentPastDue, braintree.SubscriptionCanceled,
	braintree.SubscriptionExpired, braintree.DisputeOpened, braintree.DisputeUnderReview, braintree.DisputeDisputed, braintree.DisputeWon,
	braintree.DisputeLost, braintree.DisputeAccepted, braintree.DisputeAutoAccepted, braintree.DisputeExpired,
}

// deliver posts a form to the service and returns the status of the response.
func (s *gatewayStage) deliver(t *testing.T, form url.Values) int {
	t.Helper()
	answer, err := http.PostForm(s.webhook, form)
	require.NoError(t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	return answer.StatusCode
}

// sample returns a notification that the gateway's own library has made and signed.
func sample(t *testing.T, sdk *sdktest.SDK, kind braintree.Kind, id string) url.Values {
	t.Helper()
	made := sdk.Do(t, "webhookTesting.sampleNotification", kind, id)
	return url.Values{"bt_signature": {made.Get("bt_signature").String()}, "bt_payload": {made.Get("bt_payload").String()}}
}

func (s *gatewayStage) stored(t *testing.T) int {
	t.Helper()
	n, err := store.One[int](t.Context(), s.engine.DB.Reads, "notifications", `SELECT count(*) FROM gateway_notification WHERE tenant = ?`, string(demo.TestTenant))
	require.NoError(t, err)
	return n
}

// The gateway's own library makes a customer and a subscription, and signs notifications
// that the service accepts. Their content is false and changes nothing, because the
// service reads the state from the gateway.
func TestGateway_AcceptsNotificationsOfTheSDK(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	sdk := sdktest.Start(t, "braintree", s.lab, braintreelab.MerchantID, braintreelab.PublicKey, braintreelab.PrivateKey)
	foreign := sdktest.Start(t, "braintree", s.lab, "foreign", braintreelab.PublicKey, "of_another_merchant")
	card := map[string]any{"number": "4111111111111111", "expirationDate": "12/2030"}
	token := sdk.Do(t, "customer.create", map[string]any{"id": "bob", "creditCard": card}).Get("customer.creditCards.0.token").String()
	sdk.Do(t, "subscription.create", map[string]any{"paymentMethodToken": token, "planId": "pro", "id": "b1", "trialPeriod": true, "trialDuration": 14, "trialDurationUnit": "day"})
	play := func(text string) {
		t.Helper()
		require.NoError(t, s.player().Play(t.Context(), text))
	}
	play("register bob code=ANNA10")

	for i, kind := range allKinds {
		require.Equal(t, http.StatusUnauthorized, s.deliver(t, sample(t, foreign, kind, "b1")), kind)
		form := sample(t, sdk, kind, "b1")
		require.Equal(t, http.StatusOK, s.deliver(t, form), kind)
		require.Equal(t, http.StatusOK, s.deliver(t, form), "%s again", kind)
		require.Equal(t, i+1, s.stored(t), "%s is stored once, and the forged one not at all", kind)
	}
	require.NoError(t, s.idle(t.Context()))
	play(`
		account bob status=TRIAL referral=in-progress
		credit anna left=0
		subscription b1 status=Active discount=svc_discount:5.00
	`)
	connection, err := s.engine.Gateways.Connection(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Equal(t, s.clock.now(), connection.Checked)
	// The library reads the discount that the service has set.
	require.Equal(t, "5.00", sdk.Do(t, "subscription.find", "b1").Get("discounts.0.amount").String())
}

// A notification about a subscription that the gateway does not have is answered 200. The
// service tries to read the subscription a few times, and then stops.
func TestGateway_UnknownSubscription(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	sdk := sdktest.Start(t, "braintree", s.lab, braintreelab.MerchantID, braintreelab.PublicKey, braintreelab.PrivateKey)
	notify := func(kinds ...braintree.Kind) {
		for _, kind := range kinds {
			require.Equal(t, http.StatusOK, s.deliver(t, sample(t, sdk, kind, "unknown")), kind)
		}
		require.NoError(t, s.idle(t.Context()))
	}
	notify(braintree.SubscriptionChargedSuccessfully)
	asked := func() (n int) {
		state, err := scenario.New(s.lab).State(t.Context())
		require.NoError(t, err)
		for _, call := range state.Calls {
			require.True(t, call.Method == http.MethodGet || strings.Contains(call.Path, "advanced_search"), "the service only reads: %+v", call)
			if strings.HasSuffix(call.Path, "/subscriptions/unknown") {
				n++
			}
		}
		return n
	}
	before := asked()
	require.NotZero(t, before)
	days := func(n int) {
		for range n {
			require.NoError(t, s.later(t.Context(), scenario.Step{Words: []string{"24h"}}))
		}
	}
	days(5)
	after := asked()
	require.Greater(t, after, before)
	days(5)
	require.Equal(t, after, asked())
	notify(allKinds...)
	require.Greater(t, asked(), after)
}

// A notification that is too long, of another merchant, or unsigned is rejected and not
// stored.
func TestGateway_InvalidNotifications(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	signed := func(k braintree.Key, payload string) url.Values {
		return url.Values{"bt_signature": {k.Public + "|" + k.Sign(payload)}, "bt_payload": {payload}}
	}
	lab := braintree.Key{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}
	const payload = "PG5vdGlmaWNhdGlvbi8+\n"
	for name, c := range map[string]struct {
		form   url.Values
		status int
	}{
		"too long":                    {signed(lab, strings.Repeat("A", 1<<20)), http.StatusRequestEntityTooLarge},
		"nothing":                     {url.Values{}, http.StatusUnauthorized},
		"no signature":                {url.Values{"bt_payload": {payload}}, http.StatusUnauthorized},
		"another merchant's key":      {signed(braintree.Key{Public: "other_public", Private: "other_private"}, payload), http.StatusUnauthorized},
		"a known name, another's key": {signed(braintree.Key{Public: braintreelab.PublicKey, Private: "other_private"}, payload), http.StatusUnauthorized},
		"a challenge as the payload":  {signed(lab, "20f9f8ed05f77439fe955c977e4c8a53"), http.StatusUnauthorized},
		"a challenge in another form": {signed(lab, "20f9f8ed05f77439fe955c977e4c8a53\r"), http.StatusUnauthorized},
	} {
		require.Equal(t, c.status, s.deliver(t, c.form), name)
	}
	require.Zero(t, s.stored(t))
	require.Equal(t, http.StatusOK, s.deliver(t, signed(lab, payload)), "signed, and not a notification")
	require.Equal(t, 1, s.stored(t))
	require.NoError(t, s.idle(t.Context()))
	var problem string
	require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT problem FROM gateway_notification`).Scan(&problem))
	require.Contains(t, problem, "not a notification")
}

// from sends a request to the gateway's webhook as an edge forwards it for a client with
// an address, and returns the status of the response.
func (s *gatewayStage) from(t *testing.T, address, method, query, body string) int {
	t.Helper()
	keys, err := auth.ParseKeyring(storyKey)
	require.NoError(t, err)
	r, err := http.NewRequest(method, s.webhook+query, strings.NewReader(body))
	require.NoError(t, err)
	hop := auth.Hop{Method: r.Method, URI: r.URL.RequestURI(), For: address}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set(auth.ForwardedForHeader, address)
	r.Header.Set(auth.HopHeader, hop.Sign(keys.Hop(), s.engine.Now()))
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	answer.Body.Close()
	return answer.StatusCode
}

// The challenges of one network are limited, and those of others are not affected.
func TestGateway_ChallengesAreLimited(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	ask := func(address string) int {
		return s.from(t, address, http.MethodGet, "?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53", "")
	}
	// The limit is per minute, and a minute may end between two calls.
	calls, status := 0, http.StatusOK
	for ; status == http.StatusOK; calls++ {
		status = ask("203.0.113.9")
		require.Less(t, calls, 1000)
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Greater(t, calls, 30)
	require.Equal(t, http.StatusOK, ask("203.0.114.9"), "another network")
}

// The unsigned notifications of one network are limited, and other networks are not
// affected.
func TestGateway_UnsignedNotificationsAreLimited(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	const payload = "PG5vdGlmaWNhdGlvbi8+\n"
	lab := braintree.Key{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}
	post := func(address, signature string) int {
		form := url.Values{"bt_signature": {signature}, "bt_payload": {payload}}
		return s.from(t, address, http.MethodPost, "", form.Encode())
	}
	wrong, right := lab.Public+"|"+strings.Repeat("0", 40), lab.Public+"|"+lab.Sign(payload)
	// The limit is per minute, and a minute may end between two calls.
	calls := 0
	for post("203.0.113.9", wrong) == http.StatusUnauthorized {
		calls++
		require.Less(t, calls, 1000)
	}
	require.GreaterOrEqual(t, calls, 30)
	require.Equal(t, http.StatusOK, post("203.0.114.10", right), "another network")
	require.Equal(t, 1, s.stored(t))
}

// The payload of a notification is cleared after 30 days. Its row stays, so that the same
// notification is not processed again.
func TestGateway_PayloadsAreClearedAfter30Days(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	lab := braintree.Key{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}
	payloads := func() (kept int) {
		require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM gateway_notification WHERE payload <> ''`).Scan(&kept))
		return kept
	}
	const payload = "PG5vdGlmaWNhdGlvbi8+\n"
	form := url.Values{"bt_signature": {lab.Public + "|" + lab.Sign(payload)}, "bt_payload": {payload}}
	require.Equal(t, http.StatusOK, s.deliver(t, form))
	require.NoError(t, s.idle(t.Context()))
	s.clock.advance(30*24*time.Hour - time.Millisecond)
	require.NoError(t, s.idle(t.Context()))
	require.Equal(t, 1, payloads())
	s.clock.advance(time.Millisecond)
	require.Eventually(t, func() bool { return payloads() == 0 }, sqldtest.Deadline, 20*time.Millisecond)
	require.Equal(t, http.StatusOK, s.deliver(t, form))
	require.Equal(t, 1, s.stored(t))
	require.Zero(t, payloads())
}

// A key is replaced without a gap: while the service has both keys, it accepts
// notifications signed with either, and then only those signed with the new one.
func TestGateway_KeyRotation(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	p := s.player()
	checks := func() int { return s.stored(t) }
	play := func(text string) {
		t.Helper()
		require.NoError(t, p.Play(t.Context(), text))
	}
	play("check\nnotified check\nsend")
	require.Equal(t, 1, checks())

	play("key add")
	state, err := p.State(t.Context())
	require.NoError(t, err)
	next := billing.Key{Public: state.Keys[1], Private: strings.Replace(state.Keys[1], "public", "private", 1)}
	connect := func(keys ...billing.Key) {
		t.Helper()
		_, err := s.engine.Gateways.Connect(t.Context(), demo.TestTenant, billing.Connection{Kind: billing.Braintree, MerchantID: braintreelab.MerchantID, BaseURL: s.lab, Keys: keys})
		require.NoError(t, err)
	}
	connect(next, billing.Key{Public: braintreelab.PublicKey})
	s.clock.advance(time.Hour)
	play("advance 1h\ncheck\nnotified check\nsend")
	require.Equal(t, 2, checks())

	// The old key is removed first from the service, which uses the new one for its calls,
	// and then from the gateway.
	connect(next)
	play(`
		customer bob
		register bob code=ANNA10
		subscribe bob pro b1
		notified charged_successfully b1
		notified went_active b1
		charged b1 50.00
		send
		account bob status=PAID referral=converted
		subscription b1 discount=svc_discount:5.00
		key retire
		advance 1h
		check
		notified check
		send
	`)
	connection, err := s.engine.Gateways.Connection(t.Context(), demo.TestTenant)
	require.NoError(t, err)
	require.Equal(t, s.clock.now(), connection.Checked)
	old := braintree.Key{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}
	const payload = "PG5vdGlmaWNhdGlvbi8+\n"
	require.Equal(t, http.StatusUnauthorized, s.deliver(t, url.Values{"bt_signature": {old.Public + "|" + old.Sign(payload)}, "bt_payload": {payload}}))
}

// What failed because a key was retired is tried as soon as another one replaces it.
func TestGateway_ReplacedKey(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	p := s.player()
	play := func(text string) {
		t.Helper()
		if err := p.Play(t.Context(), text); err != nil {
			require.ErrorContains(t, err, unlistedError, text)
		}
	}
	play("customer bob\nregister bob code=ANNA10\nsubscribe bob pro b1\nsend\naccount bob status=PAID")
	play("key add")
	state, err := p.State(t.Context())
	require.NoError(t, err)
	next := billing.Key{Public: state.Keys[1], Private: strings.Replace(state.Keys[1], "public", "private", 1)}
	play("mode drop\ncancel b1\nkey retire")
	s.clock.advance(24 * time.Hour)
	require.Eventually(t, func() bool {
		var failed int
		require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM gateway_subscription WHERE problem <> ''`).Scan(&failed))
		return failed == 1
	}, sqldtest.Deadline, 20*time.Millisecond)
	play("account bob status=PAID")
	_, err = s.engine.Gateways.Connect(t.Context(), demo.TestTenant, billing.Connection{Kind: billing.Braintree, MerchantID: braintreelab.MerchantID, BaseURL: s.lab, Keys: []billing.Key{next}})
	require.NoError(t, err)
	require.NoError(t, s.idle(t.Context()))
	play("account bob status=CANCELLED")
}
