// Package referrals holds the use cases between a code that is shared and a referral:
// looking codes up and applying them, links and cookies that carry them, and the
// referrals that come of it.
package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/referraldb"
	"kith/core"
	"kith/core/referral"
)

// Referrals are who referred whom, and the decisions by which that came about.
type Referrals struct{ *base.Base }

// List returns a page of referrals and how many there are in all.
func (rs *Referrals) List(ctx context.Context, tenant core.TenantAlias, f referral.Filter) ([]referral.Referral, int, error) {
	return referraldb.List(ctx, rs.DB.Reads, tenant, f)
}

// ByID returns a referral by its id, or a not-found error.
func (rs *Referrals) ByID(ctx context.Context, tenant core.TenantAlias, id string) (referral.Referral, error) {
	found, err := referraldb.ByID(ctx, rs.DB.Reads, tenant, id)
	if err == nil && found == nil {
		err = core.NotFound("there is no such referral")
	}
	if err != nil {
		return referral.Referral{}, err
	}
	return *found, nil
}

// ListByID returns the referrals of a list that there are, in no order.
func (rs *Referrals) ListByID(ctx context.Context, tenant core.TenantAlias, ids []string) ([]referral.Referral, error) {
	return referraldb.ByIDs(ctx, rs.DB.Reads, tenant, ids)
}

// MadeBy returns a page of the referrals of each user of a list who is
// their referrer; see List. The filter's own referrer is not regarded.
func (rs *Referrals) MadeBy(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f referral.Filter) (map[referral.Identity]store.PageOf[referral.Referral], error) {
	return referraldb.MadeByUsers(ctx, rs.DB.Reads, tenant, users, f)
}
