package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	stripe "github.com/stripe/stripe-go/v86"

	"kith/backend/store/sqldtest"
)

// stripeKey is the public key of every Stripe lab.
const stripeKey = "sk_test_lab0000000000000000secret"

// subscriptionShop is a shop that bills with Stripe: a tenant with a Stripe lab of its own,
// whose clock it advances. It uses Stripe's own clients for Go and for Node.
type subscriptionShop struct {
	*store
	tenant, lab string
	api         *stripe.Client
	node        *stripeNode
	price       string
	// links are the payment links of the subscription and of an order that is paid once.
	links [2]string
	// referrers are the accounts that refer, with their codes.
	referrers []string
	codes     map[string]string
	// friends are in the order in which they came.
	friends []*buyer
	modes   []string
	r       *rand.Rand
	kill    func()
	kills   int
}

// buyer is a friend of a referrer, who subscribes or orders.
type buyer struct {
	id, code string
	// way is how the friend comes to the checkout: see buy.
	way int
	// account is the account at Kith, and intent what paid the order or the first bill;
	// both are read at Stripe.
	account, intent, subscription string
}

// stripeNode is Stripe's own client for Node, in a process of its own.
type stripeNode struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// openShop connects a new tenant to a new Stripe lab.
func (s *store) openShop(t *testing.T, name, credit string, referrers int) *subscriptionShop {
	t.Helper()
	site := s.site
	shop := &subscriptionShop{store: s, tenant: "test_" + alias(t, site, name), lab: "http://" + freeAddr(t), codes: map[string]string{}, r: rand.New(rand.NewPCG(27, 1))}
	site.start(t, shop.lab+"/", []string{"KITH_STRIPE_LAB_ADDR=" + strings.TrimPrefix(shop.lab, "http://")}, "stripelab")
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: stripe.String(shop.lab), MaxNetworkRetries: stripe.Int64(2), EnableTelemetry: stripe.Bool(false), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelError},
	})
	shop.api = stripe.NewClient(stripeKey, stripe.WithBackends(&stripe.Backends{API: backend, Connect: backend, Uploads: backend, MeterEvents: backend}))
	shop.node = startStripeNode(t, shop.lab)
	// The referrer earns a fifth of the first 2 payments, the friend 10 % off.
	s.program(t, shop.tenant, `{"referrer":{"type":"CREDIT","unit":"CENTS","currency":"USD","percentOfRevenue":20,"orders":2},
		"referred":{"type":"PCT_DISCOUNT","percent":10,"orders":1}}`, `{}`)
	s.synced()
	_, errOut, status := site.run(t, []string{"KITH_DATABASE_URL=" + site.backendDatabase}, "gateway", "connect", "stripe", "--tenant", shop.tenant,
		"--api-key", stripeKey, "--base-url", shop.lab, "--public-url", s.sites[len(s.sites)-1].edge, "--credit", credit)
	require.Zero(t, status, errOut)
	shop.catalog(t)
	for i := range referrers {
		shop.addReferrer(t, fmt.Sprintf("referrer%d", i))
	}
	return shop
}

func startStripeNode(t *testing.T, lab string) *stripeNode {
	t.Helper()
	dir := filepath.Join(root, "backend", "stripelab", "testdata", "sdk")
	require.DirExists(t, filepath.Join(dir, "node_modules", "stripe"), "run make test")
	u, err := url.Parse(lab)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	process := exec.CommandContext(ctx, "node", "sdk.js", u.Hostname(), u.Port(), stripeKey)
	process.Dir, process.Stderr = dir, os.Stderr
	n := &stripeNode{}
	n.in, err = process.StdinPipe()
	require.NoError(t, err)
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	n.out = bufio.NewReader(out)
	require.NoError(t, process.Start())
	t.Cleanup(func() { cancel(); _ = process.Wait() })
	return n
}

