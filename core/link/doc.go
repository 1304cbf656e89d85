// Package link decides what a visitor's browser is told: where a share link
// leads, which attribution cookie is set, and when none may be.
//
// It is pure: a visit in, an answer out. Who is a visitor, what a tenant
// allows and where a program lands are parameters; looking them up is the
// business of the caller, the edge from its replica and the backend from the
// primary.
package link

import "kith/core"

// CodeParameter carries a referral code in a URL (spec, User identification).
const CodeParameter = "rsCode"

// Parameters of a share link besides the code (reference, 1.7).
const (
	ShareMediumParameter      = "rsShareMedium"
	EngagementMediumParameter = "rsEngagementMedium"
	LandingPageParameter      = "rsLandingPage"
)

// Program is what a link needs to know of a referral program.
type Program struct {
	Key core.ProgramKey
	// LandingURL is where share links lead: absolute, http or https; it may
	// have a query and a fragment.
	LandingURL string
	// AllowedHosts are the hosts (with a port when it is not the default one)
	// that rsLandingPage may name besides the host of LandingURL.
	AllowedHosts []string
	// CookieLife is how long a visit is remembered.
	CookieLife core.Time
}

// DefaultCookieLife is the life of the attribution cookie unless a program
// says otherwise.
//
// Spec silent: 30 days is the middle of what peers use (30 to 90) and well
// below what browsers allow (400).
const DefaultCookieLife = 30 * core.Day

// Visit is the part of a browser's request that decides the answer.
type Visit struct {
	Method string
	// Secure is true when the visitor's own connection is https.
	Secure bool
	// Host is the host that the visitor asked for.
	Host string
	// Path and Query are as sent, percent-encoding untouched, without "?".
	Path, Query string
	// Cookie is the value of the Cookie header; several are joined by "; ".
	Cookie string
	// Headers that say what the visitor is or wants.
	UserAgent, SecPurpose, Purpose, GPC, DNT string
}

// Answer is what the visitor gets: always a redirect, never a cached one.
type Answer struct {
	// Status is 302: a browser pins 301 and 308 for good, and 307 would repeat
	// a POST at the landing page.
	Status int
	// Location is where to go.
	Location string
	// SetCookie is the whole header value, or empty.
	SetCookie string
	// SquatchCookie is that of a second cookie, or empty: what existing clients
	// ask the service for when a page of another site has no cookie of its own.
	SquatchCookie string
}

const found = 302

// CacheControl is the Cache-Control value of every Answer.
const CacheControl = "private, no-store"
