package link

import "strings"

// Consent is a tenant's policy for the attribution cookie.
type Consent string

const (
	// ConsentOff sets the cookie without asking: the tenant has another legal
	// ground. The default.
	ConsentOff Consent = "off"
	// ConsentOptIn sets it only when the tenant's consent cookie grants it.
	ConsentOptIn Consent = "opt-in"
	// ConsentOptOut sets it unless the tenant's consent cookie denies it.
	ConsentOptOut Consent = "opt-out"
)

// ParseConsent returns s as a policy; ok is false when it is none.
func ParseConsent(s string) (c Consent, ok bool) {
	c = Consent(s)
	return c, c == ConsentOff || c == ConsentOptIn || c == ConsentOptOut
}

// Policy is what a tenant decided about cookies.
type Policy struct {
	Consent Consent
	// ConsentCookie names the cookie in which the shop's consent banner keeps
	// its answer: granted is 1, true, yes, granted, allow or accepted; denied is
	// 0, false, no, denied, deny or rejected; anything else is no answer.
	ConsentCookie string
}

// stance is what a visitor allows.
type stance uint8

const (
	refused   stance = iota // no cookie
	withdrawn               // no cookie, and the one that is there goes
	permitted
)

// stance tells whether a cookie may be set. A browser's own signal (Sec-GPC,
// DNT) weighs more than any banner; an unknown answer to an opt-in is a no.
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

// machine reports whether no person looks at the answer: a HEAD, a prefetch or
// a known preview bot. A cookie set for one would claim a visit that nobody
// made.
func machine(v Visit) bool {
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
