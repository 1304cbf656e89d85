package graphql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kith/backend/app/users"
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// user is a user in an answer. To a token of somebody else it has a first name,
// a letter of the last name and a picture.
type user struct {
	c      *call
	stored wire.UserInfo
	hidden bool
	// beside are the users of the same place of the answer, this one too.
	beside *usersBeside
	// by is the referral of the user's account, or nil.
	by *referralNode

	ID, AccountID, FirstName, LastName, LastInitial, Email, ImageURL *string
	PaymentProviderID                                                *string
	Locale, CountryCode                                              *word
	Referable                                                        *bool
	ReferralCodes                                                    node
	CustomFields                                                     *node
	Segments                                                         []word
	ReferredByCodes                                                  []string
	EmailHash, CookieID, FirstSeenIP, LastSeenIP                     *string
	DateCreated, DateBlocked, DateUsTaxFormSubmitted                 *date
}

// usersBeside load what users of one place of an answer have.
type usersBeside struct {
	events   batch[referral.Identity, []event.Logged]
	rewards  batch[referral.Identity, *list[*rewardNode]]
	balances batch[referral.Identity, []reward.Balance]
	made     batch[referral.Identity, *list[*referralNode]]
}

func (b *usersBeside) want(who referral.Identity) {
	b.events.want(who)
	b.rewards.want(who)
	b.balances.want(who)
	b.made.want(who)
}

// newUsers are the users of one place of an answer.
func newUsers(c *call, all []wire.UserInfo) []*user {
	beside := &usersBeside{}
	users := make([]*user, len(all))
	var referrals []referral.Referral
	for i, stored := range all {
		stored.Share = c.Caller.Share(c.Base)
		u := newUser(c, stored)
		u.beside, users[i] = beside, u
		if !u.hidden {
			beside.want(u.who())
			if by := stored.ReferredBy.Referral; by != nil {
				referrals = append(referrals, *by)
			}
		}
	}
	byID := map[string]*referralNode{}
	for _, r := range newReferrals(c, referrals) {
		byID[r.stored.ID] = r
	}
	for _, u := range users {
		if by := u.stored.ReferredBy.Referral; by != nil && !u.hidden {
			u.by = byID[by.ID]
		}
	}
	return users
}

// who names the user.
func (u *user) who() referral.Identity { return who(u.stored) }

func newUser(c *call, stored wire.UserInfo) *user {
	u := stored.User
	out := &user{
		c: c, stored: stored, hidden: !c.sees(u.Account, u.ID),
		FirstName: pointer(u.FirstName), LastInitial: textOrNull(initial(u.LastName)), ImageURL: pointer(u.ImageURL),
		ReferralCodes: "{}", Segments: []word{}, ReferredByCodes: []string{},
	}
	if out.hidden {
		return out
	}
	out.ID, out.AccountID = pointer(string(u.ID)), pointer(string(u.Account))
	out.LastName, out.Email = pointer(u.LastName), textOrNull(u.Email)
	out.Locale, out.CountryCode = textOrNull(word(u.Locale)), textOrNull(word(u.CountryCode))
	out.PaymentProviderID = textOrNull(string(stored.Account.PaymentProviderID))
	out.Referable, out.DateCreated = &u.Referable, dateOrNull(u.Created)
	out.CustomFields, out.ReferralCodes = pointer(node(u.CustomFields)), codes(u.Codes)
	out.EmailHash, out.CookieID = textOrNull(referral.EmailHash(u.Email)), textOrNull(u.CookieID)
	out.FirstSeenIP, out.LastSeenIP = textOrNull(u.FirstSeenIP), textOrNull(u.LastSeenIP)
	out.DateBlocked, out.DateUsTaxFormSubmitted = dateOrNull(u.Blocked), dateOrNull(u.USTaxForm)
	for _, s := range u.Segments {
		out.Segments = append(out.Segments, word(s))
	}
	if by := stored.ReferredBy.Referral; by != nil {
		out.ReferredByCodes = append(out.ReferredByCodes, string(by.Code))
	}
	return out
}

func initial(name string) string {
	_, n := utf8.DecodeRuneInString(name)
	return name[:n]
}

func codes(all []referral.UserCode) node {
	object := map[string]any{}
	for _, c := range all {
		object[string(c.Program)] = string(c.Code)
	}
	return node(appendObject(nil, object))
}

