package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
	"kith/core/event"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/wire"
)

// Payments applies payments of gateways that name them: orders that were paid at once,
// and the refunds and disputes of all payments.
type Payments struct {
	*base.Base
	Gateways *Gateways
	Billing  *Billing
}

// Apply applies a payment as the worker read it at the gateway: the events of the purchase
// and of what was given back. wait is true if it is of a subscription that was not read
// yet: apply it again then.
func (ps *Payments) Apply(ctx context.Context, task Task, p billing.Payment) (wait bool, err error) {
	type applied struct{ wait, logged bool }
	a, err := store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (a applied, err error) {
		stored, _, err := billingdb.FindPayment(ctx, tx.Reads, task.Tenant, p.ID)
		if err != nil {
			return a, err
		}
		who, known, err := ps.whose(ctx, tx, task.Tenant, p, stored.Account)
		if err != nil || !known {
			a.wait = !known
			return a, err
		}
		if p.Disputed && p.Subscription != "" {
			// Whether the first bill was charged back is read with the subscription.
			if err := billingdb.TouchSubscription(ctx, tx, task.Tenant, p.Subscription); err != nil {
				return a, err
			}
		}
		r := report{billing: ps.Billing, tx: tx, tenant: task.Tenant, connection: task.Connection, who: who}
		if a.logged, err = r.payment(ctx, p, stored); err != nil {
			return a, err
		}
		if p.MoneyBack() && p.Subscription != "" {
			_, err = ps.Billing.moneyBack(ctx, tx, task.Tenant, who.account, p.ID, p.RefundedAt)
		}
		return a, err
	})
	if err == nil && a.logged {
		ps.Gateways.Logged()
	}
	return a.wait, err
}

// whose returns whose a payment is; known is false if it is of a subscription that was not
// read yet, which it schedules to be read. stored is whose it was before, or empty.
func (ps *Payments) whose(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p billing.Payment, stored core.AccountID) (who payer, known bool, err error) {
	if core.IsErased(stored) {
		return payer{account: stored}, true, nil
	}
	if p.Subscription == "" {
		if who, err = ps.Billing.whose(ctx, tx, tenant, p.Payer); err == nil {
			err = ps.Billing.claim(ctx, tx, tenant, who)
		}
		return who, true, err
	}
	s, ok, err := billingdb.FindSubscription(ctx, tx.Reads, tenant, p.Subscription)
	if err != nil || ok && s.Status != billing.Unread {
		return payer{account: s.Account, user: s.User, code: s.Code}, true, err
	}
	return who, false, billingdb.TouchSubscription(ctx, tx, tenant, p.Subscription)
}

// report logs the events of payments within a transaction. Each is logged exactly once:
// what was logged is stored with it.
type report struct {
	billing    *Billing
	tx         *store.Tx
	tenant     core.TenantAlias
	connection billing.Connection
	who        payer
}

// payment logs the event of a purchase, and the one of what was given back since the last
// time, and stores both. logged is false if there was none.
func (r *report) payment(ctx context.Context, p billing.Payment, stored billingdb.Payment) (logged bool, err error) {
	stored.ID, stored.Currency = p.ID, p.Currency
	if p.Subscription != "" {
		stored.Subscription = p.Subscription
	}
	if r.who.account != "" {
		stored.Account, stored.User = r.who.account, r.who.user
	}
	known := stored.Account != "" && stored.User != ""
	recorded, purchase, refund := stored.Report(p, r.connection.Created, known)
	if purchase {
		if err := r.log(ctx, stored, wire.Purchase(p, r.who.code), wire.PurchaseKey, p.At); err != nil {
			return false, err
		}
	}
	if refund > 0 {
		if err := r.log(ctx, stored, wire.Refund(p, refund), wire.RefundKey, 0); err != nil {
			return false, err
		}
	}
	stored.Recorded = recorded
	return purchase || refund > 0, billingdb.PutPayment(ctx, r.tx, r.tenant, stored)
}

