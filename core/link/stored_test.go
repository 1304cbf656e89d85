package link

import (
	"strconv"
	"strings"
	"testing"

	"kith/core"
)

// StoredCookies lists each cookie that an answer sets, with its lifetime, under each
// policy and for each answer of the visitor.
func TestStoredCookies(t *testing.T) {
	second := classic()
	second.Key, second.CookieLife = "second", 90*core.Day
	stored := StoredCookies("acme", []Program{classic(), second}, true)
	life := map[string]core.Time{}
	for _, c := range stored {
		if c.Use != RemembersInShop {
			life[c.Name] = c.Life
		}
	}
	if len(stored) != 4 || life["kith_acme"] != 90*core.Day || life["_saasquatch"] != 90*core.Day || life["kith-user_acme"] != cookieUserLife {
		t.Errorf("stored %+v", stored)
	}
	seen := map[string]bool{}
	check := func(header, permitted string) {
		if header == "" {
			return
		}
		name, value, attributes := cookieOf(t, header)
		if value == "" {
			return // it is deleted
		}
		_, rest, _ := strings.Cut(attributes, "Max-Age=")
		age, _, _ := strings.Cut(rest, ";")
		seconds, err := strconv.ParseInt(age, 10, 64)
		if err != nil || seconds <= 0 || core.Time(seconds)*core.Second > life[name] {
			t.Errorf("%s: the cookie lives for %s s, listed is %d ms", permitted, age, life[name])
		}
		seen[name] = true
	}
	for _, policy := range []Policy{{}, {Consent: ConsentOff}, {Consent: ConsentOptIn, ConsentCookie: "ok"}, {Consent: ConsentOptOut, ConsentCookie: "ok"}} {
		for _, cookie := range []string{"", "ok=yes", "ok=no"} {
			for _, p := range []Program{classic(), second} {
				v := Visit{Method: "GET", Secure: true, Host: "kith.example", Cookie: cookie, UserAgent: chrome, Path: "/", Query: "rsCode=ANNA10"}
				tenant := acme()
				tenant.Policy = policy
				name := string(policy.Consent) + " " + cookie
				a := FollowShareLink(v, tenant, p, "ANNA10", now)
				check(a.SetCookie, name)
				check(a.SquatchCookie, name)
				if a, ok := TakeCode(v, tenant, p, "ANNA10", now); ok {
					check(a.SetCookie, name)
				}
				check(RememberCookieUser(v, tenant, cookies("acme"), "u1"), name)
			}
		}
	}
	if len(seen) != len(life) {
		t.Errorf("set were %v, listed are %v", seen, life)
	}
	if got := StoredCookies("acme", nil, false); got != nil {
		t.Errorf("without programs: %+v", got)
	}
	if got := StoredCookies("acme", []Program{classic()}, false); len(got) != 3 {
		t.Errorf("without users of browsers: %+v", got)
	}
}
