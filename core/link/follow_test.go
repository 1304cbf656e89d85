package link

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"

	"kith/core"
	"kith/core/auth"
)

const now core.Time = 1_700_000_000_000

// chrome is the User-Agent of a person's browser.
const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

func acme() Tenant {
	return Tenant{Alias: "acme", SquatchParameter: true, Cookies: func() auth.Signer { return cookies("acme") }}
}

// cookies returns the signer of a tenant's cookies.
func cookies(tenant core.TenantAlias) auth.Signer {
	keys, err := auth.ParseKeyring("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	if err != nil {
		panic(err)
	}
	return keys.Cookie(tenant)
}

func classic() Program {
	return Program{Key: "classic", LandingURL: "https://shop.example/welcome?a=1#top", CookieLife: DefaultCookieLife, UTMSource: "invite", UTMCampaign: "saasquatch"}
}

// cookieOf splits a Set-Cookie value into the cookie and its attributes.
func cookieOf(t *testing.T, header string) (name, value, attributes string) {
	t.Helper()
	pair, attributes, _ := strings.Cut(header, "; ")
	name, value, found := strings.Cut(pair, "=")
	if !found {
		t.Fatalf("%q sets no cookie", header)
	}
	return name, value, attributes
}

func TestFollowShareLink(t *testing.T) {
	v := Visit{
		Method: "GET", Secure: true, Path: "/s/acme/ANN", UserAgent: chrome,
		Query: "rsShareMedium=FACEBOOK&rsEngagementMedium=EMAIL&email=ann@example.com",
	}
	a := FollowShareLink(v, acme(), classic(), "ANN", now)
	if want := "https://shop.example/welcome?a=1&rsCode=ANN&rsShareMedium=FACEBOOK&rsEngagementMedium=EMAIL&utm_source=invite&utm_medium=link&utm_campaign=saasquatch#top"; a.Location != want {
		t.Errorf("redirects to %q, want %q: the program's own page without parameters of the request", a.Location, want)
	}
	if a.Status != 302 {
		t.Errorf("status %d", a.Status)
	}
	name, value, attributes := cookieOf(t, a.SetCookie)
	if name != "kith_acme" || attributes != "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure" {
		t.Errorf("cookie %q with %q", name, attributes)
	}
	got, err := ParseAttribution(cookies("acme"), value)
	want := Attribution{Program: "classic", Code: "ANN", ShareMedium: "FACEBOOK", EngagementMedium: "EMAIL", Visited: now}
	if err != nil || got != want {
		t.Errorf("remembers %+v, %v; want %+v", got, err, want)
	}
}

func TestFollowShareLink_PlainHTTP(t *testing.T) {
	a := FollowShareLink(Visit{Method: "GET", UserAgent: chrome}, acme(), classic(), "ANN", now)
	if _, _, attributes := cookieOf(t, a.SetCookie); attributes != "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax" {
		t.Errorf("a cookie that a browser would refuse: %q", attributes)
	}
}

// A link with an unknown code redirects to the shop without an attribution.
func TestFollowShareLink_UnknownCode(t *testing.T) {
	a := FollowShareLink(Visit{Method: "GET", UserAgent: chrome, Query: "rsShareMedium=SMS"}, acme(), classic(), "", now)
	if want := (Answer{Status: 302, Location: classic().LandingURL}); a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
}

