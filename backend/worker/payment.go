package worker

import (
	"context"
	"errors"

	"kith/backend/app/payments"
	"kith/backend/gateway"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// errItemizer reports a task for a gateway that has no payments of its own: the tenant was
// connected to another one meanwhile.
var errItemizer = errors.New("job: the tenant's gateway has no payments of its own")

// itemized returns a client as that of a gateway that names payments.
func itemized(client gateway.Gateway) (gateway.Itemizer, error) {
	itemizer, ok := client.(gateway.Itemizer)
	if !ok {
		return nil, errItemizer
	}
	return itemizer, nil
}

// giveCredit gives credit that was redeemed, at most once.
func (g *gateways) giveCredit(ctx context.Context, client gateway.Gateway, tenant core.TenantAlias, c billingdb.Credit) error {
	itemizer, err := itemized(client)
	if err != nil {
		return err
	}
	id, err := itemizer.GiveCredit(ctx, gateway.CreditOrder{ID: c.ID, Customer: c.Customer, Amount: c.Amount, Currency: c.Currency})
	switch {
	case err == nil:
		return g.engine.Billing.EndCredit(ctx, tenant, c, id, "")
	case gateway.Is(err, gateway.Retry), gateway.Is(err, gateway.SetUp):
		return err
	}
	return g.engine.Billing.EndCredit(ctx, tenant, c, "", err.Error())
}

// paymentPoll is how often a payment is read whose refund or dispute has not ended.
const paymentPoll = core.Hour

// paid are payments, which are read at the gateway and applied.
var paid = kind{
	Kind: &billingdb.Payments, names: "payment", parks: true,
	do: func(ctx context.Context, g *gateways, client gateway.Gateway, task *payments.Task) (r payments.Result, err error) {
		itemizer, err := itemized(client)
		var p billing.Payment
		if err == nil {
			p, err = itemizer.Payment(ctx, task.ID)
		}
		wait := false
		if err == nil && p.ID != "" {
			wait, err = g.engine.Payments.Apply(ctx, *task, p)
		}
		switch {
		case wait:
			r.After = waitForSubscription
		case p.Open:
			r.After = paymentPoll
		}
		return r, err
	},
}

// waitForSubscription is how soon a payment is applied again whose subscription was not
// read yet.
const waitForSubscription = 2 * core.Second

// promotions make referral codes codes that customers can enter, with their present terms.
var promotions = kind{
	Kind: &billingdb.Promotions, names: "code",
	do: func(ctx context.Context, g *gateways, client gateway.Gateway, task *payments.Task) (payments.Result, error) {
		r, p := payments.Result{After: payments.PromotionEvery}, &task.Promotion
		itemizer, err := itemized(client)
		if err != nil {
			return r, err
		}
		terms, err := g.engine.Promotions.Terms(ctx, task.Tenant, p.Code)
		if err != nil {
			return r, err
		}
		order := gateway.PromotionOrder{Code: p.Code, Terms: terms}
		switch {
		case !itemizer.PromotionForm(p.Code):
			r.Problem = "the gateway allows letters, digits and hyphens in a code"
		case terms == billing.Terms{} && p.Coupon == "":
			r.Problem = "the code promises the referred customer neither a percentage nor an amount of money"
		case p.ID != "" && itemizer.CouponOf(order) == p.Coupon:
		default:
			var made gateway.Promotion
			if made, err = itemizer.SetPromotion(ctx, order); err == nil {
				p.ID, p.Coupon = made.ID, made.Coupon
			}
		}
		return r, err
	},
}
