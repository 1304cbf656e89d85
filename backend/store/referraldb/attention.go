package referraldb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// CountPending returns the number of referrals of which at least one side waits for a
// moderator. It counts to most.
func CountPending(ctx context.Context, r store.Reads, tenant core.TenantAlias, most int) (int, error) {
	return store.One[int](ctx, r, "count pending referrals", `SELECT count(*) FROM (SELECT 1 FROM referral INDEXED BY referral_pending
		WHERE tenant = ? AND (referrer_moderation = 'PENDING' OR referred_moderation = 'PENDING') LIMIT ?)`, string(tenant), most)
}
