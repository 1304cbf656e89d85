package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/app/payments"
	"kith/backend/demo"
	"kith/backend/labkit"
	"kith/backend/stripelab"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/billing"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
)

// byPurchase makes the program of the test tenant convert by purchases: the referrer earns
// 20 % of each, and the friend has 10 % off.
func (s *stripeStage) byPurchase(t testing.TB, currency string) {
	t.Helper()
	_, err := s.engine.Programs.Update(t.Context(), demo.TestTenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Conversion = conversion.Rule{Event: "purchase", Reversal: "refund"}
		p.Referrer = reward.Offer{Kind: reward.Credit, OfRevenue: 2000, Currency: currency}
		p.Referred = reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}
		return nil
	})
	require.NoError(t, err)
}

// order makes a checkout session for an order, and pays it.
func (s *stripeStage) order(t testing.TB, amount int64, currency, email, promotion string, change func(*sdk.CheckoutSessionCreateParams)) *sdk.CheckoutSession {
	t.Helper()
	return s.subscribe(t, "", email, promotion, func(p *sdk.CheckoutSessionCreateParams) {
		p.Mode = sdk.String("payment")
		p.LineItems = []*sdk.CheckoutSessionCreateLineItemParams{{Quantity: sdk.Int64(1), PriceData: &sdk.CheckoutSessionCreateLineItemPriceDataParams{
			Currency: sdk.String(currency), UnitAmount: sdk.Int64(amount),
			ProductData: &sdk.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: sdk.String("Hat")},
		}}}
		if change != nil {
			change(p)
		}
	})
}

// refund gives back a part of a payment, or all of it if amount is 0.
func (s *stripeStage) refund(t testing.TB, intent string, amount int64) {
	t.Helper()
	params := &sdk.RefundCreateParams{PaymentIntent: sdk.String(intent)}
	if amount > 0 {
		params.Amount = sdk.Int64(amount)
	}
	_, err := s.api.V1Refunds.Create(t.Context(), params)
	require.NoError(t, err)
}

// events returns the events of an account, as texts.
func (s *stripeStage) events(t testing.TB, account core.AccountID) (all []string) {
	t.Helper()
	logged, err := s.engine.Events.List(t.Context(), demo.TestTenant, event.Filter{Account: account, Limit: 100})
	require.NoError(t, err)
	for _, l := range logged {
		all = append(all, l.Key+" "+l.Fields)
	}
	slices.Sort(all)
	return all
}

