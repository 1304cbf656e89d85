package users

import (
	"context"
	"maps"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/rules"
)

// Erasures removes users and accounts with all their personal data.
type Erasures struct{ *base.Base }

// DeleteOptions say what a deletion keeps (clients 1.2.4).
type DeleteOptions struct {
	// DoNotTrack refuses later identifications of the same user in the same account and, if
	// the account is deleted with its last user, later calls that name only the account. For
	// that, keyed hashes of the ids are kept.
	DoNotTrack bool
	// PreserveEmptyAccount keeps the account even if the deletion leaves it without
	// users.
	PreserveEmptyAccount bool
}

// DeleteUser removes a user with all personal data, or returns a not-found error. The
// user's codes are then unknown, and the events are deleted. Referrals and rewards stay,
// so that sums stay correct, but a random id replaces that of the user in them. What
// stays of each column is in tabledb.PersonalData.
func (er *Erasures) DeleteUser(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, o DeleteOptions) error {
	return er.DB.Write(ctx, er.Now(), func(tx *store.Tx) error {
		refused, err := er.DeleteWithin(ctx, tx, tenant, []Deletion{{account, id, o}})
		if err != nil {
			return err
		}
		return refused[0]
	})
}

// Deletion names a user to delete.
type Deletion struct {
	Account core.AccountID
	User    core.UserID
	Options DeleteOptions
}

func (d Deletion) identity() referral.Identity {
	return referral.Identity{Account: d.Account, User: d.User}
}

// DeleteWithin deletes users within the transaction tx, in order. The number of
// statements does not depend on the number of users. refused has an error for each
// deletion that was refused, such as not-found, and nil for the others.
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
	var accepted []Deletion
	for i, d := range all {
		if !known[d.identity()] {
			refused[i] = rules.UnknownUser()
			continue
		}
		known[d.identity()] = false
		accepted = append(accepted, d)
	}
	return refused, er.erase(ctx, tx, tenant, accepted)
}

// manyErasures is how many users are erased together at least before the search index is
// merged for it: less is not worth writing the index again.
const manyErasures = 100

// erase erases existing users. It also erases each account that has no users left,
// unless the last deletion in the account has PreserveEmptyAccount.
func (er *Erasures) erase(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, all []Deletion) error {
	if len(all) == 0 {
		return nil
	}
	var untracked []string
	var erasures []userdb.Erasure
	preserve, untrack := map[core.AccountID]bool{}, map[core.AccountID]bool{}
	for _, d := range all {
		if d.Options.DoNotTrack {
			untracked = append(untracked, er.Keys.Identity(tenant, d.Account, d.User))
			untrack[d.Account] = true
		}
		erasures = append(erasures, er.erasure(tx, d.Account, d.User))
		preserve[d.Account] = d.Options.PreserveEmptyAccount
	}
	if err := userdb.PutDoNotTrack(ctx, tx, tenant, untracked); err != nil {
		return err
	}
	if len(all) >= manyErasures {
		if err := userdb.MergeIndex(ctx, tx, len(all)); err != nil {
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
	return er.eraseAccounts(ctx, tx, tenant, empty, untrack)
}

// erasure returns the erasure of a user, or of all users of the account if id is empty,
// with the random id and code that replace those of the user.
func (er *Erasures) erasure(tx *store.Tx, account core.AccountID, id core.UserID) userdb.Erasure {
	replacement := er.IDAt(tx.Now)
	return userdb.Erasure{Account: account, User: id, Pseudonym: core.UserID(core.Erased(replacement)), PseudonymCode: core.ReferralCode("deleted-" + replacement)}
}

// eraseAccounts erases accounts without users. What they have at a payment gateway ends; a
// keyed hash of each is kept for as long as the tenant says, and of those in untrack forever.
func (er *Erasures) eraseAccounts(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, accounts []userdb.Past, untrack map[core.AccountID]bool) error {
	if len(accounts) == 0 {
		return nil
	}
	if err := er.remember(ctx, tx, tenant, accounts); err != nil {
		return err
	}
	var untracked []string
	for _, p := range accounts {
		if untrack[p.Account] {
			untracked = append(untracked, er.identities(tenant, p)...)
		}
	}
	if err := userdb.PutDoNotTrack(ctx, tx, tenant, untracked); err != nil {
		return err
	}
	replacements := make(map[core.AccountID]core.AccountID, len(accounts))
	for _, a := range accounts {
		replacements[a.Account] = core.AccountID(core.Erased(er.IDAt(tx.Now)))
	}
	return userdb.EraseAccounts(ctx, tx, tenant, replacements)
}

// remember stores the keyed hashes of accounts and their customers, so that a notification
// does not make them again, and those that have earned cannot be referred again.
func (er *Erasures) remember(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, accounts []userdb.Past) error {
	stored, err := tenantdb.Find(ctx, tx.Reads, tenant)
	if err != nil || stored.RememberDeleted == 0 {
		return err
	}
	var rows []userdb.Remembered
	for _, p := range accounts {
		for _, identity := range er.identities(tenant, p) {
			rows = append(rows, userdb.Remembered{Identity: identity, Earned: p.Earned})
		}
	}
	return userdb.PutErased(ctx, tx, tenant, rows, tx.Now+stored.RememberDeleted)
}

// identities returns the keyed hashes by which an erased account is recognised: a payment
// link names an account by its customer.
func (er *Erasures) identities(tenant core.TenantAlias, p userdb.Past) []string {
	all := []string{er.Keys.Identity(tenant, p.Account, "")}
	if p.Customer != "" {
		all = append(all, er.Keys.Identity(tenant, core.AccountID(p.Customer), ""))
	}
	return all
}

// ForgetErased removes the hashes of accounts that are no longer recognised, and returns
// their number.
func (er *Erasures) ForgetErased(ctx context.Context) (removed int, err error) {
	return er.Forget(ctx, func(tx *store.Tx) (int, error) { return userdb.ForgetErased(ctx, tx, base.ForgetBatch) })
}

// DeleteAccount removes an account and its users as DeleteUser does, or returns a
// not-found error. doNotTrack refuses later identifications of each of those users in
// an account with the same id, and calls that name only the account.
func (er *Erasures) DeleteAccount(ctx context.Context, tenant core.TenantAlias, account core.AccountID, doNotTrack bool) error {
	return er.DB.Write(ctx, er.Now(), func(tx *store.Tx) error {
		if _, err := base.Account(ctx, tx.Reads, tenant, account); err != nil {
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
		empty, err := userdb.WithoutUsers(ctx, tx.Reads, tenant, []core.AccountID{account})
		if err != nil {
			return err
		}
		return er.eraseAccounts(ctx, tx, tenant, empty, map[core.AccountID]bool{account: doNotTrack})
	})
}

// untrackAll stores the keyed hashes of all users of an account, so that they cannot be
// identified in it again.
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
