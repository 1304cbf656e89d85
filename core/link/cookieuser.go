package link

import (
	"strings"

	"kith/core"
	"kith/core/auth"
)

// cookieUserLife is how long a browser is known after its last call: the most
// that browsers grant a cookie.
const cookieUserLife = 400 * core.Day

// CookieUserName is the name of the cookie that knows a tenant's cookie user. No
// tenant's attribution cookie has this name, whatever its alias; see CookieName.
func CookieUserName(tenant core.TenantAlias) string { return "kith-user_" + string(tenant) }

// FindCookieUser returns the id of the user that a browser was given, in its
// Cookie header; ok is false when it brings none that by signed.
func FindCookieUser(tenant core.TenantAlias, by auth.Signer, header string) (id core.UserID, ok bool) {
	text := cookieValue(header, CookieUserName(tenant))
	body, mac, _ := strings.Cut(text, "~")
	version, name, _ := strings.Cut(body, ".")
	if len(text) > 512 || !by.Verify(body, mac) || version != cookieVersion {
		return "", false
	}
	id, err := core.ParseUserID("", name)
	return id, err == nil
}

// RememberCookieUser returns the Set-Cookie value by which a browser is known
// again: version, dot and id, then a tilde and the signature over them. It is
// empty when the tenant's policy, or the browser, wants no cookie; when it is
// withdrawn, the value deletes one that is there.
//
// The cookie is out of reach of scripts. Over https it goes along from pages of
// other sites, as widgets are shown there; a page that may not call (package
// origin) makes no call with it, since a PUT is asked for before.
func RememberCookieUser(v Visit, t Tenant, by auth.Signer, id core.UserID) string {
	name := CookieUserName(t.Alias)
	switch t.Policy.stance(v) {
	case permitted:
		body := cookieVersion + "." + string(id)
		return crossSite(setCookie(name, body+"~"+by.Sign(body), cookieUserLife, v.Secure), v.Secure)
	case withdrawn:
		if cookieValue(v.Cookie, name) != "" {
			return crossSite(setCookie(name, "", 0, v.Secure), v.Secure)
		}
	}
	return ""
}

// crossSite lets a cookie go along from pages of other sites; browsers allow it
// over https only.
func crossSite(cookie string, secure bool) string {
	if !secure {
		return cookie
	}
	return strings.Replace(cookie, "; SameSite=Lax", "; SameSite=None", 1)
}