// Orders that are paid at once are purchases, with the code as metadata, as reference of a
// payment link or as promotion code, also without a customer at the gateway. Refunds take
// back their share, in any order.
func TestStripe_Orders(t *testing.T) {
	t.Parallel()
	s := newStripeStage(t, payments.StripeSettings{})
	s.byPurchase(t, "USD")
	s.promotion(t, "ANNA10")
	saved := func(p *sdk.CheckoutSessionCreateParams) { p.CustomerCreation = sdk.String("always") }
	typed := s.order(t, 10000, "usd", "eve@example.com", "ANNA10", saved)
	s.send(t)
	eve := core.AccountID(typed.Customer.ID)
	require.Equal(t, []string{fmt.Sprintf(`purchase {"order_id":"%s","revenue":90.00,"currency":"USD","referral_code":"ANNA10"}`, typed.PaymentIntent.ID)}, s.events(t, eve))
	require.EqualValues(t, 1800, s.credit(t, "anna"))

	guest := s.order(t, 5000, "usd", "guest@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.ClientReferenceID = sdk.String("ANNA10") })
	s.send(t)
	require.Nil(t, guest.Customer)
	require.EqualValues(t, 2800, s.credit(t, "anna"))
	none := s.order(t, 5000, "usd", "none@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.ClientReferenceID = sdk.String("no-code-of-ours") })
	s.send(t)
	require.EqualValues(t, 2800, s.credit(t, "anna"), none.ID)

	s.order(t, 7000, "usd", "meta@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
		p.Metadata = map[string]string{"kith_account": "shop-7", "kith_user": "u7", "referral_code": "ANNA10"}
		saved(p)
	})
	s.send(t)
	require.Len(t, s.events(t, "shop-7"), 1)
	require.EqualValues(t, 4200, s.credit(t, "anna"))

	// What Kith gives back of a first bill, the friend's share, is no refund of the order.
	_, err := s.api.V1Refunds.Create(t.Context(), &sdk.RefundCreateParams{
		PaymentIntent: sdk.String(typed.PaymentIntent.ID), Amount: sdk.Int64(500), Metadata: map[string]string{"kith_refund": "kith-refund-" + typed.PaymentIntent.ID},
	})
	require.NoError(t, err)
	s.send(t)
	require.EqualValues(t, 4200, s.credit(t, "anna"))
	require.Len(t, s.events(t, eve), 1)

	// A part, another part, and what is left, of which no notification arrives.
	s.refund(t, typed.PaymentIntent.ID, 3000)
	s.send(t)
	require.EqualValues(t, 3600, s.credit(t, "anna"))
	s.refund(t, typed.PaymentIntent.ID, 1000)
	require.NoError(t, s.lab.SetMode(labkit.Drop))
	s.refund(t, typed.PaymentIntent.ID, 0)
	s.later(t, 11*time.Minute)
	require.EqualValues(t, 2400, s.credit(t, "anna"))
	require.Len(t, s.events(t, eve), 3)

	// A bank takes the guest's money back.
	require.NoError(t, s.lab.SetMode(labkit.Normal))
	intent, err := s.api.V1PaymentIntents.Retrieve(t.Context(), guest.PaymentIntent.ID, nil)
	require.NoError(t, err)
	s.control(t, "dispute", "charge", intent.LatestCharge.ID, "status", "open")
	s.send(t)
	require.EqualValues(t, 2400, s.credit(t, "anna"))
	s.control(t, "dispute", "charge", intent.LatestCharge.ID, "status", "lost")
	s.send(t)
	require.EqualValues(t, 1400, s.credit(t, "anna"))
}

// Stripe's times are whole seconds: an order in the second of the sign-up is not before it.
func TestStripe_OrderInTheSecondOfTheSignUp(t *testing.T) {
	t.Parallel()
	s := newStripeStage(t, payments.StripeSettings{})
	s.byPurchase(t, "USD") // without a window before the sign-up
	s.clock.advance(400 * time.Millisecond)
	_, err := s.engine.Identification.Identify(t.Context(), demo.TestTenant, rules.Identification{
		Update: referral.UserUpdate{Account: "late", ID: "late", Claims: []referral.Claim{{Code: "ANNA10", Source: referral.SourceInit}}},
	})
	require.NoError(t, err)
	s.order(t, 10000, "usd", "late@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
		p.CustomerCreation, p.Metadata = sdk.String("always"), map[string]string{"kith_account": "late", "kith_user": "late"}
	})
	s.send(t)
	require.Equal(t, []string{"10000-0 earns 2000-0 counts"}, s.orders(t))
	require.EqualValues(t, 2000, s.credit(t, "anna"))
}

// Tax and shipping are no revenue, unless the tenant says so.
func TestStripe_Revenue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tax, shipping bool
		credit        int64
	}{{false, false, 2000}, {true, false, 2400}, {false, true, 2200}, {true, true, 2600}} {
		t.Run(fmt.Sprint(c.tax, c.shipping), func(t *testing.T) {
			t.Parallel()
			s := newStripeStage(t, payments.StripeSettings{CountTax: c.tax, CountShipping: c.shipping})
			s.byPurchase(t, "USD")
			s.control(t, "settings", "tax_percent", "20")
			session := s.order(t, 10000, "usd", "tina@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
				p.ClientReferenceID = sdk.String("ANNA10")
				p.AutomaticTax = &sdk.CheckoutSessionCreateAutomaticTaxParams{Enabled: sdk.Bool(true)}
				p.ShippingOptions = []*sdk.CheckoutSessionCreateShippingOptionParams{{ShippingRateData: &sdk.CheckoutSessionCreateShippingOptionShippingRateDataParams{
					DisplayName: sdk.String("Post"), Type: sdk.String("fixed_amount"),
					FixedAmount: &sdk.CheckoutSessionCreateShippingOptionShippingRateDataFixedAmountParams{Amount: sdk.Int64(1000), Currency: sdk.String("usd")},
				}}}
			})
			s.send(t)
			t.Log(session.AmountTotal, session.TotalDetails)
			require.EqualValues(t, c.credit, s.credit(t, "anna"))
			s.refund(t, session.PaymentIntent.ID, 0)
			s.send(t)
			require.Zero(t, s.credit(t, "anna"))
		})
	}
}

