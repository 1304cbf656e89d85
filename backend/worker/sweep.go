package worker

import (
	"context"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/gateway"
	"kith/backend/store/billingdb"
	"kith/core"
)

// choreBatch is how many tasks of a kind one process leases at once, but subscriptions.
const choreBatch = 8

// beginChores begins the due work that is not about single subscriptions, in one
// task, and returns how many items it has.
func (g *gateways) beginChores(ctx context.Context) (n int, err error) {
	if _, all := g.chores.slots(); all > 0 {
		return 0, nil
	}
	// What was leased is begun in any case: its lease would be released only after minutes.
	var all chores
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
	for _, begin := range []func() (chores, error){
		func() (chores, error) { return g.beginRuns(ctx, &coupons) },
		func() (chores, error) { return g.beginChore(ctx, &billingdb.Sweeps, g.sweep) },
		func() (chores, error) { return g.beginRuns(ctx, &paid) },
		func() (chores, error) { return nil, g.addFollowed(ctx) },
		func() (chores, error) { return g.beginRuns(ctx, &promotions) },
	} {
		begun, err := begin()
		if all = append(all, begun...); err != nil {
			return len(all), err
		}
	}
	n, err = g.engine.Notifications.ForgetPayloads(ctx)
	return n + len(all), err
}

// chores are functions that do one task each.
type chores []func(context.Context)

// beginChore leases tasks of a kind, which do does.
func (g *gateways) beginChore(ctx context.Context, k *billingdb.Kind, do func(context.Context, payments.Task)) (all chores, err error) {
	tasks, err := g.engine.Gateways.Begin(ctx, k, choreBatch, nil)
	for _, task := range tasks {
		all = append(all, func(ctx context.Context) { do(ctx, task) })
	}
	return all, err
}

// beginRuns leases tasks of a kind, which run runs.
func (g *gateways) beginRuns(ctx context.Context, k *kind) (chores, error) {
	return g.beginChore(ctx, k.Kind, func(ctx context.Context, task payments.Task) { g.run(ctx, k, task) })
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

// coupons show the merchant the codes of customers. If the gateway has no place for one, the
// merchant has to add it: the write is then repeated once a day.
var coupons = kind{
	Kind: &billingdb.Coupons, names: "customer", slow: core.Day,
	do: func(ctx context.Context, _ *gateways, client gateway.Gateway, task *payments.Task) (payments.Result, error) {
		return payments.Result{}, client.WriteCode(ctx, core.PaymentProviderID(task.ID), task.Code)
	},
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
func (g *gateways) sweep(ctx context.Context, task payments.Task) {
	client, err := g.client(task.Tenant, task.Access)
	if err != nil {
		g.log.Warn("gateway sweep", "tenant", task.Tenant, "error", err)
		return
	}
	found := 0
	search := g.engine.Sweeps.Search(task)
	result, err := client.Find(ctx, gateway.Search{From: search.From, All: search.All})
	if err == nil {
		err = endTask(ctx, func() (err error) {
			found, err = g.engine.Sweeps.End(ctx, task, search, payments.SweepResult{
				Subscriptions: result.Subscriptions, Payments: result.Payments, Notifications: sent(result.Notifications),
			})
			return err
		})
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		g.engine.ReportWork(base.WorkGateway, billingdb.Sweeps.Name, base.OutcomeFailed, 1)
		g.log.Warn("gateway sweep", "tenant", task.Tenant, "error", err)
	case found > 0:
		g.log.Info("gateway sweep", "tenant", task.Tenant, "found", found)
	}
}
