package userdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// TermsText returns the search terms of a user, as user.terms stores them: sorted, each as it is,
// with each accent and its letter as one character, and without accents.
func TermsText(tenant core.TenantAlias, u referral.User) string {
	var terms []string
	for _, term := range u.Terms() {
		terms = append(terms, indexTerm(tenant, term))
		if isASCII(term) {
			continue
		}
		for _, other := range composed(term, withoutAccents(term)) {
			terms = append(terms, indexTerm(tenant, other))
		}
	}
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), "\x1f")
}

// composed returns texts with each accent and its letter as one character, as people type them.
// The i of a composed İ has no second point.
func composed(texts ...string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = strings.ReplaceAll(norm.NFC.String(text), "i\u0307", "i")
	}
	return all
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// withoutAccents returns a term with the letters that people type who do not have those of a name
// on their keyboard: jose for josé, and strasse for straße.
func withoutAccents(term string) string {
	decomposed := strings.Map(func(r rune) rune {
		if '\u0300' <= r && r <= '\u036f' { // an accent of the letter before it
			return -1
		}
		return r
	}, norm.NFD.String(term))
	return undecomposed.Replace(decomposed)
}

// undecomposed has the letters of European names that Unicode does not take apart, and the sigma at
// the end of a word, which has the capital letter of the other one.
var undecomposed = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i", "ς", "σ")

// indexTerm returns a term for the index: the alias of the tenant, a slash, and the
// term without characters that separate words. The index ignores case and aliases do
// not, so a capital letter of the alias is written as ^ and the small letter; no alias
// has a ^ or a slash.
func indexTerm(tenant core.TenantAlias, term string) string {
	var text strings.Builder
	for _, c := range []byte(tenant) {
		if 'A' <= c && c <= 'Z' {
			text.WriteByte('^')
			c += 'a' - 'A'
		}
		text.WriteByte(c)
	}
	return text.String() + "/" + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, term)
}

// AppendTerms adds the search terms of a user to the rows of ChangeTerms.
func AppendTerms(t *store.Tuples, tenant core.TenantAlias, u referral.User) {
	t.Row()
	t.Text(string(u.Account), string(u.ID), TermsText(tenant, u))
}

// ChangeTerms stores the search terms of users who exist. AppendTerms adds its rows.
// It is one statement for all users, because each statement makes the index write its
// pending words: small writes make it merge more.
func ChangeTerms(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, rows *store.Tuples) error {
	if rows.Rows == 0 {
		return nil
	}
	return tx.Exec(ctx, "put terms", `WITH given AS MATERIALIZED (SELECT u.seq, j.value ->> 2 AS terms FROM json_each(?2) j
			CROSS JOIN user u ON u.tenant = ?1 AND u.account_id = j.value ->> 0 AND u.id = j.value ->> 1)
		UPDATE user SET terms = given.terms FROM given WHERE +user.tenant = ?1 AND user.seq = given.seq`, string(tenant), rows.String())
}

// IndexAdded runs add, which adds users with their search terms, and adds those users
// to the index. It returns the result of add.
func IndexAdded(ctx context.Context, tx *store.Tx, add func() (int, error)) (n int, err error) {
	var last int64
	if err := tx.QueryRowContext(ctx, LastUser).Scan(&last); err != nil {
		return 0, fmt.Errorf("store: index users: %w", err)
	}
	if n, err = add(); err != nil || n == 0 {
		return n, err
	}
	if err := indexNew(ctx, tx, last); err != nil {
		return 0, err
	}
	// A restore loads users with the schema of their backup. An older one has no ranges;
	// the migration that makes them counts the users.
	counts, err := tx.HasTable(ctx, "user_range")
	if err == nil && counts {
		err = countNew(ctx, tx, last)
	}
	return n, err
}

// LastUser is a statement that returns the number of the newest user, or 0. New users
// get higher numbers.
const LastUser = `SELECT coalesce(max(seq), 0) FROM user`

// IndexNew adds the users with numbers higher than last to the index, with the search
// terms that they were stored with, and to the ranges of their tenants.
func IndexNew(ctx context.Context, tx *store.Tx, last int64) error {
	if err := indexNew(ctx, tx, last); err != nil {
		return err
	}
	return countNew(ctx, tx, last)
}

func indexNew(ctx context.Context, tx *store.Tx, last int64) error {
	return tx.Exec(ctx, "index users", `INSERT INTO user_index (rowid, terms) SELECT seq, terms FROM user WHERE seq > ? AND terms <> ''`, last)
}

// countNew adds the users with numbers higher than last to the ranges. NOT INDEXED makes
// SQLite find them by number.
func countNew(ctx context.Context, tx *store.Tx, last int64) error {
	return tx.Exec(ctx, "count users", `INSERT INTO user_range SELECT u.tenant, coalesce(r.account_id, ''), coalesce(r.id, ''), count(*)
	FROM user u NOT INDEXED LEFT JOIN user_range r ON r.tenant = u.tenant AND (r.account_id, r.id) = (
		SELECT x.account_id, x.id FROM user_range x WHERE x.tenant = u.tenant AND (x.account_id, x.id) <= (u.account_id, u.id)
		ORDER BY x.account_id DESC, x.id DESC LIMIT 1)
	WHERE u.seq > ? GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET users = users + excluded.users`, last)
}

// MergeIndex merges the parts of the index into one, and stops after writing a number of pages;
// further calls continue. The erasure of a user looks each search term up in each part, of which
// an index of 100,000 users has about six: that took more than half of the time of an erasure.
func MergeIndex(ctx context.Context, tx *store.Tx, pages int) error {
	// A negative number merges parts of all sizes.
	return tx.Exec(ctx, "merge index", `INSERT INTO user_index (user_index, rank) VALUES ('merge', ?)`, -pages)
}
