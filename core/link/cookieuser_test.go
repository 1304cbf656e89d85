package link

import (
	"strings"
	"testing"

	"kith/core/auth"
)

func cookieUserRing(t *testing.T) auth.Keyring {
	t.Helper()
	k, err := auth.ParseKeyring(strings.Repeat("5", 64))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCookieUser_IsRecognized(t *testing.T) {
	by := cookieUserRing(t).CookieUser("acme")
	for name, c := range map[string]struct {
		secure bool
		end    string
	}{
		"http":  {false, "; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax"},
		"https": {true, "; Path=/; Max-Age=34560000; HttpOnly; SameSite=None; Secure"},
	} {
		set := RememberCookieUser(Visit{Secure: c.secure}, Tenant{Alias: "acme"}, by, "c1")
		pair, found := strings.CutSuffix(set, c.end)
		if !found {
			t.Errorf("%s: %q", name, set)
		}
		if id, ok := FindCookieUser("acme", by, "a=b; "+pair+"; c=d"); !ok || id != "c1" {
			t.Errorf("%s: %q is read as %q, %v", name, pair, id, ok)
		}
	}
}

func TestFindCookieUser_Forged(t *testing.T) {
	ring := cookieUserRing(t)
	by := ring.CookieUser("acme")
	for name, text := range map[string]string{
		"nothing":                "",
		"no signature":           "v1.c1",
		"an empty signature":     "v1.c1~",
		"another tenant's":       "v1.c1~" + ring.CookieUser("beta").Sign("v1.c1"),
		"another purpose's":      "v1.c1~" + ring.Cookie("acme").Sign("v1.c1"),
		"another id":             "v1.c2~" + by.Sign("v1.c1"),
		"another version":        "v2.c1~" + by.Sign("v2.c1"),
		"no id":                  "v1.~" + by.Sign("v1."),
		"trailing text":          "v1.c1~" + by.Sign("v1.c1") + "~",
		"longer than any cookie": "v1.c1~" + by.Sign("v1.c1") + strings.Repeat("x", 512),
	} {
		if id, ok := FindCookieUser("acme", by, CookieUserName("acme")+"="+text); ok || id != "" {
			t.Errorf("%s: read as %q", name, id)
		}
	}
}

func TestRememberCookieUser_FollowsPolicy(t *testing.T) {
	by := cookieUserRing(t).CookieUser("acme")
	const old = "kith-user_acme=v1.c1~x"
	for name, c := range map[string]struct {
		visit  Visit
		policy Policy
		want   string
	}{
		"opt-in without an answer": {Visit{}, Policy{Consent: ConsentOptIn, ConsentCookie: "agreed"}, ""},
		"a privacy signal":         {Visit{GPC: "1"}, Policy{}, ""},
		"a privacy signal with a cookie": {Visit{DNT: "1", Cookie: old}, Policy{},
			"kith-user_acme=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"},
		"withdrawn": {Visit{Cookie: "agreed=no"}, Policy{Consent: ConsentOptOut, ConsentCookie: "agreed"}, ""},
		"withdrawn with a cookie": {Visit{Cookie: "agreed=no; " + old}, Policy{Consent: ConsentOptOut, ConsentCookie: "agreed"},
			"kith-user_acme=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"},
		"withdrawn with a cookie, over https": {Visit{Secure: true, Cookie: "agreed=no; " + old}, Policy{Consent: ConsentOptOut, ConsentCookie: "agreed"},
			"kith-user_acme=; Path=/; Max-Age=0; HttpOnly; SameSite=None; Secure"},
	} {
		if got := RememberCookieUser(c.visit, Tenant{Alias: "acme", Policy: c.policy}, by, "c1"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
