package users

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/wire"
)

// Search is what a person searches users by.
type Search struct {
	// Text has words: each is the beginning of an id, of a word of the name, of the mail
	// address or of its domain. It may also be a code. If it is empty, all users are found.
	Text string
	// After is Found.Next of the page before; empty for the first page.
	After string
	// Limit is the most users of a page.
	Limit int
}

// Found is a page of the users that a Search finds.
type Found struct {
	// Users are in the order of the words that were found, or of the ids if all users are.
	Users []wire.UserInfo
	// Owner is the owner of the code that the text is; nil if it is none. Only the first
	// page has it.
	Owner *wire.UserInfo
	// Next continues the search; it is empty on the last page.
	Next string
}

// Find returns a page of the users that a person searches for. The caller must set the
// Share field of each; see base.Caller.Share. Unlike List it takes the same time for each
// page and however many users there are, since it neither counts nor sorts them.
func (us *Users) Find(ctx context.Context, tenant core.TenantAlias, s Search) (f Found, err error) {
	words, err := referral.SearchWords("search", s.Text)
	if err != nil {
		return f, err
	}
	var page []referral.User
	if len(words) == 0 {
		page, f.Next, err = us.all(ctx, tenant, s)
	} else {
		page, f.Next, err = us.withWords(ctx, tenant, s, words)
	}
	if err != nil {
		return f, err
	}
	if len(words) == 1 && s.After == "" {
		if f.Owner, err = us.owner(ctx, tenant, s.Text); err != nil {
			return f, err
		}
	}
	f.Users, err = us.infos(ctx, tenant, page)
	return f, err
}

// owner returns the owner of a code, or nil.
func (us *Users) owner(ctx context.Context, tenant core.TenantAlias, text string) (*wire.UserInfo, error) {
	c, known, err := userdb.Code(ctx, us.DB.Reads, tenant, link.MeantCode(tenant, text))
	if err != nil || !known {
		return nil, err
	}
	all, err := us.ListByID(ctx, tenant, []referral.Identity{{Account: c.Owner.Account, User: c.Owner.User}})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// all returns a page of all users.
func (us *Users) all(ctx context.Context, tenant core.TenantAlias, s Search) (page []referral.User, next string, err error) {
	var after referral.Identity
	if s.After != "" {
		account, user, err := parseCursor(s.After)
		if err != nil {
			return nil, "", err
		}
		after = referral.Identity{Account: core.AccountID(account), User: core.UserID(user)}
	}
	page, more, err := userdb.ByAccount(ctx, us.DB.Lists, tenant, after, s.Limit)
	if more {
		last := page[len(page)-1]
		next = cursor(string(last.Account), string(last.ID))
	}
	return page, next, err
}

// withWords returns a page of the users who have all words.
func (us *Users) withWords(ctx context.Context, tenant core.TenantAlias, s Search, words []string) (page []referral.User, next string, err error) {
	var after userdb.Place
	if s.After != "" {
		term, seq, err := parseCursor(s.After)
		if err != nil {
			return nil, "", err
		}
		if after.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil {
			return nil, "", noSuchPage()
		}
		after.Term = term
	}
	page, place, err := userdb.Find(ctx, us.DB.Lists, tenant, words, after, s.Limit)
	if place != (userdb.Place{}) {
		next = cursor(place.Term, strconv.FormatInt(place.Seq, 10))
	}
	return page, next, err
}

// cursor returns a place in a list as text for a URL. Neither part has control characters.
func cursor(a, b string) string { return base64.RawURLEncoding.EncodeToString([]byte(a + "\n" + b)) }

func parseCursor(s string) (a, b string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	a, b, ok := strings.Cut(string(text), "\n")
	if err != nil || !ok {
		return "", "", noSuchPage()
	}
	return a, b, nil
}

func noSuchPage() error {
	return core.Invalid("after", "is not a page of this list; begin at the first page")
}
