package statistics

import (
	"context"
	"errors"

	"kith/backend/store/billingdb"
	"kith/backend/store/eventdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/analytics"
	"kith/core/event"
	"kith/core/referral"
)

// Compare returns the series of a period, and that of the period of the same length before
// it. It stores the visits that this backend has counted first, as Series does.
func (a *Analytics) Compare(ctx context.Context, tenant core.TenantAlias, in Range, f analytics.SeriesFilter) (before, now analytics.Series, err error) {
	p, err := a.period(ctx, in)
	if err != nil {
		return before, now, err
	}
	both, err := eventdb.Series(ctx, a.DB.Lists, tenant, p.WithPrevious(), f)
	if err != nil {
		return before, now, err
	}
	before, now = both.Halves()
	return before, now, nil
}

// Parts are the parts of an Attention that a caller may see. Fuel tanks are always part.
// Referrals includes refused events, which name users.
type Parts struct{ Referrals, Integrations bool }

// Attention returns what waits for a person of the tenant. Parts that are not asked for
// are zero.
func (a *Analytics) Attention(ctx context.Context, tenant core.TenantAlias, parts Parts) (found analytics.Attention, err error) {
	const most = analytics.MostAttention
	r := a.DB.Reads
	if parts.Referrals {
		var errs [3]error
		found.Pending, errs[0] = referraldb.CountPending(ctx, r, tenant, most)
		found.RefusedEvents, errs[1] = eventdb.CountRefused(ctx, r, tenant, a.Now()-event.RefusedAttention, most)
		found.UnknownCodes, errs[2] = referraldb.CountUnknown(ctx, r, tenant, a.Now()-referral.UnknownSpan, most)
		err = errors.Join(errs[:]...)
	}
	if parts.Integrations && err == nil {
		var errs [4]error
		found.FailedWebhooks, errs[0] = webhookdb.CountFailed(ctx, r, tenant, most)
		found.FailedGateway, errs[1] = billingdb.CountParked(ctx, r, tenant, most)
		stored, unknown := tenantdb.Find(ctx, r, tenant)
		if stored.UndatedLast > a.Now()-tenantdb.UndatedSpan {
			found.UndatedTokens = stored.UndatedRefused
		}
		subscriptions, unread := webhookdb.Subscriptions(ctx, r, tenant)
		for _, s := range subscriptions {
			if s.FailingSince != 0 || s.Disabled != 0 {
				found.FailingEndpoints++
			}
		}
		errs[2], errs[3] = unknown, unread
		err = errors.Join(errs[:]...)
	}
	if err != nil {
		return found, err
	}
	tanks, err := rewarddb.TankLevels(ctx, r, tenant, analytics.LowTank, most)
	for _, t := range tanks {
		if t.Low() {
			found.Tanks = append(found.Tanks, t)
		}
	}
	return found, err
}

// Beginning is what a tenant without figures has.
type Beginning struct {
	// Code is the code of a user, if there is one, and Link its share link.
	Code referral.Code
	Link string
}

// Beginning returns what the tenant can begin with. begins is false once it has visits or
// referrals: then b is zero.
func (a *Analytics) Beginning(ctx context.Context, tenant core.TenantAlias) (b Beginning, begins bool, err error) {
	has, err := eventdb.HasFigures(ctx, a.DB.Reads, tenant)
	if has || err != nil {
		return b, false, err
	}
	t, err := tenantdb.Find(ctx, a.DB.Reads, tenant)
	if err != nil {
		return b, false, err
	}
	var ok bool
	if b.Code, ok, err = userdb.AnyCode(ctx, a.DB.Reads, tenant); ok {
		b.Link = a.Share(t).URL(b.Code.Code)
	}
	return b, true, err
}
