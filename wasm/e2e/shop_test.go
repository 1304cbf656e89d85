package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The demo shop of `kith dev` shows a referral from both sides: by friends with a browser
// profile each, with and without a script, on a phone and on a desktop.
func TestBrowser_Shop(t *testing.T) {
	t.Parallel()
	m := &mall{site: newSite(t)}
	m.dev(t, "KITH_LAB_ADDR="+freeAddr(t))
	m.shop, m.kith, m.keys["shop"] = m.edge, m.edge, m.keys["demo"]
	m.play(t, "shop", "oneOff", "trial", "withoutScript", "refused", "pages", "story")
}

// The demo shop is a part of `kith dev` only: a backend with the demo tenants has a plain
// page where their share links lead.
func TestShop_OnlyInDev(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(t, "KITH_DEMO_URL="+s.edge)
	mustCall(t, http.StatusNotFound, "GET", s.backend+"/shop", "")
	mustCall(t, http.StatusNotFound, "POST", s.backend+"/shop/story", "")
	require.Contains(t, mustCall(t, http.StatusOK, "GET", s.backend+"/welcome", "").body, "no demo shop")
}

// The shop of the test tenant is on another host, and works beside Kith's own connection
// to the gateway.
func TestBrowser_ShopOfTheTestTenant(t *testing.T) {
	t.Parallel()
	m := &mall{site: newSite(t)}
	m.dev(t, "KITH_LAB_ADDR="+freeAddr(t))
	m.shop = strings.Replace(m.edge, "127.0.0.1", "localhost", 1)
	m.kith, m.keys["shop"] = m.edge, m.keys["test_demo"]
	m.play(t, "shop", "trial")
}

// With KITH_DEMO_GATEWAY=stripe, customers of the test tenant pay on the page of the Stripe
// lab, and the shop reports nothing to Kith.
func TestBrowser_ShopWithStripe(t *testing.T) {
	t.Parallel()
	m := &mall{site: newSite(t)}
	m.dev(t, "KITH_LAB_ADDR="+freeAddr(t), "KITH_STRIPE_LAB_ADDR="+freeAddr(t), "KITH_DEMO_GATEWAY=stripe")
	m.shop = strings.Replace(m.edge, "127.0.0.1", "localhost", 1)
	m.kith, m.keys["shop"] = m.edge, m.keys["test_demo"]
	m.play(t, "shop", "stripeOneOff", "stripeTrial")
}

// A click in the shop switches the test tenant to Stripe: customers pay on the page of the
// Stripe lab, and Kith learns of it by webhooks.
func TestBrowser_ShopSwitchesToStripe(t *testing.T) {
	t.Parallel()
	m := &mall{site: newSite(t)}
	m.dev(t, "KITH_LAB_ADDR="+freeAddr(t), "KITH_STRIPE_LAB_ADDR="+freeAddr(t))
	testShop := strings.Replace(m.edge, "127.0.0.1", "localhost", 1)
	runInBrowser(t, "shop", map[string]any{"shop": m.edge, "testShop": testShop, "backend": m.backend, "key": m.keys["test_demo"]}, "switched")
}
