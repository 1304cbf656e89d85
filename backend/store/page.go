package store

import (
	"context"
	"database/sql"

	"kith/core/referral"
)

// Identities returns a list of users as one parameter of a statement: a JSON array
// with [account, user] for each.
func Identities(users []referral.Identity) string {
	var rows Tuples
	for _, u := range users {
		rows.Row()
		rows.Text(string(u.Account), string(u.User))
	}
	return rows.String()
}

// PageOf is a page of one user's items.
type PageOf[T any] struct {
	// Page has the items of the page.
	Page []T
	// Total is how many items the user has on all pages.
	Total int
}

// Counted returns a page that was read with the error err, and how many items its list has
// on all pages: the result of the query count, which what names in errors. The items are
// counted after the page was read, so that the total includes those of the page, even if
// some were added in between.
func Counted[T any](ctx context.Context, r Reads, page []T, err error, what, count string, args ...any) ([]T, int, error) {
	if err != nil {
		return nil, 0, err
	}
	total, err := One[int](ctx, r, what, count, args...)
	return page, total, err
}

// GivenUsers is a list of users as a table "given" with the columns place, account
// and owner. Its parameter is a result of Identities.
const GivenUsers = `(SELECT key AS place, value ->> 0 AS account, value ->> 1 AS owner FROM json_each(?)) given`

// PagesOf groups items by their owner, and adds the totals. Each user of totals
// has a page, which may be empty.
func PagesOf[T any](totals map[referral.Identity]int, items []T, owner func(T) referral.Identity) map[referral.Identity]PageOf[T] {
	pages := make(map[referral.Identity]PageOf[T], len(totals))
	for user, total := range totals {
		pages[user] = PageOf[T]{Total: total}
	}
	for _, item := range items {
		page := pages[owner(item)]
		page.Page = append(page.Page, item)
		pages[owner(item)] = page
	}
	return pages
}

// total is how many items a user has.
type total struct {
	user referral.Identity
	n    int
}

// givenColumns are the user of a row of GivenUsers.
var givenColumns = Selection[referral.Identity]{
	Col(`given.account`, func(i *referral.Identity) any { return &i.Account }),
	Col(`given.owner`, func(i *referral.Identity) any { return &i.User }),
}

// TotalsOf runs a subquery that counts, once for each of the given users. The
// subquery may use the columns of given (see GivenUsers); args are its arguments,
// and given is a result of Identities. Call it after the items were read: then a total
// includes the items of its page, even if some were added in between.
func (r Reads) TotalsOf(ctx context.Context, count string, args []any, given string) (map[referral.Identity]int, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+givenColumns.SQL()+`, (`+count+`) FROM `+GivenUsers, append(args, given)...)
	all, err := Collect(rows, err, "totals of users", func(rows *sql.Rows, t *total) error {
		return rows.Scan(append(givenColumns.into(&t.user), &t.n)...)
	})
	totals := make(map[referral.Identity]int, len(all))
	for _, t := range all {
		totals[t.user] = t.n
	}
	return totals, err
}
