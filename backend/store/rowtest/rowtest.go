// Package rowtest stores single rows for tests. The service stores rows by a unit of
// work only.
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

// PutAccount stores an account, but for its referral, which has its own row.
func PutAccount(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, a referral.Account) error {
	var rows store.Tuples
	userdb.AppendAccount(&rows, a)
	return tx.Put(ctx, userdb.PutAccounts, tenant, &rows)
}

// InsertCode adds a code; false means that the tenant has it already.
func InsertCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, c referral.UserCode, account core.AccountID, user core.UserID) (bool, error) {
	var rows store.Tuples
	userdb.AppendCode(&rows, c, referral.Identity{Account: account, User: user})
	n, err := tx.PutCounted(ctx, userdb.PutCodes, tenant, &rows)
	return n == 1, err
}

// PutTerms says what a user who is there is found by; see referral.User.Terms.
func PutTerms(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User) error {
	var rows store.Tuples
	userdb.AppendTerms(&rows, tenant, u)
	return userdb.ChangeTerms(ctx, tx, tenant, &rows)
}

// PutUser stores a user, but for the codes, which have their own rows, for what
// blocks the user, see BlockUser, and for what they are found by, see PutTerms.
func PutUser(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User) error {
	var rows store.Tuples
	userdb.AppendUser(&rows, u, "")
	return tx.Put(ctx, userdb.PutUsers, tenant, &rows)
}

// PutReferral stores a referral; its first code and its start never change.
func PutReferral(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, r referral.Referral) error {
	var rows store.Tuples
	referraldb.AppendRow(&rows, r)
	return tx.Put(ctx, referraldb.Put, tenant, &rows)
}

// RecordDecision stores a decision, or counts it when the same claim met the
// same rule before.
func RecordDecision(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, d wire.Decision) error {
	var rows store.Tuples
	referraldb.AppendDecision(&rows, d)
	return tx.Put(ctx, referraldb.PutDecisions, tenant, &rows)
}

// InsertReward adds a reward; its ledger is for AppendLedger. That a referral
// pays each side once is a constraint: a second one is an error, not a payment.
func InsertReward(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, r reward.Reward) error {
	var rows store.Tuples
	rewarddb.AppendRow(&rows, r)
	return tx.Put(ctx, rewarddb.PutNew, tenant, &rows)
}
