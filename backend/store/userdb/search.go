package userdb

import (
	"context"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// Users returns a page of users with their codes, and the total number. It reads a bounded
// number of rows, except for a list that is sorted by other fields and has no condition;
// see referral.UserFilter.SortsAll.
func Users(ctx context.Context, r store.Reads, tenant core.TenantAlias, f referral.UserFilter) (page []referral.User, total int, err error) {
	f.Words = composed(f.Words...)
	words := f.IndexWords()
	switch {
	case f.Account != "":
		page, total, err = inAccount(ctx, r, tenant, f)
	case len(words) > 0:
		page, total, err = search(ctx, r, tenant, f, words)
	default:
		page, total, err = everyUser(ctx, r, tenant, f)
	}
	if err != nil || len(page) == 0 {
		return nil, total, err
	}
	return page, total, attachCodes(ctx, r, tenant, page)
}

// CountUsers returns the number of users of a tenant. It reads their ranges.
func CountUsers(ctx context.Context, r store.Reads, tenant core.TenantAlias) (int, error) {
	return store.One[int](ctx, r, "count users", `SELECT coalesce(sum(users), 0) FROM user_range WHERE tenant = ?`, string(tenant))
}

// everyUser returns a page of all users of a tenant.
func everyUser(ctx context.Context, r store.Reads, tenant core.TenantAlias, f referral.UserFilter) (page []referral.User, total int, err error) {
	if total, err = CountUsers(ctx, r, tenant); err != nil || f.Offset >= total || f.Limit == 0 {
		return nil, total, err
	}
	f.Limit = min(f.Limit, total-f.Offset) // users added since do not count
	from, args := ` FROM user u WHERE u.tenant = ? ORDER BY `+userOrder(f.Order)+` LIMIT ? OFFSET ?`, []any{string(tenant), f.Limit, f.Offset}
	with := ``
	if f.ByAccount() {
		// The range with the user behind the offset, and the number of users before it.
		with = `WITH start AS MATERIALIZED (
			SELECT account_id, id, before FROM (SELECT account_id, id, sum(users) OVER (ORDER BY account_id, id) - users AS before FROM user_range WHERE tenant = ?1)
			WHERE before <= ?2 ORDER BY before DESC LIMIT 1) `
		from = ` FROM user u WHERE u.tenant = ?1 AND (u.account_id, u.id) >= ((SELECT account_id FROM start), (SELECT id FROM start))
			ORDER BY u.account_id, u.id LIMIT ?3 OFFSET ?2 - (SELECT before FROM start)`
		args = []any{string(tenant), f.Offset, f.Limit}
	}
	rows, err := r.QueryContext(ctx, with+`SELECT `+UserColumns.SQL()+from, args...)
	page, err = UserColumns.All(rows, err, "users")
	return page, total, err
}

// inAccount returns a page of the users of an account, of which there are few (clients 6.3.1).
func inAccount(ctx context.Context, r store.Reads, tenant core.TenantAlias, f referral.UserFilter) (page []referral.User, total int, err error) {
	w := equals(f)
	w.Require(`u.account_id = ?`, string(f.Account))
	requireWords(&w, tenant, f.Words)
	from := ` FROM user u WHERE u.tenant = ? AND ` + w.SQL()
	rows, err := r.QueryContext(ctx, `SELECT `+UserColumns.SQL()+from+` ORDER BY `+userOrder(f.Order)+` LIMIT ? OFFSET ?`,
		append(w.ArgsFor(tenant), f.Limit, f.Offset)...)
	page, err = UserColumns.All(rows, err, "users of an account")
	return store.Counted(ctx, r, page, err, "count users of an account", `SELECT count(*)`+from, w.ArgsFor(tenant)...)
}

// equals returns the conditions of a filter on the id and the email address of a user u.
func equals(f referral.UserFilter) (w store.Where) {
	if f.ID != "" {
		w.Require(`u.id = ?`, string(f.ID))
	}
	if f.Email != "" {
		w.Require(`u.email = ? COLLATE NOCASE`, f.Email)
	}
	return w
}

// allTerms are the search terms of a user u, each between two separators.
const allTerms = `char(31) || u.terms || char(31)`

// HasWords returns the condition that the user of an alias has, for each word, a term that
// begins with it, and its arguments.
func HasWords(alias string, tenant core.TenantAlias, words []string) (condition string, args []any) {
	var w store.Where
	for _, word := range composed(words...) {
		w.Require(`instr(char(31) || `+alias+`.terms, ?) > 0`, "\x1f"+indexTerm(tenant, word))
	}
	return w.SQL(), w.Args
}

// requireWords requires that a user u has, for each word, a term that begins with it.
func requireWords(w *store.Where, tenant core.TenantAlias, words []string) {
	for _, word := range words {
		w.Require(`instr(`+allTerms+`, ?) > 0`, "\x1f"+indexTerm(tenant, word))
	}
}

// search returns a page of the users who have all words and meet the conditions of the
// filter. In a tenant with more than referral.MaxSearched users, it reads at most
// referral.MaxFound terms of the word that has the fewest in the index.
func search(ctx context.Context, r store.Reads, tenant core.TenantAlias, f referral.UserFilter, words []referral.IndexWord) (page []referral.User, total int, err error) {
	first := words[0]
	if len(words) > 1 {
		if first, _, err = rarest(ctx, r, tenant, words); err != nil {
			return nil, 0, err
		}
	}
	limit := referral.MaxFound
	if users, err := CountUsers(ctx, r, tenant); err != nil {
		return nil, 0, err
	} else if users <= referral.MaxSearched {
		limit = -1 // all
	}
	found, args := foundBy(tenant, f, words, first, limit)
	// The users are sorted by their place alone, and those of the page are read again with
	// all columns.
	rows, err := r.QueryContext(ctx, `WITH found AS MATERIALIZED (SELECT u.seq, row_number() OVER (ORDER BY `+userOrder(f.Order)+`) AS place`+found+`)
		SELECT `+foundColumns.SQL()+` FROM found CROSS JOIN user u ON u.seq = found.seq WHERE +u.tenant = ? AND (place = 1 OR place > ? AND place <= ?) ORDER BY place`,
		append(args, string(tenant), f.Offset, f.Offset+f.Limit)...)
	all, err := foundColumns.All(rows, err, "search of users")
	for _, one := range all {
		if total = one.total; one.place > f.Offset && one.place <= f.Offset+f.Limit {
			page = append(page, one.user)
		}
	}
	return page, total, err
}

// foundUser is a user whom a search found, at a place from 1 among all of them.
type foundUser struct {
	user         referral.User
	place, total int
}

var foundColumns = append(store.Nested(UserColumns, func(f *foundUser) *referral.User { return &f.user }),
	store.Col(`found.place`, func(f *foundUser) any { return &f.place }),
	store.Col(`(SELECT count(*) FROM found)`, func(f *foundUser) any { return &f.total }))

// foundBy returns the FROM and WHERE clauses of the users u of a search, and their
// arguments: of those whom the index has first for a word, up to a limit of terms, the ones
// who meet all else.
func foundBy(tenant core.TenantAlias, f referral.UserFilter, words []referral.IndexWord, first referral.IndexWord, limit int) (from string, args []any) {
	w := equals(f)
	for _, word := range words {
		if word != first {
			requireWords(&w, tenant, []string{word.Text})
		}
	}
	begin, end := termRange(tenant, first)
	return ` FROM (SELECT DISTINCT doc FROM (SELECT doc FROM user_index_term WHERE term >= ? AND term <= ? LIMIT ?)) top
		CROSS JOIN user u ON u.seq = top.doc WHERE +u.tenant = ? AND ` + w.SQL(), append([]any{begin, end, limit, string(tenant)}, w.Args...)
}

// termRange returns the first term of a word in the index, and a text that is not before
// its last one.
func termRange(tenant core.TenantAlias, word referral.IndexWord) (begin, end string) {
	begin = indexTerm(tenant, word.Text)
	if word.Whole {
		return begin, begin
	}
	return begin, begin + "\U0010FFFF"
}

// rarest returns the word with the fewest terms in the index, and whether the index has at
// least referral.MaxFound of it. It counts no further.
func rarest(ctx context.Context, r store.Reads, tenant core.TenantAlias, words []referral.IndexWord) (first referral.IndexWord, many bool, err error) {
	least := referral.MaxFound
	for i, word := range words {
		begin, end := termRange(tenant, word)
		n, err := store.One[int](ctx, r, "count terms", `SELECT count(*) FROM (SELECT 1 FROM user_index_term WHERE term >= ? AND term <= ? LIMIT ?)`, begin, end, least)
		if err != nil {
			return first, false, err
		}
		if i == 0 || n < least {
			first, least = word, n
		}
	}
	return first, least == referral.MaxFound, nil
}

// FindPeople returns up to limit users who have, for each word, a term that begins with
// it, in no order. If each of the words has too many terms, all is false, and no user is
// returned.
func FindPeople(ctx context.Context, r store.Reads, tenant core.TenantAlias, texts []string, limit int) (people []referral.Identity, all bool, err error) {
	words := referral.UserFilter{Words: composed(texts...)}.IndexWords()
	first, many, err := rarest(ctx, r, tenant, words)
	if err != nil || many {
		return nil, false, err
	}
	found, args := foundBy(tenant, referral.UserFilter{}, words, first, referral.MaxFound)
	rows, err := r.QueryContext(ctx, `SELECT `+personColumns.SQL()+found+` LIMIT ?`, append(args, limit)...)
	people, err = personColumns.All(rows, err, "people")
	return people, true, err
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
