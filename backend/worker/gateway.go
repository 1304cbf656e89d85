package worker

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/gateway/braintree"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// dial returns a client for a connection. The client of a test tenant calls the
// sandbox or the connection's base URL; that of a live tenant calls only the
// production host.
func dial(tenant core.TenantAlias, c billing.Connection) (*braintree.Client, error) {
	if len(c.Keys) == 0 {
		return nil, errors.New("job: the gateway's connection has no key")
	}
	return braintree.New(braintree.Config{
		MerchantID: c.MerchantID, Key: braintree.Key{Public: c.Keys[0].Public, Private: c.Keys[0].Private},
		Test: !base.Live(tenant), BaseURL: c.BaseURL, Attempts: gatewayAttempts,
	})
}

// gatewayAttempts is small: a failed task is tried again later, and other tasks can
// run until then.
const gatewayAttempts = 2

// TryGateway reports whether a gateway accepts a connection's keys, and whether the
// merchant has a discount. It returns an error (RS018) when the gateway does not
// answer. It is meant for payments.Gateways.Try.
func TryGateway(ctx context.Context, tenant core.TenantAlias, c billing.Connection, discountID string) (keys, discount bool, err error) {
	client, err := dial(tenant, c)
	if err != nil {
		return false, false, err
	}
	offered, err := client.Discounts(ctx)
	switch braintree.ActionOf(err) {
	case braintree.SetUp, braintree.Missing:
		return false, false, nil
	}
	if err != nil {
		return false, false, unreachable(err)
	}
	for _, d := range offered {
		discount = discount || d.ID == discountID
	}
	return true, discount, nil
}

// FindCustomer reports whether a gateway has a customer. It returns an error when the
// gateway does not answer (RS018) or does not accept the keys (RS028). It is meant
// for payments.Gateways.FindCustomer.
func FindCustomer(ctx context.Context, tenant core.TenantAlias, c billing.Connection, customer core.PaymentProviderID) (bool, error) {
	client, err := dial(tenant, c)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err = client.Customer(ctx, string(customer))
	switch {
	case err == nil:
		return true, nil
	case isAction(err, braintree.Missing):
		return false, nil
	case isAction(err, braintree.SetUp):
		return false, &core.Error{Code: core.CodeUnavailable, RS: "RS028", Message: "the payment gateway does not take this tenant's keys; connect it again", Err: err}
	}
	return false, unreachable(err)
}

// askTimeout bounds how long a caller waits for a gateway.
const askTimeout = 20 * time.Second

func unreachable(err error) error {
	return &core.Error{Code: core.CodeUnavailable, RS: "RS018", Message: "the payment gateway does not answer; try again", Err: err}
}

// NewGateway returns the worker that reads the notifications of payment gateways,
// applies them to accounts, and sets discounts and refunds at the gateways. Several
// may run on one database: each subscription is leased to one of them.
func NewGateway(e *app.Engine, log *slog.Logger) *Worker {
	g := &gateways{engine: e, log: log, clients: map[core.TenantAlias]dialled{}}
	w := newWorker("gateway", gatewayPoll, log, g.drain)
	w.last = g.last
	g.tasks, g.chores = newPool[core.TenantAlias](w.Wake), newPool[struct{}](w.Wake)
	return w
}

const (
	gatewayPoll = 500 * time.Millisecond
	// gatewaySlots is how many subscriptions one process works on at once.
	gatewaySlots = 16
	// gatewayTenantSlots is how many of these one tenant may have.
	gatewayTenantSlots = 4
	// notificationBatch bounds one transaction.
	notificationBatch = 50
)

type gateways struct {
	engine *app.Engine
	log    *slog.Logger
	// tasks runs the work on subscriptions, by tenant; chores runs everything else.
	tasks  *pool[core.TenantAlias]
	chores *pool[struct{}]

	mu sync.Mutex
	// clients are kept, so that all calls of a tenant respect a pause that its
	// gateway asked for.
	clients map[core.TenantAlias]dialled
}

type dialled struct {
	client         *braintree.Client
	merchant, host string
	key            billing.Key
}

// drain reads notifications, and begins due tasks until all slots are taken.
func (g *gateways) drain(ctx context.Context) error {
	for {
		n, err := g.engine.Notifications.Read(ctx, notificationBatch, readNotification)
		if err != nil {
			return err
		}
		begun, err := g.begin(ctx)
		if err != nil {
			return err
		}
		chores, err := g.beginChores(ctx)
		if err != nil || n+begun+chores == 0 {
			return err
		}
	}
}

