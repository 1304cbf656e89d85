// Package link decides the responses to visitors of share links: the page to redirect
// to, the attribution cookie to set, and when no cookie may be set.
//
// It is pure: its functions take a visit, a tenant and a program, and return an
// Answer. The caller looks up tenant and program: the edge in its replica, the
// backend in the primary.
package link

import "kith/core"

// CodeParameter is the query parameter with a referral code (spec 2.7.6).
const CodeParameter = "rsCode"

// Further parameters of a share link (clients 1.7.5).
const (
	ShareMediumParameter      = "rsShareMedium"
	EngagementMediumParameter = "rsEngagementMedium"
	LandingPageParameter      = "rsLandingPage"
)

// MaxAge is the longest time for which an edge without a database keeps where a link leads.
const MaxAge = 5 * core.Minute

// LocaleParameter is the query parameter with the language of a page.
const LocaleParameter = "locale"

// Target is where the share link of a code leads: the settings of its tenant and program, and
// nothing of its owner.
type Target struct {
	Tenant core.TenantAlias
	// Policy is the tenant's consent policy.
	Policy Policy
	// SquatchParameter is that of Tenant.
	SquatchParameter bool
	Program          Program
	// MasterKey is the value of auth.MasterKeyOf.
	MasterKey string
}

// Program is the part of a referral program that share links need.
type Program struct {
	Key core.ProgramKey
	// LandingURL is the page that share links redirect to: an absolute http or https
	// URL, which may have a query and a fragment.
	LandingURL string
	// AllowedHosts are further hosts, each with its port unless that is the default,
	// that rsLandingPage may have. The host of LandingURL is always allowed.
	AllowedHosts []string
	// CookieLife is how long a visit counts for attribution.
	CookieLife core.Time
	// UTMSource is the utm_source of landing pages; empty is the share medium of the link, or
	// "referral". UTMCampaign is their utm_campaign; where a link is answered, it is the
	// program's name if none is set.
	UTMSource, UTMCampaign string
}

// DefaultCookieLife is the default of Program.CookieLife.
//
// Spec silent: similar services use 30 to 90 days, and browsers allow at most 400.
const DefaultCookieLife = 30 * core.Day

// SquatchParameter says whether landing pages get the parameter _saasquatch.
type SquatchParameter string

const (
	// SquatchAuto is off until a browser script of the older API calls, which turns it on. It
	// is the default.
	SquatchAuto SquatchParameter = "auto"
	SquatchOn   SquatchParameter = "on"
	SquatchOff  SquatchParameter = "off"
)

// ParseSquatchParameter returns s as a setting, or an error about field.
func ParseSquatchParameter(field, s string) (SquatchParameter, error) {
	switch p := SquatchParameter(s); p {
	case SquatchAuto, SquatchOn, SquatchOff:
		return p, nil
	}
	return "", core.Invalid(field, "must be auto, on or off")
}

// Visit is the part of a browser's request that decides the response.
type Visit struct {
	Method string
	// Secure is true if the visitor's connection is https.
	Secure bool
	// Host is the host of the request.
	Host string
	// Path and Query are as sent, percent-encoded, without "?".
	Path, Query string
	// Cookie is the value of the Cookie header; several headers are joined by "; ".
	Cookie string
	// Values of the headers User-Agent, Sec-Purpose, Purpose, Sec-GPC and DNT.
	UserAgent, SecPurpose, Purpose, GPC, DNT string
}

// Answer is the response to a visitor: a redirect that caches must not store.
type Answer struct {
	// Status is 302: browsers cache 301 and 308 permanently, and 307 would repeat a
	// POST at the landing page.
	Status int
	// Location is the URL to redirect to.
	Location string
	// SetCookie is the whole header value, or empty.
	SetCookie string
	// SquatchCookie is the header value of a second cookie, or empty. Existing
	// clients request the service to read it for pages of other sites, which have no
	// cookie of their own.
	SquatchCookie string
	// Text is the body of the answer to an agent, plain text; empty for others.
	Text string
	// Followed is the share link to count; zero for other pages and unknown codes.
	Followed Followed
}

const found = 302

// CacheControl is the Cache-Control value of every Answer.
const CacheControl = "private, no-store"