// call makes a call of the client for Node, and reads the result into one.
func (n *stripeNode) call(into any, call string, args ...any) error {
	text, err := json.Marshal(map[string]any{"call": call, "args": args})
	if err != nil {
		return err
	}
	if _, err := n.in.Write(append(text, '\n')); err != nil {
		return err
	}
	line, err := n.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	var answer struct{ Value, Error json.RawMessage }
	if err := json.Unmarshal(line, &answer); err != nil {
		return err
	}
	if answer.Value == nil {
		return fmt.Errorf("%s: %s", call, answer.Error)
	}
	return json.Unmarshal(answer.Value, into)
}

// catalog makes what the shop sells: a subscription of 50.00 a month, and payment links.
func (shop *subscriptionShop) catalog(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	monthly, err := shop.api.V1Prices.Create(ctx, &stripe.PriceCreateParams{
		UnitAmount: stripe.Int64(5000), Currency: stripe.String("usd"), Recurring: &stripe.PriceCreateRecurringParams{Interval: stripe.String("month")},
		ProductData: &stripe.PriceCreateProductDataParams{Name: stripe.String("Pro")},
	})
	require.NoError(t, err)
	once, err := shop.api.V1Prices.Create(ctx, &stripe.PriceCreateParams{
		UnitAmount: stripe.Int64(12000), Currency: stripe.String("usd"), ProductData: &stripe.PriceCreateProductDataParams{Name: stripe.String("Course")},
	})
	require.NoError(t, err)
	shop.price = monthly.ID
	for i, price := range []string{monthly.ID, once.ID} {
		params := &stripe.PaymentLinkCreateParams{
			AllowPromotionCodes: stripe.Bool(true), LineItems: []*stripe.PaymentLinkCreateLineItemParams{{Price: stripe.String(price), Quantity: stripe.Int64(1)}},
		}
		if i == 0 {
			params.SubscriptionData = &stripe.PaymentLinkCreateSubscriptionDataParams{TrialPeriodDays: stripe.Int64(14)}
		}
		made, err := shop.api.V1PaymentLinks.Create(ctx, params)
		require.NoError(t, err)
		shop.links[i] = made.URL
	}
}

// addReferrer adds a user with a code, who subscribes and pays.
func (shop *subscriptionShop) addReferrer(t *testing.T, id string) {
	t.Helper()
	ctx, code := t.Context(), strings.ToUpper(id)+"-CODE"
	shop.identify(t, shop.tenant, id, `{"firstName":"`+id+`","email":"`+id+`@x.example","referralCode":"`+code+`"}`)
	customer, err := shop.api.V1Customers.Create(ctx, &stripe.CustomerCreateParams{
		Email: stripe.String(id + "@x.example"), PaymentMethod: stripe.String("pm_card_visa"), Metadata: map[string]string{"kith_account": id, "kith_user": id},
		InvoiceSettings: &stripe.CustomerCreateInvoiceSettingsParams{DefaultPaymentMethod: stripe.String("pm_card_visa")},
	})
	require.NoError(t, err)
	_, err = shop.api.V1Subscriptions.Create(ctx, &stripe.SubscriptionCreateParams{
		Customer: stripe.String(customer.ID), Items: []*stripe.SubscriptionCreateItemParams{{Price: stripe.String(shop.price)}},
	})
	require.NoError(t, err)
	shop.referrers = append(shop.referrers, id)
	shop.codes[id] = code
}

// The ways of a friend to the checkout.
const (
	// byCode: the shop's server opens a session with the client for Go, and the friend
	// types the promotion code.
	byCode = iota
	// byReference: it opens one with the client for Node, with client_reference_id and
	// the promotion code filled in.
	byReference
	// byLink: a payment link has the code as its reference; the shop has no server.
	byLink
	// byOrder: a payment link of an order that is paid once.
	byOrder
	ways
)

// follow follows the share link of a code through an edge, as often as is necessary.
func (shop *subscriptionShop) follow(code string) error {
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		a, err := call("GET", shop.edge()+"/s/"+shop.tenant+"/"+code, "")
		if err == nil && a.status == http.StatusFound {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the link of %s: %d %s %w", code, a.status, a.body, err)
		}
	}
}

