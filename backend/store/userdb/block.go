package userdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// BlockUser sets since when a user may not refer others, and what becomes of the rewards;
// zero unblocks the user. It returns false if nothing changed: the user does not exist, or
// is already blocked, or already not. The rewards are then to follow; see BlockDue.
func BlockUser(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, id core.UserID, since core.Time, rewards reward.Block) (bool, error) {
	var chosen *string
	if rewards != "" {
		chosen = (*string)(&rewards)
	}
	return tx.Changed(ctx, "block user", `UPDATE user SET blocked_at = ?4, blocked_rewards = ?6, updated_at = ?5,
			block_due = max(block_due, coalesce(?6 <> 'KEEP', 0), coalesce(blocked_rewards <> 'KEEP', 0))
		WHERE tenant = ?1 AND account_id = ?2 AND id = ?3 AND (blocked_at IS NULL) <> (?4 IS NULL)`,
		string(tenant), string(account), string(id), store.NullTime(since), int64(tx.Now), chosen)
}

// BlockDue is a user whose rewards do not follow the block yet, or its end.
type BlockDue struct {
	Tenant core.TenantAlias
	referral.Identity
	// Since and Rewards are those of the block; Since is zero if the user is not blocked.
	Since   core.Time
	Rewards reward.Block
}

var blockDueColumns = store.Selection[BlockDue]{
	store.Col(`u.tenant`, func(d *BlockDue) any { return &d.Tenant }),
	store.Col(`u.account_id`, func(d *BlockDue) any { return &d.Account }),
	store.Col(`u.id`, func(d *BlockDue) any { return &d.User }),
	store.Col(`coalesce(u.blocked_at, 0)`, func(d *BlockDue) any { return &d.Since }),
	store.Col(`coalesce(u.blocked_rewards, '')`, func(d *BlockDue) any { return &d.Rewards }),
}

// FirstBlockDue returns a user of any tenant whose rewards do not follow the block yet.
func FirstBlockDue(ctx context.Context, r store.Reads) (d BlockDue, ok bool, err error) {
	ok, err = blockDueColumns.One(r.QueryRowContext(ctx, `SELECT `+blockDueColumns.SQL()+` FROM user u
		WHERE u.block_due = 1 AND `+store.TenantExists("u")+` LIMIT 1`), "block due", &d)
	return d, ok, err
}

// BlockDueOf is like FirstBlockDue, for one user.
func BlockDueOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, who referral.Identity) (d BlockDue, ok bool, err error) {
	ok, err = blockDueColumns.One(r.QueryRowContext(ctx, `SELECT `+blockDueColumns.SQL()+` FROM user u
		WHERE u.tenant = ? AND u.account_id = ? AND u.id = ? AND u.block_due = 1`, string(tenant), string(who.Account), string(who.User)), "block due of a user", &d)
	return d, ok, err
}

// BlockDone records that all rewards of a user follow the block.
func BlockDone(ctx context.Context, tx *store.Tx, d BlockDue) error {
	return tx.Exec(ctx, "block done", `UPDATE user SET block_due = 0 WHERE tenant = ? AND account_id = ? AND id = ?`,
		string(d.Tenant), string(d.Account), string(d.User))
}
