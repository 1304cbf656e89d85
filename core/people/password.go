package people

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"kith/core"
)

const (
	// MinPassword is the least number of characters of a password. NIST SP 800-63B-4
	// demands 15 where a password is the only factor and 8 with a second one; most
	// portals have both kinds of people.
	MinPassword = 12
	// MaxPassword is the most bytes of a password, so that hashing has a bound.
	MaxPassword = 512
	// minDistinct is the least number of different characters.
	minDistinct = 5
)

// commonParts are words that make up the most frequent passwords of 12 and more
// characters. A password that consists of them and digits only is refused.
var commonParts = []string{
	"password", "passwort", "qwerty", "qwertz", "azerty", "asdfgh", "zxcvbn", "qazwsx", "iloveyou", "letmein",
	"welcome", "changeme", "administrator", "admin", "monkey", "dragon", "football", "baseball", "princess", "sunshine",
	"superman", "trustno1", "master", "shadow", "secret", "login", "kith", "abc", "xyz", "uiop", "hjkl",
}

// CheckPassword returns nil if a password may be used by the person with an address, else
// an error about field.
func CheckPassword(field, password, email string) error {
	lower := strings.ToLower(password)
	local, _, _ := strings.Cut(email, "@")
	switch {
	case !utf8.ValidString(password):
		return core.Invalid(field, "is not valid text; type it again")
	case utf8.RuneCountInString(password) < MinPassword:
		return core.Invalid(field, "must have at least "+strconv.Itoa(MinPassword)+" characters; a few words together are easy to remember")
	case len(password) > MaxPassword:
		return core.Invalid(field, "must have at most "+strconv.Itoa(MaxPassword)+" bytes; shorten it")
	case distinct(lower) < minDistinct:
		return core.Invalid(field, "repeats the same few characters; use more different ones")
	case email != "" && (strings.Contains(lower, email) || len(local) >= 4 && len(strings.ReplaceAll(lower, local, "")) < 4):
		return core.Invalid(field, "is your mail address; choose something else")
	case common(lower):
		return core.Invalid(field, "is among the passwords that attackers try first; choose something else")
	}
	return nil
}

// distinct returns the number of different characters of a text, counting no further than
// minDistinct.
func distinct(s string) int {
	seen := map[rune]bool{}
	for _, r := range s {
		if seen[r] = true; len(seen) == minDistinct {
			break
		}
	}
	return len(seen)
}

// common reports whether nothing is left of a password without commonParts, digits and
// punctuation.
func common(lower string) bool {
	for _, part := range commonParts {
		lower = strings.ReplaceAll(lower, part, "")
	}
	return !strings.ContainsFunc(lower, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= utf8.RuneSelf })
}