// promotion returns the id of the promotion code that Kith has made of a code, or "".
func (shop *subscriptionShop) promotion(ctx context.Context, code string) (id string, err error) {
	list := &stripe.PromotionCodeListParams{Code: stripe.String(code), Active: stripe.Bool(true)}
	for one, err := range shop.api.V1PromotionCodes.List(ctx, list).All(ctx) {
		if err != nil {
			return "", err
		}
		id = one.ID
	}
	return id, nil
}

// buy brings a friend through the checkout.
func (shop *subscriptionShop) buy(ctx context.Context, b *buyer) error {
	page, typed := "", b.code
	switch b.way {
	case byCode:
		s, err := shop.api.V1CheckoutSessions.Create(ctx, &stripe.CheckoutSessionCreateParams{
			Mode: stripe.String("subscription"), SuccessURL: stripe.String("https://shop.example/done"), AllowPromotionCodes: stripe.Bool(true),
			LineItems:        []*stripe.CheckoutSessionCreateLineItemParams{{Price: stripe.String(shop.price), Quantity: stripe.Int64(1)}},
			SubscriptionData: &stripe.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: stripe.Int64(14)},
			Metadata:         map[string]string{"kith_account": b.id, "kith_user": b.id},
		})
		if err != nil {
			return err
		}
		page = s.URL
	case byReference:
		promotion, err := shop.promotion(ctx, b.code)
		if err != nil {
			return err
		}
		var s struct{ URL string }
		err = shop.node.call(&s, "checkout.sessions.create", map[string]any{
			"mode": "subscription", "success_url": "https://shop.example/done", "client_reference_id": b.code, "discounts": []any{map[string]any{"promotion_code": promotion}},
			"line_items": []any{map[string]any{"price": shop.price, "quantity": 1}}, "subscription_data": map[string]any{"trial_period_days": 14},
			"metadata": map[string]any{"kith_account": b.id},
		})
		if err != nil {
			return err
		}
		page, typed = s.URL, ""
	case byLink, byOrder:
		link := shop.links[0]
		if b.way == byOrder {
			link, typed = shop.links[1], ""
		}
		a, err := call("GET", link+"?client_reference_id="+b.code, "")
		if err != nil || a.status/100 != 3 {
			return fmt.Errorf("the payment link: %d %s %w", a.status, a.body, err)
		}
		page = shop.lab + a.header.Get("Location")
	}
	form := url.Values{"email": {b.id + "@x.example"}, "name": {b.id}, "card": {"4242 4242 4242 4242"}}
	if typed != "" {
		form.Set("promotion_code", typed)
	}
	a, err := call("POST", page, form.Encode(), formHeader)
	if err != nil || a.status != http.StatusSeeOther || strings.Contains(a.header.Get("Location"), "problem=") {
		return fmt.Errorf("the checkout of %s: %d %s %s %w", b.id, a.status, a.header.Get("Location"), a.body, err)
	}
	return nil
}

const formHeader = "Content-Type: application/x-www-form-urlencoded"

// control uses a control of the lab.
func (shop *subscriptionShop) control(name, form string) error {
	a, err := call("POST", shop.lab+"/lab/"+name, form, formHeader)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", name, form, a.status, a.body)
	}
	return err
}

// look reads a friend's sessions at Stripe: what Kith calls the account, and what paid.
func (shop *subscriptionShop) look(ctx context.Context, b *buyer) error {
	list := &stripe.CheckoutSessionListParams{CustomerDetails: &stripe.CheckoutSessionListCustomerDetailsParams{Email: stripe.String(b.id + "@x.example")}}
	for s, err := range shop.api.V1CheckoutSessions.List(ctx, list).All(ctx) {
		if err != nil {
			return err
		}
		switch {
		case s.Metadata["kith_account"] != "":
			b.account = s.Metadata["kith_account"]
		case s.Customer != nil:
			b.account = s.Customer.ID
		case s.PaymentIntent != nil:
			b.account = "guest_" + strings.TrimPrefix(s.PaymentIntent.ID, "pi_")
		}
		if s.PaymentIntent != nil {
			b.intent = s.PaymentIntent.ID
		}
		if s.Subscription != nil {
			b.subscription = s.Subscription.ID
		}
	}
	return nil
}

