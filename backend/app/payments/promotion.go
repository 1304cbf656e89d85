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
	"kith/core/wire"
)

// Promotions makes referral codes codes that customers can enter at the checkout of a
// gateway. A code is made when a call asks for it, or when its link is followed: most codes
// are never used.
type Promotions struct {
	*base.Base
	Gateways *Gateways
}

// PromotionTask is a code that a worker must make at the gateway, or check there.
type PromotionTask struct {
	billingdb.Promotion
	Access
	// Terms are what the code promises now; the zero Terms if its program has none, or
	// its owner is gone or blocked.
	Terms billing.Terms
}

// promotionEvery is the interval at which the terms of a code are compared with those of
// its program.
const promotionEvery = core.Hour

// Begin leases up to limit codes that are due.
func (ps *Promotions) Begin(ctx context.Context, limit int) ([]PromotionTask, error) {
	return begin(ctx, ps.Base, limit, billingdb.PromotionDue, billingdb.TakePromotions, func(p billingdb.Promotion) PromotionTask {
		task := PromotionTask{Promotion: p, Access: ps.Gateways.access(ctx, p.Tenant)}
		if task.Err == nil {
			task.Terms, task.Err = ps.terms(ctx, p.Tenant, p.Code)
		}
		return task
	})
}

// terms returns the terms that a code promises.
func (ps *Promotions) terms(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (billing.Terms, error) {
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
	code, known, err := userdb.Code(ctx, ps.DB.Reads, tenant, text)
	if err == nil && !known {
		err = wire.UnknownCode()
	}
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
		ps.Gateways.wake()
	}
	return p, err
}

// End records the ids of a code at the gateway, or in Problem why it cannot be made. It is
// tried again after the given time; zero means at the next check of its terms.
func (ps *Promotions) End(ctx context.Context, task PromotionTask, after core.Time) error {
	// A code that cannot be one at the gateway is no failure.
	if task.Tries++; after == 0 {
		task.Tries = 0
	}
	err := ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		next := tx.Now + promotionEvery
		if after != 0 {
			next = tx.Now + after
		}
		if err := billingdb.EndPromotion(ctx, tx, task.Promotion, next); err != nil {
			return err
		}
		return billingdb.DropPromotion(ctx, tx, task.Promotion)
	})
	if err == nil {
		ps.ReportWork(base.WorkGateway, base.GatewayPromotion, outcomeOf(task.Problem), 1)
	}
	return err
}
