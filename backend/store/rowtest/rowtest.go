// Package rowtest stores single rows for tests. The service itself stores these rows
// only with a unit of work (package unit).
package rowtest

import (
	"context"

	"kith/backend/store"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// PutAccount inserts or updates an account, without its referral.
func PutAccount(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, a referral.Account) error {
	var rows store.Tuples
	userdb.AppendAccount(&rows, a)
	return tx.Put(ctx, userdb.PutAccounts, tenant, &rows)
}

// InsertCode adds a code. It returns false if the tenant has it already.
func InsertCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, c referral.UserCode, account core.AccountID, user core.UserID) (bool, error) {
	var rows store.Tuples
	userdb.AppendCode(&rows, c, referral.Identity{Account: account, User: user})
	n, err := tx.PutCounted(ctx, userdb.PutCodes, tenant, &rows)
	return n == 1, err
}

// PutTerms stores the search terms (referral.User.Terms) of a user who exists.
func PutTerms(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User) error {
	var rows store.Tuples
	userdb.AppendTerms(&rows, tenant, u)
	return userdb.ChangeTerms(ctx, tx, tenant, &rows)
}

// PutUser inserts or updates a user, without the codes, the block (userdb.BlockUser) and
// the search terms (PutTerms).
func PutUser(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User) error {
	var rows store.Tuples
	userdb.AppendUser(&rows, u, "")
	_, err := userdb.IndexAdded(ctx, tx, func() (int, error) { return 1, tx.Put(ctx, userdb.PutUsers, tenant, &rows) })
	return err
}

// PutReferral inserts or updates a referral; see referraldb.Put.
func PutReferral(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, r referral.Referral) error {
	var rows store.Tuples
	referraldb.AppendRow(&rows, r)
	return tx.Put(ctx, referraldb.Put, tenant, &rows)
}

// RecordDecision stores a decision, or counts it if the same claim met the same rule
// before.
func RecordDecision(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, d wire.Decision) error {
	var rows store.Tuples
	referraldb.AppendDecision(&rows, d)
	return tx.Put(ctx, referraldb.PutDecisions, tenant, &rows)
}

// InsertReward adds a reward, without the entries of its ledger; see
// rewarddb.AppendLedger. A second reward for a side of a referral violates a constraint
// and is an error.
func InsertReward(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, r reward.Reward) error {
	var rows store.Tuples
	rewarddb.AppendRow(&rows, r)
	return tx.Put(ctx, rewarddb.PutNew, tenant, &rows)
}
