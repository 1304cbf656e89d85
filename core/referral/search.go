package referral

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kith/core"
)

// Limits of search terms. Of a name with more words, the first ones are indexed.
const (
	maxTerm  = 64
	maxTerms = 16
	// MaxWords is the most words of a search.
	MaxWords = 5
)

// UserFilter selects users. An empty field matches all.
type UserFilter struct {
	// Words must each be the prefix of a term of the user; see SearchWords.
	Words []string
	// Account and ID must be equal to the user's; Email must be equal ignoring case.
	Account core.AccountID
	ID      core.UserID
	Email   string
	// Order is the order of the list; equal users are ordered by id.
	Order []UserOrder
	// Limit is the size of the page, and Offset the number of users before it.
	Limit, Offset int
}

// UserOrder orders users by a field, one of UserFields.
type UserOrder struct {
	Field      string
	Descending bool
}

// UserFields are the fields by which users can be ordered.
var UserFields = []string{"id", "accountId", "firstName", "lastName", "email", "dateCreated"}

// Limits of a search for users. In a tenant with more than MaxSearched users, it reads at
// most MaxFound terms of a word: a word that more users have finds the first of them only.
const (
	MaxSearched = 20_000
	MaxFound    = 2000
)

// MaxSorted is the most users of a tenant whose list can be sorted by other fields than
// the account, unless the list is narrowed.
const MaxSorted = 100_000

// IndexWord is a word to look up in the index of search terms: a whole term, or the
// beginning of one.
type IndexWord struct {
	Text  string
	Whole bool
}

// IndexWords returns the words to look up in the index: ID and Email as whole terms, and
// Words.
func (f UserFilter) IndexWords() []IndexWord {
	var words []IndexWord
	for _, text := range []string{string(f.ID), f.Email} {
		if text != "" {
			words = append(words, IndexWord{cutTerm(strings.ToLower(strings.TrimSpace(text))), true})
		}
	}
	for _, word := range f.Words {
		words = append(words, IndexWord{word, false})
	}
	return words
}

// ByAccount reports whether the list is in the order of accounts and ids, which is that of
// a list without Order.
func (f UserFilter) ByAccount() bool {
	for i, by := range f.Order {
		if i > 1 || by.Descending || by.Field != [...]string{"accountId", "id"}[i] {
			return false
		}
	}
	return true
}

// SortsAll reports whether the list sorts all users of a tenant.
func (f UserFilter) SortsAll() bool {
	return !f.ByAccount() && f.Account == "" && len(f.IndexWords()) == 0
}

// SearchWords parses the text of a search for users: at most MaxWords words,
// separated by blanks. It returns them in lower case, or an error about field.
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

// Terms returns the search terms of a user: the ids and the words of those that have several,
// the words of the names, the email address and its domain. Each occurs once, in lower case, sorted.
func (u User) Terms() []string {
	texts := []string{string(u.ID), string(u.Account), u.Email}
	if _, domain, found := strings.Cut(u.Email, "@"); found {
		texts = append(texts, domain)
	}
	texts = append(texts, strings.Fields(u.FirstName)...)
	texts = append(texts, strings.Fields(u.LastName)...)
	texts = append(texts, strings.Fields(string(u.ID)+" "+string(u.Account))...)
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

// cutTerm shortens a term to maxTerm bytes, without splitting a character.
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
