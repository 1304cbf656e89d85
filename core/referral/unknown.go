package referral

import (
	"strings"

	"kith/core"
)

// UnknownCode is a text that people gave as a referral code, and that no user owned then.
type UnknownCode struct {
	// Typed is the text, in the spelling of the last person.
	Typed string
	// People is the number of people who gave it, in any case of letters.
	People int
	// Last is when the last person gave it, who is LastUser; empty in an account sync.
	Last        core.Time
	LastAccount core.AccountID
	LastUser    core.UserID
	// Meant are codes of the tenant that the people may have meant; see NearCodes.
	Meant []core.ReferralCode
}

const (
	// UnknownSpan is for how long unknown codes are listed after the last person gave them.
	UnknownSpan = 7 * core.Day
	// MostUnknown is the most unknown codes that are listed, those of most people first.
	MostUnknown = 50
	// MostMeant is the most codes of UnknownCode.Meant.
	MostMeant = 3
)

// codeLetters are the characters of codes, whose case does not matter.
const codeLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// maxNear is the longest text for which NearCodes returns codes: there are 79 for each
// character.
const maxNear = 20

// NearCodes returns what a person may have meant with a text that is no code: the text
// without the characters that no code has, and all that differ from it by one
// character that is wrong, missing or needless, or by two neighbors in the wrong order. The
// list is empty for a text that has less than 3 characters of codes, or more than 20.
func NearCodes(typed string) []core.ReferralCode {
	s := strings.Map(func(c rune) rune {
		if !strings.ContainsRune(codeLetters, c) {
			return -1
		}
		return c
	}, strings.ToUpper(typed))
	if len(s) < 3 || len(s) > maxNear {
		return nil
	}
	all := []core.ReferralCode{core.ReferralCode(s)}
	add := func(parts ...string) { all = append(all, core.ReferralCode(strings.Join(parts, ""))) }
	for i := 0; i <= len(s); i++ {
		for _, c := range codeLetters {
			add(s[:i], string(c), s[i:])
			if i < len(s) {
				add(s[:i], string(c), s[i+1:])
			}
		}
		if i < len(s) {
			add(s[:i], s[i+1:])
		}
		if i+1 < len(s) {
			add(s[:i], s[i+1:i+2], s[i:i+1], s[i+2:])
		}
	}
	return all
}
