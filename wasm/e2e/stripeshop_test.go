package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	stripe "github.com/stripe/stripe-go/v86"
)

// stripeKey is the public key of every Stripe lab.
const stripeKey = "sk_test_lab0000000000000000secret"

// stripeTerms are what a shop charges, and how it gives credit. Amounts are in the smallest
// unit of the currency.
type stripeTerms struct {
	name, currency, credit string
	// plan is what a friend pays a month, and course what an order costs.
	plan, course int64
	// plans are what the referrers pay a month, in turn. The first is more than the credit
	// that a referrer earns, the second less.
	plans [2]int64
	// back is what the shop gives back of some first payments.
	back int64
}

var stripeShops = []stripeTerms{
	{"coupon", "usd", "coupon", 5000, 12000, [2]int64{10000, 2000}, 1500},
	// A currency without decimals, in which shares are rounded.
	{"balance", "jpy", "balance", 4990, 12010, [2]int64{9990, 1990}, 1511},
}

// stripeShop is a shop that bills with Stripe: a tenant with a Stripe lab of its own, whose
// clock it advances. It uses Stripe's own clients for Go and for Node.
type stripeShop struct {
	*store
	stripeTerms
	tenant, lab          string
	front                *stripeFront
	api                  *stripe.Client
	node                 *stripeNode
	planLink, courseLink string
	planPrice            string
	// began is the time at the lab when the shop was opened.
	began     time.Time
	referrers []*stripeReferrer
	friends   []*stripeFriend
}

// stripeReferrer is a user who refers, and pays for a subscription.
type stripeReferrer struct {
	id, code, customer, subscription string
	price                            int64
}

// stripeFriend is a friend of a referrer, who subscribes or orders.
type stripeFriend struct {
	id       string
	referrer *stripeReferrer
	way      stripeWay
	// account is the account at Kith, and intent what paid the order or the first bill:
	// both are read at Stripe.
	account, intent, subscription string
	// back is what the shop gave back of the first payment.
	back int64
}

// stripeWay is how a friend comes to the checkout.
type stripeWay int

const (
	// byCode: the shop's server opens a session with the client for Go, and the friend
	// enters the promotion code.
	byCode stripeWay = iota
	// byReference: it opens one with the client for Node, with client_reference_id and the
	// promotion code filled in.
	byReference
	// byLink: a payment link has the code as its reference, and the friend enters the
	// promotion code; the shop has no server.
	byLink
	// byOrder: as byLink, for an order that is paid once.
	byOrder
	// byReferenceOnly: the shop's server gives only client_reference_id, and the first bill
	// is paid at once and in full. Kith gives its discount back.
	byReferenceOnly
	ways
)

// openStripeShop connects a new tenant to a new Stripe lab.
func (s *store) openStripeShop(t *testing.T, terms stripeTerms, referrers int) *stripeShop {
	t.Helper()
	site := s.site
	shop := &stripeShop{store: s, stripeTerms: terms, tenant: "test_" + alias(t, site, terms.name), lab: "http://" + freeAddr(t)}
	site.start(t, shop.lab+"/", []string{"KITH_STRIPE_LAB_ADDR=" + strings.TrimPrefix(shop.lab, "http://")}, "stripelab")
	shop.front = newStripeFront(t, shop.lab)
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: stripe.String(shop.lab), EnableTelemetry: stripe.Bool(false), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
	shop.api = stripe.NewClient(stripeKey, stripe.WithBackends(&stripe.Backends{API: backend, Connect: backend, Uploads: backend, MeterEvents: backend}))
	shop.node = startStripeNode(t, shop.lab)
	s.program(t, shop.tenant, fmt.Sprintf(`{"referrer":{"type":"CREDIT","unit":"CENTS","currency":%q,"percentOfRevenue":20,"orders":2},
		"referred":{"type":"PCT_DISCOUNT","discountPercent":10}}`, strings.ToUpper(terms.currency)), `{}`)
	s.synced()
	_, errOut, status := site.run(t, []string{"KITH_DATABASE_URL=" + site.backendDatabase}, "gateway", "connect", "stripe", "--tenant", shop.tenant,
		"--api-key", stripeKey, "--base-url", shop.front.url, "--public-url", s.sites[len(s.sites)-1].edge, "--credit", terms.credit)
	require.Zero(t, status, errOut)
	shop.began = shop.now(t)
	shop.makeCatalog(t)
	for i := range referrers {
		shop.addReferrer(t, i)
	}
	return shop
}

