package users

import (
	"context"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/referral"
	"kith/core/state"
)

// Accounts reads and updates the accounts of users.
type Accounts struct{ *base.Base }

// Sync stores a shop's update of an account; see rules.Rules.SyncAccount.
func (as *Accounts) Sync(ctx context.Context, tenant core.TenantAlias, u referral.AccountUpdate) (account referral.Account, err error) {
	err = as.Decide(ctx, tenant, func(s *state.State) (err error) {
		account, err = as.Rules().SyncAccount(s, u)
		return err
	})
	return account, err
}

// ByID returns an account, or a not-found error.
func (as *Accounts) ByID(ctx context.Context, tenant core.TenantAlias, id core.AccountID) (referral.Account, error) {
	return base.Account(ctx, as.DB.Reads, tenant, id)
}
