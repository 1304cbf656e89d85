package users

import (
	"context"
	"maps"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
)

// Erasures remove users and accounts, and all that is personal about them.
type Erasures struct{ *base.Base }

// DeleteOptions say what a deletion leaves (clients 1.2.4).
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
func (er *Erasures) DeleteUser(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, o DeleteOptions) error {
	return er.DB.Write(ctx, er.Now(), func(tx *store.Tx) error {
		refused, err := er.DeleteWithin(ctx, tx, tenant, []Deletion{{account, id, o}})
		if err != nil {
			return err
		}
		return refused[0]
	})
}

// Deletion is a user to be deleted.
type Deletion struct {
	Account core.AccountID
	User    core.UserID
	Options DeleteOptions
}

func (d Deletion) identity() referral.Identity {
	return referral.Identity{Account: d.Account, User: d.User}
}

// DeleteWithin makes deletions, in their order, whatever their number by the same
// few statements. It returns for each why it was refused, or nil.
func (er *Erasures) DeleteWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, all []Deletion) (refused []error, err error) {
	ids := make([]referral.Identity, len(all))
	for i, d := range all {
		ids[i] = d.identity()
	}
	known, err := userdb.KnownUsers(ctx, tx.Reads, tenant, ids)
	if err != nil {
		return nil, err
	}
	refused = make([]error, len(all))
	var done []Deletion
	for i, d := range all {
		if !known[d.identity()] {
			refused[i] = rules.UnknownUser()
			continue
		}
		known[d.identity()] = false
		done = append(done, d)
	}
	return refused, er.erase(ctx, tx, tenant, done)
}

// erase erases users who are there, and the accounts that are left without any,
// unless the last deletion of an account says otherwise.
func (er *Erasures) erase(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, all []Deletion) error {
	if len(all) == 0 {
		return nil
	}
	var untracked []string
	var erasures []userdb.Erasure
	preserve := map[core.AccountID]bool{}
	for _, d := range all {
		if d.Options.DoNotTrack {
			untracked = append(untracked, er.Keys.Identity(tenant, d.Account, d.User))
		}
		erasures = append(erasures, er.erasure(tx, d.Account, d.User))
		preserve[d.Account] = d.Options.PreserveEmptyAccount
	}
	if len(untracked) > 0 {
		if err := userdb.PutDoNotTrack(ctx, tx, tenant, untracked); err != nil {
			return err
		}
	}
	if err := userdb.EraseUsers(ctx, tx, tenant, erasures); err != nil {
		return err
	}
	maps.DeleteFunc(preserve, func(_ core.AccountID, preserved bool) bool { return preserved })
	if len(preserve) == 0 {
		return nil
	}
	empty, err := userdb.WithoutUsers(ctx, tx.Reads, tenant, slices.Sorted(maps.Keys(preserve)))
	if err != nil {
		return err
	}
	return er.eraseAccounts(ctx, tx, tenant, empty)
}

// erasure is how a user is erased, or all of an account when id is empty.
func (er *Erasures) erasure(tx *store.Tx, account core.AccountID, id core.UserID) userdb.Erasure {
	who := er.IDAt(tx.Now)
	return userdb.Erasure{Account: account, User: id, Pseudonym: core.UserID(core.Erased(who)), PseudonymCode: core.ReferralCode("deleted-" + who)}
}

func (er *Erasures) eraseAccounts(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, accounts []core.AccountID) error {
	who := make(map[core.AccountID]core.AccountID, len(accounts))
	for _, account := range accounts {
		who[account] = core.AccountID(core.Erased(er.IDAt(tx.Now)))
	}
	return userdb.EraseAccounts(ctx, tx, tenant, who)
}

// DeleteAccount removes an account and its users, as DeleteUser does, or returns
// a not-found error. With doNotTrack none of those users ever comes back to an
// account of that id.
func (er *Erasures) DeleteAccount(ctx context.Context, tenant core.TenantAlias, account core.AccountID, doNotTrack bool) error {
	return er.DB.Write(ctx, er.Now(), func(tx *store.Tx) error {
		_, known, err := userdb.Account(ctx, tx.Reads, tenant, account)
		if err == nil && !known {
			err = rules.UnknownAccount()
		}
		if err != nil {
			return err
		}
		if doNotTrack {
			if err := er.untrackAll(ctx, tx, tenant, account); err != nil {
				return err
			}
		}
		if err := userdb.EraseUsers(ctx, tx, tenant, []userdb.Erasure{er.erasure(tx, account, "")}); err != nil {
			return err
		}
		return er.eraseAccounts(ctx, tx, tenant, []core.AccountID{account})
	})
}

// untrackAll keeps all users of an account from ever coming back to it.
func (er *Erasures) untrackAll(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID) error {
	ids, err := userdb.UserIDs(ctx, tx.Reads, tenant, account)
	if err != nil {
		return err
	}
	identities := make([]string, len(ids))
	for i, id := range ids {
		identities[i] = er.Keys.Identity(tenant, account, id)
	}
	return userdb.PutDoNotTrack(ctx, tx, tenant, identities)
}
