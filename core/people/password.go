package people

import (
	"crypto/sha256"
	_ "embed" // the list of frequent passwords
	"encoding/hex"
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
// characters, in any writing of spelled. A password that consists of them, digits and
// punctuation only is refused.
var commonParts = []string{
	"january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
	"winter", "summer", "spring", "autumn", "sommer", "herbst", "frühling", "fruehling", "januar", "februar", "märz", "juni", "juli", "oktober", "dezember",
	"company", "default", "server", "hello", "hallo", "guest", "demo", "test", "shop", "user", "root", "pass", "love",
	"password", "passwort", "qwerty", "qwertz", "azerty", "asdfgh", "zxcvbn", "qazwsx", "iloveyou", "letmein",
	"welcome", "changeme", "administrator", "admin", "monkey", "dragon", "football", "baseball", "princess", "sunshine",
	"superman", "trustno1", "master", "shadow", "secret", "login", "kith", "abc", "xyz", "uiop", "hjkl",
}

// frequent has the first 8 hex digits of the SHA-256 of each password of 12 and more
// characters, in lower case, among the first 100,000 of Mark Burnett's list of 10 million
// passwords. As hashes they are not read by accident: many are obscene.
//
//go:embed frequent.txt
var frequent string

// walks are the keys of a keyboard in an order in which fingers walk over them.
var walks = []string{
	"1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "abcdefghijklmnopqrstuvwxyz",
}

// CheckPassword returns nil if a password may be used by the person with an address, else
// an error about field.
func CheckPassword(field, password, email string) error {
	lower := strings.ToLower(password)
	local, _, _ := strings.Cut(email, "@")
	switch {
	case !utf8.ValidString(password):
		return core.Invalid(field, "is not valid text; type it again")
	// Spaces in a row count as one (OWASP ASVS 4.0.3, 2.1.1).
	case utf8.RuneCountInString(strings.Join(strings.Fields(password), " ")) < MinPassword:
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

// common reports whether a password is frequent, or nothing is left of it without
// commonParts, walks, digits and punctuation.
func common(lower string) bool {
	sum := sha256.Sum256([]byte(lower))
	if strings.Contains(frequent, hex.EncodeToString(sum[:4])+"\n") {
		return true
	}
	for lower != "" {
		size := max(walk(lower), part(lower))
		if c := lower[0]; size == 0 && (c >= 'a' && c <= 'z' || c >= utf8.RuneSelf) {
			return false
		}
		lower = lower[max(size, 1):]
	}
	return true
}

// spelled has the letters for which passwords have other characters.
var spelled = map[byte]byte{'@': 'a', '4': 'a', '3': 'e', '1': 'i', '!': 'i', '0': 'o', '$': 's', '5': 's', '7': 't'}

// part returns the size of the longest of commonParts with which a text begins, or 0.
func part(text string) (longest int) {
	for _, word := range commonParts {
		n := 0
		for n < len(word) && n < len(text) && (text[n] == word[n] || spelled[text[n]] == word[n]) {
			n++
		}
		if n == len(word) {
			longest = max(longest, n)
		}
	}
	return longest
}

// minWalk is the least number of keys of a walk.
const minWalk = 3

// walk returns how many keys of one of the walks a text begins with, in either direction;
// 0 for fewer than minWalk.
func walk(text string) (longest int) {
	for _, keys := range walks {
		for at := range keys {
			if keys[at] != text[0] {
				continue
			}
			for _, step := range [...]int{1, -1} {
				n := 1
				for n < len(text) && at+n*step >= 0 && at+n*step < len(keys) && keys[at+n*step] == text[n] {
					n++
				}
				if n >= minWalk {
					longest = max(longest, n)
				}
			}
		}
	}
	return longest
}