// Permissions is empty: what a caller may do, each field says.
func (*user) Permissions() []string { return []string{} }

// UserEvents are the user's, as far as they were processed.
func (u *user) UserEvents(ctx context.Context, args eventArguments) (*list[*eventNode], error) {
	f, err := args.filter()
	if err != nil {
		return nil, err
	}
	if u.hidden {
		return empty[*eventNode](), nil
	}
	page, err := u.beside.events.get(ctx, fmt.Sprint(f), u.who(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity][]event.Logged, error) {
		return u.c.engine.Events.ListOf(ctx, u.c.tenant, users, f)
	})
	if err != nil {
		return nil, err
	}
	return newEvents(page), nil
}

// referredBy is the older form of a user's own referral.
type referredBy struct {
	Code           *string
	IsConverted    *bool
	NewlyReferred  *bool
	ReferredReward *node
}

// ReferredBy is null for a user who was not referred.
func (u *user) ReferredBy() *referredBy {
	by := u.stored.ReferredBy.Referral
	if by == nil || u.hidden {
		return nil
	}
	out := &referredBy{
		Code: pointer(string(by.Code)), IsConverted: pointer(by.State == referral.Converted),
		NewlyReferred: &u.stored.ReferredBy.Newly,
	}
	if by.ReferredReward != nil {
		out.ReferredReward = pointer(node(wire.Reward(*by.ReferredReward)))
	}
	return out
}

// ReferredByReferral is the referral of the user's account.
func (u *user) ReferredByReferral(args struct{ ProgramID argument }) (*referralNode, error) {
	wanted, err := args.ProgramID.text("programId")
	if err != nil || u.by == nil || wanted != "" && wanted != string(u.by.stored.Program) {
		return nil, err
	}
	return u.by, nil
}

// ReferredByReferrals has the referral of the user's account, if there is one.
func (u *user) ReferredByReferrals() []*referralNode {
	if u.by == nil {
		return []*referralNode{}
	}
	return []*referralNode{u.by}
}

// Referrals are those that the user made.
func (u *user) Referrals(ctx context.Context, args referralArguments) (*list[*referralNode], error) {
	f, err := args.filter()
	if err != nil {
		return nil, err
	}
	if u.hidden {
		return empty[*referralNode](), nil
	}
	return u.beside.made.get(ctx, fmt.Sprint(f), u.who(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity]*list[*referralNode], error) {
		return u.c.referralsMade(ctx, users, f)
	})
}

// self is the user of the caller's token; of a caller without one it is nobody.
func (c *call) self() (core.AccountID, core.UserID) {
	if c.Caller.User == nil {
		return "", ""
	}
	return c.Caller.User.Account, c.Caller.User.User
}

// sees reports whether the caller may see all of a user.
func (c *call) sees(account core.AccountID, user core.UserID) bool {
	by := c.Caller.User
	return c.Caller.Key || by != nil && by.Account == account && by.User == user
}

// user returns a user, or nil when there is no such one.
func (c *call) user(ctx context.Context, account core.AccountID, id core.UserID) (*user, error) {
	found, err := c.engine.Users.ByID(ctx, c.tenant, account, id)
	return orNull(found, err, func(found wire.UserInfo) *user { return newUsers(c, []wire.UserInfo{found})[0] })
}

func isNotFound(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Code == core.CodeNotFound
}

// userArguments choose and sort users.
type userArguments struct {
	Filter, Query, SortBy argument
	pageArguments
}

func (a userArguments) filter() (f referral.UserFilter, err error) {
	text, err := a.Query.text("query")
	if err != nil {
		return f, err
	}
	if f.Words, err = referral.SearchWords("query", text); err != nil {
		return f, err
	}
	r := &filterReader{at: "filter", a: a.Filter}
	f.Account, f.ID = r.user()
	f.Email = r.text("email_eq")
	if r.err != nil {
		return f, r.err
	}
	for i, by := range a.SortBy.list() {
		order, err := userOrder("sortBy["+strconv.Itoa(i)+"]", by)
		if err != nil {
			return f, err
		}
		f.Order = append(f.Order, order)
	}
	f.Limit, f.Offset, err = a.page()
	return f, err
}

