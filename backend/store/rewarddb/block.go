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

// mustFollow returns the condition that a reward does not follow a block of its owner or the
// moderation of its referral yet: when there are many, workers let the later ones follow.
// Nothing of such a reward may be used. r is the alias of the reward; ?1 is the tenant. SQLite
// looks once for all rewards whether any block or moderation waits, which is rare.
func mustFollow(r string) string {
	return `(EXISTS (SELECT 1 FROM user some WHERE +some.tenant = ?1 AND some.block_due = 1) AND EXISTS (SELECT 1 FROM user u WHERE u.block_due = 1 AND u.tenant = ?1 AND u.account_id = ` + r + `.account_id AND u.id = ` + r + `.user_id
			AND u.blocked_rewards IN ('HOLD', 'CANCEL') AND ` + r + `.created_at <= u.blocked_at)
		OR EXISTS (SELECT 1 FROM order_replay some WHERE some.tenant = ?1) AND EXISTS (SELECT 1 FROM order_replay p JOIN referral f ON f.tenant = p.tenant AND f.id = p.moderated
			WHERE p.tenant = ?1 AND p.moderated = ` + r + `.referral_id AND p.moderated <> ''
			AND iif(` + r + `.source = 'FRIEND_SIGNUP', f.referrer_moderation, f.referred_moderation) <> 'APPROVED'))`
}
