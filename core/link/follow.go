package link

import (
	"encoding/base64"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
)

// Tenant is what a link needs to know of a tenant.
type Tenant struct {
	Alias  core.TenantAlias
	Policy Policy
	// Cookies signs the tenant's attribution cookies.
	Cookies auth.Signer
}

// FollowShareLink answers GET or HEAD /s/{tenant}/{code}. The code is the one
// that was found, in its own spelling, or empty when there is no such code:
// such a link still leads to the shop, with nothing to attribute.
func FollowShareLink(v Visit, t Tenant, p Program, code core.ReferralCode, now core.Time) Answer {
	page := landing(p, value(v.Query, LandingPageParameter))
	if code == "" {
		return Answer{Status: found, Location: location(page)}
	}
	visit := Attribution{
		Program: p.Key, Code: code, Visited: now,
		ShareMedium:      medium(value(v.Query, ShareMediumParameter)),
		EngagementMedium: medium(value(v.Query, EngagementMediumParameter)),
	}
	squatch := squatchParameter(v, t, p, visit)
	return Answer{
		Status: found,
		Location: location(merge(page, append([]parameter{
			{CodeParameter, string(code)},
			{ShareMediumParameter, visit.ShareMedium},
			{EngagementMediumParameter, visit.EngagementMedium},
			{SquatchCookieName, squatch},
		}, campaign(page)...))),
		SetCookie: remember(v, t, p, visit), SquatchCookie: squatchCookie(v, t, p, squatch),
	}
}

// squatchCookie returns the Set-Cookie value that keeps the same text at the
// service's own host (reference, 1.8), for calls of pages on other sites. Browsers
// keep such a cookie on https only. The last link that was followed counts.
func squatchCookie(v Visit, t Tenant, p Program, text string) string {
	life := p.CookieLife
	if text == "" {
		if t.Policy.stance(v) != withdrawn || machine(v) || FindSquatchCookie(v.Cookie) == "" {
			return ""
		}
		life = 0
	}
	if !v.Secure {
		return ""
	}
	return SquatchCookieName + "=" + text + "; Path=/; Max-Age=" + strconv.FormatInt(int64(life/core.Second), 10) +
		"; HttpOnly; SameSite=None; Secure"
}

// campaign are the parameters by which a shop's own statistics know visits of
// share links, but for those that its page has already (reference, 1.7).
func campaign(page string) (missing []parameter) {
	page, _, _ = strings.Cut(page, "#")
	_, query, _ := strings.Cut(page, "?")
	for _, p := range [...]parameter{{"utm_source", "invite"}, {"utm_medium", "link"}, {"utm_campaign", "saasquatch"}} {
		if !has(query, p.name) {
			missing = append(missing, p)
		}
	}
	return missing
}

// squatchParameter is what existing browser scripts make their own cookie of
// (reference, 1.8): base64url of JSON that names the service's host, the code and
// until when it counts. It is empty where no cookie may be set.
func squatchParameter(v Visit, t Tenant, p Program, a Attribution) string {
	if v.Host == "" || !hostLike(v.Host) || !Remembered(v, t.Policy) {
		return ""
	}
	code := string(a.Code)
	return base64.RawURLEncoding.EncodeToString([]byte(`{"` + v.Host + `":{"` + string(t.Alias) + `_CODE":{"codes":{"` +
		string(p.Key) + `":"` + code + `"},"codesExp":{"` + code + `":` +
		strconv.FormatInt(int64(a.Visited+p.CookieLife), 10) + `}}}}`))
}

// hostLike reports whether a host can stand in JSON as it is.
func hostLike(host string) bool {
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Carried returns the code that a page request carries in its query; ok is
// false when it carries none. The code may be empty: then the parameter holds
// nothing that could be a code.
func Carried(query string) (code core.ReferralCode, ok bool) {
	if !has(query, CodeParameter) {
		return "", false
	}
	code, _ = core.ParseReferralCode(CodeParameter, value(query, CodeParameter))
	return code, true
}

// TakeCode answers a page request in front of a shop that carries rsCode: the
// code moves from the URL into the cookie and the visitor is sent to the same
// URL without it. The code is the one that was found, or empty.
//
// ok is false when the request is to be passed on as it is: the visitor allows
// no cookie, and without one the URL is the only place where the code can
// travel.
func TakeCode(v Visit, t Tenant, p Program, code core.ReferralCode, now core.Time) (a Answer, ok bool) {
	a = Answer{Status: found, Location: inPlace(v.Path, without(v.Query, CodeParameter))}
	if code == "" || machine(v) {
		return a, true
	}
	if t.Policy.stance(v) != permitted {
		return Answer{}, false
	}
	a.SetCookie = remember(v, t, p, Attribution{
		Program: p.Key, Code: code, Visited: now,
		ShareMedium:      medium(value(v.Query, ShareMediumParameter)),
		EngagementMedium: medium(value(v.Query, EngagementMediumParameter)),
	})
	return a, true
}

// remember returns the Set-Cookie value that this visit earns, if any.
func remember(v Visit, t Tenant, p Program, a Attribution) string {
	switch {
	case Remembered(v, t.Policy):
		return setCookie(CookieName(t.Alias), a.Encode(t.Cookies), p.CookieLife, v.Secure)
	case !machine(v) && t.Policy.stance(v) == withdrawn:
		return forget(v, t)
	}
	return ""
}

// Remembered reports whether a visit with a code earns the attribution cookie. Only
// then are Tenant.Cookies used.
func Remembered(v Visit, p Policy) bool { return !machine(v) && p.stance(v) == permitted }

// forget returns the Set-Cookie value that deletes the cookie, if there is one.
func forget(v Visit, t Tenant) string {
	if FindCookie(t.Alias, v.Cookie) == "" {
		return ""
	}
	return setCookie(CookieName(t.Alias), "", 0, v.Secure)
}

// inPlace is a URL of the visit's own host. It stays relative, so that it is
// right behind any proxy. A path that begins with two slashes, or with what a
// browser reads as such, would then name another host, and so would a whole URL
// in the place of a path: these are led by a dot segment, which browsers drop.
func inPlace(path, query string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if len(path) > 1 && (path[1] == '/' || path[1] == '\\') {
		path = "/." + path
	}
	if query != "" {
		path += "?" + query
	}
	return location(path)
}
