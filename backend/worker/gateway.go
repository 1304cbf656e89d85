package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/gateway"
	"kith/backend/gateway/braintree"
	"kith/backend/gateway/stripe"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

// adapters are the gateways that tenants can connect.
var adapters = map[billing.Kind]gateway.Adapter{
	billing.Braintree: braintree.Adapter,
	billing.Stripe:    stripe.Adapter,
}

// dial returns the gateway of a connection.
func dial(tenant core.TenantAlias, c billing.Connection, discountID string) (gateway.Gateway, error) {
	adapter, known := adapters[c.Kind]
	if !known {
		return nil, fmt.Errorf("job: there is no gateway of the kind %q", c.Kind)
	}
	return adapter.Dial(gateway.Settings{Tenant: tenant, Test: !base.Live(tenant), Connection: c, DiscountID: discountID})
}

// CheckGateway asks a gateway for each thing that a connection needs there. It returns an
// error (RS018) when the gateway does not answer. It is meant for payments.Gateways.Try.
func CheckGateway(ctx context.Context, tenant core.TenantAlias, c billing.Connection, discountID string) ([]billing.Check, error) {
	client, err := dial(tenant, c, discountID)
	if err != nil {
		return nil, err
	}
	checks, err := client.Check(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	return checks, nil
}

// ConnectGateway completes a connection to Stripe. It returns an error about apiKey if
// Stripe rejects the key, RS018 when Stripe does not answer, and a conflict when Stripe
// makes no webhook endpoint, for example because the account has the most that it may have. It is meant for
// payments.Gateways.Prepare.
func ConnectGateway(ctx context.Context, tenant core.TenantAlias, c billing.Connection, url string) (billing.Connection, error) {
	connected := c
	err := atStripe(ctx, tenant, c, func(ctx context.Context, client gateway.Itemizer) error {
		made, err := client.Connect(ctx, url)
		switch {
		case err == nil:
			connected = made
			return nil
		case gateway.Is(err, gateway.SetUp):
			return &core.Error{Code: core.CodeInvalid, Field: "apiKey", Message: "is not accepted by Stripe: it is mistyped, was deleted or has expired; create another restricted key in the Dashboard under Developers, API keys, and give that (" + err.Error() + ")", Err: err}
		case gateway.Is(err, gateway.Retry):
			return unreachable(err)
		}
		return &core.Error{Code: core.CodeConflict, Message: "Stripe refuses to make the webhook endpoint " + url + ": " + err.Error() + "; if there are too many, delete one that is not used in the Dashboard under Developers, Webhooks, then connect again", Err: err}
	})
	return connected, err
}

// GatewayWebhook returns the URL of a connection's webhook endpoint at Stripe. It is meant
// for payments.Gateways.Registered.
func GatewayWebhook(ctx context.Context, tenant core.TenantAlias, c billing.Connection) (url string, err error) {
	err = atStripe(ctx, tenant, c, func(ctx context.Context, client gateway.Itemizer) error {
		url, err = client.WebhookURL(ctx)
		return unreachable(err)
	})
	return url, err
}

// TidyGateway deletes what ConnectGateway has replaced at Stripe. It is meant for
// payments.Gateways.Tidy.
func TidyGateway(ctx context.Context, tenant core.TenantAlias, c billing.Connection, url, former string) error {
	return atStripe(ctx, tenant, c, func(ctx context.Context, client gateway.Itemizer) error {
		return unreachable(client.Tidy(ctx, url, former))
	})
}

// DisconnectGateway deletes what ConnectGateway made at Stripe. It is meant for
// payments.Gateways.Release.
func DisconnectGateway(ctx context.Context, tenant core.TenantAlias, c billing.Connection) error {
	return atStripe(ctx, tenant, c, func(ctx context.Context, client gateway.Itemizer) error { return client.Disconnect(ctx) })
}

// TestGateway causes a notification at Stripe. It is meant for payments.Gateways.SendTest.
func TestGateway(ctx context.Context, tenant core.TenantAlias, c billing.Connection) error {
	return atStripe(ctx, tenant, c, func(ctx context.Context, client gateway.Itemizer) error {
		err := client.SendTest(ctx)
		if gateway.Is(err, gateway.Retry) {
			return unreachable(err)
		}
		return err
	})
}

// atStripe calls do with the client of a connection, for askTimeout at most.
func atStripe(ctx context.Context, tenant core.TenantAlias, c billing.Connection, do func(context.Context, gateway.Itemizer) error) error {
	client, err := dial(tenant, c, "")
	if err != nil {
		return err
	}
	itemizer, err := itemized(client)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return do(ctx, itemizer)
}

// FindCustomer reports whether a gateway has a customer. It returns an error when the
// gateway does not answer (RS018) or does not accept the keys (RS028). It is meant
// for payments.Gateways.FindCustomer.
func FindCustomer(ctx context.Context, tenant core.TenantAlias, c billing.Connection, customer core.PaymentProviderID) (bool, error) {
	client, err := dial(tenant, c, "")
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	known, err := client.HasCustomer(ctx, customer)
	switch {
	case err == nil:
		return known, nil
	case gateway.Is(err, gateway.SetUp):
		return false, &core.Error{Code: core.CodeUnavailable, RS: "RS028", Message: "the payment gateway does not take this tenant's keys; connect it again", Err: err}
	}
	return false, unreachable(err)
}

// askTimeout bounds how long a caller waits for a gateway.
const askTimeout = 20 * time.Second

// unreachable returns the error RS018 for a call that failed with err, and nil for nil.
func unreachable(err error) error {
	if err == nil {
		return nil
	}
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

	// followed is when addFollowed last ran; only drain uses it.
	followed time.Time
}

type dialled struct {
	client     gateway.Gateway
	connection billing.Connection
	discountID string
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
	tasks, err := g.engine.Gateways.Begin(ctx, subscriptions.Kind, min(gatewaySlots-all, gatewayTenantSlots), full)
	for _, task := range tasks {
		g.tasks.begin(task.Tenant, func(ctx context.Context) {
			defer g.tasks.release(task.Tenant)
			g.run(ctx, &subscriptions, task)
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
func (g *gateways) client(tenant core.TenantAlias, a payments.Access) (gateway.Gateway, error) {
	if a.Err != nil {
		return nil, a.Err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if have, ok := g.clients[tenant]; ok && have.connection.Same(a.Connection) && have.discountID == a.DiscountID {
		return have.client, nil
	}
	client, err := dial(tenant, a.Connection, a.DiscountID)
	if err == nil {
		g.clients[tenant] = dialled{client: client, connection: a.Connection, discountID: a.DiscountID}
	}
	return client, err
}

// subscriptions are read and applied to their accounts, and their discounts and refunds are set at
// the gateway.
var subscriptions = kind{
	Kind: &billingdb.Subscriptions, names: "subscription", parks: true,
	do: func(ctx context.Context, g *gateways, client gateway.Gateway, task *payments.Task) (payments.Result, error) {
		// Later, another process may work on the subscription: no further call begins
		// then.
		leased, cancel := context.WithTimeout(ctx, time.Duration(payments.BillingTime)*time.Millisecond)
		defer cancel()
		delay, err := g.apply(leased, client, *task)
		return payments.Result{After: delay}, err
	},
}

// confirmDelay is the time after which a discount that was lowered is read again: until
// then, no other bill has the credit.
const confirmDelay = core.Second

// settlementPoll is how often a charge that has not settled is read again: the
// gateway sends no notification when it settles (gateway 2.5.2).
const settlementPoll = core.Hour

// read reads a subscription at the gateway and, while the account may still be referred,
// the code that the gateway has for its customer.
func (g *gateways) read(ctx context.Context, client gateway.Gateway, task payments.Task) (s billing.Subscription, code core.ReferralCode, err error) {
	first, err := g.engine.Billing.FirstCharge(ctx, task.Tenant, task.ID)
	if err != nil {
		return s, "", err
	}
	if s, err = client.Subscription(ctx, task.ID, first); err != nil {
		return s, "", err
	}
	if s.Itemized {
		return s, "", nil // its payer has the codes
	}
	wanted, err := g.engine.Billing.WantsCode(ctx, task.Tenant, s.Customer)
	if err != nil || !wanted {
		return s, "", err
	}
	code, err = client.Code(ctx, s)
	return s, code, err
}

// apply applies a subscription, and returns when it is due again; one that has ended is only after
// a notification.
func (g *gateways) apply(ctx context.Context, client gateway.Gateway, task payments.Task) (again core.Time, err error) {
	read, code, err := g.read(ctx, client, task)
	if err != nil {
		return 0, err
	}
	effects, err := g.engine.Billing.Apply(ctx, task, read, code)
	if err == nil && effects.Late {
		err = errLate
	}
	if err != nil {
		return 0, err
	}
	if read.Status != billing.Canceled && read.Status != billing.Expired {
		again = payments.BillingEvery
	}
	if effects.Known {
		if err := client.SetDiscount(ctx, read, effects.Want); err != nil {
			return 0, err
		}
		if effects.Lowered {
			again = confirmDelay
		}
	}
	for _, c := range effects.Credits {
		if err := g.giveCredit(ctx, client, task.Tenant, c); err != nil {
			return 0, err
		}
	}
	if effects.Owed != nil {
		sure, err := g.owe(ctx, client, task.Tenant, read.Customer, *effects.Owed)
		if err != nil {
			return 0, err
		}
		if sure {
			effects.Refunds = append(effects.Refunds, *effects.Owed)
		} else {
			again = firstDelay
		}
	}
	for _, f := range effects.Refunds {
		wait, err := g.refund(ctx, client, task.Tenant, f)
		if err != nil {
			return 0, err
		}
		if wait {
			again = settlementPoll
		}
	}
	return again, nil
}

// owe records that a refund is owed. It is sure only once all subscriptions of the
// customer have been read: one of them may have an older charge, and only the first
// charge of a customer is refunded.
func (g *gateways) owe(ctx context.Context, client gateway.Gateway, tenant core.TenantAlias, customer core.PaymentProviderID, f billingdb.Refund) (sure bool, err error) {
	ids, err := client.SubscriptionsOf(ctx, customer)
	if err != nil {
		return false, err
	}
	if sure, err = g.engine.Billing.AllRead(ctx, tenant, ids); err != nil || !sure {
		return false, err
	}
	return g.engine.Billing.OweRefund(ctx, tenant, f)
}

// refund gives money back, at most once. wait is true when the charge cannot be refunded
// yet.
func (g *gateways) refund(ctx context.Context, client gateway.Gateway, tenant core.TenantAlias, f billingdb.Refund) (wait bool, err error) {
	result, err := client.Refund(ctx, gateway.RefundOrder{Transaction: f.Transaction, Amount: f.Amount, Currency: f.Currency, KeyNumber: f.KeyNumber})
	if err != nil {
		return false, err
	}
	switch result.State {
	case gateway.Waits:
		return true, nil
	case gateway.Refused:
		return true, g.engine.Billing.RefuseRefund(ctx, tenant, f, result.Problem)
	}
	return false, g.engine.Billing.EndRefund(ctx, tenant, f.Transaction, result.ID, result.Problem)
}

// readNotification parses a notification of a kind of gateway.
func readNotification(kind billing.Kind, payload string) payments.ParsedNotification {
	adapter, known := adapters[kind]
	if !known {
		return payments.ParsedNotification{Problem: "there is no gateway of the kind " + string(kind)}
	}
	n := adapter.Parse(payload)
	return payments.ParsedNotification{Kind: n.Kind, Problem: n.Problem, Known: n.Known, Subscription: n.Subscription, Transaction: n.Transaction, Payment: n.Payment, Customer: core.PaymentProviderID(n.Customer)}
}
