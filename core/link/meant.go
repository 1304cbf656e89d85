package link

import (
	"strings"

	"kith/core"
)

// maxMeant is the most bytes of a text that MeantCode returns, as of a code.
const maxMeant = 64

// MeantCode returns the code that a person typed or pasted: the text without the invisible
// characters around it, or the code in a share link of the tenant or in the URL of a page to
// which such a link leads. Another text is returned itself, shortened to 64 bytes with an
// ellipsis, so that it is not the code of 64 letters with which it begins: no user owns such a
// code, so the call is recorded as one with an unknown code, and does not fail.
func MeantCode(tenant core.TenantAlias, text string) core.ReferralCode {
	text = core.Trim(strings.ReplaceAll(text, "\x00", ""))
	page, _, _ := strings.Cut(text, "#")
	page, query, _ := strings.Cut(page, "?")
	if code, err := core.ParseReferralCode("", value(query, CodeParameter)); err == nil {
		return code
	}
	if _, name, ok := strings.Cut(page, "/s/"+string(tenant)+"/"); ok {
		if code, err := core.ParseReferralCode("", strings.TrimSuffix(name, "/")); err == nil {
			return code
		}
	}
	if len(text) > maxMeant {
		text = strings.ToValidUTF8(text[:maxMeant-len("…")], "") + "…"
	}
	return core.ReferralCode(text)
}
