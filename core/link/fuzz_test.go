//go:build !tinygo

package link

import (
	"net/url"
	"strings"
	"testing"

	"kith/core"
)

func FuzzFollowShareLink(f *testing.F) {
	for _, s := range []string{
		"", "https://shop.example/a?b=c#d", "https://evil.example", "//evil.example", "https://shop.example\\@evil.example",
		"https://shop.example@evil.example", "https:evil.example", "https://shop.example/?rsCode=EVE&rs%43ode=EVA", "https://blog.example/\xff",
	} {
		f.Add(s, "SMS")
	}
	f.Fuzz(func(t *testing.T, wanted, share string) {
		p := classic()
		p.AllowedHosts = []string{"blog.example"}
		v := Visit{
			Method: "GET", UserAgent: chrome,
			Query: "rsLandingPage=" + url.QueryEscape(wanted) + "&rsShareMedium=" + url.QueryEscape(share),
		}
		for _, code := range []core.ReferralCode{"ANN", ""} {
			a := FollowShareLink(v, acme(), p, code, now)
			u, err := url.Parse(a.Location)
			if err != nil || u.Scheme != "https" || u.User != nil || a.Status != 302 {
				t.Fatalf("%q leads to %q: %v", wanted, a.Location, err)
			}
			if host := strings.ToLower(u.Host); host != "shop.example" && host != "blog.example" {
				t.Fatalf("%q leads to the host %q", wanted, host)
			}
			if codes := u.Query()["rsCode"]; code != "" && (len(codes) != 1 || codes[0] != "ANN") {
				t.Fatalf("%q leads to %q with the codes %q", wanted, a.Location, codes)
			}
			checkHeader(t, a.Location)
			checkHeader(t, a.SetCookie)
		}
	})
}

func FuzzTakeCode(f *testing.F) {
	for _, path := range []string{"/", "", "//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example", "/a/../..//evil.example", "?", "#", "/."} {
		f.Add(path, "rsCode=ANN&a=b")
	}
	f.Add("/a", "rs%43ode=ANN&&rsCode&x=rsCode")
	f.Fuzz(func(t *testing.T, path, query string) {
		if strings.ContainsAny(path, "?#%") || strings.ContainsAny(query, "#") {
			return // not a path and query that a server would pass on
		}
		a, ok := TakeCode(Visit{Method: "GET", UserAgent: chrome, Path: path, Query: query}, acme(), classic(), "ANN", now)
		if !ok {
			t.Fatalf("%q?%q is forwarded", path, query)
		}
		base, err := url.Parse("https://shop.example/a/b")
		if err != nil {
			t.Fatal(err)
		}
		// A browser reads a backslash as a slash and drops tabs and line breaks.
		seen := strings.NewReplacer("\\", "/", "\t", "", "\r", "", "\n", "").Replace(a.Location)
		u, err := base.Parse(seen)
		if err != nil || u.Host != "shop.example" || u.Scheme != "https" || u.User != nil {
			t.Fatalf("%q leads to %q, %v", path, a.Location, err)
		}
		if _, carried := Carried(u.RawQuery); carried {
			t.Fatalf("%q?%q redirects to %q, which has a code again", path, query, a.Location)
		}
		checkHeader(t, a.Location)
	})
}

func FuzzParseAttribution(f *testing.F) {
	key := cookies("acme")
	f.Add(Attribution{Program: "classic", Code: "ANN", Visited: now}.Encode(key), "classic", "ANN", "SMS", int64(now))
	f.Add("v1.a.classic.ANN...", "p", "c", "", int64(0))
	f.Add("", "", "", "", int64(-1))
	f.Fuzz(func(t *testing.T, text, program, code, share string, visited int64) {
		if got, err := ParseAttribution(key, text); err == nil && got.Encode(key) != text {
			t.Errorf("%q is accepted but was not signed", text)
		}
		p, err := core.ParseProgramKey("", program)
		c, err2 := core.ParseReferralCode("", code)
		if err != nil || err2 != nil {
			return
		}
		a := Attribution{Program: p, Code: c, ShareMedium: medium(share), Visited: core.Time(visited)}
		if got, err := ParseAttribution(key, a.Encode(key)); err != nil || got != a {
			t.Errorf("%+v was decoded as %+v, %v", a, got, err)
		}
		if got, err := ParseAttribution(cookies("test_acme"), a.Encode(key)); err == nil {
			t.Errorf("another tenant accepts %+v", got)
		}
	})
}

// checkHeader fails if a header value has an invalid byte.
func checkHeader(t *testing.T, value string) {
	t.Helper()
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= 0x7f {
			t.Fatalf("the header value %q contains byte %d", value, c)
		}
	}
}
