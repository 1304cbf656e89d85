package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/app"
	"kith/backend/app/payments"
	"kith/backend/demo"
	"kith/backend/file"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/stripelab"
	"kith/core"
	"kith/core/billing"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
)

// stripeStage is a backend whose test tenant is connected to a lab of Stripe. Service and
// lab have one clock.
type stripeStage struct {
	engine *app.Engine
	clock  storyClock
	db     *sql.DB
	lab    *stripelab.Lab
	labURL string
	api    *sdk.Client
	// settings and webhook are those of the connection.
	settings payments.StripeSettings
	webhook  string
}

func newStripeStage(t *testing.T, settings payments.StripeSettings) *stripeStage {
	t.Helper()
	database := strings.TrimPrefix(storetest.File(t), "file:")
	s := &stripeStage{}
	s.engine = openStory(t, "file:"+database, &s.clock)
	s.db = openSQL(t, "file:"+database)
	s.engine.Files.Store = file.Dir(t.TempDir())
	t.Cleanup(func() {
		// The server may have ended before its connections are closed.
		_, _ = s.db.Close(), s.engine.DB.Close()
	})
	require.NoError(t, demo.Seed(t.Context(), s.engine, "https://shop.example", "https://test.shop.example"))
	s.clock.advance(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC).Sub(time.UnixMilli(int64(storyStart))))
	var err error
	s.lab, err = stripelab.New(stripelab.Options{Now: func() time.Time { return time.UnixMilli(int64(s.clock.now())) }})
	require.NoError(t, err)
	server := httptest.NewServer(s.lab)
	t.Cleanup(server.Close)
	s.labURL = server.URL
	backend := sdk.GetBackendWithConfig(sdk.APIBackend, &sdk.BackendConfig{
		URL: sdk.String(server.URL), MaxNetworkRetries: sdk.Int64(0), LeveledLogger: &sdk.LeveledLogger{Level: sdk.LevelNull},
	})
	s.api = sdk.NewClient(stripelab.SecretKey, sdk.WithBackends(&sdk.Backends{API: backend}))
	base := serveStory(t, func(e *env, l net.Listener) error {
		return backendOf(s.engine, l).serve(e)
	})
	settings.BaseURL = server.URL
	s.settings, s.webhook = settings, base+payments.StripeWebhook(demo.TestTenant)
	s.connect(t, stripelab.SecretKey)
	s.send(t)
	return s
}

// connect connects the test tenant with a key.
func (s *stripeStage) connect(t testing.TB, key string) {
	t.Helper()
	s.settings.APIKey = key
	_, err := s.engine.Gateways.ConnectStripe(t.Context(), demo.TestTenant, s.settings, s.webhook)
	require.NoError(t, err)
}

func backendOf(engine *app.Engine, l net.Listener) backend {
	return backend{engine: engine, listener: l, flags: backendFlags{jobFlags: jobFlags{JobWorkers: 1}}}
}

// send sends the events of the lab, and waits until the service has processed them.
func (s *stripeStage) send(t testing.TB) {
	t.Helper()
	s.lab.Flush(t.Context())
	s.idle(t)
}

