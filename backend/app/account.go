package app

import (
	"context"

	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/state"
)

// SyncAccount stores what a shop says of an account; see rules.Rules.SyncAccount.
func (e *Engine) SyncAccount(ctx context.Context, tenant core.TenantAlias, u referral.AccountUpdate) (account referral.Account, err error) {
	err = e.Decide(ctx, tenant, func(s *state.State) (err error) {
		account, err = e.Rules().SyncAccount(s, u)
		return err
	})
	return account, err
}

// Account returns an account, or a not-found error.
func (e *Engine) Account(ctx context.Context, tenant core.TenantAlias, id core.AccountID) (referral.Account, error) {
	account, known, err := e.DB.Account(ctx, tenant, id)
	if err == nil && !known {
		err = rules.UnknownAccount()
	}
	return account, err
}
