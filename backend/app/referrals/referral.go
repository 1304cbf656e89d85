// Package referrals has the use cases from a shared code to a referral: looking up and
// applying codes, share links, attribution cookies, and reading referrals.
package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/referral"
)

// Referrals reads referrals and attribution decisions.
type Referrals struct{ *base.Base }

// List returns a page of the referrals that match the filter, and their total number.
func (rs *Referrals) List(ctx context.Context, tenant core.TenantAlias, f referral.Filter) ([]referral.Referral, int, error) {
	return referraldb.List(ctx, rs.DB.Lists, tenant, f)
}

// LatestMade returns up to limit referrals that a user made, newest first.
func (rs *Referrals) LatestMade(ctx context.Context, tenant core.TenantAlias, who referral.Identity, limit int) ([]referral.Referral, error) {
	return referraldb.LatestMade(ctx, rs.DB.Reads, tenant, who, limit)
}

// ByID returns a referral, or a not-found error.
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

// ListByID returns the referrals with the given ids, in no order. Unknown ids are left
// out.
func (rs *Referrals) ListByID(ctx context.Context, tenant core.TenantAlias, ids []string) ([]referral.Referral, error) {
	return referraldb.ByIDs(ctx, rs.DB.Reads, tenant, ids)
}

// ListWithGroups is ListByID with the groups of the referrals' rewards.
func (rs *Referrals) ListWithGroups(ctx context.Context, tenant core.TenantAlias, ids []string) ([]referral.Referral, error) {
	found, err := rs.ListByID(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	return found, rewarddb.AttachGroups(ctx, rs.DB.Reads, tenant, rs.Now(), found)
}

// MadeBy returns a page of the referrals that each of the users made, with their total
// number; see List. The referrer of the filter is ignored.
func (rs *Referrals) MadeBy(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, f referral.Filter) (map[referral.Identity]store.PageOf[referral.Referral], error) {
	return referraldb.MadeByUsers(ctx, rs.DB.Lists, tenant, users, f)
}
