package graphql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kith/backend/app/base"
	"kith/backend/app/users"
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// user is the GraphQL type User. A caller with another user's token sees only the first
// name, the initial of the last name and the picture.
type user struct {
	c      *call
	stored wire.UserInfo
	// hidden reports whether the caller may not see all of the user.
	hidden bool
	// loaders are the loaders that it shares with the other users of its list.
	loaders *userFieldLoaders
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
	BlockedRewards                                                   *string
}

// userFieldLoaders loads the lists of the users of one list.
type userFieldLoaders struct {
	events   loader[referral.Identity, []event.Logged]
	rewards  loader[referral.Identity, *list[*rewardNode]]
	balances loader[referral.Identity, []reward.Balance]
	made     loader[referral.Identity, *list[*referralNode]]
}

func (b *userFieldLoaders) add(identity referral.Identity) {
	b.events.add(identity)
	b.rewards.add(identity)
	b.balances.add(identity)
	b.made.add(identity)
}

// newUsers returns the nodes of the users of one list, which share their loaders.
func newUsers(c *call, all []wire.UserInfo) []*user {
	loaders := &userFieldLoaders{}
	users := make([]*user, len(all))
	var referrals []referral.Referral
	for i, stored := range all {
		stored.Share = c.Caller.Share(c.Base)
		u := newUser(c, stored)
		u.loaders, users[i] = loaders, u
		if !u.hidden {
			loaders.add(u.identity())
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

// identity returns the ids of the user.
func (u *user) identity() referral.Identity {
	return referral.Identity{Account: u.stored.User.Account, User: u.stored.User.ID}
}

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
	out.BlockedRewards = textOrNull(string(u.BlockedRewards))
	out.DateBlocked, out.DateUsTaxFormSubmitted = dateOrNull(u.Blocked), dateOrNull(u.USTaxForm)
	for _, s := range u.Segments {
		out.Segments = append(out.Segments, word(s))
	}
	if by := stored.ReferredBy.Referral; by != nil {
		out.ReferredByCodes = append(out.ReferredByCodes, string(by.Code))
	}
	return out
}

// initial returns the first letter of a name.
func initial(name string) string {
	_, n := utf8.DecodeRuneInString(name)
	return name[:n]
}

// codes returns the JSON object of codes by program.
func codes(all []referral.UserCode) node {
	object := map[string]any{}
	for _, c := range all {
		object[string(c.Program)] = string(c.Code)
	}
	return node(appendObject(nil, object))
}

// Permissions is empty; see viewer.Permissions.
func (*user) Permissions() []string { return []string{} }

// UserEvents returns a page of the user's events that were processed.
func (u *user) UserEvents(ctx context.Context, args listArguments) (*list[*eventNode], error) {
	f, err := eventFilter(args)
	if err != nil {
		return nil, err
	}
	if u.hidden {
		return empty[*eventNode](), nil
	}
	page, err := u.loaders.events.get(ctx, fmt.Sprint(f), u.identity(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity][]event.Logged, error) {
		return u.c.engine.Events.ListOf(ctx, u.c.tenant, users, f)
	})
	if err != nil {
		return nil, err
	}
	return newEvents(page), nil
}

// referredBy is the older form of the referral that brought a user.
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

// ReferredByReferral returns the referral of the user's account; null if it has none in
// the program.
func (u *user) ReferredByReferral(args struct{ ProgramID argument }) *referralNode {
	wanted := args.ProgramID.text()
	if u.by == nil || wanted != "" && wanted != string(u.by.stored.Program) {
		return nil
	}
	return u.by
}

// ReferredByReferrals returns a list with the referral of the user's account, if it has
// one.
func (u *user) ReferredByReferrals() []*referralNode {
	if u.by == nil {
		return []*referralNode{}
	}
	return []*referralNode{u.by}
}

// Referrals returns a page of the referrals that the user made.
func (u *user) Referrals(ctx context.Context, args listArguments) (*list[*referralNode], error) {
	f, err := referralFilter(args)
	if err != nil {
		return nil, err
	}
	if u.hidden {
		return empty[*referralNode](), nil
	}
	return u.loaders.made.get(ctx, fmt.Sprint(f), u.identity(), func(ctx context.Context, users []referral.Identity) (map[referral.Identity]*list[*referralNode], error) {
		return u.c.referralsMade(ctx, users, f)
	})
}

// self returns the user of the caller's token; empty ids without a token.
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

// user returns a user, or nil if there is no such user.
func (c *call) user(ctx context.Context, account core.AccountID, id core.UserID) (*user, error) {
	found, err := c.engine.Users.ByID(ctx, c.tenant, account, id)
	return orNull(found, err, func(found wire.UserInfo) *user { return newUsers(c, []wire.UserInfo{found})[0] })
}

// userArguments are the arguments of a list of users.
type userArguments struct {
	listArguments
	Query, SortBy argument
}

func userFilter(a userArguments) (f referral.UserFilter, err error) {
	if f.Words, err = referral.SearchWords("query", a.Query.text()); err != nil {
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

// userOrder reads an element of sortBy.
func userOrder(at string, by argument) (o referral.UserOrder, err error) {
	o = referral.UserOrder{Field: by.member("field").text(), Descending: by.member("order").value == "DESC"}
	if !slices.Contains(referral.UserFields, o.Field) {
		return o, core.Invalid(at+".field", "must be one of "+strings.Join(referral.UserFields, ", "))
	}
	return o, nil
}

// Users returns a page of the tenant's users, sorted by id unless sortBy is set. It needs
// the API key.
func (*query) Users(ctx context.Context, args userArguments) (*list[*user], error) {
	return keyedList(ctx, args, userFilter, callOf(ctx).engine.Users.List, newUsers)
}

// userKey are the arguments that name a user.
type userKey struct{ AccountID, ID argument }

// ids reads the ids. userField is the name of the argument with the user's id, for errors.
func (k userKey) ids(userField string) (account core.AccountID, user core.UserID, err error) {
	if account, err = core.ParseAccountID("accountId", k.AccountID.text()); err != nil {
		return "", "", err
	}
	user, err = core.ParseUserID(userField, k.ID.text())
	return account, user, err
}

// parse reads the ids. It refuses a caller who may not use the endpoint for that user.
func (k userKey) parse(c *call, endpoint auth.Endpoint) (account core.AccountID, user core.UserID, err error) {
	if account, user, err = k.ids("id"); err != nil {
		return "", "", err
	}
	return account, user, c.Caller.May(endpoint, account, user)
}

// keyed reads the ids. It needs the API key.
func (k userKey) keyed(ctx context.Context, userField string) (c *call, account core.AccountID, user core.UserID, err error) {
	if c, err = keyHolder(ctx); err != nil {
		return nil, "", "", err
	}
	account, user, err = k.ids(userField)
	return c, account, user, err
}

// User returns a user by their ids, or null.
func (*query) User(ctx context.Context, args userKey) (*user, error) {
	c := callOf(ctx)
	account, user, err := args.parse(c, auth.LookupUser)
	if err != nil {
		return nil, err
	}
	return c.user(ctx, account, user)
}

// blocked is the result of blocking or unblocking a user.
type blocked struct{ User *user }

// BlockUser blocks a user: their codes become unknown. It needs the API key.
func (*mutation) BlockUser(ctx context.Context, args struct {
	userKey
	Rewards argument
}) (*blocked, error) {
	return setBlocked(ctx, args.userKey, func(ctx context.Context, c people.Caller, who referral.Identity, reason string) error {
		return callOf(ctx).engine.Admin.Users.Block(ctx, c, who, reward.Block(args.Rewards.text()), reason)
	})
}

// UnblockUser ends the block of a user. It needs the API key.
func (*mutation) UnblockUser(ctx context.Context, args userKey) (*blocked, error) {
	return setBlocked(ctx, args, callOf(ctx).engine.Admin.Users.Unblock)
}

func setBlocked(ctx context.Context, key userKey, set func(context.Context, people.Caller, referral.Identity, string) error) (*blocked, error) {
	c, account, id, err := key.keyed(ctx, "id")
	if err != nil {
		return nil, err
	}
	if err := set(ctx, c.member(), referral.Identity{Account: account, User: id}, ""); err != nil {
		return nil, err
	}
	u, err := c.user(ctx, account, id)
	return &blocked{User: u}, err
}

// DeleteUser deletes a user and all personal data about them. It returns false if there is
// no such user. It needs the API key.
func (*mutation) DeleteUser(ctx context.Context, args struct {
	userKey
	DoNotTrack, PreserveEmptyAccount argument
}) (*bool, error) {
	c, account, id, err := args.keyed(ctx, "id")
	if err != nil {
		return nil, err
	}
	return deletedOr(c.engine.Admin.Users.Delete(ctx, c.member(), referral.Identity{Account: account, User: id}, users.DeleteOptions{
		DoNotTrack: args.DoNotTrack.value == true, PreserveEmptyAccount: args.PreserveEmptyAccount.value == true,
	}))
}

// DeleteAccount deletes an account and its users. It returns false if there is no such
// account. It needs the API key.
func (*mutation) DeleteAccount(ctx context.Context, args struct{ AccountID, DoNotTrack argument }) (*bool, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	account, err := core.ParseAccountID("accountId", args.AccountID.text())
	if err != nil {
		return nil, err
	}
	return deletedOr(c.engine.Admin.Users.DeleteAccount(ctx, c.member(), account, args.DoNotTrack.value == true))
}

// deletedOr returns true for a deletion, and false if err is "not found".
func deletedOr(err error) (*bool, error) {
	if err != nil && !base.IsNotFound(err) {
		return nil, err
	}
	return pointer(err == nil), nil
}
