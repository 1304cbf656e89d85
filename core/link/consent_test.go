package link

import (
	"strings"
	"testing"

	"kith/core"
)

// Outcomes for the cookie.
const (
	none    = "none"
	set     = "set"
	deleted = "deleted"
)

func outcome(setCookie string) string {
	switch {
	case setCookie == "":
		return none
	case strings.HasPrefix(setCookie, "kith_acme=; ") && strings.Contains(setCookie, "; Max-Age=0; "):
		return deleted
	case strings.HasPrefix(setCookie, "kith_acme=v1."):
		return set
	}
	return setCookie
}

// Every combination of policy, consent cookie, browser signals and existing cookie,
// compared with a second implementation of the rule.
func TestConsent(t *testing.T) {
	answers := map[string]string{ // Cookie header -> consent
		"": "silent", "consent=": "silent", "consent=maybe": "silent", "other=1": "silent", "Consent=1": "silent",
		"consent=1": "yes", "consent=true": "yes", "consent=YES": "yes", "consent=granted": "yes", "consent=allow": "yes",
		`consent="accepted"`: "yes", "consent=0": "no", "consent=false": "no", "consent=no": "no", "consent=Denied": "no",
		"consent=deny": "no", "a=b;consent=rejected": "no", "consent=0; consent=1": "no",
	}
	combinations := 0
	for _, policy := range []Consent{"", ConsentOff, ConsentOptIn, ConsentOptOut} {
		for cookie, said := range answers {
			for _, gpc := range []string{"", "0", "1", " 1 "} {
				for _, dnt := range []string{"", "0", "1"} {
					for _, existing := range []bool{false, true} {
						v := Visit{Method: "GET", UserAgent: chrome, Cookie: cookie, GPC: gpc, DNT: dnt, Path: "/a", Query: "rsCode=ANN"}
						if existing {
							v.Cookie = "kith_acme=v1.x; " + cookie
						}
						tenant := acme()
						tenant.Policy = Policy{Consent: policy, ConsentCookie: "consent"}

						signal := strings.TrimSpace(gpc) == "1" || dnt == "1"
						asks := policy == ConsentOptIn || policy == ConsentOptOut
						want := none
						refuses := signal || asks && said == "no"
						counts := map[Place]bool{InBrowser: true, InScript: true, InServer: true}
						switch {
						case refuses:
							counts = nil
							if existing {
								want = deleted
							}
						case !asks, policy == ConsentOptIn && said == "yes", policy == ConsentOptOut:
							want = set
						default: // opt-in, and no answer
							counts[InBrowser] = false
						}
						for _, place := range []Place{InBrowser, InScript, InServer} {
							if got := tenant.Policy.Counts(v, place); got != counts[place] {
								t.Errorf("policy %q, %q, GPC %q, DNT %q, place %d: counts %v, want %v", policy, cookie, gpc, dnt, place, got, counts[place])
							}
						}
						if own, squatch := Forget(v, tenant); (outcome(own) == deleted) != (want == deleted) || squatch != "" {
							t.Errorf("policy %q, %q, GPC %q, DNT %q, existing %v: Forget returns %q and %q", policy, cookie, gpc, dnt, existing, own, squatch)
						}

						a := FollowShareLink(v, tenant, classic(), "ANN", now)
						if got := outcome(a.SetCookie); got != want || a.Status != 302 || !strings.Contains(a.Location, "rsCode=ANN") {
							t.Errorf("policy %q, %q, GPC %q, DNT %q, existing %v: cookie %s, want %s; to %q", policy, cookie, gpc, dnt, existing, got, want, a.Location)
						}
						a, ok := TakeCode(v, tenant, classic(), "ANN", now)
						// A page is redirected only to set a cookie, not to delete
						// one: a cookie that cannot be deleted would cause a redirect
						// loop.
						if want == deleted {
							want = none
						}
						if got := outcome(a.SetCookie); got != want || ok != (want != none) {
							t.Errorf("in place, policy %q, %q, GPC %q, DNT %q, existing %v: cookie %s, want %s; %v", policy, cookie, gpc, dnt, existing, got, want, ok)
						}
						if page := map[string]string{set: "/a", none: ""}[want]; a.Location != page {
							t.Errorf("in place, cookie %s: to %q, want %q", want, a.Location, page)
						}
						combinations++
					}
				}
			}
		}
	}
	if combinations != 4*18*4*3*2 {
		t.Errorf("%d combinations", combinations)
	}
}