func TestFollowShareLink_LandingPage(t *testing.T) {
	for query, want := range map[string]string{
		"rsLandingPage=https%3A%2F%2Fshop.example%2Fsale%3Fx%3D1%23y": "https://shop.example/sale?x=1&rsCode=ANN#y",
		"rsLandingPage=https://shop.example/sale":                     "https://shop.example/sale?rsCode=ANN",
		"rsLandingPage=https://shop.example/%3FrsCode%3DEVE":          "https://shop.example/?rsCode=ANN",
		"rsLandingPage=https://shop.example/%3Frs%2543ode%3DEVE":      "https://shop.example/?rsCode=ANN",
		"rsLandingPage=https://shop.example/gr%C3%B6%C3%9Fe":          "https://shop.example/gr%C3%B6%C3%9Fe?rsCode=ANN",
		"rsLandingPage=https://shop.example/%FF":                      "https://shop.example/%FF?rsCode=ANN",
		"rsLandingPage=https://evil.example/":                         "https://shop.example/welcome?a=1&rsCode=ANN#top",
		"rsLandingPage=https://shop.example/%0D%0ASet-Cookie:%20a=b":  "https://shop.example/welcome?a=1&rsCode=ANN#top",
		"rsLandingPage=%zz":                                                    "https://shop.example/welcome?a=1&rsCode=ANN#top",
		"rsShareMedium=%3Cscript%3E":                                           "https://shop.example/welcome?a=1&rsCode=ANN#top",
		"rsShareMedium=a%26rsCode=EVE":                                         "https://shop.example/welcome?a=1&rsCode=ANN#top",
		"rsShareMedium=" + strings.Repeat("A", 33):                             "https://shop.example/welcome?a=1&rsCode=ANN#top",
		"rsShareMedium=" + strings.Repeat("A", 32):                             "https://shop.example/welcome?a=1&rsCode=ANN&rsShareMedium=" + strings.Repeat("A", 32) + "#top",
		"rsCode=EVE&utm_source=x&gclid=y&_saasquatch=eyJ9&email=a%40b.example": "https://shop.example/welcome?a=1&rsCode=ANN#top",
	} {
		a := FollowShareLink(Visit{Method: "GET", UserAgent: chrome, Query: query}, acme(), classic(), "ANN", now)
		page, fragment, found := strings.Cut(want, "#")
		if want = page + "&utm_source=invite&utm_medium=link&utm_campaign=saasquatch"; found {
			want += "#" + fragment
		}
		if a.Location != want || a.Status != 302 {
			t.Errorf("%q: %d to %q, want %q", query, a.Status, a.Location, want)
		}
	}
}

// A URL with non-ASCII characters is percent-encoded in the header, as by a browser.
func TestFollowShareLink_NonASCII(t *testing.T) {
	p := classic()
	p.LandingURL = "https://shop.example/größe a?ü=1"
	for _, code := range []core.ReferralCode{"", "ANN"} {
		a := FollowShareLink(Visit{Method: "GET", UserAgent: chrome}, acme(), p, code, now)
		if !strings.HasPrefix(a.Location, "https://shop.example/gr%C3%B6%C3%9Fe%20a?%C3%BC=1") {
			t.Errorf("leads to %q", a.Location)
		}
	}
}

func TestTakeCode(t *testing.T) {
	for _, c := range []struct{ path, query, want string }{
		{"/", "rsCode=ANN", "/"},
		{"/a/b", "rsCode=ANN&x=1", "/a/b?x=1"},
		{"/a", "x=1&rsCode=ANN&y=%26&&z", "/a?x=1&y=%26&&z"},
		{"/a", "rsCode=ANN&rsCode=EVE", "/a"},
		{"/a", "rs%43ode=ANN", "/a"},
		{"/a", "next=rsCode&rsCode=ANN", "/a?next=rsCode"},
		{"/%2F%2Fevil.example", "rsCode=ANN", "/%2F%2Fevil.example"},
		{"//evil.example", "rsCode=ANN", "/.//evil.example"},
		{"///evil.example", "rsCode=ANN", "/.///evil.example"},
		{"/\\evil.example", "rsCode=ANN", "/./\\evil.example"},
		{"/\t/evil.example", "rsCode=ANN", "/%09/evil.example"},
		{"/\r\n/evil.example", "rsCode=ANN", "/%0D%0A/evil.example"},
		{"https://evil.example/", "rsCode=ANN", "/https://evil.example/"},
		{"evil.example", "rsCode=ANN", "/evil.example"},
		{"\\\\evil.example", "rsCode=ANN", "/./\\\\evil.example"},
		{"", "rsCode=ANN", "/"},
		{"/größe", "rsCode=ANN&ü=1", "/gr%C3%B6%C3%9Fe?%C3%BC=1"},
	} {
		a, ok := TakeCode(Visit{Method: "GET", Secure: true, Path: c.path, Query: c.query, UserAgent: chrome}, acme(), classic(), "ANN", now)
		if !ok || a.Status != 302 || a.Location != c.want {
			t.Errorf("%q?%q: %v, %d to %q, want %q", c.path, c.query, ok, a.Status, a.Location, c.want)
		}
		if host := resolved(t, "https://shop.example/a/b?c", a.Location).Host; host != "shop.example" {
			t.Errorf("%q leads to the host %q", c.path, host)
		}
		_, value, attributes := cookieOf(t, a.SetCookie)
		got, err := ParseAttribution(cookies("acme"), value)
		if err != nil || got.Code != "ANN" || got.Visited != now || !strings.HasSuffix(attributes, "; Secure") {
			t.Errorf("remembers %+v, %v, with %q", got, err, attributes)
		}
	}
}

