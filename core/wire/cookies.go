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

// CookieCode is one code that a _saasquatch cookie holds.
type CookieCode struct {
	// Program is empty when the cookie's key is none.
	Program core.ProgramKey
	// Code is empty when what stands there is none.
	Code core.ReferralCode
	// Expires is zero when the cookie does not say it.
	Expires core.Time
}

// CookieCodes reads what a _saasquatch cookie holds for a tenant (reference,
// 1.8): base64url of {"<domain>":{"<tenant>_CODE":{"codes":{"<program>":"<CODE>"},
// "codesExp":{"<CODE>":<time>}}}}, for whichever domain. Up to 20 codes are
// read; ok is false for a text that is no such document.
func CookieCodes(tenant core.TenantAlias, text string) (codes []CookieCode, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || !gjson.ValidBytes(raw) || tooDeep(raw) {
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
	entry.Get("codes").ForEach(func(key, value gjson.Result) bool {
		c := CookieCode{Expires: expiries[value.String()]}
		c.Program, _ = core.ParseProgramKey("", key.String())
		c.Code, _ = core.ParseReferralCode("", value.String())
		codes = append(codes, c)
		return len(codes) < maxCodes
	})
	return codes
}

// firstExpiry is the least number that is read as a time, 2001 in seconds:
// published samples have placeholders below it.
const firstExpiry = 1_000_000_000

// expiriesOf reads when codes expire. The unit is not published, so seconds are
// told from milliseconds by their size.
func expiriesOf(entry gjson.Result) map[string]core.Time {
	expiries := map[string]core.Time{}
	entry.Get("codesExp").ForEach(func(code, value gjson.Result) bool {
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

// CookieClaims are the claims of a _saasquatch cookie that came by that source.
// A browser sends it whatever it holds, so what cannot be read is a claim that
// cannot count and not an error of the call.
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

// VisitorCodes are the codes that a visitor came with, one of each program, in
// the order in which they would attribute: that of Kith's own cookie, when there
// is one that is believed, those of the first-party _saasquatch cookie, and those
// of the third-party one. The texts of the last two are what the visitor says:
// whether there are such codes is found out when one is used.
func VisitorCodes(tenant core.TenantAlias, own *link.Attribution, firstParty, thirdParty string, now core.Time) []CookieCode {
	var all, kept []CookieCode
	if own != nil {
		all = append(all, CookieCode{Program: own.Program, Code: own.Code})
	}
	for _, text := range []string{firstParty, thirdParty} {
		codes, _ := CookieCodes(tenant, text)
		all = append(all, codes...)
	}
	for _, c := range all {
		known := slices.ContainsFunc(kept, func(k CookieCode) bool { return k.Program == c.Program })
		if !known && c.Program != "" && c.Code != "" && (c.Expires == 0 || c.Expires > now) {
			kept = append(kept, c)
		}
	}
	return kept
}

// Consent writes a tenant's policy for cookies.
func Consent(p link.Policy) []byte {
	w := writer{}
	w.open()
	w.text("consent", string(p.Consent))
	w.textOrNull("consentCookie", p.ConsentCookie)
	w.close()
	return w.b
}

// ReferralCookie writes the codes that a visitor came with, the one that counts
// most first, for three generations of readers (reference, 1.8): code, codes[0]
// and codes[program]. Without a code both are there and empty, so that no
// reader fails and an input is left empty.
func ReferralCookie(codes []CookieCode) []byte {
	first := ""
	if len(codes) > 0 {
		first = string(codes[0].Code)
	}
	w := writer{}
	w.open()
	w.text("code", first)
	w.object("codes", func() {
		w.text("0", first)
		for _, c := range codes {
			if c.Program != "0" {
				w.text(string(c.Program), string(c.Code))
			}
		}
	})
	w.close()
	return w.b
}
