package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store/referraldb"
	"kith/core"
	"kith/core/wire"
)

// Decisions returns a page of the attribution decisions about an account, the latest
// first, and their total number. If account is empty, it returns those of all accounts.
func (rs *Referrals) Decisions(ctx context.Context, tenant core.TenantAlias, account core.AccountID, p base.Page) ([]wire.Decision, int, error) {
	return referraldb.Decisions(ctx, rs.DB.Lists, tenant, account, p.Limit, p.Offset)
}
