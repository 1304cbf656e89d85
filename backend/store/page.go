package store

import (
	"context"
	"database/sql"

	"kith/core/referral"
)

// Identities are a list of users as a parameter: [account, user] of each.
func Identities(users []referral.Identity) string {
	var rows Tuples
	for _, u := range users {
		rows.Row()
		rows.Text(string(u.Account), string(u.User))
	}
	return rows.String()
}

// PageOf is a page of what one of several users has, and how much there is in
// all.
type PageOf[T any] struct {
	Page  []T
	Total int
}

// GivenUsers is a list of users as a table, which identities makes.
const GivenUsers = `(SELECT key AS place, value ->> 0 AS account, value ->> 1 AS owner FROM json_each(?)) given`

// PagesOf groups what was found by whose it is.
func PagesOf[T any](totals map[referral.Identity]int, found []T, whose func(T) referral.Identity) map[referral.Identity]PageOf[T] {
	pages := make(map[referral.Identity]PageOf[T], len(totals))
	for who, total := range totals {
		pages[who] = PageOf[T]{Total: total}
	}
	for _, one := range found {
		page := pages[whose(one)]
		page.Page = append(page.Page, one)
		pages[whose(one)] = page
	}
	return pages
}

// total is how much one of several users has.
type total struct {
	who referral.Identity
	n   int
}

// givenColumns are whose a row of givenUsers is.
var givenColumns = Selection[referral.Identity]{
	Col(`given.account`, func(i *referral.Identity) any { return &i.Account }),
	Col(`given.owner`, func(i *referral.Identity) any { return &i.User }),
}

// TotalsOf runs a statement that counts, for each of the given users.
func (r Reads) TotalsOf(ctx context.Context, count string, args []any, given string) (map[referral.Identity]int, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+givenColumns.SQL()+`, (`+count+`) FROM `+GivenUsers, append(args, given)...)
	all, err := Collect(rows, err, "totals of users", func(rows *sql.Rows, t *total) error {
		return rows.Scan(append(givenColumns.into(&t.who), &t.n)...)
	})
	totals := make(map[referral.Identity]int, len(all))
	for _, t := range all {
		totals[t.who] = t.n
	}
	return totals, err
}