func userOrder(at string, by argument) (o referral.UserOrder, err error) {
	if o.Field, err = by.member("field").text(at + ".field"); err != nil {
		return o, err
	}
	if !slices.Contains(referral.UserFields, o.Field) {
		return o, core.Invalid(at+".field", "must be one of "+strings.Join(referral.UserFields, ", "))
	}
	o.Descending = by.member("order").value == "DESC"
	return o, nil
}

// Users are the tenant's, in the order of their ids unless the call says another.
func (*query) Users(ctx context.Context, args userArguments) (*list[*user], error) {
	return keyedList(ctx, args.filter, callOf(ctx).engine.Users.List, newUsers)
}

// userKey names a user, as most calls about one do.
type userKey struct{ AccountID, ID argument }

// ids reads the ids, of which a call knows the user's by this name.
func (k userKey) ids(userField string) (account core.AccountID, user core.UserID, err error) {
	accountText, err := k.AccountID.text("accountId")
	if err != nil {
		return "", "", err
	}
	userText, err := k.ID.text(userField)
	if err != nil {
		return "", "", err
	}
	if account, err = core.ParseAccountID("accountId", accountText); err != nil {
		return "", "", err
	}
	user, err = core.ParseUserID(userField, userText)
	return account, user, err
}

// parse reads the ids, and refuses a caller who may not make such a call about them.
func (k userKey) parse(c *call, endpoint auth.Endpoint) (account core.AccountID, user core.UserID, err error) {
	if account, user, err = k.ids("id"); err != nil {
		return "", "", err
	}
	return account, user, c.Caller.May(endpoint, account, user)
}

// keyed reads the ids in a call that takes the API key.
func (k userKey) keyed(ctx context.Context, userField string) (c *call, account core.AccountID, user core.UserID, err error) {
	if c, err = keyHolder(ctx); err != nil {
		return nil, "", "", err
	}
	account, user, err = k.ids(userField)
	return c, account, user, err
}

// User is a user by their ids.
func (*query) User(ctx context.Context, args userKey) (*user, error) {
	c := callOf(ctx)
	account, user, err := args.parse(c, auth.LookupUser)
	if err != nil {
		return nil, err
	}
	return c.user(ctx, account, user)
}

// blocked is a user who was blocked, or no longer is.
type blocked struct{ User *user }

// BlockUser keeps a user from referring anybody.
func (*mutation) BlockUser(ctx context.Context, args userKey) (*blocked, error) {
	return setBlocked(ctx, args, callOf(ctx).engine.Users.Block)
}

// UnblockUser lets a blocked user refer again.
func (*mutation) UnblockUser(ctx context.Context, args userKey) (*blocked, error) {
	return setBlocked(ctx, args, callOf(ctx).engine.Users.Unblock)
}

func setBlocked(ctx context.Context, key userKey, set func(context.Context, core.TenantAlias, core.AccountID, core.UserID) error) (*blocked, error) {
	c, account, id, err := key.keyed(ctx, "id")
	if err != nil {
		return nil, err
	}
	if err := set(ctx, c.tenant, account, id); err != nil {
		return nil, err
	}
	u, err := c.user(ctx, account, id)
	return &blocked{User: u}, err
}

// DeleteUser removes a user and all that is personal about them.
func (*mutation) DeleteUser(ctx context.Context, args struct {
	userKey
	DoNotTrack, PreserveEmptyAccount argument
}) (*bool, error) {
	c, account, id, err := args.keyed(ctx, "id")
	if err != nil {
		return nil, err
	}
	return done(c.engine.Erasures.DeleteUser(ctx, c.tenant, account, id, users.DeleteOptions{
		DoNotTrack: args.DoNotTrack.value == true, PreserveEmptyAccount: args.PreserveEmptyAccount.value == true,
	}))
}

// DeleteAccount removes an account and its users.
func (*mutation) DeleteAccount(ctx context.Context, args struct{ AccountID, DoNotTrack argument }) (*bool, error) {
	c, text, err := keyedText(ctx, args.AccountID, "accountId")
	if err != nil {
		return nil, err
	}
	account, err := core.ParseAccountID("accountId", text)
	if err != nil {
		return nil, err
	}
	return done(c.engine.Erasures.DeleteAccount(ctx, c.tenant, account, args.DoNotTrack.value == true))
}

// done is false for what was not there.
func done(err error) (*bool, error) {
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	return pointer(err == nil), nil
}