// The cookies are deleted with the attributes with which they were set. An unknown code
// deletes them too. No answer deletes a cookie that the browser does not send, and none
// to a bot does.
func TestForget(t *testing.T) {
	const own, ownSecure = "kith_acme=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax", "kith_acme=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"
	const squatch = "_saasquatch=; Path=/; Max-Age=0; HttpOnly; SameSite=None; Secure"
	for _, c := range []struct {
		name         string
		v            Visit
		own, squatch string
	}{
		{"neither cookie", Visit{GPC: "1", Secure: true}, "", ""},
		{"http", Visit{GPC: "1", Cookie: "kith_acme=x; _saasquatch=y"}, own, ""},
		{"https", Visit{DNT: "1", Secure: true, Cookie: "kith_acme=x; _saasquatch=y"}, ownSecure, squatch},
		{"one cookie", Visit{DNT: "1", Secure: true, Cookie: "_saasquatch=y"}, "", squatch},
		{"of another tenant", Visit{GPC: "1", Cookie: "kith_other=x"}, "", ""},
		{"not refused", Visit{GPC: "0", Secure: true, Cookie: "kith_acme=x; _saasquatch=y"}, "", ""},
	} {
		if gotOwn, gotSquatch := Forget(c.v, acme()); gotOwn != c.own || gotSquatch != c.squatch {
			t.Errorf("%s: %q and %q, want %q and %q", c.name, gotOwn, gotSquatch, c.own, c.squatch)
		}
		c.v.Method, c.v.UserAgent = "GET", chrome
		for _, code := range []core.ReferralCode{"", "ANN"} {
			if a := FollowShareLink(c.v, acme(), classic(), code, now); c.name != "not refused" && (a.SetCookie != c.own || a.SquatchCookie != c.squatch) {
				t.Errorf("%s: link of %q: %q and %q, want %q and %q", c.name, code, a.SetCookie, a.SquatchCookie, c.own, c.squatch)
			}
		}
		if a, ok := TakeCode(c.v, acme(), classic(), "", now); !ok || a.SetCookie != c.own || a.SquatchCookie != c.squatch {
			t.Errorf("%s: page with an unknown code: %q and %q, want %q and %q", c.name, a.SetCookie, a.SquatchCookie, c.own, c.squatch)
		}
		c.v.Method = "HEAD"
		if a := FollowShareLink(c.v, acme(), classic(), "ANN", now); a.SetCookie+a.SquatchCookie != "" {
			t.Errorf("%s: HEAD: %q and %q, want none", c.name, a.SetCookie, a.SquatchCookie)
		}
	}
}

// Without the name of a consent cookie there is neither consent nor refusal.
func TestConsent_NoCookieName(t *testing.T) {
	for policy, want := range map[Consent]string{ConsentOptIn: none, ConsentOptOut: set} {
		tenant := acme()
		tenant.Policy.Consent = policy
		a := FollowShareLink(Visit{Method: "GET", UserAgent: chrome, Cookie: "=1; consent=1"}, tenant, classic(), "ANN", now)
		if got := outcome(a.SetCookie); got != want {
			t.Errorf("%s: cookie %s, want %s", policy, got, want)
		}
	}
}

func TestParseConsent(t *testing.T) {
	for s, want := range map[string]bool{"off": true, "opt-in": true, "opt-out": true, "": false, "on": false, "OFF": false} {
		if c, ok := ParseConsent(s); ok != want || string(c) != s {
			t.Errorf("%q: %q, %v", s, c, ok)
		}
	}
}

func TestMachine_Purpose(t *testing.T) {
	for _, c := range []struct {
		v    Visit
		want string
	}{
		{Visit{Method: "GET"}, set},
		{Visit{Method: "HEAD"}, none},
		{Visit{Method: "GET", SecPurpose: "prefetch"}, none},
		{Visit{Method: "GET", SecPurpose: "prefetch;prerender"}, none},
		{Visit{Method: "GET", SecPurpose: "prefetch;anonymous-client-ip"}, none},
		{Visit{Method: "GET", SecPurpose: "prerender"}, none},
		{Visit{Method: "GET", Purpose: "prefetch"}, none},
		{Visit{Method: "GET", Purpose: "preview"}, none},
	} {
		c.v.UserAgent = chrome
		a := FollowShareLink(c.v, acme(), classic(), "ANN", now)
		if got := outcome(a.SetCookie); got != c.want || a.Status != 302 || !strings.Contains(a.Location, "rsCode=ANN") {
			t.Errorf("%+v: cookie %s, want %s; %d to %q", c.v, got, c.want, a.Status, a.Location)
		}
	}
}