// Amounts are right in currencies without decimals and with three.
func TestStripe_Currencies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		currency string
		price    int64
		// revenue is what the purchase has, credit what anna earns, and friend what bob
		// pays for each bill.
		revenue        string
		credit, friend int64
	}{
		{"jpy", 5000, "4500", 900, 4500}, {"kwd", 50000, "45.000", 9000, 45000}, {"isk", 500000, "4500", 900, 450000}, {"usd", 5000, "45.00", 900, 4500},
	} {
		t.Run(c.currency, func(t *testing.T) {
			t.Parallel()
			s := newStripeStage(t, payments.StripeSettings{})
			s.byPurchase(t, strings.ToUpper(c.currency))
			s.promotion(t, "ANNA10")
			price := s.price(t, c.price, c.currency)
			anna := s.subscribe(t, price, "anna@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.Metadata = map[string]string{"kith_account": "anna"} })
			bob := s.subscribe(t, price, "bob@example.com", "ANNA10", nil)
			s.send(t)
			require.Equal(t, []int64{c.friend}, s.paid(t, bob.Subscription.ID))
			events := s.events(t, core.AccountID(bob.Customer.ID))
			require.Len(t, events, 1)
			require.Contains(t, events[0], `"revenue":`+c.revenue+`,"currency":"`+strings.ToUpper(c.currency)+`"`)
			require.EqualValues(t, c.credit, s.credit(t, "anna"))
			s.days(t, 32)
			// Bob's second bill has earned anna as much again, after hers had been made.
			require.Equal(t, []int64{c.price, c.price * 82 / 100}, s.paid(t, anna.Subscription.ID), "18 %% of a bill is her credit")
		})
	}
}

