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

// stance is whether a visitor permits a cookie.
type stance uint8

const (
	refused   stance = iota // no cookie
	withdrawn               // no cookie, and an existing one is deleted
	permitted
)

// stance returns whether a cookie may be set. A signal of the browser (Sec-GPC, DNT)
// overrides the banner. With opt-in, an unknown value of the consent cookie is a
// refusal.
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
		return withdrawn
	case p.Consent == ConsentOptOut || granted:
		return permitted
	}
	return refused
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

// automated reports whether a request was not made by a person: it is a HEAD, a
// prefetch, or that of a known bot. A cookie for one would record a visit that did
// not happen.
func automated(v Visit) bool {
	if v.Method == "HEAD" {
		return true
	}
	for _, purpose := range []string{v.SecPurpose, v.Purpose} {
		if strings.Contains(purpose, "prefetch") || strings.Contains(purpose, "preview") ||
			strings.Contains(purpose, "prerender") {
			return true
		}
	}
	return bot(v.UserAgent)
}
