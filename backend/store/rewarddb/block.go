package rewarddb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// ToFollow returns up to limit rewards of a user that do not follow the user's block yet:
// those from before it, since, that reward.Reward.Follow changes. Unless the block changes
// rewards, they are those that an earlier one has held.
func ToFollow(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, who referral.Identity, since core.Time, block reward.Block, limit int) ([]reward.Reward, error) {
	where, args := `r.blocked_since IS NOT NULL AND (r.cancelled_at IS NULL OR r.denied = 1)`, []any{string(tenant), string(who.Account), string(who.User), limit}
	if block.Changes() {
		status := StatusOf("r", "?5")
		where = `(r.blocked_since IS NULL OR ?6 AND (r.cancelled_at IS NULL OR r.denied = 1)) AND r.created_at <= ?7
			AND (r.denied = 1 OR ` + status + ` IN ('PENDING', 'AVAILABLE') OR r.cancelled_at IS NULL AND ` + status + ` = 'CANCELLED')`
		args = append(args, int64(tx.Now), block == reward.BlockCancel, int64(since))
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+Columns.SQL()+` FROM reward r WHERE r.tenant = ?1 AND r.account_id = ?2 AND r.user_id = ?3
		AND `+where+` LIMIT ?4`, args...)
	return store.Collect(rows, err, "rewards of a blocked user", Scan)
}