// The service is down for three months, and no notification of that time arrives: the
// referrer's bills use no more credit than there was.
func TestStripe_Downtime(t *testing.T) {
	t.Parallel()
	s := newStripeStage(t, payments.StripeSettings{})
	price := s.price(t, 5000, "usd")
	anna := s.subscribe(t, price, "anna@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.Metadata = map[string]string{"kith_account": "anna"} })
	s.subscribe(t, price, "bob@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.ClientReferenceID = sdk.String("ANNA10") })
	s.send(t)
	require.EqualValues(t, 1000, s.credit(t, "anna"))
	require.NoError(t, s.lab.SetMode(labkit.Drop))
	// The service and its sweeps do not run: only the lab's clock is advanced.
	s.control(t, "advance", "by", "3m")
	s.control(t, "advance", "by", "2h")
	require.Equal(t, []int64{5000, 4000, 5000, 5000}, s.paid(t, anna.Subscription.ID))
	s.later(t, 25*time.Hour)
	require.Zero(t, s.credit(t, "anna"))
}

// Several subscriptions of a customer, a change of the plan with proration, and a
// cancellation.
func TestStripe_SeveralSubscriptions(t *testing.T) {
	t.Parallel()
	s := newStripeStage(t, payments.StripeSettings{})
	s.promotion(t, "ANNA10")
	basic, pro := s.price(t, 5000, "usd"), s.price(t, 9000, "usd")
	first := s.subscribe(t, basic, "bob@example.com", "ANNA10", func(p *sdk.CheckoutSessionCreateParams) {
		p.SubscriptionData = &sdk.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: sdk.Int64(14)}
	})
	s.send(t)
	bob := core.AccountID(first.Customer.ID)
	require.Equal(t, "TRIAL in-progress", s.state(t, bob))
	second := s.subscribe(t, pro, "", "", func(p *sdk.CheckoutSessionCreateParams) { p.Customer = sdk.String(first.Customer.ID) })
	s.send(t)
	require.Equal(t, "PAID converted", s.state(t, bob))
	// The second had no discount: its share of the first bill is refunded, once, and the
	// next bill has it.
	require.EqualValues(t, 900, s.refunded(t, second.Subscription.ID))
	require.EqualValues(t, 1000, s.credit(t, "anna"))
	items, err := s.api.V1Subscriptions.Retrieve(t.Context(), second.Subscription.ID, nil)
	require.NoError(t, err)
	_, err = s.api.V1Subscriptions.Update(t.Context(), second.Subscription.ID, &sdk.SubscriptionUpdateParams{
		Items: []*sdk.SubscriptionUpdateItemParams{{ID: sdk.String(items.Items.Data[0].ID), Price: sdk.String(basic)}}, ProrationBehavior: sdk.String("create_prorations"),
	})
	require.NoError(t, err)
	s.send(t)
	s.days(t, 33)
	require.Equal(t, "PAID converted", s.state(t, bob))
	require.EqualValues(t, 1000, s.credit(t, "anna"), "one conversion, whatever is billed")
	require.EqualValues(t, 900, s.refunded(t, second.Subscription.ID))
	for _, id := range []string{first.Subscription.ID, second.Subscription.ID} {
		_, err := s.api.V1Subscriptions.Cancel(t.Context(), id, nil)
		require.NoError(t, err)
	}
	s.send(t)
	require.Equal(t, "CANCELLED converted", s.state(t, bob))
}

// What failed because a key was revoked is tried as soon as another one replaces it.
func TestStripe_ReplacedKey(t *testing.T) {
	t.Parallel()
	s := newStripeStage(t, payments.StripeSettings{})
	bob := s.subscribe(t, s.price(t, 5000, "usd"), "bob@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.Metadata = map[string]string{"kith_account": "bob"} })
	s.send(t)
	require.Equal(t, "PAID none", s.state(t, "bob"))
	var permissions []string
	for _, p := range billing.StripePermissions() {
		permissions = append(permissions, p.Name)
	}
	key, err := s.lab.NewKey(permissions...)
	require.NoError(t, err)
	s.connect(t, key)
	s.idle(t)
	s.control(t, "revoke", "key", key)
	_, err = s.api.V1Subscriptions.Cancel(t.Context(), bob.Subscription.ID, nil)
	require.NoError(t, err)
	s.send(t)
	require.Equal(t, "PAID none", s.state(t, "bob"))
	s.connect(t, stripelab.SecretKey)
	s.idle(t)
	require.Equal(t, "CANCELLED none", s.state(t, "bob"))
}

// refunded returns what was refunded of the bills of a subscription.
func (s *stripeStage) refunded(t testing.TB, subscription string) (sum int64) {
	t.Helper()
	bills := s.api.V1Invoices.List(t.Context(), &sdk.InvoiceListParams{Subscription: sdk.String(subscription)})
	for bill, err := range bills.All(t.Context()) {
		require.NoError(t, err)
		paid := s.api.V1InvoicePayments.List(t.Context(), &sdk.InvoicePaymentListParams{Invoice: sdk.String(bill.ID)})
		for one, err := range paid.All(t.Context()) {
			require.NoError(t, err)
			refunds := s.api.V1Refunds.List(t.Context(), &sdk.RefundListParams{PaymentIntent: sdk.String(one.Payment.PaymentIntent.ID)})
			for refund, err := range refunds.All(t.Context()) {
				require.NoError(t, err)
				sum += refund.Amount
			}
		}
	}
	return sum
}

// Whatever the order of the webhooks, and however many are lost or repeated, the service
// and Stripe end in the same state.
func TestStripe_EveryOrderOfWebhooksEndsAlike(t *testing.T) {
	t.Parallel()
	for _, seed := range testenv.Seeds(t) {
		stripeInEveryOrder(t, seed)
	}
}

func stripeInEveryOrder(t *testing.T, seed uint64) {
	var want []string
	for i, mode := range []labkit.Mode{labkit.Normal, labkit.Reorder, labkit.Shuffle, labkit.Duplicate, labkit.Stale, labkit.Drop, labkit.Hold} {
		s := newStripeStage(t, payments.StripeSettings{})
		s.byPurchase(t, "USD")
		s.promotion(t, "ANNA10")
		require.NoError(t, s.lab.SetMode(mode))
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		price := s.price(t, 5000, "usd")
		pause := func() {
			// Sometimes the webhooks arrive at once, and sometimes with the next ones.
			if mode != labkit.Hold && r.IntN(2) == 0 {
				s.send(t)
			}
		}
		anna := s.subscribe(t, price, "anna@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.Metadata = map[string]string{"kith_account": "anna"} })
		pause()
		bob := s.subscribe(t, price, "bob@example.com", "ANNA10", func(p *sdk.CheckoutSessionCreateParams) {
			p.SubscriptionData = &sdk.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: sdk.Int64(3)}
		})
		pause()
		hat := s.order(t, 8000, "usd", "eve@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
			p.ClientReferenceID, p.CustomerCreation = sdk.String("ANNA10"), sdk.String("always")
		})
		pause()
		s.refund(t, hat.PaymentIntent.ID, 2000)
		pause()
		s.days(t, 4)
		paid := s.api.V1Invoices.List(t.Context(), &sdk.InvoiceListParams{Subscription: sdk.String(bob.Subscription.ID), Status: sdk.String("paid")})
		for bill, err := range paid.All(t.Context()) {
			require.NoError(t, err)
			for one, err := range s.api.V1InvoicePayments.List(t.Context(), &sdk.InvoicePaymentListParams{Invoice: sdk.String(bill.ID)}).All(t.Context()) {
				require.NoError(t, err)
				s.refund(t, one.Payment.PaymentIntent.ID, 900)
			}
		}
		pause()
		s.refund(t, hat.PaymentIntent.ID, 1000)
		if mode == labkit.Hold {
			require.NoError(t, s.lab.SetMode(labkit.Shuffle))
		}
		s.send(t)
		s.days(t, 2)
		got := []string{
			fmt.Sprint("anna ", s.state(t, "anna"), s.credit(t, "anna"), s.paid(t, anna.Subscription.ID)),
			fmt.Sprint("bob ", s.state(t, core.AccountID(bob.Customer.ID)), s.paid(t, bob.Subscription.ID)),
			fmt.Sprint("eve ", s.state(t, core.AccountID(hat.Customer.ID))),
			fmt.Sprint("orders ", s.orders(t)),
		}
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "seed %d, %s", seed, mode)
	}
}

