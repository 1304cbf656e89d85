// Package users holds the use cases of users and their accounts: identifying them,
// reading them, blocking them, and erasing them.
package users

import (
	"context"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
)

// Users are those who were identified.
type Users struct {
	*base.Base
	Accounts *Accounts
}

// ByID returns a user, or a not-found error. What makes the share links is for
// the caller to set; see Caller.Share.
func (us *Users) ByID(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID) (wire.UserInfo, error) {
	user, known, err := userdb.User(ctx, us.DB.Reads, tenant, account, id)
	if err == nil && !known {
		err = rules.UnknownUser()
	}
	if err != nil {
		return wire.UserInfo{}, err
	}
	stored, err := us.Accounts.ByID(ctx, tenant, account)
	if err != nil {
		return wire.UserInfo{}, err
	}
	ref, err := referraldb.OfAccount(ctx, us.DB.Reads, tenant, account)
	return wire.UserInfo{User: user, Account: stored, ReferredBy: wire.ReferredBy{Referral: ref}}, err
}

// List returns a page of users and how many there are in all. What makes the
// share links is for the caller to set; see Caller.Share.
func (us *Users) List(ctx context.Context, tenant core.TenantAlias, f referral.UserFilter) ([]wire.UserInfo, int, error) {
	page, total, err := userdb.Users(ctx, us.DB.Reads, tenant, f)
	if err != nil {
		return nil, 0, err
	}
	users, err := us.infos(ctx, tenant, page)
	return users, total, err
}

// ListByID returns the users of a list that there are, in no order; see List.
func (us *Users) ListByID(ctx context.Context, tenant core.TenantAlias, ids []referral.Identity) ([]wire.UserInfo, error) {
	found, err := userdb.UsersByID(ctx, us.DB.Reads, tenant, ids)
	if err != nil {
		return nil, err
	}
	return us.infos(ctx, tenant, found)
}

// infos adds to users what an answer tells of them besides.
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

// ByCode returns the owner of a code, blocked or not, or a not-found error.
// What makes the share links is for the caller to set; see Caller.Share.
func (us *Users) ByCode(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (wire.UserInfo, error) {
	c, known, err := userdb.Code(ctx, us.DB.Reads, tenant, code)
	if err == nil && !known {
		err = wire.UnknownCode()
	}
	if err != nil {
		return wire.UserInfo{}, err
	}
	return us.ByID(ctx, tenant, c.Owner.Account, c.Owner.User)
}

// PublicByCode returns the owner of a code and the code in its own spelling, for
// anybody who has the code: it tells as much as a friend may see. A blocked
// owner's code is unknown.
func (us *Users) PublicByCode(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (wire.UserInfo, core.ReferralCode, error) {
	c, known, err := userdb.Code(ctx, us.DB.Reads, tenant, code)
	if err == nil && (!known || c.Blocked) {
		err = wire.UnknownCode()
	}
	if err != nil {
		return wire.UserInfo{}, "", err
	}
	owner, err := us.ByID(ctx, tenant, c.Owner.Account, c.Owner.User)
	return owner, c.Code, err
}

// ShareCode returns the name of the share link of a user in a program, a code, or in their first
// when it is empty, and that program. An unknown user and a program in which the
// user has no code are not found.
func (us *Users) ShareCode(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, key core.ProgramKey) (referral.UserCode, error) {
	user, known, err := userdb.User(ctx, us.DB.Reads, tenant, account, id)
	if err == nil && !known {
		err = rules.UnknownUser()
	}
	if err != nil {
		return referral.UserCode{}, err
	}
	if key == "" {
		key = user.FirstProgram()
	}
	for _, c := range user.LinkNames() {
		if c.Program == key {
			return c, nil
		}
	}
	return referral.UserCode{}, core.NotFound("this user has no code in this program")
}

// ProgramName returns the name of the program of a code: the words that go with a
// link that is shared.
func (us *Users) ProgramName(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (string, error) {
	c, known, err := userdb.Code(ctx, us.DB.Reads, tenant, code)
	if err == nil && !known {
		err = wire.UnknownCode()
	}
	if err != nil {
		return "", err
	}
	p, err := programdb.ByKey(ctx, us.DB.Reads, tenant, c.Program)
	return p.Name, err
}

// Block keeps a user from referring anybody from now on: nobody who is not a
// holder of the API key finds their codes, and no code of theirs attributes.
// What was attributed before stays. A user who is blocked already is forbidden,
// an unknown one not found (clients 1.2.10).
func (us *Users) Block(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID) error {
	return us.setBlocked(ctx, tenant, account, user, true)
}

// Unblock lets a blocked user refer again; see Block.
func (us *Users) Unblock(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID) error {
	return us.setBlocked(ctx, tenant, account, user, false)
}

func (us *Users) setBlocked(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, blocked bool) error {
	return us.DB.Write(ctx, us.Now(), func(tx *store.Tx) error {
		known, err := userdb.UserExists(ctx, tx.Reads, tenant, account, user)
		if err == nil && !known {
			err = rules.UnknownUser()
		}
		if err != nil {
			return err
		}
		since, refusal := core.Time(0), "this user is not blocked"
		if blocked {
			since, refusal = tx.Now, "this user is blocked already"
		}
		changed, err := userdb.BlockUser(ctx, tx, tenant, account, user, since)
		if err == nil && !changed {
			err = &core.Error{Code: core.CodeForbidden, Message: refusal}
		}
		return err
	})
}