// Requests with an unknown code and automated requests are redirected without the
// parameter, and get no cookie.
func TestTakeCode_NoCookie(t *testing.T) {
	for name, c := range map[string]struct {
		v    Visit
		code core.ReferralCode
	}{
		"unknown code":               {Visit{Method: "GET", UserAgent: chrome}, ""},
		"HEAD":                       {Visit{Method: "HEAD", UserAgent: chrome}, "ANN"},
		"preview bot":                {Visit{Method: "GET", UserAgent: "Twitterbot/1.0"}, "ANN"},
		"unknown code and a refusal": {Visit{Method: "GET", UserAgent: chrome, GPC: "1"}, ""},
	} {
		c.v.Path, c.v.Query = "/a", "rsCode=ANN&x=1"
		a, ok := TakeCode(c.v, acme(), classic(), c.code, now)
		if want := (Answer{Status: 302, Location: "/a?x=1"}); !ok || a != want {
			t.Errorf("%s: %+v, %v; want %+v", name, a, ok, want)
		}
	}
}

func TestOwnPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/api/v1/acme/accountsync": true, "/a/acme/widgets/squatchcookiejson": true, "/s/acme/ANN": true,
		"/.well-known/jwks.json": true, "/healthz": true, "/kith.js": true,
		"": false, "/": false, "/api": false, "/s": false, "/shop": false, "/apian/": false, "/healthz/": false,
		"/kith.js.map": false, "//s/acme/ANN": false, "/S/acme/ANN": false, "s/acme/ANN": false,
		"/a/acme/widgets/analytics/loaded": true, "/a/acme/visit": true, "/a/acme/consent": true, "/a/acme/consent/": false, "/a/acme/message/redirect/EMAIL": true,
		"/a/": false, "/a/acme": false, "/a/acme/": false, "/a/acme/shoes": false, "/a/widgets/shoes": false,
		"/a/acme/widgets": false, "/a/acme/widgets/": false, "/a/acme/visit/us": false, "/a/acme/visits": false,
	} {
		if got := OwnPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// Campaign parameters of the landing page are kept.
func TestFollowShareLink_Campaign(t *testing.T) {
	p := classic()
	p.LandingURL = "https://shop.example/?utm_source=own&utm%5Fmedium=own"
	a := FollowShareLink(Visit{Method: "GET", UserAgent: chrome}, acme(), p, "ANN", now)
	if want := "https://shop.example/?utm_source=own&utm%5Fmedium=own&rsCode=ANN&utm_campaign=saasquatch"; a.Location != want {
		t.Errorf("leads to %q, want %q", a.Location, want)
	}
	tenant := acme()
	tenant.SquatchParameter = false
	p = Program{Key: "classic", LandingURL: "https://shop.example/", CookieLife: DefaultCookieLife, UTMCampaign: "Refer a friend"}
	for query, source := range map[string]string{"": "referral", "rsShareMedium=WHATSAPP": "whatsapp", "rsShareMedium=pigeon": "referral"} {
		a := FollowShareLink(Visit{Method: "GET", UserAgent: chrome, Host: "go.example", Secure: true, Query: query}, tenant, p, "ANN", now)
		if !strings.HasSuffix(a.Location, "&utm_source="+source+"&utm_medium=link&utm_campaign=Refer+a+friend") || strings.Contains(a.Location, "_saasquatch") || a.SquatchCookie == "" {
			t.Errorf("%q: %+v", query, a)
		}
	}
}

// The parameter from which browser scripts make a cookie is added only where a cookie
// may be set.
func TestFollowShareLink_SquatchParameter(t *testing.T) {
	person := Visit{Method: "GET", UserAgent: chrome, Host: "go.example:8443"}
	bot, head, private, hostile := person, person, person, person
	bot.UserAgent, head.Method, private.GPC, hostile.Host = "Slackbot", "HEAD", "1", `x"y`
	for name, c := range map[string]struct {
		v    Visit
		want bool
	}{"a person": {person, true}, "a bot": {bot, false}, "HEAD": {head, false}, "GPC": {private, false}, "no host": {Visit{Method: "GET", UserAgent: chrome}, false}, "an invalid host": {hostile, false}} {
		a := FollowShareLink(c.v, acme(), classic(), "ANN", now)
		_, query, _ := strings.Cut(a.Location, "?")
		raw, err := base64.RawURLEncoding.DecodeString(value(query, SquatchCookieName))
		if err != nil || (len(raw) > 0) != c.want {
			t.Errorf("%s: %s, %v", name, a.Location, err)
		}
		until := strconv.FormatInt(int64(now+classic().CookieLife), 10)
		if want := `{"go.example:8443":{"acme_CODE":{"codes":{"classic":"ANN"},"codesExp":{"ANN":` + until + `}}}}`; c.want && string(raw) != want {
			t.Errorf("%s: %s, want %s", name, raw, want)
		}
	}
}

// The text in the URL is also stored in a cookie of the service's host, over https
// only, and the cookie is deleted when the visitor withdraws consent.
func TestFollowShareLink_SquatchCookie(t *testing.T) {
	person := Visit{Method: "GET", UserAgent: chrome, Host: "go.example", Secure: true}
	plain, bot, private, denied, deniedBot := person, person, person, person, person
	plain.Secure, bot.UserAgent, private.GPC, denied.Cookie = false, "Slackbot", "1", "agreed=no; _saasquatch=abc"
	deniedBot.UserAgent, deniedBot.Cookie = "Slackbot", denied.Cookie
	asking := acme()
	asking.Policy = Policy{Consent: ConsentOptOut, ConsentCookie: "agreed"}
	for name, c := range map[string]struct {
		v    Visit
		t    Tenant
		want string
	}{
		"a person":            {person, acme(), "stored"},
		"http":                {plain, acme(), ""},
		"a bot":               {bot, acme(), ""},
		"GPC":                 {private, acme(), ""},
		"withdrawn":           {denied, asking, "_saasquatch=; Path=/; Max-Age=0; HttpOnly; SameSite=None; Secure"},
		"withdrawn by a bot":  {deniedBot, asking, ""},
		"no cookie to delete": {Visit{Method: "GET", UserAgent: chrome, Host: "go.example", Secure: true, Cookie: "agreed=no"}, asking, ""},
	} {
		a := FollowShareLink(c.v, c.t, classic(), "ANN", now)
		if c.want == "stored" {
			_, query, _ := strings.Cut(a.Location, "?")
			c.want = "_saasquatch=" + value(query, SquatchCookieName) + "; Path=/; Max-Age=2592000; HttpOnly; SameSite=None; Secure"
		}
		if a.SquatchCookie != c.want {
			t.Errorf("%s: %q, want %q", name, a.SquatchCookie, c.want)
		}
	}
}
