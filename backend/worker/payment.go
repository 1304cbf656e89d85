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

// itemizer returns the client of a tenant whose gateway names payments.
func (g *gateways) itemizer(tenant core.TenantAlias, a payments.Access) (gateway.Itemizer, error) {
	client, err := g.client(tenant, a)
	if err != nil {
		return nil, err
	}
	itemizer, ok := client.(gateway.Itemizer)
	if !ok {
		return nil, errItemizer
	}
	return itemizer, nil
}

// giveCredit gives credit that was redeemed, at most once.
func (g *gateways) giveCredit(ctx context.Context, client gateway.Gateway, tenant core.TenantAlias, c billingdb.Credit) error {
	itemizer, ok := client.(gateway.Itemizer)
	if !ok {
		return errItemizer
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

// pay reads a payment at the gateway, and applies it.
func (g *gateways) pay(ctx context.Context, task payments.PaymentTask) {
	delay := core.Time(0)
	client, err := g.itemizer(task.Tenant, task.Access)
	var p billing.Payment
	if err == nil {
		p, err = client.Payment(ctx, task.ID)
	}
	wait := false
	if err == nil && p.ID != "" {
		wait, err = g.engine.Payments.Apply(ctx, task, p)
	}
	problem := ""
	switch {
	case ctx.Err() != nil:
		return
	case gateway.Is(err, gateway.Missing) && task.Tries >= missingTries:
		problem = err.Error()
	case err != nil:
		problem, delay = err.Error(), after(err, task.Tries)
		g.log.Warn("gateway", "tenant", task.Tenant, "payment", task.ID, "error", err)
	case wait:
		delay = waitForSubscription
	case p.Open:
		delay = paymentPoll
	}
	if err := endTask(ctx, func() error { return g.engine.Payments.End(ctx, task, problem, delay) }); err != nil {
		g.log.Error("gateway", "tenant", task.Tenant, "payment", task.ID, "error", err)
	}
}

// waitForSubscription is how soon a payment is applied again whose subscription was not
// read yet.
const waitForSubscription = 2 * core.Second

// promote makes a referral code a code that customers can enter, with its present terms.
func (g *gateways) promote(ctx context.Context, task payments.PromotionTask) {
	delay := core.Time(0)
	client, err := g.itemizer(task.Tenant, task.Access)
	order := gateway.PromotionOrder{Code: task.Code, Terms: task.Terms}
	switch {
	case err != nil:
	case !client.PromotionForm(task.Code):
		task.Problem = "the gateway allows letters, digits and hyphens in a code"
	case task.Terms == billing.Terms{} && task.Coupon == "":
		task.Problem = "the code promises the referred customer neither a percentage nor an amount of money"
	case task.ID != "" && client.CouponOf(order) == task.Coupon:
		task.Problem = ""
	default:
		var made gateway.Promotion
		if made, err = client.SetPromotion(ctx, order); err == nil {
			task.ID, task.Coupon, task.Problem = made.ID, made.Coupon, ""
		}
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		task.Problem, delay = err.Error(), after(err, task.Tries)
		g.log.Warn("gateway", "tenant", task.Tenant, "code", task.Code, "error", err)
	}
	if err := endTask(ctx, func() error { return g.engine.Promotions.End(ctx, task, delay) }); err != nil {
		g.log.Error("gateway", "tenant", task.Tenant, "code", task.Code, "error", err)
	}
}
