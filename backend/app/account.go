package app

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
		if err := mayPay(ctx, tx, tenant, u); err != nil {
			return err
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

// mayPay refuses what only the payment gateway may tell of a tenant that has one
// (reference, 4.2).
func mayPay(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.AccountUpdate) error {
	if u.Status == nil || *u.Status != referral.Paid {
		return nil
	}
	connected, err := tx.Connected(ctx, tenant)
	if err == nil && connected {
		err = &core.Error{
			Code: core.CodeNotSupported, Field: "subscription.status",
			Message: "PAID is not taken here: the tenant's payment gateway tells who has paid",
		}
	}
	return err
}

// Account returns an account, or a not-found error.
func (e *Engine) Account(ctx context.Context, tenant core.TenantAlias, id core.AccountID) (referral.Account, error) {
	account, known, err := e.DB.Account(ctx, tenant, id)
	if err == nil && !known {
		err = unknownAccount()
	}
	return account, err
}

func unknownAccount() *core.Error {
	return &core.Error{Code: core.CodeNotFound, RS: "RS041", Message: "there is no such account"}
}

// tieProvider returns the account with its customer at the payment gateway. That
// is set once, and to no other account's.
func tieProvider(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account referral.Account, id core.PaymentProviderID) (referral.Account, error) {
	switch account.PaymentProviderID {
	case id:
		return account, nil
	case "":
	default:
		return account, &core.Error{
			Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS019",
			Message: "is set already and cannot be changed",
		}
	}
	other, err := tx.AccountOfProvider(ctx, tenant, id)
	if err == nil && other != "" {
		err = &core.Error{
			Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS029",
			Message: "belongs to another account",
		}
	}
	account.PaymentProviderID = id
	if err != nil {
		return account, err
	}
	return account, tx.TouchCustomer(ctx, tenant, id)
}