func TestBot(t *testing.T) {
	for _, agent := range []string{
		"WhatsApp/2.23.20.0 A", "WhatsApp/2.2413.51 W",
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "Slackbot 1.0 (+https://api.slack.com/robots)",
		"Slack-ImgProxy (+https://api.slack.com/robots)", "Twitterbot/1.0",
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "facebookcatalog/1.0",
		"LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
		"TelegramBot (like TwitterBot)", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/126.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
		// iMessage
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
		// Skype and MS Teams
		"Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
		"http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.social/)", "Mastodon/4.3.0 (http.rb/5.2.0; +https://mastodon.social/) Bot",
		"Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
		"Mozilla/5.0 (compatible; Pinterestbot/1.0; +http://www.pinterest.com/bot.html)", "redditbot/1.0",
		"Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
		"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)", "DuckDuckBot/1.1",
		"Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)", "Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
		"Mozilla/5.0 (compatible; FlipboardProxy/1.2; +http://flipboard.com/browserproxy)",
		"Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)", "GPTBot/1.2",
		"CUBOT Googlebot/2.1", "Mozilla/5.0 (en-US) AppleWebKit/537.36 (KHTML, like Gecko; Google-Read-Aloud) Chrome/126.0 Safari/537.36",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; Google Web Preview) Chrome/126.0 Safari/537.36",
	} {
		a := FollowShareLink(Visit{Method: "GET", UserAgent: agent}, acme(), classic(), "ANN", now)
		if got := outcome(a.SetCookie); got != none {
			t.Errorf("%q: cookie %s", agent, got)
		}
	}
	for _, agent := range []string{
		"", chrome, "Go-http-client/1.1", "okhttp/4.12.0",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
		"Mozilla/5.0 (Linux; Android 10; CUBOT_X30) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (Linux; Android 9; CUBOT KING KONG CS) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/103.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21F79 Instagram 337.0.0.23.89 (iPhone15,2; iOS 17_5; de_DE; de; scale=3.00; 1179x2556; 605596538)",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/468.0.0.36.107;FBBV/604600000;FBDV/iPhone15,2;FBMD/iPhone;FBSN/iOS;FBSV/17.5;FBSS/3;FBLC/de_DE]",
		"Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/AP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/468.0.0.55.109;]",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.29.6394",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Twitter for iPhone/10.44",
		"Mozilla/5.0 (iPad; CPU OS 16_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Flipboard/4.3.5",
		"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36",
	} {
		a := FollowShareLink(Visit{Method: "GET", UserAgent: agent}, acme(), classic(), "ANN", now)
		if got := outcome(a.SetCookie); got != set {
			t.Errorf("%q: cookie %s", agent, got)
		}
	}
	if !botMarks.in(strings.Repeat("x", 509)+"bot") || botMarks.in(strings.Repeat("x", 510)+"bot") {
		t.Error("only the first 512 bytes must be checked")
	}
}

