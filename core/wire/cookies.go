package wire

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

// CookieCode is a code in a _saasquatch cookie.
type CookieCode struct {
	// Program is empty if the cookie's key is not a valid program key.
	Program core.ProgramKey
	// Code is empty if the cookie's value is not a valid code.
	Code core.ReferralCode
	// Expires is when the code expires; zero if the cookie does not have it.
	Expires core.Time
}

// CookieCodes returns a tenant's codes in a _saasquatch cookie (clients 1.8.1),
// which is base64url of {"<domain>":{"<tenant>_CODE":{"codes":{"<program>":"<CODE>"},
// "codesExp":{"<CODE>":<time>}}}}, for any domain. It returns at most 20 codes; ok is
// false for an invalid cookie.
func CookieCodes(tenant core.TenantAlias, text string) (codes []CookieCode, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || tooDeep(raw) || !gjson.ValidBytes(raw) { // in this order: gjson recurses
		return nil, false
	}
	document := gjson.ParseBytes(raw)
	if !document.IsObject() {
		return nil, false
	}
	document.ForEach(func(_, domain gjson.Result) bool {
		domain.ForEach(func(name, entry gjson.Result) bool {
			if name.String() == string(tenant)+"_CODE" {
				codes = append(codes, codesOf(entry)...)
			}
			return true
		})
		return len(codes) < maxCodes
	})
	return codes, true
}

func codesOf(entry gjson.Result) (codes []CookieCode) {
	expiries := expiriesOf(entry)
	member(entry, "codes").ForEach(func(key, value gjson.Result) bool {
		c := CookieCode{Expires: expiries[value.String()]}
		c.Program, _ = core.ParseProgramKey("", key.String())
		c.Code, _ = core.ParseReferralCode("", value.String())
		codes = append(codes, c)
		return len(codes) < maxCodes
	})
	return codes
}

// firstExpiry is the smallest number that is read as a time: the year 2001 in
// seconds. Published samples have smaller numbers as placeholders.
const firstExpiry = 1_000_000_000

// expiriesOf returns when codes expire. The unit is not published, so the size of a
// number decides whether it is in seconds or milliseconds.
func expiriesOf(entry gjson.Result) map[string]core.Time {
	expiries := map[string]core.Time{}
	member(entry, "codesExp").ForEach(func(code, value gjson.Result) bool {
		n := value.Num
		if value.Type != gjson.Number || n < firstExpiry || n >= firstExpiry*1000*1000 {
			return true
		}
		if n < firstExpiry*100 {
			n *= 1000
		}
		expiries[code.String()] = core.Time(n)
		return len(expiries) < maxCodes
	})
	return expiries
}

// CookieClaims returns the claims of a _saasquatch cookie from a source. An invalid
// cookie or code is a claim with a Fault, not an error of the call, because browsers
// send the cookie whatever its content.
func CookieClaims(tenant core.TenantAlias, source referral.Source, text string) []referral.Claim {
	codes, ok := CookieCodes(tenant, text)
	if !ok {
		return []referral.Claim{{Source: source, Fault: referral.RuleCookieForm}}
	}
	var claims []referral.Claim
	for _, c := range codes {
		claim := referral.Claim{Source: source, Code: c.Code, Expires: c.Expires}
		if c.Code == "" {
			claim.Fault = referral.RuleCookieForm
		}
		claims = append(claims, claim)
	}
	return claims
}

// VisitorCodes returns the codes of a visitor in the order in which they would
// attribute: that of the attribution cookie, if own is not nil, those of the first-party
// _saasquatch cookie, and those of the third-party one. The last two cookies are not
// signed, so their codes may not exist: FirstCodes leaves those out.
func VisitorCodes(tenant core.TenantAlias, own *link.Attribution, firstParty, thirdParty string, now core.Time) []CookieCode {
	var all []CookieCode
	if own != nil {
		all = append(all, CookieCode{Program: own.Program, Code: own.Code})
	}
	for _, text := range []string{firstParty, thirdParty} {
		codes, _ := CookieCodes(tenant, text)
		all = append(all, codes...)
	}
	return slices.DeleteFunc(all, func(c CookieCode) bool {
		return c.Program == "" || c.Code == "" || c.Expires != 0 && c.Expires <= now
	})
}

// FirstCodes returns the first code of each program that exists. existing has the codes
// as they are stored; it is asked for codes in any case.
func FirstCodes(all []CookieCode, existing []core.ReferralCode) (first []CookieCode) {
	for _, c := range all {
		at := slices.IndexFunc(existing, func(code core.ReferralCode) bool { return strings.EqualFold(string(code), string(c.Code)) })
		taken := slices.ContainsFunc(first, func(f CookieCode) bool { return f.Program == c.Program })
		if at >= 0 && !taken {
			c.Code = existing[at]
			first = append(first, c)
		}
	}
	return first
}

// Consent returns a tenant's policy for cookies as JSON. life is for how long a code of a
// page's URL counts.
func Consent(p link.Policy, life core.Time) []byte {
	w := begin(nil)
	w.text("consent", string(p.Consent))
	w.textOrNull("consentCookie", p.ConsentCookie)
	w.number("cookieLife", int64(life))
	return w.end()
}

// ReferralCookie returns a visitor's codes as JSON, most preferred first, for three
// generations of clients (clients 1.8.6), which read code, codes[0] or
// codes[program]. Without codes, code and codes[0] are empty strings, so that no
// client fails.
func ReferralCookie(codes []CookieCode) []byte {
	first := ""
	if len(codes) > 0 {
		first = string(codes[0].Code)
	}
	w := begin(nil)
	w.text("code", first)
	w.object("codes", func() {
		w.text("0", first)
		for _, c := range codes {
			if c.Program != "0" {
				w.text(string(c.Program), string(c.Code))
			}
		}
	})
	return w.end()
}
