package link

import (
	"errors"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
)

// Attribution is the content of the attribution cookie. It has no personal data of
// the visitor, and the code is public.
type Attribution struct {
	Program core.ProgramKey
	Code    core.ReferralCode
	// ShareMedium and EngagementMedium are those of the share link, or empty.
	ShareMedium, EngagementMedium string
	// Visited is when the link was followed.
	Visited core.Time
}

// CookieName returns the name of a tenant's attribution cookie. It contains the
// alias, because live and test tenants may share a host.
func CookieName(tenant core.TenantAlias) string { return "kith_" + string(tenant) }

// cookieVersion begins the value, so that the format can change.
const cookieVersion = "v1"

// maxAhead is how far the clock of another edge may be ahead of this one.
const maxAhead = 5 * core.Minute

// Reasons why a cookie is refused.
var (
	ErrCookieForm    = errors.New("the attribution cookie is malformed")
	ErrCookieForged  = errors.New("the attribution cookie is not signed by this tenant")
	ErrCookieExpired = errors.New("the attribution cookie has expired")
)

// Encode returns the cookie value: version, time in base 36, program, code, mediums
// and an HMAC-SHA256 of them, separated by dots. All parts have only characters that
// a cookie value may have, so nothing is escaped.
func (a Attribution) Encode(by auth.Signer) string {
	body := strings.Join([]string{
		cookieVersion, strconv.FormatInt(int64(a.Visited), 36), string(a.Program), string(a.Code),
		a.ShareMedium, a.EngagementMedium,
	}, ".")
	return body + "." + by.Sign(body)
}

// ParseAttribution parses a cookie value and verifies its signature. Check its age
// with Fresh, which needs the program's cookie life.
func ParseAttribution(by auth.Signer, text string) (Attribution, error) {
	cut := strings.LastIndexByte(text, '.')
	if cut < 0 || len(text) > 512 {
		return Attribution{}, ErrCookieForm
	}
	body, mac := text[:cut], text[cut+1:]
	if !by.Verify(body, mac) {
		return Attribution{}, ErrCookieForged
	}
	parts := strings.Split(body, ".")
	if len(parts) != 6 || parts[0] != cookieVersion {
		return Attribution{}, ErrCookieForm
	}
	visited, err := strconv.ParseInt(parts[1], 36, 64)
	program, programErr := core.ParseProgramKey("", parts[2])
	code, codeErr := core.ParseReferralCode("", parts[3])
	if err != nil || programErr != nil || codeErr != nil {
		return Attribution{}, ErrCookieForm
	}
	return Attribution{
		Program: program, Code: code, Visited: core.Time(visited),
		ShareMedium: medium(parts[4]), EngagementMedium: medium(parts[5]),
	}, nil
}

// Fresh returns ErrCookieExpired if the visit is older than life, or more than 5
// minutes in the future.
func (a Attribution) Fresh(life, now core.Time) error {
	if a.Visited > now+maxAhead || now-a.Visited > life {
		return ErrCookieExpired
	}
	return nil
}

// FindCookie returns the value of a tenant's attribution cookie in a Cookie
// header, or "".
func FindCookie(tenant core.TenantAlias, header string) string {
	return cookieValue(header, CookieName(tenant))
}

// SquatchCookieName is the name of the cookie in which existing clients of the API
// store codes (clients 1.8.1).
const SquatchCookieName = "_saasquatch"

// FindSquatchCookie returns the value of that cookie in a Cookie header, or "".
func FindSquatchCookie(header string) string { return cookieValue(header, SquatchCookieName) }

// setCookie returns a Set-Cookie value: first-party, HttpOnly, and sent when the
// visitor follows a link from another site (SameSite=Lax).
func setCookie(name, value string, life core.Time, secure bool) string {
	s := name + "=" + value + "; Path=/; Max-Age=" + strconv.FormatInt(int64(life/core.Second), 10) +
		"; HttpOnly; SameSite=Lax"
	if secure {
		s += "; Secure"
	}
	return s
}

// cookieValue returns the first cookie of that name, without quotes.
func cookieValue(header, name string) string {
	if name == "" {
		return ""
	}
	for header != "" {
		var pair string
		pair, header, _ = strings.Cut(header, ";")
		if key, text, found := strings.Cut(strings.TrimSpace(pair), "="); found && key == name {
			return strings.Trim(text, `"`)
		}
	}
	return ""
}

// medium returns s if it has the form of a medium (clients 1.7.2: words such as
// FACEBOOK), else "", so that other text in a URL is not passed on.
func medium(s string) string {
	if len(s) > 32 {
		return ""
	}
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return ""
		}
	}
	return s
}
