package origin

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for given, want := range map[string]Origin{
		"https://shop.example":          "https://shop.example",
		"https://shop.example/":         "https://shop.example",
		"HTTPS://Shop.Example":          "https://shop.example",
		"https://shop.example:443":      "https://shop.example",
		"https://shop.example:80":       "https://shop.example:80",
		"http://shop.example:80":        "http://shop.example",
		"http://localhost:8000":         "http://localhost:8000",
		"http://[::1]:8000":             "http://[::1]:8000",
		"https://[::1]:443":             "https://[::1]",
		"https://xn--bcher-kva.example": "https://xn--bcher-kva.example",
	} {
		got, err := Parse("origin", given)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v", given, got, err)
		}
	}
	for _, given := range []string{
		"", "null", "*", "https://*", "https://*.shop.example", "shop.example", "//shop.example", "ftp://shop.example",
		"https://shop.example/path", "https://shop.example?q", "https://shop.example#f", "https://me@shop.example",
		"https://", "https://:443", "https://" + strings.Repeat("a", maxOrigin), "https://shop.example\n", "https://shop.example:65536",
	} {
		if got, err := Parse("origin", given); err == nil {
			t.Errorf("Parse(%q) = %q", given, got)
		}
	}
}

func TestAllowed(t *testing.T) {
	const sites = "https://shop.example\nhttp://localhost:8000\nhttps://LANDING.example:443/start?utm=a#top\nftp://files.example\n://"
	for header, want := range map[string]bool{
		"https://shop.example":         true,
		"http://localhost:8000":        true,
		"https://landing.example":      true,
		"":                             false,
		"null":                         false,
		"*":                            false,
		"http://shop.example":          false, // another scheme
		"https://shop.example:8443":    false, // another port
		"https://www.shop.example":     false, // another host
		"https://shop.example.evil":    false,
		"https://evilshop.example":     false,
		"https://shop.example/":        false, // not as browsers write it
		"HTTPS://SHOP.EXAMPLE":         false,
		"ftp://files.example":          false,
		"https://shop.example\nhttp:x": false,
	} {
		if got := Allowed(header, sites); got != want {
			t.Errorf("Allowed(%q) = %v", header, got)
		}
	}
	if Allowed("https://shop.example", "") || Allowed("", "") {
		t.Error("allowed without a site")
	}
}

func TestCovers(t *testing.T) {
	for path, tenant := range map[string]string{
		"/api/v1/acme/open/account/a/user/u":      "acme",
		"/api/v1/acme/open":                       "acme",
		"/api/v1/ac%6De/widget/user/cookie_user":  "acme",
		"/api/v1/acme/graphql":                    "acme",
		"/api/v1/acme/mail/referralinvite":        "acme",
		"/a/acme/widgets/squatchcookiejson":       "acme",
		"/a/acme/visit":                           "acme",
		"/api/v1/acme/accountsync":                "",
		"/api/v1/acme/code/ANNA10":                "",
		"/api/v1/acme/account/a/user/u/shareurls": "",
		"/api/v1/acme/opening":                    "",
		"/api/v1/a%20b/open/account/a":            "",
		"/api/v1/%zz/open/account/a":              "",
		"/api/v1//open":                           "",
		"/a/acme/shoes":                           "",
		"/s/acme/ANNA10":                          "",
		"/kith.js":                                "",
		"/":                                       "",
	} {
		got, ok := Covers(path)
		if string(got) != tenant || ok != (tenant != "") {
			t.Errorf("Covers(%q) = %q, %v", path, got, ok)
		}
	}
}

// A response names the origin of the request or none.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		allowed, preflight bool
		want               string
	}{
		{false, false, "vary: Origin"},
		{false, true, "vary: Origin"},
		{true, false, "vary: Origin, access-control-allow-origin: https://shop.example, access-control-allow-credentials: true"},
		{true, true, "vary: Origin, access-control-allow-origin: https://shop.example, access-control-allow-credentials: true, " +
			"access-control-allow-methods: " + methods + ", access-control-allow-headers: " + headers + ", access-control-max-age: 600"},
	} {
		var got []string
		for _, h := range Headers("https://shop.example", c.allowed, c.preflight) {
			got = append(got, h.Name+": "+h.Value)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("allowed %v, preflight %v: %s", c.allowed, c.preflight, text)
		}
	}
}

func TestPreflight(t *testing.T) {
	if !Preflight("OPTIONS", "https://shop.example", "PUT") {
		t.Error("a preflight is not recognized")
	}
	if Preflight("PUT", "https://shop.example", "PUT") || Preflight("OPTIONS", "", "PUT") || Preflight("OPTIONS", "https://shop.example", "") {
		t.Error("another request is taken as a preflight")
	}
}
