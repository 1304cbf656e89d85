package link

import (
	"encoding/base64"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
)

// Tenant is the part of a tenant that share links need.
type Tenant struct {
	Alias  core.TenantAlias
	Policy Policy
	// Cookies returns the signer of the tenant's attribution cookies. It is called only for
	// a visit that gets a cookie. The zero Signer makes none: links redirect without one.
	Cookies func() auth.Signer
	// SquatchParameter is true if landing pages get _saasquatch, which browser scripts of the
	// older API read.
	SquatchParameter bool
}

// FollowShareLink returns the response to GET or HEAD /s/{tenant}/{code}. code is the
// stored code in its own spelling, or empty if the code does not exist: such a link
// still redirects to the shop, without an attribution.
func FollowShareLink(v Visit, t Tenant, p Program, code core.ReferralCode, now core.Time) Answer {
	page, by, stance := landing(p, value(v.Query, LandingPageParameter)), followerOf(v), t.Policy.stance(v)
	if code == "" {
		return forgetting(v, t, by, Answer{Status: found, Location: location(page)})
	}
	visit := Attribution{
		Program: p.Key, Code: code, Visited: now,
		ShareMedium:      medium(value(v.Query, ShareMediumParameter)),
		EngagementMedium: medium(value(v.Query, EngagementMediumParameter)),
	}
	remembered := by == Person && stance == permitted
	squatch, inPage := "", ""
	if remembered {
		squatch = squatchParameter(v, t, p, visit)
	}
	if t.SquatchParameter {
		inPage = squatch
	}
	a := Answer{
		Status: found,
		Location: merge(location(page), append([]parameter{
			{CodeParameter, string(code)},
			{ShareMediumParameter, visit.ShareMedium},
			{EngagementMediumParameter, visit.EngagementMedium},
			{SquatchCookieName, inPage},
		}, campaign(page, p, visit)...)),
		Followed: followed(t.Alias, visit, stance, by),
	}
	if by == Agent {
		a.Text = "The referral code of this link is " + string(code) + ". Give it to the shop when the person signs up or orders.\n"
	}
	if remembered {
		a.SetCookie = remember(v, t, p, visit)
	}
	if squatch != "" {
		a.SquatchCookie = setSquatchCookie(squatch, p.CookieLife, v.Secure)
	}
	return forgetting(v, t, by, a)
}

// forgetting returns an answer that also deletes the referral cookies of a person who
// refused.
func forgetting(v Visit, t Tenant, by Follower, a Answer) Answer {
	if own, squatch := Forget(v, t); by == Person && own+squatch != "" {
		a.SetCookie, a.SquatchCookie = own, squatch
	}
	return a
}

// setSquatchCookie returns the Set-Cookie value that stores the text of squatchParameter
// at the service's host (clients 1.8.3), for calls from pages of other sites. It is
// empty for http, where browsers refuse such a cookie. The cookie of a later link
// replaces that of an earlier one.
func setSquatchCookie(text string, life core.Time, secure bool) string {
	if !secure {
		return ""
	}
	return SquatchCookieName + "=" + text + "; Path=/; Max-Age=" + strconv.FormatInt(int64(life/core.Second), 10) +
		"; HttpOnly; SameSite=None; Secure"
}

// campaign returns the parameters by which a shop's own statistics recognize visits
// through share links (clients 1.7.5), without those that the page already has.
func campaign(page string, of Program, a Attribution) (missing []parameter) {
	page, _, _ = strings.Cut(page, "#")
	_, query, _ := strings.Cut(page, "?")
	source := of.UTMSource
	if source == "" {
		if source = strings.ToLower(string(known(a.ShareMedium, ShareMediums))); source == "" || source == "unknown" {
			source = "referral"
		}
	}
	for _, p := range [...]parameter{{"utm_source", source}, {"utm_medium", "link"}, {"utm_campaign", of.UTMCampaign}} {
		if !has(query, p.name) {
			missing = append(missing, p)
		}
	}
	return missing
}

// squatchParameter returns the text that existing browser scripts store in their own
// cookie (clients 1.8.2): base64url of JSON with the service's host, the code and
// the time at which it expires. It is empty if the host is none that can be in JSON.
func squatchParameter(v Visit, t Tenant, p Program, a Attribution) string {
	if v.Host == "" || !hostLike(v.Host) {
		return ""
	}
	code := string(a.Code)
	return base64.RawURLEncoding.EncodeToString([]byte(`{"` + v.Host + `":{"` + string(t.Alias) + `_CODE":{"codes":{"` +
		string(p.Key) + `":"` + code + `"},"codesExp":{"` + code + `":` +
		strconv.FormatInt(int64(a.Visited+p.CookieLife), 10) + `}}}}`))
}

// hostLike reports whether a host needs no escaping in JSON.
func hostLike(host string) bool {
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Carried returns the code in the query of a page request; ok is false if the query
// has no rsCode. The code is empty if the parameter's value is not a valid code.
func Carried(query string) (code core.ReferralCode, ok bool) {
	if !has(query, CodeParameter) {
		return "", false
	}
	code, _ = core.ParseReferralCode(CodeParameter, value(query, CodeParameter))
	return code, true
}

// TakeCode returns the response to a request for a shop's page with rsCode, when the
// edge is in front of the shop: it moves the code from the URL to the cookie, and
// redirects to the same URL without it. code is the stored code, or empty if the code
// does not exist.
//
// ok is false if the request is to be forwarded unchanged: the visitor is an agent or permits
// no cookie, or none can be signed, so the code must stay in the URL.
func TakeCode(v Visit, t Tenant, p Program, code core.ReferralCode, now core.Time) (a Answer, ok bool) {
	a = Answer{Status: found, Location: inPlace(v.Path, without(v.Query, CodeParameter))}
	by := followerOf(v)
	if by == Bot || code == "" {
		return forgetting(v, t, by, a), true
	}
	if by == Agent || t.Policy.stance(v) != permitted {
		return Answer{}, false
	}
	a.SetCookie = remember(v, t, p, Attribution{
		Program: p.Key, Code: code, Visited: now,
		ShareMedium:      medium(value(v.Query, ShareMediumParameter)),
		EngagementMedium: medium(value(v.Query, EngagementMediumParameter)),
	})
	return a, a.SetCookie != ""
}

// remember returns the Set-Cookie value for a visit; "" if the tenant has no signer.
func remember(v Visit, t Tenant, p Program, a Attribution) string {
	by := t.Cookies()
	if !by.CanSign() {
		return ""
	}
	return setCookie(CookieName(t.Alias), a.Encode(by), p.CookieLife, v.Secure)
}

// inPlace returns a relative URL on the visit's host, which is correct behind any
// proxy. A path without a leading slash gets one, because it could be a whole URL. A
// path that begins with two slashes or backslashes would name another host; it gets a
// dot segment in front, which browsers remove.
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