func (g *gateways) begin(ctx context.Context) (int, error) {
	taken, all := g.tasks.slots()
	if all >= gatewaySlots {
		return 0, nil
	}
	full := []core.TenantAlias{}
	for tenant, n := range taken {
		if n >= gatewayTenantSlots {
			full = append(full, tenant)
		}
	}
	tasks, err := g.engine.Billing.Begin(ctx, min(gatewaySlots-all, gatewayTenantSlots), full)
	for _, task := range tasks {
		g.tasks.begin(task.Tenant, func(ctx context.Context) {
			defer g.tasks.release(task.Tenant)
			g.work(ctx, task)
		})
	}
	return len(tasks), err
}

// last waits for the running tasks.
func (g *gateways) last(ctx context.Context) error {
	g.tasks.finish(ctx)
	g.chores.finish(ctx)
	return nil
}

// client returns the client of a tenant, or a new one when its connection has changed.
func (g *gateways) client(tenant core.TenantAlias, c billing.Connection) (*braintree.Client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if have, ok := g.clients[tenant]; ok && len(c.Keys) > 0 && have.merchant == c.MerchantID && have.host == c.BaseURL && have.key == c.Keys[0] {
		return have.client, nil
	}
	client, err := dial(tenant, c)
	if err == nil {
		g.clients[tenant] = dialled{client: client, merchant: c.MerchantID, host: c.BaseURL, key: c.Keys[0]}
	}
	return client, err
}

// work reads a subscription, applies its state to the account, and sets its discount
// and its refunds at the gateway.
func (g *gateways) work(ctx context.Context, task payments.BillingTask) {
	done := billingDone{}
	client, err := g.client(task.Tenant, task.Connection)
	if err == nil {
		// Later, another process may work on the subscription: no further call begins
		// then.
		leased, cancel := context.WithTimeout(ctx, time.Duration(payments.BillingTime)*time.Millisecond)
		defer cancel()
		done, err = g.apply(leased, client, task)
	}
	switch {
	case ctx.Err() != nil, done.late:
		return
	case isAction(err, braintree.Missing) && task.Tries >= missingTries:
		// Only another notification can begin this task again.
		done.problem, done.ended, done.after = err.Error(), true, 0
	case err != nil:
		done.problem, done.after = err.Error(), after(err, task.Tries)
		g.log.Warn("gateway", "tenant", task.Tenant, "subscription", task.Subscription, "error", err)
	}
	if err := g.engine.Billing.End(ctx, task, done.ended, done.problem, done.after); err != nil {
		// The task is taken again when its lease was released as stale.
		g.log.Error("gateway", "tenant", task.Tenant, "subscription", task.Subscription, "error", err)
	}
}

// billingDone is the result of a task.
type billingDone struct {
	late, ended bool
	problem     string
	after       core.Time
}

// settlementPoll is how often a charge that has not settled is read again: the
// gateway sends no notification when it settles (gateway 2.5.2).
const settlementPoll = core.Hour

func (g *gateways) apply(ctx context.Context, client *braintree.Client, task payments.BillingTask) (billingDone, error) {
	read, code, err := g.read(ctx, client, task)
	if err != nil {
		return billingDone{}, err
	}
	effects, err := g.engine.Billing.Apply(ctx, task, read, code)
	if err != nil || effects.Late {
		return billingDone{late: effects.Late}, err
	}
	done := billingDone{ended: read.Status == billing.Canceled || read.Status == billing.Expired}
	if effects.Known {
		if err := setDiscount(ctx, client, read, task.DiscountID, effects.Want); err != nil {
			return done, err
		}
	}
	if effects.Owed != nil {
		sure, err := g.owe(ctx, client, task.Tenant, read.Customer, *effects.Owed)
		if err != nil {
			return done, err
		}
		if sure {
			effects.Refunds = append(effects.Refunds, *effects.Owed)
		} else {
			done.after = firstDelay
		}
	}
	for _, f := range effects.Refunds {
		wait, err := g.refund(ctx, client, task.Tenant, f)
		if err != nil {
			return done, err
		}
		if wait {
			done.after = settlementPoll
		}
	}
	return done, nil
}

// setDiscount sets a subscription's discount to an amount, with credit for the next bill
// only. The amount is absolute, so that the call may be repeated.
func setDiscount(ctx context.Context, client *braintree.Client, s billing.Subscription, id string, want billing.Discount) error {
	amount := braintree.NewAmount(want.Amount, s.Currency)
	added, updated := braintree.Duration{}, braintree.Duration{Forever: true}
	if want.Once() {
		added, updated = braintree.Duration{Bills: 1}, braintree.Duration{Bills: s.Spent + 1}
	} else if s.HasDiscount && s.Bills == 0 {
		updated = braintree.Duration{} // it applies to all bills already
	}
	var err error
	switch s.Change(want) {
	case billing.AddDiscount:
		if _, err = client.AddDiscount(ctx, s.ID, id, amount, added); isAction(err, braintree.SwitchToUpdate) {
			_, err = client.UpdateDiscount(ctx, s.ID, id, amount, updated)
		}
	case billing.UpdateDiscount:
		if _, err = client.UpdateDiscount(ctx, s.ID, id, amount, updated); isAction(err, braintree.SwitchToAdd) {
			_, err = client.AddDiscount(ctx, s.ID, id, amount, added)
		}
	case billing.RemoveDiscount:
		_, err = client.RemoveDiscount(ctx, s.ID, id)
	}
	if isAction(err, braintree.AlreadyDone) || isAction(err, braintree.Park) || isAction(err, braintree.Terminal) {
		// The subscription has changed since it was read: its next notification
		// brings it here again.
		return nil
	}
	return err
}

