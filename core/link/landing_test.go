package link

import (
	"net/url"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	code := []parameter{{"rsCode", "ANN"}}
	for _, c := range []struct {
		name, target string
		with         []parameter
		want         string
	}{
		{"bare host", "https://shop.example", code, "https://shop.example?rsCode=ANN"},
		{"path", "https://shop.example/a", code, "https://shop.example/a?rsCode=ANN"},
		{"query", "https://shop.example/a?x=1", code, "https://shop.example/a?x=1&rsCode=ANN"},
		{"trailing ?", "https://shop.example/a?", code, "https://shop.example/a?rsCode=ANN"},
		{"fragment", "https://shop.example/a#top", code, "https://shop.example/a?rsCode=ANN#top"},
		{"empty fragment", "https://shop.example/a#", code, "https://shop.example/a?rsCode=ANN#"},
		{"query and fragment", "https://shop.example/a?x=1#top", code, "https://shop.example/a?x=1&rsCode=ANN#top"},
		{"? within a fragment", "https://shop.example/#/a?x=1", code, "https://shop.example/?rsCode=ANN#/a?x=1"},
		{"? within a query", "https://shop.example/?q=a?b", code, "https://shop.example/?q=a?b&rsCode=ANN"},
		{"code already there", "https://shop.example/?rsCode=EVE", code, "https://shop.example/?rsCode=ANN"},
		{"code between others", "https://shop.example/?a=1&rsCode=EVE&b=2", code, "https://shop.example/?a=1&b=2&rsCode=ANN"},
		{"code twice", "https://shop.example/?rsCode=EVE&rsCode=EVA", code, "https://shop.example/?rsCode=ANN"},
		{"code with its name encoded", "https://shop.example/?rs%43ode=EVE&a=1", code, "https://shop.example/?a=1&rsCode=ANN"},
		{"code without a value", "https://shop.example/?rsCode", code, "https://shop.example/?rsCode=ANN"},
		{"a name that only contains it", "https://shop.example/?xrsCode=1&rsCodes=2", code, "https://shop.example/?xrsCode=1&rsCodes=2&rsCode=ANN"},
		{"a value that contains it", "https://shop.example/?next=rsCode", code, "https://shop.example/?next=rsCode&rsCode=ANN"},
		{"encoded characters stay", "https://shop.example/%C3%A4?q=%26%3D+x", code, "https://shop.example/%C3%A4?q=%26%3D+x&rsCode=ANN"},
		{"empty pairs stay", "https://shop.example/?a&&b=", code, "https://shop.example/?a&&b=&rsCode=ANN"},
		{"a value is encoded", "https://shop.example/", []parameter{{"rsCode", "a&b=c#d e"}}, "https://shop.example/?rsCode=a%26b%3Dc%23d+e"},
		{"an empty value is left out", "https://shop.example/?m=1", []parameter{{"rsCode", "ANN"}, {"m", ""}}, "https://shop.example/?rsCode=ANN"},
		{"nothing to add", "https://shop.example/?a=1", nil, "https://shop.example/?a=1"},
	} {
		if got := merge(c.target, c.with); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLanding(t *testing.T) {
	p := Program{
		LandingURL:   "https://shop.example/welcome",
		AllowedHosts: []string{"blog.example", "dev.example:8443"},
	}
	for _, wanted := range []string{
		"https://shop.example/a?b=c#d", "https://shop.example", "https://SHOP.example/a", "HTTPS://shop.example/a",
		"https://blog.example/a", "https://dev.example:8443/a", "https://shop.example/?next=https://evil.example",
		"https://shop.example/#@evil.example", "https://shop.example/%2F%2Fevil.example", "https://shop.example/größe",
	} {
		if got := landing(p, wanted); got != wanted {
			t.Errorf("%q leads to %q", wanted, got)
		}
	}
	for name, wanted := range map[string]string{
		"nothing":                          "",
		"another host":                     "https://evil.example/",
		"a host with the same suffix":      "https://evilshop.example/",
		"a host with the same prefix":      "https://shop.example.evil.example/",
		"a subdomain":                      "https://a.shop.example/",
		"a trailing dot":                   "https://shop.example./",
		"another port":                     "https://shop.example:444/",
		"an allowed host without its port": "https://dev.example/",
		"http for an https program":        "http://shop.example/",
		"no scheme":                        "//evil.example/",
		"no scheme, own host":              "//shop.example/",
		"a path":                           "/a",
		"a relative path":                  "a",
		"javascript":                       "javascript:alert(1)",
		"javascript with a host":           "javascript://shop.example/%0Aalert(1)",
		"data":                             "data:text/html,x",
		"ftp":                              "ftp://shop.example/",
		"an app's own scheme":              "shop://shop.example/",
		"user name":                        "https://shop.example@evil.example/",
		"user name and password":           "https://user:pass@shop.example/",
		"empty user name":                  "https://@shop.example/",
		"backslash":                        "https://evil.example\\@shop.example/",
		"backslashes for slashes":          "https:\\\\evil.example/",
		"backslash after the host":         "https://shop.example\\.evil.example/",
		"three slashes":                    "https:///evil.example/",
		"no slashes":                       "https:evil.example",
		"one slash":                        "https:/evil.example",
		"line feed":                        "https://shop.example/\nSet-Cookie: a=b",
		"carriage return":                  "https://shop.example/\r\nX: y",
		"tab":                              "https://shop.example/\t",
		"NUL":                              "https://shop.example/\x00",
		"DEL":                              "https://shop.example/\x7f",
		"vertical tab":                     "https://evil.example\x0b.shop.example/",
		"blank in front":                   " https://shop.example/",
		"control in front":                 "\x01https://shop.example/",
		"encoded slash in the host":        "https://evil.example%2F.shop.example/",
		"full-width slash in the host":     "https://evil.example／.shop.example/",
		"encoded NUL in the host":          "https://shop.example%00.evil.example/",
		"a broken escape":                  "https://shop.example/%zz",
		"an address of IPv6":               "https://[::1]/",
		"2049 bytes":                       "https://shop.example/" + strings.Repeat("a", 2049-21),
	} {
		if got := landing(p, wanted); got != p.LandingURL {
			t.Errorf("%s: %q is followed to %q", name, wanted, got)
		}
	}
	longest := "https://shop.example/" + strings.Repeat("a", 2048-21)
	if got := landing(p, longest); got != longest {
		t.Errorf("a page of 2048 bytes gives %q", got)
	}
}

// A program with an http page allows https too.
func TestLanding_PlainHTTP(t *testing.T) {
	p := Program{LandingURL: "http://localhost:8080/"}
	for _, wanted := range []string{"http://localhost:8080/a", "https://localhost:8080/a"} {
		if got := landing(p, wanted); got != wanted {
			t.Errorf("%q leads to %q", wanted, got)
		}
	}
	if got := landing(Program{LandingURL: ":"}, "https://shop.example/"); got != ":" {
		t.Errorf("a program without a valid page gives %q", got)
	}
}

func TestValidLandingURL(t *testing.T) {
	for s, want := range map[string]bool{
		"https://shop.example": true, "http://localhost:8080/a?b#c": true, "https://müller.example/größe": true,
		"": false, "shop.example": false, "/a": false, "//shop.example": false, "ftp://shop.example": false,
		"https://": false, "https:shop": false, "https://u:p@shop.example/": false, "javascript:alert(1)": false,
		"https://shop.example/" + strings.Repeat("a", 2048-21): true,
		"https://shop.example/" + strings.Repeat("a", 2049-21): false,
		"https://shop.example\\@evil.example/":                 false,
		"https://shop.example/\r\nX: y":                        false,
		"https://shop.example:65535/":                          true, "https://shop.example:65536/": false, "https://shop.example:/": true, "https://:443/": false,
	} {
		if got := ValidLandingURL(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestCarried(t *testing.T) {
	for _, c := range []struct {
		query, code string
		ok          bool
	}{
		{"", "", false},
		{"a=1", "", false},
		{"rsCode=ANN", "ANN", true},
		{"a=1&rsCode=ANN&b=2", "ANN", true},
		{"rsCode=ANN&rsCode=EVE", "ANN", true},
		{"rs%43ode=ANN", "ANN", true},
		{"rsCode=A%4EN", "ANN", true},
		{"rsCode=", "", true},
		{"rsCode", "", true},
		{"rsCode=%zz", "", true},
		{"rsCode=<script>", "", true},
		{"rsCode=" + strings.Repeat("a", 65), "", true},
		{"rscode=ANN", "", false},
		{"xrsCode=ANN", "", false},
		{"next=rsCode&&b=2", "", false},
		{"rsCodes=1&", "", false},
	} {
		code, ok := Carried(c.query)
		if string(code) != c.code || ok != c.ok {
			t.Errorf("%q: code %q, %v; want %q, %v", c.query, code, ok, c.code, c.ok)
		}
	}
}

// resolved returns the URL that a browser on the page base requests for a Location.
func resolved(t *testing.T, base, location string) *url.URL {
	t.Helper()
	b, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u, err := b.Parse(location)
	if err != nil {
		t.Fatalf("the location %q is not a URL: %v", location, err)
	}
	return u
}

func TestValidOrigin(t *testing.T) {
	for s, want := range map[string]bool{
		"https://go.shop.example": true, "http://127.0.0.1:3000": true, "https://[::1]:8443": true,
		"": false, "go.shop.example": false, "https://": false, "https://go.example/": false, "https://go.example/x": false,
		"https://go.example?x": false, "https://go.example#x": false, "https://u@go.example": false, "ftp://go.example": false,
		"https://go.example ": false, "//go.example": false, "https://go.example:65536": false, "https://go.example:": true,
	} {
		if got := ValidOrigin(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestSent(t *testing.T) {
	for _, c := range [][4]string{
		{"https://portal.example", "http", "evil.example", "https://portal.example/portal/x"},
		{"https://portal.example/", "http", "", "https://portal.example/portal/x"},
		{"", "http", "127.0.0.1:3000", "http://127.0.0.1:3000/portal/x"},
		{"", "https", "evil.example", "/portal/x"},
	} {
		if got := Sent(c[0], c[1], c[2], "/portal/x"); got != c[3] {
			t.Errorf("%q: %s", c, got)
		}
	}
}