// paid reads what paid the first bill of a friend's subscription.
func (shop *subscriptionShop) paid(ctx context.Context, b *buyer) error {
	if b.way == byOrder {
		return nil
	}
	list := &stripe.InvoiceListParams{Subscription: stripe.String(b.subscription), Status: stripe.String("paid")}
	list.AddExpand("data.payments")
	for i, err := range shop.api.V1Invoices.List(ctx, list).All(ctx) {
		if err != nil {
			return err
		}
		if i.AmountPaid > 0 {
			b.intent = i.Payments.Data[0].Payment.PaymentIntent.ID
		}
	}
	if b.intent == "" {
		return fmt.Errorf("the bill of %s is not paid", b.id)
	}
	return nil
}

// step does something at Stripe while processes are killed, and waits until Kith and
// Stripe are as they must be afterwards. Events are sent in the next of the modes.
func (shop *subscriptionShop) step(t *testing.T, n int, name string, do func(context.Context) error, after func(context.Context) error) {
	t.Helper()
	if len(shop.modes) > 0 {
		require.NoError(t, shop.control("mode", "mode="+shop.modes[n%len(shop.modes)]))
	}
	result := make(chan error, 1)
	go func() { result <- do(t.Context()) }()
	if shop.kill != nil {
		for range shop.kills {
			shop.kill()
		}
	}
	require.NoError(t, <-result, name)
	if len(shop.modes) > 0 && shop.modes[n%len(shop.modes)] == "hold" {
		require.NoError(t, shop.control("mode", "mode=shuffle"))
	}
	db, probes := shop.site.open(t), 0
	await(t, func() error {
		err := after(t.Context())
		if probes++; err != nil && probes%20 == 0 {
			// The search for lost events, which is due every 10 minutes, is due now.
			if _, broken := db.Exec(`UPDATE gateway_connection SET sweep_at = 0 WHERE tenant = ?`, shop.tenant); broken != nil {
				return errors.Join(err, broken)
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return err
	})
}

// read reads an answer of the API through any node.
func (shop *subscriptionShop) read(into any, path string) error {
	a, err := call("GET", shop.sites[0].backend+"/api/v1/"+shop.tenant+path, "", shop.site.auth(shop.tenant))
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, a.status, a.body)
	}
	if err == nil {
		err = json.Unmarshal([]byte(a.body), into)
	}
	return err
}

// credit is what an account's ledger has, in cents.
type credit struct {
	Assigned int64 `json:"totalAssignedCredit"`
	Redeemed int64 `json:"totalRedeemedCredit"`
}

func (shop *subscriptionShop) credit(account string) (credit, error) {
	var all []credit
	err := shop.read(&all, "/reward/balance?accountId="+account)
	if err != nil || len(all) == 0 {
		return credit{}, err
	}
	return all[0], nil
}

// order is what Kith decided about a payment.
type decidedOrder struct {
	Counts          bool
	RevenueInCents  int64
	RefundedInCents int64
	Rewards         struct {
		Referrer struct {
			Reward *struct{ AssignedCredit int64 }
		}
	}
}

// ordersOf returns the orders of a friend's account.
func (shop *subscriptionShop) ordersOf(account string) (all []decidedOrder, state string, err error) {
	var found struct{ Referrals []struct{ ID, State string } }
	if err := shop.read(&found, "/referrals?referredAccountId="+account); err != nil || len(found.Referrals) == 0 {
		return nil, "", err
	}
	var page struct{ Orders []decidedOrder }
	err = shop.read(&page, "/referrals/"+found.Referrals[0].ID+"/orders?limit=1000")
	slices.SortFunc(page.Orders, func(a, b decidedOrder) int { return int(a.RevenueInCents - b.RevenueInCents) })
	return page.Orders, found.Referrals[0].State, err
}