func isAction(err error, a braintree.Action) bool { return err != nil && braintree.ActionOf(err) == a }

// owe records that a refund is owed. It is sure only once all subscriptions of the
// customer have been read: one of them may have an older charge, and only the first
// charge of a customer is refunded.
func (g *gateways) owe(ctx context.Context, client *braintree.Client, tenant core.TenantAlias, customer core.PaymentProviderID, f billingdb.Refund) (sure bool, err error) {
	found, err := client.Customer(ctx, string(customer))
	if err != nil {
		return false, err
	}
	var ids []string
	for _, method := range found.PaymentMethods {
		for _, s := range method.Subscriptions {
			ids = append(ids, s.ID)
		}
	}
	if sure, err = g.engine.Billing.AllRead(ctx, tenant, ids); err != nil || !sure {
		return false, err
	}
	return g.engine.Billing.OweRefund(ctx, tenant, f)
}

// refund gives money back, at most once: it first checks whether the refund exists,
// and repeats the request under the same key while the result is unknown. wait is
// true when the charge has not settled.
func (g *gateways) refund(ctx context.Context, client *braintree.Client, tenant core.TenantAlias, f billingdb.Refund) (wait bool, err error) {
	order := "svc-refund-" + f.Transaction
	sale, err := client.Transaction(ctx, f.Transaction)
	switch {
	case err != nil:
		return false, err
	case !sale.Status.Paid():
		return false, g.engine.Billing.EndRefund(ctx, tenant, f.Transaction, "", "the charge is "+string(sale.Status))
	case sale.ChargedBack():
		return false, g.engine.Billing.EndRefund(ctx, tenant, f.Transaction, "", "the charge was charged back")
	case !sale.Status.Refundable(), sale.Disputed():
		// While a dispute is open, the bank may give the same money back.
		return true, nil
	}
	given, found, err := client.FindRefund(ctx, f.Transaction, order)
	if err == nil && !found {
		given, err = client.Refund(ctx, f.Transaction, braintree.Refund{
			Amount: braintree.NewAmount(f.Amount, f.Currency), OrderID: order, Key: order + "-" + strconv.Itoa(f.KeyNumber),
		})
	}
	switch {
	case err == nil:
		return false, g.engine.Billing.EndRefund(ctx, tenant, f.Transaction, given.ID, "")
	case isAction(err, braintree.AwaitSettlement), isAction(err, braintree.ReadBack):
		// A refusal uses up the key. If the refund was made anyway, FindRefund finds it.
		return true, g.engine.Billing.RefuseRefund(ctx, tenant, f, err.Error())
	case isAction(err, braintree.Retry), isAction(err, braintree.SetUp):
		return false, err
	}
	return false, g.engine.Billing.EndRefund(ctx, tenant, f.Transaction, "", err.Error())
}

// missingTries is how often an object that the gateway does not have is requested
// again, at intervals of an hour.
const missingTries = 3

// Bounds of the delay before a failed task is tried again.
const (
	firstDelay = core.Minute
	maxDelay   = core.Hour
)

// after returns the delay before a failed task is tried again: longer with every
// failure, and at least as long as the gateway asks for.
func after(err error, tries int) core.Time {
	delay := min(firstDelay<<min(tries, 10), maxDelay)
	var e *braintree.Error
	if errors.As(err, &e) {
		switch e.Action {
		case braintree.Missing, braintree.SetUp, braintree.Alert:
			delay = maxDelay
		}
		delay = max(delay, core.Time(e.RetryAfter.Milliseconds()))
	}
	return delay
}

// readNotification returns the kind of a notification and the id of its object. The
// rest of the payload is ignored: it is as old as the notification.
func readNotification(payload string) payments.ParsedNotification {
	n, err := braintree.ParseNotification(payload)
	news := payments.ParsedNotification{Kind: string(n.Kind), Known: n.Kind.Known()}
	switch {
	case err != nil:
		return payments.ParsedNotification{Problem: err.Error()}
	case n.Subscription != nil:
		news.Subscription = n.Subscription.ID
	case n.Transaction != nil:
		news.Subscription = n.Transaction.SubscriptionID
	case n.Dispute != nil:
		news.Transaction = n.Dispute.TransactionID
	}
	return news
}
