package program

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// DeleteOptions say what a deletion leaves (reference, 1.2).
type DeleteOptions struct {
	// DoNotTrack keeps the user from ever coming back to this account: what is
	// kept of them is a keyed hash of the ids.
	DoNotTrack bool
	// PreserveEmptyAccount keeps an account that the deletion leaves without
	// users.
	PreserveEmptyAccount bool
}

// DeleteUser removes a user and all that is personal about them, or returns a
// not-found error. Their codes are unknown from then on and their events are
// gone. Referrals and rewards stay as they are, so that the books balance, but
// name nobody: a name of no meaning takes the place of the user's.
func (e *Engine) DeleteUser(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, o DeleteOptions) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error { return e.deleteUser(ctx, tx, tenant, account, id, o) })
}

func (e *Engine) deleteUser(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, id core.UserID, o DeleteOptions) error {
	known, err := tx.UserKnown(ctx, tenant, account, id)
	if err == nil && !known {
		err = unknownUser()
	}
	if err != nil {
		return err
	}
	if err := e.eraseUsers(ctx, tx, tenant, account, id, o.DoNotTrack); err != nil || o.PreserveEmptyAccount {
		return err
	}
	left, err := tx.UserCount(ctx, tenant, account)
	if err != nil || left > 0 {
		return err
	}
	return tx.EraseAccount(ctx, tenant, account, core.AccountID(core.Erased(e.newID(tx.Now))))
}

// DeleteAccount removes an account and its users, as DeleteUser does, or returns
// a not-found error. With doNotTrack none of those users ever comes back to an
// account of that id.
func (e *Engine) DeleteAccount(ctx context.Context, tenant core.TenantAlias, account core.AccountID, doNotTrack bool) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		_, known, err := tx.Account(ctx, tenant, account)
		if err == nil && !known {
			err = unknownAccount()
		}
		if err != nil {
			return err
		}
		if err := e.eraseUsers(ctx, tx, tenant, account, "", doNotTrack); err != nil {
			return err
		}
		return tx.EraseAccount(ctx, tenant, account, core.AccountID(core.Erased(e.newID(tx.Now))))
	})
}

// eraseUsers erases a user, or all of an account when id is empty.
func (e *Engine) eraseUsers(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, id core.UserID, doNotTrack bool) error {
	if doNotTrack {
		ids := []core.UserID{id}
		if id == "" {
			var err error
			if ids, err = tx.UserIDs(ctx, tenant, account); err != nil {
				return err
			}
		}
		identities := make([]string, len(ids))
		for i, id := range ids {
			identities[i] = e.Keys.Identity(tenant, account, id)
		}
		if err := tx.PutDoNotTrack(ctx, tenant, identities); err != nil {
			return err
		}
	}
	who := e.newID(tx.Now)
	return tx.EraseUsers(ctx, tenant, account, id, core.UserID(core.Erased(who)), core.ReferralCode("deleted-"+who))
}