// orders returns what is stored of the orders, without the ids.
func (s *stripeStage) orders(t testing.TB) (all []string) {
	t.Helper()
	refs, _, err := s.engine.Referrals.List(t.Context(), demo.TestTenant, referral.Filter{Limit: 10})
	require.NoError(t, err)
	for _, ref := range refs {
		orders, _, err := s.engine.Orders.List(t.Context(), demo.TestTenant, ref.ID, 10, 0)
		require.NoError(t, err)
		for _, o := range orders {
			amount, _ := o.Refunded()
			value, reversed := int64(0), int64(0)
			if w := o.Rewards[conversion.Referrer]; w != nil {
				value, reversed = w.Offer.Amount, w.Sums.Reversed
			}
			all = append(all, fmt.Sprint(o.Revenue, "-", amount, " earns ", value, "-", reversed, " ", cmp.Or(string(o.Reason), "counts")))
		}
	}
	slices.Sort(all)
	return all
}

// A partial refund takes back its share in currencies without decimals and with three, and
// a full one the rest.
func TestStripe_RefundsInCurrencies(t *testing.T) {
	t.Parallel()
	for currency, unit := range map[string]int64{"jpy": 1, "usd": 100, "kwd": 1000} {
		t.Run(currency, func(t *testing.T) {
			t.Parallel()
			s := newStripeStage(t, payments.StripeSettings{})
			s.byPurchase(t, strings.ToUpper(currency))
			// The ledger's credit has the decimals of its currency too.
			hat := s.order(t, 500*unit, currency, "eve@example.com", "", func(p *sdk.CheckoutSessionCreateParams) { p.ClientReferenceID = sdk.String("ANNA10") })
			s.send(t)
			require.Equal(t, 100*unit, s.credit(t, "anna"))
			s.refund(t, hat.PaymentIntent.ID, 150*unit)
			s.send(t)
			require.Equal(t, 70*unit, s.credit(t, "anna"))
			s.refund(t, hat.PaymentIntent.ID, 0)
			s.send(t)
			require.Zero(t, s.credit(t, "anna"))
		})
	}
}

// A promotion code is the same in other letters, as at Stripe. The code of a blocked user
// refers no user, though it can still be entered.
func TestStripe_TypedCodes(t *testing.T) {
	t.Parallel()
	s := newStripeStage(t, payments.StripeSettings{})
	s.byPurchase(t, "USD")
	s.promotion(t, "ANNA10")
	saved := func(p *sdk.CheckoutSessionCreateParams) { p.CustomerCreation = sdk.String("always") }
	lower := s.order(t, 10000, "usd", "eve@example.com", "anna10", saved)
	s.send(t)
	require.Len(t, s.events(t, core.AccountID(lower.Customer.ID)), 1)
	require.EqualValues(t, 1800, s.credit(t, "anna"))

	require.NoError(t, s.engine.Users.Block(t.Context(), demo.TestTenant, "anna", "anna", ""))
	late := s.order(t, 10000, "usd", "fay@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
		saved(p)
		p.ClientReferenceID = sdk.String("ANNA10")
	})
	typed := s.order(t, 10000, "usd", "gus@example.com", "ANNA10", saved)
	s.send(t)
	for _, one := range []*sdk.CheckoutSession{late, typed} {
		require.Equal(t, "TRIAL none", s.state(t, core.AccountID(one.Customer.ID)))
	}
	require.EqualValues(t, 1800, s.credit(t, "anna"))
}
