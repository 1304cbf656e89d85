package referral

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kith/core"
)

// Bounds of what users are found by. A name of more words is found by its first.
const (
	maxTerm  = 64
	maxTerms = 16
	// MaxWords is the most words that a search looks for.
	MaxWords = 5
)

// UserFilter narrows a list of users; what is empty does not.
type UserFilter struct {
	// Words are those that the user has a term for that begins with it, each of
	// them; see SearchWords.
	Words []string
	// Account and ID are the user's, and Email is their address in any case.
	Account core.AccountID
	ID      core.UserID
	Email   string
	// Order is what the list is sorted by; the ids decide among equals.
	Order []UserOrder
	// Limit is the size of the page and Offset how many users are before it.
	Limit, Offset int
}

// UserOrder sorts users by a field, which UserFields has.
type UserOrder struct {
	Field      string
	Descending bool
}

// UserFields are the fields that users can be sorted by.
var UserFields = []string{"id", "accountId", "firstName", "lastName", "email", "dateCreated"}

// IndexWords are Words, and those of the other conditions where no account narrows
// the list.
func (f UserFilter) IndexWords() []string {
	words := slices.Clone(f.Words)
	if f.Account != "" {
		return words
	}
	for _, text := range []string{string(f.ID), f.Email} {
		if text != "" {
			words = append(words, cutTerm(strings.ToLower(text)))
		}
	}
	return words
}

// SearchWords reads a text that somebody looks for users by: words in any case,
// parted by blanks, at most MaxWords of them.
func SearchWords(field, text string) ([]string, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > MaxWords {
		return nil, core.Invalid(field, "must not have more than 5 words")
	}
	for i := range words {
		words[i] = cutTerm(words[i])
	}
	return words, nil
}

// Terms are what a user is found by: the ids, the words of the names, and the
// e-mail address with its domain; each once, in lower case, in order.
func (u User) Terms() []string {
	texts := []string{string(u.ID), string(u.Account), u.Email}
	if _, domain, found := strings.Cut(u.Email, "@"); found {
		texts = append(texts, domain)
	}
	texts = append(texts, strings.Fields(u.FirstName)...)
	texts = append(texts, strings.Fields(u.LastName)...)
	var terms []string
	for _, text := range texts {
		term := cutTerm(strings.ToLower(strings.TrimSpace(text)))
		if term != "" && len(terms) < maxTerms && !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	slices.Sort(terms)
	return terms
}

// cutTerm bounds a term, between two characters.
func cutTerm(s string) string {
	if len(s) <= maxTerm {
		return s
	}
	end := maxTerm
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