// stripeNode is Stripe's own client for Node, in a process of its own.
type stripeNode struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

func startStripeNode(t *testing.T, lab string) *stripeNode {
	t.Helper()
	dir := filepath.Join(root, "backend", "stripelab", "testdata", "sdk")
	require.DirExists(t, filepath.Join(dir, "node_modules", "stripe"), "run make test-needs")
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
	n.mu.Lock()
	defer n.mu.Unlock()
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

// makeCatalog makes what the shop sells: a subscription, an order, and a payment link for
// each.
func (shop *stripeShop) makeCatalog(t *testing.T) {
	t.Helper()
	monthly, err := shop.monthly(t.Context(), "Pro", shop.plan)
	require.NoError(t, err)
	once, err := shop.api.V1Prices.Create(t.Context(), &stripe.PriceCreateParams{
		UnitAmount: stripe.Int64(shop.course), Currency: stripe.String(shop.currency), ProductData: &stripe.PriceCreateProductDataParams{Name: stripe.String("Course")},
	})
	require.NoError(t, err)
	shop.planPrice = monthly
	shop.planLink = shop.paymentLink(t, monthly, &stripe.PaymentLinkCreateSubscriptionDataParams{TrialPeriodDays: stripe.Int64(14)})
	shop.courseLink = shop.paymentLink(t, once.ID, nil)
}

func (shop *stripeShop) monthly(ctx context.Context, name string, amount int64) (string, error) {
	made, err := shop.api.V1Prices.Create(ctx, &stripe.PriceCreateParams{
		UnitAmount: stripe.Int64(amount), Currency: stripe.String(shop.currency), Recurring: &stripe.PriceCreateRecurringParams{Interval: stripe.String("month")},
		ProductData: &stripe.PriceCreateProductDataParams{Name: stripe.String(name)},
	})
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

func (shop *stripeShop) paymentLink(t *testing.T, price string, subscription *stripe.PaymentLinkCreateSubscriptionDataParams) string {
	t.Helper()
	made, err := shop.api.V1PaymentLinks.Create(t.Context(), &stripe.PaymentLinkCreateParams{
		AllowPromotionCodes: stripe.Bool(true), SubscriptionData: subscription,
		LineItems: []*stripe.PaymentLinkCreateLineItemParams{{Price: stripe.String(price), Quantity: stripe.Int64(1)}},
	})
	require.NoError(t, err)
	return made.URL
}

// addReferrer adds a user with a code, who subscribes and pays.
func (shop *stripeShop) addReferrer(t *testing.T, i int) {
	t.Helper()
	ctx, id := t.Context(), fmt.Sprintf("referrer%d", i)
	r := &stripeReferrer{id: id, code: strings.ToUpper(id) + "-CODE", price: shop.plans[i%2]}
	shop.identify(t, shop.tenant, id, `{"firstName":"`+id+`","email":"`+id+`@x.example","referralCode":"`+r.code+`"}`)
	customer, err := shop.api.V1Customers.Create(ctx, &stripe.CustomerCreateParams{
		Email: stripe.String(id + "@x.example"), PaymentMethod: stripe.String("pm_card_visa"), Metadata: map[string]string{"kith_account": id, "kith_user": id},
		InvoiceSettings: &stripe.CustomerCreateInvoiceSettingsParams{DefaultPaymentMethod: stripe.String("pm_card_visa")},
	})
	require.NoError(t, err)
	price, err := shop.monthly(ctx, "Plan of "+id, r.price)
	require.NoError(t, err)
	made, err := shop.api.V1Subscriptions.Create(ctx, &stripe.SubscriptionCreateParams{
		Customer: stripe.String(customer.ID), Items: []*stripe.SubscriptionCreateItemParams{{Price: stripe.String(price)}},
	})
	require.NoError(t, err)
	r.customer, r.subscription = customer.ID, made.ID
	shop.referrers = append(shop.referrers, r)
}

// follow follows the share link of a code through an edge, as often as is necessary.
func (shop *stripeShop) follow(code string) error {
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		a, err := call("GET", shop.edge()+"/s/"+shop.tenant+"/"+code, "", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
		if err == nil && a.status == http.StatusFound {
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("the link of %s: %d %s", code, a.status, a.body), err)
		}
	}
}

// followUntilPromoted follows the share link of a code until the code is a promotion code.
// An edge or a backend that is killed loses the visits that it has counted and not stored.
func (shop *stripeShop) followUntilPromoted(ctx context.Context, code string) error {
	for end := time.Now().Add(deadline); ; time.Sleep(500 * time.Millisecond) {
		if err := shop.follow(code); err != nil {
			return err
		}
		found, err := shop.promotions(ctx, code)
		if err != nil || len(found) > 0 {
			return err
		}
		if time.Now().After(end) {
			return errors.New("there is no promotion code " + code)
		}
	}
}

// promotions returns all promotion codes with a text.
func (shop *stripeShop) promotions(ctx context.Context, code string) (all []*stripe.PromotionCode, err error) {
	for one, err := range shop.api.V1PromotionCodes.List(ctx, &stripe.PromotionCodeListParams{Code: stripe.String(code)}).All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// buy brings a friend through the checkout.
func (shop *stripeShop) buy(ctx context.Context, f *stripeFriend) error {
	page, entered, err := shop.checkout(ctx, f)
	if err != nil {
		return err
	}
	form := url.Values{"email": {f.id + "@x.example"}, "name": {f.id}, "card": {"4242 4242 4242 4242"}}
	if entered {
		form.Set("promotion_code", f.referrer.code)
	}
	a, err := call("POST", page, form.Encode(), formHeader)
	if err != nil || a.status != http.StatusSeeOther || strings.Contains(a.header.Get("Location"), "problem=") {
		return errors.Join(fmt.Errorf("the checkout: %d %s %s", a.status, a.header.Get("Location"), a.body), err)
	}
	return shop.look(ctx, f)
}

const formHeader = "Content-Type: application/x-www-form-urlencoded"

// checkout returns the page on which a friend pays. entered is true if the friend enters
// the promotion code there.
func (shop *stripeShop) checkout(ctx context.Context, f *stripeFriend) (page string, entered bool, err error) {
	code := f.referrer.code
	switch f.way {
	case byCode, byReferenceOnly:
		params := &stripe.CheckoutSessionCreateParams{
			Mode: stripe.String("subscription"), SuccessURL: stripe.String("https://shop.example/done"), AllowPromotionCodes: stripe.Bool(true),
			LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{Price: stripe.String(shop.planPrice), Quantity: stripe.Int64(1)}},
			Metadata:  map[string]string{"kith_account": f.id, "kith_user": f.id},
		}
		if f.way == byCode {
			params.SubscriptionData = &stripe.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: stripe.Int64(14)}
		} else {
			params.ClientReferenceID = stripe.String(code)
		}
		made, err := shop.api.V1CheckoutSessions.Create(ctx, params)
		if err != nil {
			return "", false, err
		}
		return made.URL, f.way == byCode, nil
	case byReference:
		found, err := shop.promotions(ctx, code)
		if err != nil || len(found) == 0 {
			return "", false, errors.Join(errors.New("there is no promotion code"), err)
		}
		var made struct{ URL string }
		err = shop.node.call(&made, "checkout.sessions.create", map[string]any{
			"mode": "subscription", "success_url": "https://shop.example/done", "client_reference_id": code, "discounts": []any{map[string]any{"promotion_code": found[0].ID}},
			"line_items": []any{map[string]any{"price": shop.planPrice, "quantity": 1}}, "subscription_data": map[string]any{"trial_period_days": 14},
			"metadata": map[string]any{"kith_account": f.id},
		})
		return made.URL, false, err
	}
	link := map[stripeWay]string{byLink: shop.planLink, byOrder: shop.courseLink}[f.way]
	a, err := call("GET", link+"?client_reference_id="+code, "")
	if err == nil && a.status/100 != 3 {
		err = fmt.Errorf("the payment link: %d %s", a.status, a.body)
	}
	return shop.lab + a.header.Get("Location"), true, err
}

