package userdb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// searchSource is how a list of users goes on from what the index of their words found,
// which is of the tenant already: the rows say so once more.
// CROSS makes SQLite go from what was found to its users, not from all users to
// what was found.
const searchSource = `FROM user_index CROSS JOIN user u ON u.seq = user_index.rowid WHERE user_index MATCH ? AND +u.tenant = ?`

// Users returns a page of users with their codes, and how many there are in all.
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
	rows, err := r.QueryContext(ctx, `SELECT `+UserColumns+` `+from+` ORDER BY `+userOrder(f.Order)+` LIMIT ? OFFSET ?`,
		append(args, f.Limit, f.Offset)...)
	page, err = store.Collect(rows, err, "users", func(rows *sql.Rows, u *referral.User) error { return ScanUser(rows, u) })
	if err != nil || len(page) == 0 {
		return nil, total, err
	}
	return page, total, attachCodes(ctx, r, tenant, page)
}

// userSorts are what referral.UserFields are in the table.
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

// searchQuery asks the index for the users who have, for each word, a term that
// begins with it.
func searchQuery(tenant core.TenantAlias, words []string) string {
	var query strings.Builder
	for _, word := range words {
		query.WriteString(` "` + strings.ReplaceAll(indexTerm(tenant, word), `"`, `""`) + `" *`)
	}
	return query.String()
}

// TermsText is what a user is found by, as it is indexed.
func TermsText(tenant core.TenantAlias, u referral.User) string {
	terms := u.Terms()
	for i, term := range terms {
		terms[i] = indexTerm(tenant, term)
	}
	return strings.Join(terms, "\x1f")
}

// indexTerm is one word for the index: of its tenant alone, and without what parts
// words. The index folds case and aliases do not, so a capital letter of an alias
// stands there as ^ and the small one; no alias has a ^ or a slash.
func indexTerm(tenant core.TenantAlias, term string) string {
	var place strings.Builder
	for _, c := range []byte(tenant) {
		if 'A' <= c && c <= 'Z' {
			place.WriteByte('^')
			c += 'a' - 'A'
		}
		place.WriteByte(c)
	}
	return place.String() + "/" + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, term)
}

func AppendTerms(t *store.Tuples, tenant core.TenantAlias, u referral.User) {
	t.Row()
	t.Text(string(u.Account), string(u.ID), TermsText(tenant, u))
}

// ChangeTerms stores what users of a tenant are found by: tuples.terms of each. It
// is one statement for all, since the index of words writes down at the begin of
// each what it was told of before, and the fewer words that is, the more it has to
// merge.
func ChangeTerms(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, rows *store.Tuples) error {
	if rows.Rows == 0 {
		return nil
	}
	return tx.Exec(ctx, "put terms", `WITH given AS MATERIALIZED (SELECT u.seq, j.value ->> 2 AS terms FROM json_each(?2) j
			CROSS JOIN user u ON u.tenant = ?1 AND u.account_id = j.value ->> 0 AND u.id = j.value ->> 1)
		UPDATE user SET terms = given.terms FROM given WHERE +user.tenant = ?1 AND user.seq = given.seq`, string(tenant), rows.String())
}

// IndexAdded runs what adds users together with what they are found by, and puts
// those into the index.
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

// LastUser is the number of the user who came last; those of who comes are greater.
const LastUser = `SELECT coalesce(max(seq), 0) FROM user`

// IndexNew puts those users into the index of words who came after one, with what
// they were stored with.
func IndexNew(ctx context.Context, tx *store.Tx, last int64) error {
	return tx.Exec(ctx, "index users", `INSERT INTO user_index (rowid, terms) SELECT seq, terms FROM user WHERE seq > ? AND terms <> ''`, last)
}
