package link

import "strings"

// Consent is a tenant's policy for the attribution cookie.
type Consent string

const (
	// ConsentOff sets the cookie without consent: the tenant has another legal basis.
	// It is the default.
	ConsentOff Consent = "off"
	// ConsentOptIn sets it only when the tenant's consent cookie grants it.
	ConsentOptIn Consent = "opt-in"
	// ConsentOptOut sets it unless the tenant's consent cookie denies it.
	ConsentOptOut Consent = "opt-out"
)

// ParseConsent parses a policy; ok is false if it is unknown.
func ParseConsent(s string) (c Consent, ok bool) {
	c = Consent(s)
	return c, c == ConsentOff || c == ConsentOptIn || c == ConsentOptOut
}

// Policy is a tenant's settings for cookies.
type Policy struct {
	Consent Consent
	// ConsentCookie is the name of the cookie in which the shop's consent banner
	// stores the visitor's choice. 1, true, yes, granted, allow and accepted grant
	// consent; 0, false, no, denied, deny and rejected deny it; any other value is no
	// choice. Case is ignored.
	ConsentCookie string
}

// stance is what a visitor said about cookies.
type stance uint8

const (
	// silent: with opt-in, the visitor has not answered. No cookie is set, and an
	// existing one stays.
	silent stance = iota
	// refused: no cookie is set, and an existing one attributes nothing and is deleted.
	refused
	permitted
)

// stance returns what a visitor said about cookies. A signal of the browser (Sec-GPC,
// DNT) overrides the banner. An unknown value of the consent cookie is no answer.
func (p Policy) stance(v Visit) stance {
	if strings.TrimSpace(v.GPC) == "1" || strings.TrimSpace(v.DNT) == "1" {
		return refused
	}
	if p.Consent == ConsentOff || p.Consent == "" {
		return permitted
	}
	granted, denied := consentAnswer(cookieValue(v.Cookie, p.ConsentCookie))
	switch {
	case denied:
		return refused
	case p.Consent == ConsentOptOut || granted:
		return permitted
	}
	return silent
}

// Place is where a call has the text of a referral cookie: the attribution cookie or
// _saasquatch.
type Place uint8

const (
	// InBrowser is the Cookie header of a browser's call, which has the consent cookie
	// too if the visitor answered.
	InBrowser Place = iota
	// InScript is the field or parameter cookies of a browser's call. The page may be on
	// another host, whose consent cookie the call does not have.
	InScript
	// InServer is any part of a call with the API key. Its headers are those that the
	// shop's server forwards.
	InServer
)

// Counts reports whether a referral cookie in a place of a call may attribute a user
// or fill a form (clients 1.8.8). Of v it uses Cookie, GPC and DNT.
func (p Policy) Counts(v Visit, in Place) bool {
	switch p.stance(v) {
	case permitted:
		return true
	case silent:
		return in != InBrowser
	}
	return false
}

// Forget returns the Set-Cookie values that delete the referral cookies of a visitor
// who refused (clients 1.8.9): the attribution cookie, and _saasquatch of the
// service's host. Each is empty if the visit does not have that cookie, or if the
// visitor did not refuse. Of t it uses Alias and Policy.
func Forget(v Visit, t Tenant) (own, squatch string) {
	if t.Policy.stance(v) != refused {
		return "", ""
	}
	if FindCookie(t.Alias, v.Cookie) != "" {
		own = setCookie(CookieName(t.Alias), "", 0, v.Secure)
	}
	if FindSquatchCookie(v.Cookie) != "" {
		squatch = setSquatchCookie("", 0, v.Secure)
	}
	return own, squatch
}

func consentAnswer(value string) (granted, denied bool) {
	switch strings.ToLower(value) {
	case "1", "true", "yes", "granted", "allow", "accepted":
		return true, false
	case "0", "false", "no", "denied", "deny", "rejected":
		return false, true
	}
	return false, false
}

// followerOf returns who made a request. Only a person gets a cookie: one for a bot would
// record a visit that did not happen, and an agent does not keep it.
func followerOf(v Visit) Follower {
	switch {
	case v.Method == "HEAD", prefetches(v):
		return Bot
	case agentMarks.in(v.UserAgent):
		// Before the bots: some name a page about "bot" in their User-Agent.
		return Agent
	case botMarks.in(v.UserAgent):
		return Bot
	}
	return Person
}

func prefetches(v Visit) bool {
	for _, purpose := range []string{v.SecPurpose, v.Purpose} {
		if strings.Contains(purpose, "prefetch") || strings.Contains(purpose, "preview") ||
			strings.Contains(purpose, "prerender") {
			return true
		}
	}
	return false
}