// each calls do for every friend.
func (shop *subscriptionShop) each(do func(*buyer) error) error {
	for _, b := range shop.friends {
		if err := do(b); err != nil {
			return fmt.Errorf("%s: %w", b.id, err)
		}
	}
	return nil
}

// revenueOf is what a friend pays first, in cents: 10 % less with the promotion code.
func revenueOf(b *buyer) int64 {
	if b.way == byOrder {
		return 12000
	}
	return 4500
}

// refunded is what the shop gives back to some of the friends, in cents.
func refunded(i int) int64 {
	if i%2 == 0 {
		return 1500
	}
	return 0
}

// play plays the story: link, checkout with the promotion code, trial, first invoice paid,
// reward, partial refund, corrected ledger, and the next bill of the referrer.
func (shop *subscriptionShop) play(t *testing.T, friends int) {
	t.Helper()
	for i := range friends {
		code := shop.codes[shop.referrers[i%len(shop.referrers)]]
		shop.friends = append(shop.friends, &buyer{id: fmt.Sprintf("friend%d", i), code: code, way: i % ways})
	}
	shop.step(t, 0, "the links are followed, and the promotion codes exist", func(context.Context) error {
		return shop.each(func(b *buyer) error { return shop.follow(b.code) })
	}, func(ctx context.Context) error {
		for _, code := range shop.codes {
			if id, err := shop.promotion(ctx, code); err != nil || id == "" {
				return fmt.Errorf("there is no promotion code %s; %w", code, err)
			}
		}
		return nil
	})
	shop.step(t, 1, "the friends are referred after their checkout", func(ctx context.Context) error {
		return shop.each(func(b *buyer) error { return shop.buy(ctx, b) })
	}, func(ctx context.Context) error {
		return shop.each(func(b *buyer) error {
			if err := shop.look(ctx, b); err != nil {
				return err
			}
			_, state, err := shop.ordersOf(b.account)
			if err == nil && state == "" {
				err = errors.New("is not referred")
			}
			return err
		})
	})
	shop.step(t, 2, "the first payments convert", func(context.Context) error {
		return errors.Join(shop.control("advance", "by=15d"), shop.control("advance", "by=2h"))
	}, func(ctx context.Context) error {
		return shop.each(func(b *buyer) error {
			if err := shop.paid(ctx, b); err != nil {
				return err
			}
			orders, state, err := shop.ordersOf(b.account)
			if err == nil && (state != "converted" || len(orders) != 1 || orders[0].RevenueInCents != revenueOf(b) || orders[0].Rewards.Referrer.Reward == nil) {
				err = fmt.Errorf("the referral is %q, with the orders %+v", state, orders)
			}
			return err
		})
	})
	for _, referrer := range shop.referrers {
		got, err := shop.credit(referrer)
		require.NoError(t, err)
		require.Equal(t, shop.earned(referrer, false), got.Assigned)
	}
	shop.step(t, 3, "the credit reaches Stripe", func(context.Context) error { return nil }, func(ctx context.Context) error {
		return shop.atStripe(ctx, func(referrer string) int64 { return min(5000, shop.earned(referrer, false)) })
	})
	shop.step(t, 4, "the refunds correct the ledger", func(ctx context.Context) error {
		for i, b := range shop.friends {
			if amount := refunded(i); amount > 0 {
				if _, err := shop.api.V1Refunds.Create(ctx, &stripe.RefundCreateParams{PaymentIntent: stripe.String(b.intent), Amount: stripe.Int64(amount)}); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(context.Context) error {
		for i, b := range shop.friends {
			orders, _, err := shop.ordersOf(b.account)
			if err != nil || len(orders) != 1 || orders[0].RefundedInCents != refunded(i) {
				return fmt.Errorf("%s: the orders are %+v; %w", b.id, orders, err)
			}
		}
		for _, referrer := range shop.referrers {
			if got, err := shop.credit(referrer); err != nil || got.Assigned != shop.earned(referrer, true) {
				return fmt.Errorf("%s: %+v, %w", referrer, got, err)
			}
		}
		return nil
	})
	shop.step(t, 5, "the corrected credit is at Stripe", func(context.Context) error { return nil }, func(ctx context.Context) error {
		return shop.atStripe(ctx, nil)
	})
	shop.step(t, 6, "the next bills of the referrers are reduced", func(context.Context) error {
		return errors.Join(shop.control("advance", "by=16d"), shop.control("advance", "by=2h"))
	}, func(ctx context.Context) error {
		for _, referrer := range shop.referrers {
			bills, err := shop.bills(ctx, referrer)
			if err != nil || len(bills) < 2 {
				return fmt.Errorf("%s: the bills are %v; %w", referrer, bills, err)
			}
			if got, err := shop.credit(referrer); err != nil || got.Redeemed < 5000-bills[1] || bills[1] >= 5000 {
				return fmt.Errorf("%s: the bills are %v, the ledger is %+v, %w", referrer, bills, got, err)
			}
		}
		return nil
	})
}

// earned is the credit that a referrer earns by the first payments, in cents.
func (shop *subscriptionShop) earned(referrer string, corrected bool) (total int64) {
	for i, b := range shop.friends {
		if b.code != shop.codes[referrer] {
			continue
		}
		revenue := revenueOf(b)
		if corrected {
			revenue -= refunded(i)
		}
		total += revenue / 5
	}
	return total
}

// customerOf returns the customer of a referrer at Stripe.
func (shop *subscriptionShop) customerOf(ctx context.Context, referrer string) (found *stripe.Customer, err error) {
	for c, err := range shop.api.V1Customers.List(ctx, &stripe.CustomerListParams{Email: stripe.String(referrer + "@x.example")}).All(ctx) {
		if err != nil {
			return nil, err
		}
		found = c
	}
	if found == nil {
		err = errors.New("Stripe has no customer " + referrer)
	}
	return found, err
}

// given returns by how much the next bill of a referrer will be reduced.
func (shop *subscriptionShop) given(ctx context.Context, referrer string) (int64, error) {
	customer, err := shop.customerOf(ctx, referrer)
	if err != nil {
		return 0, err
	}
	next, err := shop.api.V1Invoices.CreatePreview(ctx, &stripe.InvoiceCreatePreviewParams{Subscription: stripe.String(shop.subscriptionOf(ctx, customer.ID))})
	if err != nil {
		return 0, err
	}
	return next.Subtotal - next.AmountDue, nil
}

func (shop *subscriptionShop) subscriptionOf(ctx context.Context, customer string) (id string) {
	for s, err := range shop.api.V1Subscriptions.List(ctx, &stripe.SubscriptionListParams{Customer: stripe.String(customer)}).All(ctx) {
		if err == nil {
			id = s.ID
		}
	}
	return id
}

// atStripe returns an error unless the next bills of the referrers are reduced by want, or
// by no more than the ledger has.
func (shop *subscriptionShop) atStripe(ctx context.Context, want func(referrer string) int64) error {
	for _, referrer := range shop.referrers {
		got, err := shop.given(ctx, referrer)
		if err != nil {
			return err
		}
		ledger, err := shop.credit(referrer)
		if err != nil {
			return err
		}
		limit := max(ledger.Redeemed, min(5000, ledger.Assigned-ledger.Redeemed))
		if want != nil {
			limit = want(referrer)
		}
		if got != limit {
			return fmt.Errorf("the next bill of %s is reduced by %d, and not by %d; the ledger is %+v", referrer, got, limit, ledger)
		}
	}
	return nil
}

// bills returns what a customer paid, the oldest first.
func (shop *subscriptionShop) bills(ctx context.Context, referrer string) (all []int64, err error) {
	customer, err := shop.customerOf(ctx, referrer)
	if err != nil {
		return nil, err
	}
	for i, err := range shop.api.V1Invoices.List(ctx, &stripe.InvoiceListParams{Customer: stripe.String(customer.ID), Status: stripe.String("paid")}).All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append([]int64{i.AmountPaid}, all...)
	}
	return all, nil
}

// end is where the story ends: what Kith decided about each friend, what the ledgers have,
// and what the customers paid at Stripe.
func (shop *subscriptionShop) end(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, b := range shop.friends {
		orders, state, err := shop.ordersOf(b.account)
		require.NoError(t, err)
		var texts []string
		for _, o := range orders {
			text := fmt.Sprintf("%d refunded %d", o.RevenueInCents, o.RefundedInCents)
			if o.Rewards.Referrer.Reward != nil {
				text += fmt.Sprintf(" earned %d", o.Rewards.Referrer.Reward.AssignedCredit)
			}
			texts = append(texts, text)
		}
		all[b.id] = fmt.Sprint(state, texts)
		refunds := int64(0)
		for r, err := range shop.api.V1Refunds.List(t.Context(), &stripe.RefundListParams{PaymentIntent: stripe.String(b.intent)}).All(t.Context()) {
			require.NoError(t, err)
			refunds += r.Amount
		}
		all[b.id+" was given back"] = refunds
	}
	for _, referrer := range shop.referrers {
		ledger, err := shop.credit(referrer)
		require.NoError(t, err)
		bills, err := shop.bills(t.Context(), referrer)
		require.NoError(t, err)
		customer, err := shop.customerOf(t.Context(), referrer)
		require.NoError(t, err)
		all[referrer] = fmt.Sprint(ledger, bills, customer.Balance)
	}
	return all
}

// The story of a referral at a shop that bills with Stripe ends the same when events are
// lost, repeated and out of order, and processes are killed, as without all that.
func TestSoak_StripeStory(t *testing.T) {
	friends, perStep := 8, 1
	if long() {
		friends, perStep = 24, 6 // 42 kills in 7 steps
	} else {
		t.Parallel()
	}
	for i, ground := range storeGrounds {
		t.Run(ground.name, func(t *testing.T) {
			if !long() {
				t.Parallel()
			}
			s := ground.open(t)
			form := []string{"coupon", "balance"}[i]
			calm := s.openShop(t, "calm", form, 2)
			calm.play(t, friends)
			want := calm.end(t)

			killed := s.openShop(t, "killed", form, 2)
			killed.modes = []string{"shuffle", "drop", "reorder", "duplicate", "hold", "stale", "shuffle"}
			var done atomic.Int64
			killed.kills, killed.kill = perStep, func() {
				if s.killPrimary != nil && done.Add(1)%5 == 0 {
					s.killPrimary(t)
					return
				}
				s.killOne(t, killed.r)
			}
			t.Cleanup(func() {
				if t.Failed() {
					for _, p := range append(s.edges, s.backends...) {
						text := p.output.String()
						t.Log(p.command.Args[1:], text[max(0, len(text)-3000):])
					}
				}
			})
			killed.play(t, friends)
			require.Equal(t, want, killed.end(t))
			t.Logf("%d friends, %d kills, credit as %s: %v", friends, 7*perStep, form, slices.Sorted(maps.Keys(want)))
			for _, name := range slices.Sorted(maps.Keys(want)) {
				t.Log(name, want[name])
			}
		})
	}
}

// primaryOf returns what kills the primary of a fleet and starts it again.
func primaryOf(c *sqldtest.Cluster) func(*testing.T) {
	return func(t *testing.T) { c.WaitForSync(t); c.KillPrimary(t); c.StartPrimary(t) }
}