// idle waits until the service has nothing to do now.
func (s *stripeStage) idle(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sqldtest.Deadline)
	defer cancel()
	for {
		var busy string
		err := s.db.QueryRowContext(ctx, `SELECT concat(
			(SELECT 'notification ' || seq FROM gateway_notification WHERE read_at IS NULL LIMIT 1),
			(SELECT 'subscription ' || id || problem FROM gateway_subscription WHERE leased_until IS NOT NULL OR due_at <= ?1 LIMIT 1),
			(SELECT 'payment ' || id || problem FROM gateway_payment WHERE due_at <= ?1 OR leased_by IS NOT NULL LIMIT 1),
			(SELECT 'promotion ' || code || problem FROM gateway_promotion WHERE due_at <= ?1 OR leased_by IS NOT NULL LIMIT 1),
			(SELECT 'coupon ' || customer_id FROM gateway_coupon WHERE due_at <= ?1 OR leased_by IS NOT NULL LIMIT 1),
			(SELECT 'sweep' FROM gateway_connection WHERE sweep_at <= ?1 OR leased_by IS NOT NULL LIMIT 1),
			(SELECT 'event' FROM intake WHERE seq > (SELECT seq FROM intake_cursor) LIMIT 1),
			(SELECT 'order' FROM order_event LIMIT 1), (SELECT 'replay' FROM order_replay LIMIT 1))`, int64(s.clock.now())).Scan(&busy)
		if err == nil && busy == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the service is still busy with %s: %v", busy, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// later lets time pass for the service and the lab.
func (s *stripeStage) later(t testing.TB, d time.Duration) {
	t.Helper()
	s.clock.advance(d)
	s.send(t)
	s.idle(t)
}

// months lets time pass day by day.
func (s *stripeStage) days(t testing.TB, n int) {
	t.Helper()
	for range n {
		s.later(t, 24*time.Hour)
	}
}

// price makes a monthly price in the lab.
func (s *stripeStage) price(t testing.TB, amount int64, currency string) string {
	t.Helper()
	p, err := s.api.V1Prices.Create(t.Context(), &sdk.PriceCreateParams{
		UnitAmount: sdk.Int64(amount), Currency: sdk.String(currency), Recurring: &sdk.PriceCreateRecurringParams{Interval: sdk.String("month")},
		ProductData: &sdk.PriceCreateProductDataParams{Name: sdk.String("Basic")},
	})
	require.NoError(t, err)
	return p.ID
}

// subscribe makes a checkout session for a price, and pays it as a customer does. change
// may change the session.
func (s *stripeStage) subscribe(t testing.TB, price, email, promotion string, change func(*sdk.CheckoutSessionCreateParams)) *sdk.CheckoutSession {
	t.Helper()
	params := &sdk.CheckoutSessionCreateParams{
		Mode: sdk.String("subscription"), SuccessURL: sdk.String("http://127.0.0.1/done"), AllowPromotionCodes: sdk.Bool(true),
		LineItems: []*sdk.CheckoutSessionCreateLineItemParams{{Price: sdk.String(price), Quantity: sdk.Int64(1)}},
	}
	if change != nil {
		change(params)
	}
	session, err := s.api.V1CheckoutSessions.Create(t.Context(), params)
	require.NoError(t, err)
	s.control(t, "checkout", "session", session.ID, "email", email, "promotion_code", promotion)
	session, err = s.api.V1CheckoutSessions.Retrieve(t.Context(), session.ID, nil)
	require.NoError(t, err)
	return session
}

// control sends a form to the lab.
func (s *stripeStage) control(t testing.TB, name string, fields ...string) {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	answer, err := http.PostForm(s.labURL+"/lab/"+name, form)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s %v", name, fields)
}

// promotion asks for the promotion code of a referral code, and waits until it is made.
func (s *stripeStage) promotion(t testing.TB, code core.ReferralCode) {
	t.Helper()
	_, err := s.engine.Promotions.Ask(t.Context(), demo.TestTenant, code)
	require.NoError(t, err)
	s.idle(t)
	p, err := s.engine.Promotions.Ask(t.Context(), demo.TestTenant, code)
	require.NoError(t, err)
	require.Empty(t, p.Problem)
	require.NotEmpty(t, p.ID)
}

// credit returns what is left of an account's credit.
func (s *stripeStage) credit(t testing.TB, account core.AccountID) int64 {
	t.Helper()
	balances, err := s.engine.Rewards.Balances(t.Context(), demo.TestTenant, account, "", reward.Credit)
	require.NoError(t, err)
	left := int64(0)
	for _, b := range balances {
		left += b.Available()
	}
	return left
}

// state returns the status of an account and the state of its referral.
func (s *stripeStage) state(t testing.TB, account core.AccountID) string {
	t.Helper()
	a, err := s.engine.Accounts.ByID(t.Context(), demo.TestTenant, account)
	require.NoError(t, err)
	return fmt.Sprint(a.Status, " ", a.Standing.Referral)
}

// A friend subscribes through a payment page with the promotion code of the referrer and a
// trial. The first paid bill converts, and the referrer's next bill uses the credit, as a
// coupon or as a balance.
func TestStripe_Story(t *testing.T) {
	t.Parallel()
	for _, form := range []billing.CreditForm{billing.CreditCoupon, billing.CreditBalance} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			s := newStripeStage(t, payments.StripeSettings{Credit: form})
			price := s.price(t, 5000, "usd")
			anna := s.subscribe(t, price, "anna@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
				p.Metadata = map[string]string{"kith_account": "anna", "kith_user": "anna"}
			})
			s.send(t)
			require.Equal(t, "PAID none", s.state(t, "anna"))

			s.promotion(t, "ANNA10")
			bob := s.subscribe(t, price, "bob@example.com", "ANNA10", func(p *sdk.CheckoutSessionCreateParams) {
				p.SubscriptionData = &sdk.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: sdk.Int64(7)}
			})
			s.send(t)
			account := core.AccountID(bob.Customer.ID)
			require.Equal(t, "TRIAL in-progress", s.state(t, account))
			s.days(t, 8)
			require.Equal(t, "PAID converted", s.state(t, account))
			refs, _, err := s.engine.Referrals.List(t.Context(), demo.TestTenant, referral.Filter{ReferredAccount: account, Limit: 1})
			require.NoError(t, err)
			require.Equal(t, "bob@example.com", refs[0].Referred.Email)
			require.Equal(t, []int64{4500}, s.paid(t, bob.Subscription.ID))
			if form == billing.CreditBalance {
				require.Zero(t, s.credit(t, "anna"), "it is the customer's balance")
			} else {
				require.EqualValues(t, 1000, s.credit(t, "anna"))
			}
			s.days(t, 24)
			require.Equal(t, []int64{5000, 4000}, s.paid(t, anna.Subscription.ID))
			require.Zero(t, s.credit(t, "anna"))
			s.days(t, 31)
			require.Equal(t, []int64{5000, 4000, 5000}, s.paid(t, anna.Subscription.ID))
		})
	}
}

