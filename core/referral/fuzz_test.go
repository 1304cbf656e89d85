//go:build !tinygo

package referral

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A user is found by each word of their name: each word is the prefix of a term.
func FuzzSearchWords(f *testing.F) {
	f.Add("Anna", "von Ärlen", "ann@x.y")
	f.Add("İ", strings.Repeat("ß", 70), "@")
	f.Fuzz(func(t *testing.T, first, last, email string) {
		u := User{ID: "u", FirstName: first, LastName: last, Email: email}
		terms := u.Terms()
		for _, term := range terms {
			if len(term) > maxTerm || utf8.ValidString(first+last+email) && !utf8.ValidString(term) {
				t.Errorf("%q", term)
			}
		}
		for _, text := range []string{first, last} {
			words, err := SearchWords("query", text)
			if err != nil || len(terms) == maxTerms {
				continue
			}
			for _, word := range words {
				found := false
				for _, term := range terms {
					found = found || strings.HasPrefix(term, word)
				}
				if !found {
					t.Errorf("%q is not found by %q: %q", text, word, terms)
				}
			}
		}
	})
}
