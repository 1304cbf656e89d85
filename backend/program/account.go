package program

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// SyncAccount stores what a shop tells of an account: the code that referred it
// attributes, the first PAID converts (spec, Update account).
func (e *Engine) SyncAccount(ctx context.Context, tenant core.TenantAlias, u referral.AccountUpdate) (account referral.Account, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		stored, known, err := tx.Account(ctx, tenant, u.ID)
		if err != nil {
			return err
		}
		if !known {
			stored = referral.NewAccount(u.ID, tx.Now)
		}
		command := referral.Command{Now: tx.Now, Paid: u.Status != nil && *u.Status == referral.Paid}
		if u.Code != nil && *u.Code != "" {
			command.Claims = []referral.Claim{{Code: *u.Code, Source: referral.SourceAccount}}
		}
		done, err := settlement{e: e, tx: tx, tenant: tenant, account: u.Apply(stored), command: command}.run(ctx)
		account = done.Account
		return err
	})
	return account, err
}

// Account returns an account, or a not-found error.
func (e *Engine) Account(ctx context.Context, tenant core.TenantAlias, id core.AccountID) (referral.Account, error) {
	account, known, err := e.DB.Account(ctx, tenant, id)
	if err == nil && !known {
		err = &core.Error{Code: core.CodeNotFound, RS: "RS041", Message: "there is no such account"}
	}
	return account, err
}
