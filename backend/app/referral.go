package app

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// Referrals returns a page of referrals and how many there are in all.
func (e *Engine) Referrals(ctx context.Context, tenant core.TenantAlias, f referral.Filter) ([]referral.Referral, int, error) {
	return e.DB.Referrals(ctx, tenant, f)
}

// Referral returns a referral by its id, or a not-found error.
func (e *Engine) Referral(ctx context.Context, tenant core.TenantAlias, id string) (referral.Referral, error) {
	found, err := e.DB.Referral(ctx, tenant, id)
	if err == nil && found == nil {
		err = core.NotFound("there is no such referral")
	}
	if err != nil {
		return referral.Referral{}, err
	}
	return *found, nil
}

// ReferralsByID returns the referrals of a list that there are, in no order.
func (e *Engine) ReferralsByID(ctx context.Context, tenant core.TenantAlias, ids []string) ([]referral.Referral, error) {
	return e.DB.ReferralsByID(ctx, tenant, ids)
}

// ReferralsMade returns a page of the referrals of each user of a list who is
// their referrer; see Referrals. The filter's own referrer is not regarded.
func (e *Engine) ReferralsMade(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f referral.Filter) (map[referral.Identity]store.PageOf[referral.Referral], error) {
	return e.DB.ReferralsMade(ctx, tenant, users, f)
}
