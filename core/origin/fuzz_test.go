//go:build !tinygo

package origin

import (
	"net/url"
	"strings"
	"testing"
)

// An allowed origin is a valid origin, and that of one of the sites.
func FuzzAllowed(f *testing.F) {
	f.Add("https://shop.example", "https://shop.example\nhttps://landing.example/start")
	f.Add("null", "null\n*")
	f.Add("https://a.example:443", "https://a.example:443")
	f.Add("https://shop.example", "https://shop.example.evil\nhttps://evil/?https://shop.example\nhttps://shop.example@evil")
	f.Fuzz(func(t *testing.T, header, sites string) {
		if !Allowed(header, sites) {
			return
		}
		u, err := url.Parse(header)
		if err != nil || u.Path+u.RawQuery+u.Fragment != "" || u.User != nil || u.Host == "" {
			t.Fatalf("%q is allowed", header)
		}
		for site := range strings.SplitSeq(sites, "\n") {
			s, err := url.Parse(site)
			if err == nil && strings.EqualFold(s.Scheme, u.Scheme) && strings.EqualFold(s.Hostname(), u.Hostname()) {
				return
			}
		}
		t.Fatalf("%q is not the origin of any of %q", header, sites)
	})
}
