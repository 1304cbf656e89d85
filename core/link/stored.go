package link

import "kith/core"

// CookieUse is what a cookie is for.
type CookieUse string

const (
	// RemembersVisit is the attribution cookie, at the host that answered the share link.
	RemembersVisit CookieUse = "visit"
	// RemembersForClients is _saasquatch at the service's host, for calls from pages of
	// other sites. It is set over https only.
	RemembersForClients CookieUse = "clients"
	// RemembersInShop is _saasquatch at the shop's domain, which the script kith.js sets.
	RemembersInShop CookieUse = "shop"
	// KnowsBrowser is the cookie of a user without ids, who is a browser.
	KnowsBrowser CookieUse = "browser"
)

// ScriptCookieLife is how long kith.js keeps a code in the shop's domain.
const ScriptCookieLife = 365 * core.Day

// StoredCookie is a cookie that the service stores in browsers of visitors.
type StoredCookie struct {
	Name string
	Use  CookieUse
	// Life is how long a browser keeps it, at most.
	Life core.Time
}

// StoredCookies returns all cookies that the service stores in browsers of a tenant's
// visitors, if the tenant's policy permits. browsers is true if the tenant permits users
// without ids.
func StoredCookies(tenant core.TenantAlias, programs []Program, browsers bool) []StoredCookie {
	life := core.Time(0)
	for _, p := range programs {
		life = max(life, p.CookieLife)
	}
	var all []StoredCookie
	if len(programs) > 0 {
		all = append(all,
			StoredCookie{CookieName(tenant), RemembersVisit, life},
			StoredCookie{SquatchCookieName, RemembersForClients, life},
			StoredCookie{SquatchCookieName, RemembersInShop, ScriptCookieLife})
	}
	if browsers {
		all = append(all, StoredCookie{CookieUserName(tenant), KnowsBrowser, cookieUserLife})
	}
	return all
}