// paid returns the amounts of the paid bills of a subscription that are not 0, oldest
// first.
func (s *stripeStage) paid(t testing.TB, subscription string) (amounts []int64) {
	t.Helper()
	list := s.api.V1Invoices.List(t.Context(), &sdk.InvoiceListParams{Subscription: sdk.String(subscription), Status: sdk.String("paid")})
	for one, err := range list.All(t.Context()) {
		require.NoError(t, err)
		if one.AmountPaid > 0 {
			amounts = append([]int64{one.AmountPaid}, amounts...)
		}
	}
	return amounts
}

// The code of a share link that people follow becomes a promotion code without a call, and
// with the program its terms change.
func TestStripe_FollowedCodes(t *testing.T) {
	t.Parallel()
	s := newStripeStage(t, payments.StripeSettings{})
	s.engine.Analytics.Visits.Add(link.Followed{Tenant: demo.TestTenant, Program: core.ClassicProgram, Code: "ANNA10", By: link.Person})
	require.NoError(t, s.engine.Analytics.Visits.Flush(t.Context()))
	coupon := func() string {
		for one, err := range s.api.V1PromotionCodes.List(t.Context(), &sdk.PromotionCodeListParams{Code: sdk.String("ANNA10"), Active: sdk.Bool(true)}).All(t.Context()) {
			require.NoError(t, err)
			return one.Promotion.Coupon.ID
		}
		return ""
	}
	require.Eventually(t, func() bool { s.engine.Gateways.Wake(); return coupon() != "" }, sqldtest.Deadline, 50*time.Millisecond)
	require.Regexp(t, `^kith-p1000-test_demo$`, coupon())
	_, err := s.engine.Programs.Update(t.Context(), demo.TestTenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Referred = reward.Offer{Kind: reward.PercentDiscount, Percent: 2500}
		return nil
	})
	require.NoError(t, err)
	s.later(t, time.Hour)
	require.Equal(t, "kith-p2500-test_demo", coupon())
	_, err = s.engine.Programs.Update(t.Context(), demo.TestTenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Referred = reward.Offer{}
		return nil
	})
	require.NoError(t, err)
	s.later(t, time.Hour)
	require.Empty(t, coupon(), "the program promises nothing")
}