// log logs an event of a payment's user.
func (r *report) log(ctx context.Context, p billingdb.Payment, fields, key string, at core.Time) error {
	return r.billing.DecideWithin(ctx, r.tx, r.tenant, func(s *state.State) error {
		_, err := r.billing.Rules().LogEvents(s, event.Call{
			Account: p.Account, User: p.User, Trusted: true, Events: []event.Event{{Key: key, Fields: fields, Triggered: at}},
		})
		return err
	})
}

// redeem redeems the credit that a bill has used, up to what is available, and stores it. The
// rest is owed: it is redeemed when it is available.
func (b *billed) redeem(ctx context.Context, p billing.Payment, stored *billingdb.Payment) error {
	missing := max(0, p.Credit-stored.Credit)
	drawn, err := b.drawUpTo(ctx, b.after.Account, missing)
	stored.Credit += drawn
	b.after.Owed += missing - drawn
	return err
}

// draw redeems an account's credit.
func (b *billed) draw(ctx context.Context, account core.AccountID, amount int64) error {
	drawn, err := b.billing.Redemptions.DrawWithin(ctx, b.tx, b.tenant, []reward.Draw{{Account: account, Unit: reward.UnitCents, Currency: b.read.Currency, Amount: amount}})
	if err == nil {
		err = drawn[0].Refused
	}
	return err
}

// payments reports the bills of a subscription that names them, and redeems the credit
// that they have used.
func (b *billed) payments(ctx context.Context) error {
	r := report{billing: b.billing, tx: b.tx, tenant: b.tenant, connection: b.connection, who: payer{b.after.Account, b.after.User, b.after.Code}}
	if b.read.Itemized {
		b.after.Owed = 0 // each payment says what it owes
	}
	for _, p := range b.read.Payments {
		stored, _, err := billingdb.FindPayment(ctx, b.tx.Reads, b.tenant, p.ID)
		if err == nil && b.after.Account != "" {
			err = b.redeem(ctx, p, &stored)
		}
		if err != nil {
			return err
		}
		logged, err := r.payment(ctx, p, stored)
		if err != nil {
			return err
		}
		b.effects.logged = b.effects.logged || logged
	}
	return nil
}

// give sets credit to be given as a balance of the customer: of what is available as much
// as the next bill can use, which is room, beside what was given before. It is redeemed in
// the same transaction.
func (b *billed) give(ctx context.Context, available, room int64) error {
	waiting, err := billingdb.CreditsWaiting(ctx, b.tx.Reads, b.tenant, b.read.ID)
	if err != nil {
		return err
	}
	given := b.read.Balance
	for _, c := range waiting {
		given += c.Amount
	}
	amount := billing.Grant(available, room, given, b.read.Step)
	if amount == 0 || b.after.Customer == "" {
		return nil
	}
	if err := b.draw(ctx, b.after.Account, amount); err != nil {
		return err
	}
	return billingdb.InsertCredit(ctx, b.tx, b.tenant, billingdb.Credit{
		ID: b.billing.IDAt(b.tx.Now), Account: b.after.Account, Customer: b.after.Customer, Subscription: b.read.ID, Amount: amount, Currency: b.read.Currency,
	})
}

// EndCredit records that credit was given. id is the gateway's id of the balance
// transaction; if it is empty, problem says why it cannot be given: then a person must give
// it at the gateway.
func (bl *Billing) EndCredit(ctx context.Context, tenant core.TenantAlias, c billingdb.Credit, id, problem string) error {
	err := bl.DB.Write(ctx, bl.Now(), func(tx *store.Tx) error {
		_, err := billingdb.EndCredit(ctx, tx, tenant, c.ID, id, problem)
		return err
	})
	if err == nil {
		bl.ReportWork(base.WorkGateway, base.GatewayCredit, outcomeOf(problem), 1)
	}
	return err
}
