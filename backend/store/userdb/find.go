package userdb

import (
	"context"
	"slices"
	"strconv"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// maxScan is the most search terms that one page of Find reads.
const maxScan = 5000

// Place is a place in the index of search terms: a term, and the number of a user who has
// it. The zero Place is before all.
type Place struct {
	Term string
	Seq  int64
}

// placed is a user at the place at which Find found it.
type placed struct {
	user referral.User
	at   Place
}

// placedColumns select a user u at a place top.
var placedColumns = append(store.Nested(UserColumns, func(p *placed) *referral.User { return &p.user }),
	store.Col(`top.term`, func(p *placed) any { return &p.at.Term }),
	store.Col(`top.doc`, func(p *placed) any { return &p.at.Seq }))

// terms selects the places of the terms of a tenant that begin with a word. Its parameters
// are ?1, the word as the index has it, ?2, a text behind all terms that begin with it, and
// the place to begin after: ?3, a term, and ?4, a number.
const terms = `SELECT term, doc FROM user_index_term WHERE term >= max(?1, ?3) AND term <= ?2 AND NOT (term = ?3 AND doc <= ?4)`

// Find returns up to limit users with their codes who have, for each word, a search term
// that begins with it, in the order of their first term that begins with the longest word.
// It begins after a place, and returns the place to continue after; the zero Place at the
// end. It reads at most maxScan terms, so that a page may have less than limit users, or
// none, before the end.
func Find(ctx context.Context, r store.Reads, tenant core.TenantAlias, words []string, after Place, limit int) (page []referral.User, next Place, err error) {
	words = composed(words...)
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	first := indexTerm(tenant, words[0])
	within := []any{first, first + "\U0010FFFF", after.Term, after.Seq}
	// Each user has a term at most once, and the terms of a user are in their order.
	const all = `char(31) || u.terms || char(31)`
	others, args := ``, append(slices.Clone(within), string(tenant), limit+1)
	for _, word := range words[1:] {
		args = append(args, "\x1f"+indexTerm(tenant, word))
		others += ` AND instr(` + all + `, ?` + strconv.Itoa(len(args)) + `) > 0`
	}
	rows, err := r.QueryContext(ctx, `SELECT `+placedColumns.SQL()+` FROM (`+terms+` LIMIT `+strconv.Itoa(maxScan)+`) top
		CROSS JOIN user u ON u.seq = top.doc WHERE +u.tenant = ?5
			AND instr(`+all+`, char(31) || ?1) = instr(`+all+`, char(31) || top.term || char(31))`+others+` LIMIT ?6`, args...)
	found, err := placedColumns.All(rows, err, "find users")
	if err != nil {
		return nil, Place{}, err
	}
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].at
	} else if _, err = placeColumns.One(r.QueryRowContext(ctx, terms+` LIMIT 1 OFFSET `+strconv.Itoa(maxScan-1), within...), "end of scan", &next); err != nil {
		return nil, Place{}, err
	}
	for _, p := range found {
		page = append(page, p.user)
	}
	if len(page) == 0 {
		return nil, next, nil
	}
	return page, next, attachCodes(ctx, r, tenant, page)
}

var placeColumns = store.Selection[Place]{
	store.Col(`term`, func(p *Place) any { return &p.Term }),
	store.Col(`doc`, func(p *Place) any { return &p.Seq }),
}

// ByAccount returns up to limit users with their codes in the order of their accounts and
// ids, beginning after a user; the zero Identity is before all. more is true if others
// follow.
func ByAccount(ctx context.Context, r store.Reads, tenant core.TenantAlias, after referral.Identity, limit int) (page []referral.User, more bool, err error) {
	rows, err := r.QueryContext(ctx, `SELECT `+UserColumns.SQL()+` FROM user u WHERE u.tenant = ? AND (u.account_id, u.id) > (?, ?)
		ORDER BY u.account_id, u.id LIMIT ?`, string(tenant), string(after.Account), string(after.User), limit+1)
	page, err = UserColumns.All(rows, err, "users by account")
	if more = len(page) > limit; more {
		page = page[:limit]
	}
	if err != nil || len(page) == 0 {
		return nil, false, err
	}
	return page, more, attachCodes(ctx, r, tenant, page)
}

// OwnedCodes returns all codes and names of share links of a user, by program, the oldest
// first.
func OwnedCodes(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, user core.UserID) ([]referral.OwnedCode, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+OwnedColumns.SQL()+` FROM code c WHERE c.tenant = ? AND c.account_id = ? AND c.user_id = ? ORDER BY c.program, c.rowid`,
		string(tenant), string(account), string(user))
	stored, err := OwnedColumns.All(rows, err, "codes")
	owned := make([]referral.OwnedCode, len(stored))
	for i, o := range stored {
		owned[i] = o.OwnedCode
	}
	return owned, err
}
