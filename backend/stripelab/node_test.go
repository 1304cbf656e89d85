package stripelab_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/stripelab"
	"kith/backend/testenv"
)

// node is Stripe's own library for Node, in a process of its own. It makes one call at a
// time.
type node struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// life bounds the process: a test that hangs fails and says so.
const life = 2 * time.Minute

func startNode(t testing.TB, base, key string) *node {
	t.Helper()
	dir, err := testenv.Path("backend/stripelab/testdata/sdk")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "stripe")); err != nil {
		t.Fatalf("%v: run make test, or npm ci --ignore-scripts in %s", err, dir)
	}
	u, err := url.Parse(base)
	require.NoError(t, err)
	process := exec.Command("node", "sdk.js", u.Hostname(), u.Port(), key) // #nosec G204 -- tests run it, with their own arguments
	process.Dir, process.Stderr = dir, os.Stderr
	n := &node{}
	n.in, err = process.StdinPipe()
	require.NoError(t, err)
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	n.out = bufio.NewReader(out)
	require.NoError(t, process.Start())
	kill := time.AfterFunc(life, func() { _ = process.Process.Kill() })
	t.Cleanup(func() {
		_ = n.in.Close()
		require.NoError(t, process.Wait())
		kill.Stop()
	})
	return n
}

type fields = map[string]any

// line sends one line, see sdk.js, and returns its answer.
func (n *node) line(t testing.TB, request fields) gjson.Result {
	t.Helper()
	text, err := json.Marshal(request)
	require.NoError(t, err)
	_, err = n.in.Write(append(text, '\n'))
	require.NoError(t, err)
	answer, err := n.out.ReadString('\n')
	require.NoError(t, err)
	return gjson.Parse(answer)
}

// do makes a call that must succeed.
func (n *node) do(t testing.TB, call string, args ...any) gjson.Result {
	t.Helper()
	answer := n.line(t, fields{"call": call, "args": args})
	require.True(t, answer.Get("value").Exists(), "%s: %s", call, answer)
	return answer.Get("value")
}

// fail makes a call that must fail.
func (n *node) fail(t testing.TB, call string, args ...any) gjson.Result {
	t.Helper()
	answer := n.line(t, fields{"call": call, "args": args})
	require.True(t, answer.Get("error").Exists(), "%s: %s", call, answer)
	return answer.Get("error")
}

// The official library for Node runs a checkout, reads errors, repeats calls, and verifies
// webhooks.
func TestNode(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	n := startNode(t, b.url, stripelab.SecretKey)
	type received struct{ body, signature string }
	got := make(chan received, 100)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{string(body), r.Header.Get("Stripe-Signature")}
	}))
	t.Cleanup(endpoint.Close)
	hook := n.do(t, "webhookEndpoints.create", fields{"url": endpoint.URL, "enabled_events": []string{"checkout.session.completed"}, "api_version": stripelab.Version})

	price := n.do(t, "prices.create", fields{"currency": "usd", "unit_amount": 1500, "recurring": fields{"interval": "month"}, "product_data": fields{"name": "Tea"}}).Get("id").String()
	coupon := n.do(t, "coupons.create", fields{"percent_off": 20, "duration": "forever"}).Get("id").String()
	n.do(t, "promotionCodes.create", fields{"code": "BOB-20", "promotion": fields{"type": "coupon", "coupon": coupon}})
	session := n.do(t, "checkout.sessions.create", fields{
		"mode": "subscription", "success_url": "http://127.0.0.1/ok", "allow_promotion_codes": true, "client_reference_id": "BOB-20",
		"line_items": []fields{{"price": price, "quantity": 2}},
	})
	pay(t, session.Get("url").String(), "email", "eve@example.com", "promotion_code", "bob-20")
	paid := n.do(t, "checkout.sessions.retrieve", session.Get("id").String(), fields{"expand": []string{"invoice", "subscription.discounts"}})
	require.Equal(t, int64(2400), paid.Get("invoice.amount_paid").Int())
	require.Equal(t, "paid", paid.Get("payment_status").String())
	require.Equal(t, coupon, paid.Get("subscription.discounts.0.source.coupon").String())

	b.Flush(t.Context())
	one := <-got
	secret := hook.Get("secret").String()
	event := n.line(t, fields{"event": one.body, "signature": one.signature, "secret": secret})
	require.Equal(t, "checkout.session.completed", event.Get("value.type").String())
	require.Equal(t, session.Get("id").String(), event.Get("value.data.object.id").String())
	require.Equal(t, "StripeSignatureVerificationError", n.line(t, fields{"event": one.body, "signature": one.signature, "secret": "whsec_other"}).Get("error.type").String())
	require.Equal(t, "StripeSignatureVerificationError", n.line(t, fields{"event": one.body + " ", "signature": one.signature, "secret": secret}).Get("error.type").String())

	key := fields{"idempotencyKey": "k1"}
	first := n.do(t, "customers.create", fields{"email": "a@example.com"}, key)
	again := n.do(t, "customers.create", fields{"email": "a@example.com"}, key)
	require.Equal(t, first.Get("id").String(), again.Get("id").String())
	require.Equal(t, "true", again.Get("replayed").String())
	require.Equal(t, "StripeIdempotencyError", n.fail(t, "customers.create", fields{"email": "b@example.com"}, key).Get("type").String())

	missing := n.fail(t, "customers.retrieve", "cus_none")
	require.Equal(t, []string{"StripeInvalidRequestError", "resource_missing", "404"}, []string{missing.Get("type").String(), missing.Get("code").String(), missing.Get("status").String()})
	require.Equal(t, "StripeCardError", n.fail(t, "paymentIntents.create", fields{"amount": 500, "currency": "usd", "payment_method": "pm_card_chargeDeclined", "confirm": true}).Get("type").String())
	require.Equal(t, "StripeAuthenticationError", startNode(t, b.url, "sk_test_other").fail(t, "balance.retrieve").Get("type").String())

	// The library repeats a call that was refused for a while, with the same key.
	b.control(t, "faults", "kind", "in-flight", "times", "1")
	require.Equal(t, "c@example.com", n.do(t, "customers.create", fields{"email": "c@example.com"}).Get("email").String())
	b.control(t, "faults", "kind", "429", "times", "1")
	require.Equal(t, "StripeRateLimitError", n.fail(t, "customers.create", fields{"email": "d@example.com"}).Get("type").String())
}
