package e2e

import "testing"

// The demo shop of `kith dev` shows a referral from both sides: by friends with a browser
// profile each, with and without a script, on a phone and on a desktop.
func TestBrowser_Shop(t *testing.T) {
	t.Parallel()
	m := &mall{site: newSite(t)}
	m.dev(t, "KITH_LAB_ADDR="+freeAddr(t))
	m.shop, m.kith, m.keys["shop"] = m.edge, m.edge, m.keys["demo"]
	m.play(t, "shop", "oneOff", "trial", "withoutScript", "refused", "pages", "story")
}
