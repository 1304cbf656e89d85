package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store/referraldb"
	"kith/core"
	"kith/core/wire"
)

// Decisions returns a page of the attribution decisions about an account, or
// about all when it is empty, and how many there are in all.
func (rs *Referrals) Decisions(ctx context.Context, tenant core.TenantAlias, account core.AccountID, p base.Page) ([]wire.Decision, int, error) {
	return referraldb.Decisions(ctx, rs.DB.Reads, tenant, account, p.Limit, p.Offset)
}
