package worker

import (
	"context"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/gateway"
	"kith/core"
)

// choreBatch is how many coupons and how many sweeps one process leases at once.
const choreBatch = 8

// beginChores begins the due work that is not about single subscriptions, in one
// task, and returns how many items it has.
func (g *gateways) beginChores(ctx context.Context) (n int, err error) {
	if _, all := g.chores.slots(); all > 0 {
		return 0, nil
	}
	// What was leased is begun in any case: its lease would be released only after minutes.
	var all []func(context.Context)
	defer func() {
		if len(all) > 0 {
			g.chores.begin(struct{}{}, func(ctx context.Context) {
				defer g.chores.release(struct{}{})
				for _, run := range all {
					run(ctx)
				}
			})
		}
	}()
	coupons, err := g.engine.Coupons.Begin(ctx, choreBatch)
	all = append(all, chores(coupons, g.writeCoupon)...)
	if err != nil {
		return len(all), err
	}
	sweeps, err := g.engine.Sweeps.Begin(ctx, choreBatch)
	all = append(all, chores(sweeps, g.sweep)...)
	if err != nil {
		return len(all), err
	}
	paid, err := g.engine.Payments.Begin(ctx, choreBatch)
	all = append(all, chores(paid, g.pay)...)
	if err != nil {
		return len(all), err
	}
	if err = g.addFollowed(ctx); err != nil {
		return len(all), err
	}
	promotions, err := g.engine.Promotions.Begin(ctx, choreBatch)
	all = append(all, chores(promotions, g.promote)...)
	if err != nil {
		return len(all), err
	}
	n, err = g.engine.Notifications.ForgetPayloads(ctx)
	return n + len(all), err
}

// chores returns functions that do the tasks.
func chores[T any](tasks []T, do func(context.Context, T)) (all []func(context.Context)) {
	for _, task := range tasks {
		all = append(all, func(ctx context.Context) { do(ctx, task) })
	}
	return all
}

// followedEvery is the interval at which codes are looked for whose links were followed.
const followedEvery = 10 * time.Second

// addFollowed asks for codes whose links were followed.
func (g *gateways) addFollowed(ctx context.Context) error {
	if time.Since(g.followed) < followedEvery {
		return nil
	}
	_, err := g.engine.Promotions.AddFollowed(ctx)
	if err == nil {
		g.followed = time.Now()
	}
	return err
}

// writeCoupon shows the merchant the code of a customer. If the gateway has no place for
// it, the merchant has to add one: the write is then repeated once a day.
func (g *gateways) writeCoupon(ctx context.Context, task payments.CouponTask) {
	client, err := g.client(task.Tenant, task.Access)
	if err == nil {
		err = client.WriteCode(ctx, task.Customer, task.Code)
	}
	problem, delay := "", core.Time(0)
	if err != nil {
		problem, delay = err.Error(), after(err, task.Tries)
		switch gateway.ActionOf(err) {
		case gateway.SetUp, gateway.Missing, gateway.Alert:
			delay = core.Day
		}
		g.log.Warn("gateway", "tenant", task.Tenant, "customer", task.Customer, "error", err)
	}
	if ctx.Err() != nil {
		return
	}
	if err := endTask(ctx, func() error { return g.engine.Coupons.End(ctx, task, problem, delay) }); err != nil {
		g.log.Error("gateway", "tenant", task.Tenant, "customer", task.Customer, "error", err)
	}
}

// sent converts the notifications that a gateway lists.
func sent(all []gateway.Sent) (out []payments.SentNotification) {
	for _, one := range all {
		out = append(out, payments.SentNotification{Identity: one.Identity, Payload: one.Payload})
	}
	return out
}

// sweep searches the gateway for subscriptions of which no notification has arrived.
// A sweep that fails is repeated when its lease was released as stale.
func (g *gateways) sweep(ctx context.Context, task payments.SweepTask) {
	client, err := g.client(task.Tenant, task.Access)
	if err != nil {
		g.log.Warn("gateway sweep", "tenant", task.Tenant, "error", err)
		return
	}
	found := 0
	result, err := client.Find(ctx, gateway.Search{From: task.From, All: task.All})
	if err == nil {
		err = endTask(ctx, func() (err error) {
			found, err = g.engine.Sweeps.End(ctx, task, payments.SweepResult{
				Subscriptions: result.Subscriptions, Payments: result.Payments, Notifications: sent(result.Notifications),
			})
			return err
		})
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		g.engine.ReportWork(base.WorkGateway, base.GatewaySweep, base.OutcomeFailed, 1)
		g.log.Warn("gateway sweep", "tenant", task.Tenant, "error", err)
	case found > 0:
		g.log.Info("gateway sweep", "tenant", task.Tenant, "found", found)
	}
}
