package base

import (
	"context"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
)

// Account returns an account, or a not-found error.
func Account(ctx context.Context, r store.Reads, tenant core.TenantAlias, id core.AccountID) (referral.Account, error) {
	account, known, err := userdb.Account(ctx, r, tenant, id)
	if err == nil && !known {
		err = rules.UnknownAccount()
	}
	return account, err
}

// MustExist returns a not-found error unless there is a user.
func MustExist(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, user core.UserID) error {
	known, err := userdb.UserExists(ctx, r, tenant, account, user)
	if err == nil && !known {
		err = rules.UnknownUser()
	}
	return err
}

// Code returns a code, or a not-found error.
func Code(ctx context.Context, r store.Reads, tenant core.TenantAlias, text core.ReferralCode) (referral.Code, error) {
	code, known, err := userdb.Code(ctx, r, tenant, text)
	if err == nil && !known {
		err = wire.UnknownCode()
	}
	return code, err
}

// PublicCode is Code for callers without the API key: the code of a blocked user is not found
// (clients 1.2.20).
func PublicCode(ctx context.Context, r store.Reads, tenant core.TenantAlias, text core.ReferralCode) (referral.Code, error) {
	code, err := Code(ctx, r, tenant, text)
	if err == nil && code.Blocked {
		err = wire.UnknownCode()
	}
	return code, err
}
