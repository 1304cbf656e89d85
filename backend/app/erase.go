package app

import (
	"context"
	"maps"
	"slices"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
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
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		refused, err := e.deleteUsers(ctx, tx, tenant, []deletion{{account, id, o}})
		if err != nil {
			return err
		}
		return refused[0]
	})
}

// deletion is a user to be deleted.
type deletion struct {
	account core.AccountID
	user    core.UserID
	options DeleteOptions
}

func (d deletion) identity() referral.Identity {
	return referral.Identity{Account: d.account, User: d.user}
}

// deleteUsers makes deletions, in their order, whatever their number by the same
// few statements. It returns for each why it was refused, or nil.
func (e *Engine) deleteUsers(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, all []deletion) (refused []error, err error) {
	ids := make([]referral.Identity, len(all))
	for i, d := range all {
		ids[i] = d.identity()
	}
	known, err := tx.KnownUsers(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	refused = make([]error, len(all))
	var done []deletion
	for i, d := range all {
		if !known[d.identity()] {
			refused[i] = rules.UnknownUser()
			continue
		}
		known[d.identity()] = false
		done = append(done, d)
	}
	return refused, e.erase(ctx, tx, tenant, done)
}

// erase erases users who are there, and the accounts that are left without any,
// unless the last deletion of an account says otherwise.
func (e *Engine) erase(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, all []deletion) error {
	if len(all) == 0 {
		return nil
	}
	var untracked []string
	var erasures []store.Erasure
	preserve := map[core.AccountID]bool{}
	for _, d := range all {
		if d.options.DoNotTrack {
			untracked = append(untracked, e.Keys.Identity(tenant, d.account, d.user))
		}
		erasures = append(erasures, e.erasure(tx, d.account, d.user))
		preserve[d.account] = d.options.PreserveEmptyAccount
	}
	if len(untracked) > 0 {
		if err := tx.PutDoNotTrack(ctx, tenant, untracked); err != nil {
			return err
		}
	}
	if err := tx.EraseUsers(ctx, tenant, erasures); err != nil {
		return err
	}
	maps.DeleteFunc(preserve, func(_ core.AccountID, preserved bool) bool { return preserved })
	if len(preserve) == 0 {
		return nil
	}
	empty, err := tx.WithoutUsers(ctx, tenant, slices.Sorted(maps.Keys(preserve)))
	if err != nil {
		return err
	}
	return e.eraseAccounts(ctx, tx, tenant, empty)
}

// erasure is how a user is erased, or all of an account when id is empty.
func (e *Engine) erasure(tx *store.Tx, account core.AccountID, id core.UserID) store.Erasure {
	who := e.IDAt(tx.Now)
	return store.Erasure{Account: account, User: id, Who: core.UserID(core.Erased(who)), Code: core.ReferralCode("deleted-" + who)}
}

func (e *Engine) eraseAccounts(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, accounts []core.AccountID) error {
	who := make(map[core.AccountID]core.AccountID, len(accounts))
	for _, account := range accounts {
		who[account] = core.AccountID(core.Erased(e.IDAt(tx.Now)))
	}
	return tx.EraseAccounts(ctx, tenant, who)
}

// DeleteAccount removes an account and its users, as DeleteUser does, or returns
// a not-found error. With doNotTrack none of those users ever comes back to an
// account of that id.
func (e *Engine) DeleteAccount(ctx context.Context, tenant core.TenantAlias, account core.AccountID, doNotTrack bool) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		_, known, err := tx.Account(ctx, tenant, account)
		if err == nil && !known {
			err = rules.UnknownAccount()
		}
		if err != nil {
			return err
		}
		if doNotTrack {
			if err := e.untrackAll(ctx, tx, tenant, account); err != nil {
				return err
			}
		}
		if err := tx.EraseUsers(ctx, tenant, []store.Erasure{e.erasure(tx, account, "")}); err != nil {
			return err
		}
		return e.eraseAccounts(ctx, tx, tenant, []core.AccountID{account})
	})
}

// untrackAll keeps all users of an account from ever coming back to it.
func (e *Engine) untrackAll(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID) error {
	ids, err := tx.UserIDs(ctx, tenant, account)
	if err != nil {
		return err
	}
	identities := make([]string, len(ids))
	for i, id := range ids {
		identities[i] = e.Keys.Identity(tenant, account, id)
	}
	return tx.PutDoNotTrack(ctx, tenant, identities)
}
