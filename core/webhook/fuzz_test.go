//go:build !tinygo

package webhook

import (
	"errors"
	"net/netip"
	"net/url"
	"testing"

	"kith/core"
)

// An accepted endpoint is a URL to which a request can be sent, with an unambiguous
// host.
func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"https://shop.example/", "http://[::1]:1/?#", "https://a@b/", "https://a\\@b/", "https:/\\a", "https://%31/", "https://[::ffff:10.0.0.1]./"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, live bool) {
		got, err := ParseEndpoint("endpointUrl", s, live)
		if err != nil {
			var e *core.Error
			if !errors.As(err, &e) || e.Code != core.CodeInvalid || got != "" {
				t.Errorf("%q: %q, %#v", s, got, err)
			}
			return
		}
		u, err := url.Parse(string(got))
		if err != nil || string(got) != s || u.Hostname() == "" || u.User != nil || u.Fragment != "" || len(s) > maxEndpoint {
			t.Errorf("%q was accepted: %+v, %v", s, u, err)
		}
		if u.Scheme != "https" && (live || u.Scheme != "http") {
			t.Errorf("%q was accepted, live %v", s, live)
		}
		if a, err := netip.ParseAddr(u.Hostname()); live && err == nil && (a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()) {
			t.Errorf("%q was accepted", s)
		}
	})
}
