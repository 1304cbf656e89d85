package program

import (
	"context"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// Referrals returns a page of referrals and how many there are in all.
func (e *Engine) Referrals(ctx context.Context, tenant core.TenantAlias, f referral.Filter) ([]referral.Referral, int, error) {
	return e.DB.Referrals(ctx, tenant, f)
}

// Referral returns a referral by its id, or a not-found error.
func (e *Engine) Referral(ctx context.Context, tenant core.TenantAlias, id string) (referral.Referral, error) {
	page, _, err := e.DB.Referrals(ctx, tenant, referral.Filter{ID: id, Limit: 1})
	if err == nil && len(page) == 0 {
		err = core.NotFound("there is no such referral")
	}
	if err != nil {
		return referral.Referral{}, err
	}
	return page[0], nil
}

// Rewards returns the rewards of an account, or of one of its users.
func (e *Engine) Rewards(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, kind reward.Kind) ([]reward.Reward, error) {
	return e.DB.Rewards(ctx, tenant, account, user, kind)
}

// Decisions returns a page of the attribution decisions about an account, or
// about all when it is empty, and how many there are in all.
func (e *Engine) Decisions(ctx context.Context, tenant core.TenantAlias, account core.AccountID, p Page) ([]wire.Decision, int, error) {
	return e.DB.Decisions(ctx, tenant, account, p.Limit, p.Offset)
}