// look reads a friend's session at Stripe: what Kith calls the account, and what paid.
func (shop *stripeShop) look(ctx context.Context, f *stripeFriend) error {
	list := &stripe.CheckoutSessionListParams{CustomerDetails: &stripe.CheckoutSessionListCustomerDetailsParams{Email: stripe.String(f.id + "@x.example")}}
	for s, err := range shop.api.V1CheckoutSessions.List(ctx, list).All(ctx) {
		if err != nil {
			return err
		}
		switch {
		case s.Metadata["kith_account"] != "":
			f.account = s.Metadata["kith_account"]
		case s.Customer != nil:
			f.account = s.Customer.ID
		case s.PaymentIntent != nil:
			f.account = "guest_" + strings.TrimPrefix(s.PaymentIntent.ID, "pi_")
		}
		if s.PaymentIntent != nil {
			f.intent = s.PaymentIntent.ID
		}
		if s.Subscription != nil {
			f.subscription = s.Subscription.ID
		}
	}
	if f.account == "" {
		return errors.New("Stripe has no session of " + f.id)
	}
	return nil
}

// bills returns the paid bills of a subscription, the oldest first.
func (shop *stripeShop) bills(ctx context.Context, subscription string) (all []*stripe.Invoice, err error) {
	list := &stripe.InvoiceListParams{Subscription: stripe.String(subscription), Status: stripe.String("paid")}
	list.AddExpand("data.payments")
	for one, err := range shop.api.V1Invoices.List(ctx, list).All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append([]*stripe.Invoice{one}, all...)
	}
	return all, nil
}

