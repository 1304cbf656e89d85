// Package users has the use cases of users and their accounts: identifying, reading,
// blocking and erasing them.
package users

import (
	"context"
	"slices"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/text"
	"kith/core/wire"
)

// Users reads and blocks users.
type Users struct{ *base.Base }

// stored returns a user as stored, or a not-found error.
func (us *Users) stored(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID) (referral.User, error) {
	user, known, err := userdb.User(ctx, us.DB.Reads, tenant, account, id)
	if err == nil && !known {
		err = rules.UnknownUser()
	}
	return user, err
}

// ByID returns a user, or a not-found error. The caller must set the Share field of the
// result; see base.Caller.Share.
func (us *Users) ByID(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID) (wire.UserInfo, error) {
	user, err := us.stored(ctx, tenant, account, id)
	if err != nil {
		return wire.UserInfo{}, err
	}
	stored, err := base.Account(ctx, us.DB.Reads, tenant, account)
	if err != nil {
		return wire.UserInfo{}, err
	}
	ref, err := referraldb.OfAccount(ctx, us.DB.Reads, tenant, account)
	return wire.UserInfo{User: user, Account: stored, ReferredBy: wire.ReferredBy{Referral: ref}}, err
}

// List returns a page of the users that match the filter, and their total number. The
// caller must set the Share field of each; see base.Caller.Share. It returns an error if it
// had to sort more than referral.MaxSorted users.
func (us *Users) List(ctx context.Context, tenant core.TenantAlias, f referral.UserFilter) ([]wire.UserInfo, int, error) {
	if f.SortsAll() {
		all, err := userdb.CountUsers(ctx, us.DB.Reads, tenant)
		if err == nil && all > referral.MaxSorted {
			err = core.Invalid("sortBy", "sorts at most "+strconv.Itoa(referral.MaxSorted)+" users, unless it is accountId; narrow the list with filter or query, or leave sortBy out")
		}
		if err != nil {
			return nil, 0, err
		}
	}
	page, total, err := userdb.Users(ctx, us.DB.Lists, tenant, f)
	if err != nil {
		return nil, 0, err
	}
	users, err := us.infos(ctx, tenant, page)
	return users, total, err
}

// ListByID returns the users with the given ids, in no order; see List. Unknown users
// are left out.
func (us *Users) ListByID(ctx context.Context, tenant core.TenantAlias, ids []referral.Identity) ([]wire.UserInfo, error) {
	found, err := userdb.UsersByID(ctx, us.DB.Reads, tenant, ids)
	if err != nil {
		return nil, err
	}
	return us.infos(ctx, tenant, found)
}

// infos adds to users their accounts and the referrals by which they were referred.
func (us *Users) infos(ctx context.Context, tenant core.TenantAlias, page []referral.User) ([]wire.UserInfo, error) {
	if len(page) == 0 {
		return nil, nil
	}
	var ids []core.AccountID
	for _, u := range page {
		ids = append(ids, u.Account)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	accounts, err := userdb.Accounts(ctx, us.DB.Reads, tenant, ids)
	if err != nil {
		return nil, err
	}
	referrals, err := referraldb.OfAccounts(ctx, us.DB.Reads, tenant, ids)
	if err != nil {
		return nil, err
	}
	users := make([]wire.UserInfo, len(page))
	for i, u := range page {
		users[i] = wire.UserInfo{
			User: u, Account: accounts[u.Account], ReferredBy: wire.ReferredBy{Referral: referrals[u.Account]},
		}
	}
	return users, nil
}

// ByCode returns the owner of a code, even if the owner is blocked, or a not-found
// error. The caller must set the Share field of the result; see base.Caller.Share.
func (us *Users) ByCode(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (wire.UserInfo, error) {
	c, err := base.Code(ctx, us.DB.Reads, tenant, code)
	if err != nil {
		return wire.UserInfo{}, err
	}
	return us.ByID(ctx, tenant, c.Owner.Account, c.Owner.User)
}

// PublicByCode is ByCode for callers without the API key: the code of a blocked owner is
// not found. It also returns the code as its owner spelled it. The caller must show only
// the public fields of the owner.
func (us *Users) PublicByCode(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (wire.UserInfo, core.ReferralCode, error) {
	c, err := base.PublicCode(ctx, us.DB.Reads, tenant, code)
	if err != nil {
		return wire.UserInfo{}, "", err
	}
	owner, err := us.ByID(ctx, tenant, c.Owner.Account, c.Owner.User)
	return owner, c.Code, err
}

// ShareCode returns the code that the user's share link in a program has, and that
// program. If key is empty, it is the user's first program. The error is not-found for
// an unknown user, and for a program in which the user has no code.
func (us *Users) ShareCode(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, key core.ProgramKey) (referral.UserCode, error) {
	_, code, err := us.sharer(ctx, tenant, account, id, key)
	return code, err
}

// sharer returns a user and the code in the user's share link; see ShareCode.
func (us *Users) sharer(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, key core.ProgramKey) (referral.User, referral.UserCode, error) {
	user, err := us.stored(ctx, tenant, account, id)
	if err != nil {
		return user, referral.UserCode{}, err
	}
	if key == "" {
		key = user.FirstProgram()
	}
	for _, c := range user.LinkNames() {
		if c.Program == key {
			return user, c, nil
		}
	}
	return user, referral.UserCode{}, core.NotFound("this user has no code in this program")
}

// Sharing is what a user shares: a link, and the text for it.
type Sharing struct {
	// Code is the code in the share link.
	Code       core.ReferralCode
	Invitation text.Invitation
	// Language is that of the invitation.
	Language text.Tag
}

// Invitation returns what a user shares in a program; see ShareCode. page and browser
// are the languages that the page and the browser ask for; the language of the user
// counts after that of the page.
func (us *Users) Invitation(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, key core.ProgramKey, page, browser string) (s Sharing, err error) {
	user, code, err := us.sharer(ctx, tenant, account, id, key)
	if err != nil {
		return Sharing{}, err
	}
	p, err := programdb.ByKey(ctx, us.DB.Reads, tenant, code.Program)
	if err != nil {
		return Sharing{}, err
	}
	s.Code = code.Code
	s.Invitation, s.Language = p.Invite(text.Wanted(page, user.Locale, browser))
	return s, nil
}
