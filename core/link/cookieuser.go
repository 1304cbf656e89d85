package link

import (
	"strings"

	"kith/core"
	"kith/core/auth"
)

// cookieUserLife is how long a browser is recognized after its last call: the longest
// life that browsers allow for a cookie.
const cookieUserLife = 400 * core.Day

// CookieUserName returns the name of the cookie that identifies a tenant's cookie
// user. It differs from the attribution cookie of every tenant; see CookieName.
func CookieUserName(tenant core.TenantAlias) string { return "kith-user_" + string(tenant) }

// FindCookieUser returns the id of the cookie user in a Cookie header; ok is false if
// there is no cookie with a valid signature.
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

// RememberCookieUser returns the Set-Cookie value that identifies a cookie user:
// version, dot, id, tilde, and the signature of version and id. It is empty if the
// tenant's policy or the browser does not permit a cookie. If the visitor refused, it
// deletes an existing cookie.
//
// The cookie is HttpOnly. Over https, browsers also send it from pages of other
// sites, where widgets are shown. A page of an origin that is not allowed (package
// origin) cannot use it, because browsers send a preflight before a PUT.
func RememberCookieUser(v Visit, t Tenant, by auth.Signer, id core.UserID) string {
	name := CookieUserName(t.Alias)
	switch t.Policy.stance(v) {
	case permitted:
		body := cookieVersion + "." + string(id)
		return crossSite(setCookie(name, body+"~"+by.Sign(body), cookieUserLife, v.Secure), v.Secure)
	case refused:
		if cookieValue(v.Cookie, name) != "" {
			return crossSite(setCookie(name, "", 0, v.Secure), v.Secure)
		}
	}
	return ""
}

// crossSite makes browsers send a cookie from pages of other sites too, which they
// allow only over https.
func crossSite(cookie string, secure bool) string {
	if !secure {
		return cookie
	}
	return strings.Replace(cookie, "; SameSite=Lax", "; SameSite=None", 1)
}