func TestAttribution_RoundTrip(t *testing.T) {
	key := cookies("acme")
	for _, a := range []Attribution{
		{Program: "classic", Code: "ANN", Visited: now},
		{Program: "a-B-9", Code: "a_b-C9", Visited: 1, ShareMedium: "FACEBOOK", EngagementMedium: "EMAIL"},
		{Program: core.ProgramKey(strings.Repeat("p", 64)), Code: core.ReferralCode(strings.Repeat("c", 64)),
			ShareMedium: strings.Repeat("S", 32), EngagementMedium: strings.Repeat("E", 32), Visited: 1 << 60},
	} {
		text := a.Encode(key)
		got, err := ParseAttribution(key, text)
		if err != nil || got != a {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, a)
		}
		for i := range len(text) {
			if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`",;\`, c) >= 0 {
				t.Errorf("%q contains %q, which a cookie value must not", text, c)
			}
		}
	}
}

func TestParseAttribution_Refused(t *testing.T) {
	key := cookies("acme")
	text := Attribution{Program: "classic", Code: "ANN", Visited: now, ShareMedium: "SMS"}.Encode(key)
	if _, err := ParseAttribution(cookies("test_acme"), text); err != ErrCookieForged {
		t.Errorf("another tenant's key: %v", err)
	}
	for i := range len(text) {
		for bit := range 8 {
			bad := []byte(text)
			bad[i] ^= 1 << bit
			if got, err := ParseAttribution(key, string(bad)); err == nil {
				t.Fatalf("%q is accepted: %+v", bad, got)
			}
		}
		if got, err := ParseAttribution(key, text[:i]); err == nil {
			t.Errorf("%q is accepted: %+v", text[:i], got)
		}
	}
	for _, bad := range []string{text + "A", text + "=", text + "\n", " " + text, strings.Repeat("A", 513), text + strings.Repeat(".", 512)} {
		if got, err := ParseAttribution(key, bad); err == nil {
			t.Errorf("%q is accepted: %+v", bad, got)
		}
	}
	// Signed, but not of this form.
	for _, body := range []string{
		"", "v1", "v2.a.classic.ANN..", "v1.a.classic.ANN.", "v1.a.classic.ANN...", "v1.!.classic.ANN..", "v1..classic.ANN..",
		"v1.a..ANN..", "v1.a.classic...", "v1.a.cl_assic.ANN..", "v1.a.classic.A NN..", "v1.zzzzzzzzzzzzzzzz.classic.ANN..",
	} {
		if got, err := ParseAttribution(key, body+"."+key.Sign(body)); err != ErrCookieForm {
			t.Errorf("%q: %+v, %v", body, got, err)
		}
	}
}

func TestAttribution_Fresh(t *testing.T) {
	const life = 30 * core.Day
	for _, c := range []struct {
		name    string
		visited core.Time
		want    error
	}{
		{"now", now, nil},
		{"1 ms before the cookie expires", now - life + 1, nil},
		{"at the cookie's age limit", now - life, nil},
		{"1 ms past the age limit", now - life - 1, ErrCookieExpired},
		{"5 minutes ahead less 1 ms", now + 5*core.Minute - 1, nil},
		{"5 minutes ahead", now + 5*core.Minute, nil},
		{"5 minutes and 1 ms ahead", now + 5*core.Minute + 1, ErrCookieExpired},
	} {
		if got := (Attribution{Visited: c.visited}).Fresh(life, now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestFindCookie(t *testing.T) {
	for header, want := range map[string]string{
		"":                                   "",
		"kith_acme=a":                        "a",
		`kith_acme="a"`:                      "a",
		"x=1; kith_acme=a; y=2":              "a",
		"x=1;kith_acme=a":                    "a",
		"kith_acme=a; kith_acme=b":           "a",
		"kith_acme=a=b":                      "a=b",
		"kith_acme=":                         "",
		"kith_acme":                          "",
		"kith_acm=a":                         "",
		"kith_acmee=a":                       "",
		"xkith_acme=a":                       "",
		"KITH_ACME=a":                        "",
		"kith_test_acme=t":                   "",
		"kith_test_acme=t; kith_acme=a; ;=;": "a",
	} {
		if got := FindCookie("acme", header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// A mark at another index than its first letter would never match.
func TestMarks(t *testing.T) {
	for _, all := range []*marks{&botMarks, &agentMarks} {
		for i, marks := range all {
			for _, mark := range marks {
				if mark[0] != byte(i) || strings.ToLower(mark) != mark || !all.in("x "+strings.ToUpper(mark)) {
					t.Errorf("%q is at index %q", mark, byte(i))
				}
			}
		}
	}
}

// An agent gets the code in the answer and in the URL of the page, and no cookie.
func TestFollowShareLink_Agent(t *testing.T) {
	for _, agent := range []string{
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; MistralAI-User/1.0; +https://docs.mistral.ai/robots)",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Gemini-Deep-Research Chrome/135.0.0.0 Safari/537.36",
		"Google-NotebookLM", "curl/8.14.1", "Wget/1.25.0", "python-requests/2.32.3",
	} {
		v := Visit{Method: "GET", UserAgent: agent, Host: "go.acme.example", Secure: true}
		a := FollowShareLink(v, acme(), classic(), "ANN", now)
		if a.SetCookie+a.SquatchCookie != "" || a.Followed.By != Agent || a.Followed.Code != "ANN" || !strings.Contains(a.Text, " ANN.") || !strings.Contains(a.Location, "rsCode=ANN") {
			t.Errorf("%q: %+v", agent, a)
		}
		// Behind the link it keeps the code in the URL of the page.
		if _, ok := TakeCode(v, acme(), classic(), "ANN", now); ok {
			t.Errorf("%q: the code is taken out of the page's URL", agent)
		}
	}
}
