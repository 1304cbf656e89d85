package wire

import (
	"encoding/base64"
	"strings"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/referral"
)

// cookieClaims reads the text of the _saasquatch cookie (reference, 1.8):
// base64url of {"<domain>":{"<tenant>_CODE":{"codes":{"<program>":"<CODE>"}}}}.
// A browser sends it whatever it holds, so what cannot be read is a claim that
// cannot count and not an error of the call.
func cookieClaims(tenant core.TenantAlias, text string) []referral.Claim {
	broken := []referral.Claim{{Source: referral.SourceBody, Fault: referral.RuleCookieForm}}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || !gjson.ValidBytes(raw) || tooDeep(raw) {
		return broken
	}
	document := gjson.ParseBytes(raw)
	if !document.IsObject() {
		return broken
	}
	var claims []referral.Claim
	document.ForEach(func(_, domain gjson.Result) bool {
		domain.ForEach(func(name, entry gjson.Result) bool {
			if name.String() == string(tenant)+"_CODE" {
				claims = append(claims, codesOf(entry.Get("codes"))...)
			}
			return true
		})
		return len(claims) < maxCodes
	})
	return claims
}

func codesOf(codes gjson.Result) []referral.Claim {
	var claims []referral.Claim
	codes.ForEach(func(_, value gjson.Result) bool {
		claim := referral.Claim{Source: referral.SourceBody}
		code, err := core.ParseReferralCode("cookies", value.String())
		if err != nil {
			claim.Fault = referral.RuleCookieForm
		}
		claim.Code = code
		claims = append(claims, claim)
		return len(claims) < maxCodes
	})
	return claims
}