// giveBack gives a part of a friend's first payment back, as the shop does by hand.
func (shop *stripeShop) giveBack(ctx context.Context, f *stripeFriend, amount int64) error {
	if f.way != byOrder {
		bills, err := shop.bills(ctx, f.subscription)
		if err != nil {
			return err
		}
		for _, one := range bills {
			if one.AmountPaid > 0 {
				f.intent = one.Payments.Data[0].Payment.PaymentIntent.ID
				break
			}
		}
	}
	_, err := shop.api.V1Refunds.Create(ctx, &stripe.RefundCreateParams{PaymentIntent: stripe.String(f.intent), Amount: stripe.Int64(amount)})
	f.back = amount
	return err
}

// control uses a control of the lab.
func (shop *stripeShop) control(name, form string) error {
	a, err := call("POST", shop.lab+"/lab/"+name, form, formHeader)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", name, form, a.status, a.body)
	}
	return err
}

// now returns the time at the lab.
func (shop *stripeShop) now(t *testing.T) time.Time {
	t.Helper()
	return decode[struct{ Now time.Time }](t, mustCall(t, http.StatusOK, "GET", shop.lab+"/lab/state", "")).Now
}

// advance advances the clock of the lab to some months and days after the shop was opened.
func (shop *stripeShop) advance(months, days int) error {
	return shop.control("advance", "to="+url.QueryEscape(shop.began.AddDate(0, 0, days).AddDate(0, months, 0).Format(time.RFC3339)))
}
