package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/programdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/billing"
)

// Promotions makes referral codes codes that customers can enter at the checkout of a
// gateway. A code is made when a call asks for it, or when its link is followed: most codes
// are never used.
type Promotions struct {
	*base.Base
	Gateways *Gateways
}

// PromotionEvery is the interval at which the terms of a code are compared with those of
// its program.
const PromotionEvery = core.Hour

// Terms returns the terms that a code promises now; the zero Terms if its program has none, or
// its owner is gone or blocked.
func (ps *Promotions) Terms(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (billing.Terms, error) {
	owned, known, err := userdb.Code(ctx, ps.DB.Reads, tenant, code)
	if err != nil || !known || owned.Blocked {
		return billing.Terms{}, err
	}
	program, err := programdb.ByKey(ctx, ps.DB.Reads, tenant, owned.Program)
	if base.IsNotFound(err) {
		return billing.Terms{}, nil
	}
	return billing.TermsOf(program.Referred), err
}

// AddFollowed asks for the codes whose links people followed lately, and returns their
// number.
func (ps *Promotions) AddFollowed(ctx context.Context) (n int, err error) {
	since := ps.Now() - ps.Now()%core.Day - core.Day
	more, err := billingdb.HasFollowed(ctx, ps.DB.Reads, since)
	if err != nil || !more {
		return 0, err
	}
	return store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (int, error) {
		return billingdb.AskForFollowed(ctx, tx, since)
	})
}

// Ask makes a worker make a code at the gateway, and returns what is there of it: the ID
// is empty until the worker has made it. An unknown code is a not-found error.
func (ps *Promotions) Ask(ctx context.Context, tenant core.TenantAlias, text core.ReferralCode) (p billingdb.Promotion, err error) {
	code, err := base.Code(ctx, ps.DB.Reads, tenant, text)
	if err != nil {
		return p, err
	}
	p, err = store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (p billingdb.Promotion, err error) {
		connected, err := billingdb.OfStripe(ctx, tx.Reads, tenant)
		if err == nil && !connected {
			err = core.NotFound("this tenant is not connected to Stripe; connect it first")
		}
		if err == nil {
			err = billingdb.AskForPromotion(ctx, tx, tenant, code.Code)
		}
		if err != nil {
			return p, err
		}
		p, _, err = billingdb.FindPromotion(ctx, tx.Reads, tenant, code.Code)
		return p, err
	})
	if err == nil {
		ps.Gateways.Wake()
	}
	return p, err
}
