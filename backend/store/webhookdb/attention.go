package webhookdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// CountFailed returns the number of deliveries of a tenant that failed for good. It counts
// to most.
func CountFailed(ctx context.Context, r store.Reads, tenant core.TenantAlias, most int) (int, error) {
	return store.One[int](ctx, r, "count failed webhooks",
		`SELECT count(*) FROM (SELECT 1 FROM webhook_delivery INDEXED BY webhook_delivery_failed WHERE tenant = ? AND state = 'failed' LIMIT ?)`, string(tenant), most)
}
