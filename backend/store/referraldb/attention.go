package referraldb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// CountPending returns the number of referrals of which at least one side waits for a
// moderator. It counts to most.
func CountPending(ctx context.Context, r store.Reads, tenant core.TenantAlias, most int) (int, error) {
	return store.One[int](ctx, r, "count pending referrals", `SELECT min(count(*), ?2) FROM (
		SELECT rowid FROM (SELECT rowid FROM referral WHERE tenant = ?1 AND referrer_moderation = 'PENDING' LIMIT ?2)
		UNION SELECT rowid FROM (SELECT rowid FROM referral WHERE tenant = ?1 AND referred_moderation = 'PENDING' LIMIT ?2))`, string(tenant), most)
}
