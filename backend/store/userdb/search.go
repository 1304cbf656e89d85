package userdb

import (
	"context"
	"fmt"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// searchSource is the FROM clause of a search. The index finds only users of the
// tenant; the condition on the user checks it again. CROSS makes SQLite read the
// index first, and not all users.
const searchSource = `FROM user_index CROSS JOIN user u ON u.seq = user_index.rowid WHERE user_index MATCH ? AND +u.tenant = ?`

// Users returns a page of users with their codes, and the total number.
func Users(ctx context.Context, r store.Reads, tenant core.TenantAlias, f referral.UserFilter) (page []referral.User, total int, err error) {
	from, args := `FROM user u WHERE u.tenant = ?`, []any{string(tenant)}
	if words := f.IndexWords(); len(words) > 0 {
		from, args = searchSource, []any{searchQuery(tenant, words), string(tenant)}
	}
	for _, equal := range [][2]string{
		{` AND u.account_id = ?`, string(f.Account)}, {` AND u.id = ?`, string(f.ID)}, {` AND u.email = ? COLLATE NOCASE`, f.Email},
	} {
		if equal[1] != "" {
			from, args = from+equal[0], append(args, equal[1])
		}
	}
	total, err = store.One[int](ctx, r, "count users", `SELECT count(*) `+from, args...)
	if err != nil {
		return nil, 0, err
	}
	rows, err := r.QueryContext(ctx, `SELECT `+UserColumns.SQL()+` `+from+` ORDER BY `+userOrder(f.Order)+` LIMIT ? OFFSET ?`,
		append(args, f.Limit, f.Offset)...)
	page, err = UserColumns.All(rows, err, "users")
	if err != nil || len(page) == 0 {
		return nil, total, err
	}
	return page, total, attachCodes(ctx, r, tenant, page)
}

// FindPeople returns up to limit users who have, for each word, a term that begins with
// it, in no order.
func FindPeople(ctx context.Context, r store.Reads, tenant core.TenantAlias, words []string, limit int) ([]referral.Identity, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+personColumns.SQL()+` `+searchSource+` LIMIT ?`, searchQuery(tenant, words), string(tenant), limit)
	return personColumns.All(rows, err, "people")
}

var personColumns = store.Selection[referral.Identity]{
	store.Col(`u.account_id`, func(i *referral.Identity) any { return &i.Account }),
	store.Col(`u.id`, func(i *referral.Identity) any { return &i.User }),
	store.Col(`u.email`, func(i *referral.Identity) any { return &i.Email }),
}

// userSorts maps each of referral.UserFields to its SQL expression.
var userSorts = map[string]string{
	"id": `u.id`, "accountId": `u.account_id`, "firstName": `u.first_name COLLATE NOCASE`, "lastName": `u.last_name COLLATE NOCASE`,
	"email": `u.email COLLATE NOCASE`, "dateCreated": `u.created_at`,
}

func userOrder(all []referral.UserOrder) string {
	var order strings.Builder
	for _, one := range all {
		order.WriteString(userSorts[one.Field])
		if one.Descending {
			order.WriteString(` DESC`)
		}
		order.WriteString(`, `)
	}
	return order.String() + `u.account_id, u.id`
}

// searchQuery returns the query of the index for the users who have, for each word, a
// term that begins with it.
func searchQuery(tenant core.TenantAlias, words []string) string {
	var query strings.Builder
	for _, word := range words {
		query.WriteString(` "` + strings.ReplaceAll(indexTerm(tenant, word), `"`, `""`) + `" *`)
	}
	return query.String()
}

// TermsText returns the search terms of a user, as user.terms stores them.
func TermsText(tenant core.TenantAlias, u referral.User) string {
	terms := u.Terms()
	for i, term := range terms {
		terms[i] = indexTerm(tenant, term)
	}
	return strings.Join(terms, "\x1f")
}

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
	if n, err = add(); err == nil && n > 0 {
		err = IndexNew(ctx, tx, last)
	}
	return n, err
}

// LastUser is a statement that returns the number of the newest user, or 0. New users
// get higher numbers.
const LastUser = `SELECT coalesce(max(seq), 0) FROM user`

// IndexNew adds the users with numbers higher than last to the index, with the search
// terms that they were stored with.
func IndexNew(ctx context.Context, tx *store.Tx, last int64) error {
	return tx.Exec(ctx, "index users", `INSERT INTO user_index (rowid, terms) SELECT seq, terms FROM user WHERE seq > ? AND terms <> ''`, last)
}
