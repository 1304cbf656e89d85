package store

import (
	"context"
	"database/sql"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

const rewardColumns = `id, account_id, user_id, program, referral_id, source, kind, percent, amount, currency,
	redeemed, created_at, coalesce(cancelled_at, 0)`

func scanReward(rows *sql.Rows, r *reward.Reward) error {
	return rows.Scan(&r.ID, &r.Account, &r.User, &r.Program, &r.Referral, &r.Source, &r.Offer.Kind, &r.Offer.Percent,
		&r.Offer.Amount, &r.Offer.Currency, &r.Redeemed, &r.Created, &r.Cancelled)
}

// Rewards returns the rewards of an account, or of one of its users when user
// is not empty, the newest first. A kind that is not empty narrows them.
func (r Reads) Rewards(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, kind reward.Kind) ([]reward.Reward, error) {
	rows, err := r.q.QueryContext(ctx, `SELECT `+rewardColumns+` FROM reward
		WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3) AND (?4 = '' OR kind = ?4)
		ORDER BY created_at DESC, id DESC`, string(tenant), string(account), string(user), string(kind))
	return collect(rows, err, "rewards", scanReward)
}

// attachRewards gives each referral its rewards.
func (r Reads) attachRewards(ctx context.Context, tenant core.TenantAlias, page []referral.Referral) error {
	if len(page) == 0 {
		return nil
	}
	args, byID := []any{string(tenant)}, map[string]*referral.Referral{}
	for i := range page {
		args = append(args, page[i].ID)
		byID[page[i].ID] = &page[i]
	}
	rows, err := r.q.QueryContext(ctx, `SELECT `+rewardColumns+` FROM reward
		WHERE tenant = ? AND referral_id IN (`+placeholders(len(page))+`)`, args...)
	rewards, err := collect(rows, err, "rewards of referrals", scanReward)
	for _, w := range rewards {
		byID[w.Referral].Attach(w)
	}
	return err
}

// InsertReward adds a reward. That a referral pays each side once is a
// constraint: a second one is an error, not a payment.
func (tx *Tx) InsertReward(ctx context.Context, tenant core.TenantAlias, r reward.Reward) error {
	return tx.exec(ctx, "insert reward", `INSERT INTO reward (tenant, id, account_id, user_id, program, referral_id, source,
			kind, percent, amount, currency, redeemed, created_at, cancelled_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(tenant), r.ID, string(r.Account), string(r.User), string(r.Program), r.Referral, string(r.Source),
		string(r.Offer.Kind), int64(r.Offer.Percent), r.Offer.Amount, r.Offer.Currency, r.Redeemed,
		int64(r.Created), nullTime(r.Cancelled))
}
