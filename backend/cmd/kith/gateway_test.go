package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/braintreelab"
	"kith/backend/braintreelab/scenario"
	"kith/backend/demo"
	"kith/backend/file"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/core"
	"kith/core/billing"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/wire"
)

// Each scenario of testdata/gateway runs on its own gateway lab and backend. It lists all
// charges, refunds and notifications; any other one fails it.
func TestGateway_Scenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/gateway/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, newGatewayStage(t).player().Play(t.Context(), string(text)))
		})
	}
}

// The notification that the dispute of a first charge was lost does not arrive, and the
// gateway no longer lists the charge among the latest: the daily read finds it.
func TestGateway_DisputeWithoutNotification(t *testing.T) {
	t.Parallel()
	const begin = `
		customer bob
		register bob code=ANNA10
		subscribe bob pro b1 add=svc_discount:5.00
		notified charged_successfully b1
		notified went_active b1
		charged b1 45.00
		send
		credit anna left=1000
	`
	const month = `
		advance 1m
		notified charged_successfully b1
		charged b1 45.00
	`
	const end = `
		send
		account bob moderation=APPROVED
		mode drop
		dispute b1#1 open
		notified dispute_opened
		dispute b1#1 accepted
		notified dispute_accepted
		later 24h
		account bob status=PAID referral=converted moderation=DENIED
		credit anna left=0
		subscription b1 discount=none
	`
	require.NoError(t, newGatewayStage(t).player().Play(t.Context(), begin+strings.Repeat(month, 21)+end))
}

// gatewayStage is a backend whose test tenant is connected to a lab.
type gatewayStage struct {
	engine *app.Engine
	clock  storyClock
	db     *sql.DB
	// lab is the base URL of the lab, and webhook the URL at which the backend accepts
	// notifications.
	lab, webhook string
}

func newGatewayStage(t *testing.T) *gatewayStage {
	t.Helper()
	return newGatewayStageOn(t, braintreelab.Options{})
}

// newGatewayStageOn returns a gateway stage whose lab has options and the stage's clock.
func newGatewayStageOn(t *testing.T, options braintreelab.Options) *gatewayStage {
	t.Helper()
	database := strings.TrimPrefix(storetest.File(t), "file:")
	s := &gatewayStage{}
	s.engine = openStory(t, "file:"+database, &s.clock)
	s.db = openSQL(t, "file:"+database)
	s.start(t, options)
	return s
}

// start starts the lab and the backend on the stage's database.
func (s *gatewayStage) start(t *testing.T, options braintreelab.Options) {
	t.Helper()
	s.engine.Files.Store = file.Dir(t.TempDir())
	t.Cleanup(func() {
		// The server may have ended before its connections are closed.
		_, _ = s.db.Close(), s.engine.DB.Close()
	})
	require.NoError(t, demo.Seed(t.Context(), s.engine, "https://shop.example", "https://test.shop.example"))
	begin := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	s.clock.advance(begin.Sub(time.UnixMilli(int64(storyStart))))
	options.Now = func() time.Time { return begin }
	lab, err := braintreelab.New(options)
	require.NoError(t, err)
	server := httptest.NewServer(lab)
	t.Cleanup(server.Close)
	s.lab = server.URL
	_, err = s.engine.Gateways.Connect(t.Context(), demo.TestTenant, billing.Connection{
		Kind:       billing.Braintree,
		MerchantID: braintreelab.MerchantID, BaseURL: server.URL, Keys: []billing.Key{{Public: braintreelab.PublicKey, Private: braintreelab.PrivateKey}},
	})
	require.NoError(t, err)
	base := serveStory(t, func(e *env, l net.Listener) error {
		return backend{engine: s.engine, listener: l, flags: backendFlags{jobFlags: jobFlags{JobWorkers: 1}}}.serve(e)
	})
	s.webhook = base + "/api/v1/test_demo/gateway/braintree/webhook"
	require.NoError(t, lab.Register(t.Context(), s.webhook))
}

// player returns a player of scenarios, with verbs for the service.
func (s *gatewayStage) player() *scenario.Player {
	p := scenario.New(s.lab)
	for verb, do := range map[string]scenario.Verb{
		"identify": s.identify, "register": s.register, "account": s.account, "credit": s.credit, "later": s.later, "forget": s.forget,
		"approve": s.approve, "grant": s.grant, "reward": s.reward, "coupon": s.coupon,
	} {
		p.Add(verb, do)
	}
	// The service processes the notifications before the scenario continues.
	send := scenario.New(s.lab)
	p.Add("send", func(ctx context.Context, step scenario.Step) error {
		if err := send.Play(ctx, "send"); err != nil && !strings.Contains(err.Error(), unlistedError) {
			return err
		}
		return s.idle(ctx)
	})
	return p
}

// unlistedError begins the error of a scenario in which something happened that it does
// not list.
const unlistedError = "the scenario does not mention"

// identify ACCOUNT: identifies the user of an account, with the customer of the same
// name.
func (s *gatewayStage) identify(ctx context.Context, step scenario.Step) error {
	id, provider := step.Word(0), core.PaymentProviderID(step.Word(0))
	in := rules.Identification{}
	in.Update.Account, in.Update.ID, in.Update.PaymentProviderID = core.AccountID(id), core.UserID(id), &provider
	_, err := s.engine.Identification.Identify(ctx, demo.TestTenant, in)
	return err
}

// register ACCOUNT code=CODE: identifies the user, and registers a discount.
func (s *gatewayStage) register(ctx context.Context, step scenario.Step) error {
	if err := s.identify(ctx, step); err != nil {
		return err
	}
	id := step.Word(0)
	_, err := s.engine.Discounts.Register(ctx, demo.TestTenant, wire.DiscountRegistration{
		Account: core.AccountID(id), Provider: core.PaymentProviderID(id), Code: core.ReferralCode(step.Named["code"]),
	})
	if err != nil {
		return err
	}
	return s.idle(ctx)
}

// account ID status=... referral=... moderation=...: checks the state of an account.
func (s *gatewayStage) account(ctx context.Context, step scenario.Step) error {
	a, err := s.engine.Accounts.ByID(ctx, demo.TestTenant, core.AccountID(step.Word(0)))
	if err != nil {
		return err
	}
	moderation := ""
	if page, _, err := s.engine.Referrals.List(ctx, demo.TestTenant, referral.Filter{ReferredAccount: a.ID, Limit: 1}); err != nil {
		return err
	} else if len(page) > 0 {
		moderation = string(page[0].Moderation.Referrer.Status)
	}
	for name, is := range map[string]string{"status": string(a.Status), "referral": string(a.Standing.Referral), "moderation": moderation} {
		if want, said := step.Named[name]; said && want != is {
			return fmt.Errorf("the %s is %q", name, is)
		}
	}
	return nil
}

// approve ACCOUNT: a moderator approves the referral of an account.
func (s *gatewayStage) approve(ctx context.Context, step scenario.Step) error {
	page, _, err := s.engine.Referrals.List(ctx, demo.TestTenant, referral.Filter{ReferredAccount: core.AccountID(step.Word(0)), Limit: 1})
	if err != nil || len(page) == 0 {
		return fmt.Errorf("%s has no referral: %w", step.Word(0), err)
	}
	if err := s.engine.Moderation.Apply(ctx, people.Caller{Tenant: demo.TestTenant}, []referral.Moderation{{Referral: page[0].ID, Action: referral.Approve}}); err != nil {
		return err
	}
	return s.idle(ctx)
}

// grant ACCOUNT CENTS: gives credit to an account.
func (s *gatewayStage) grant(ctx context.Context, step scenario.Step) error {
	cents, err := strconv.ParseInt(step.Word(1), 10, 64)
	if err != nil {
		return err
	}
	_, err = s.engine.Rewards.Create(ctx, demo.TestTenant, reward.Grant{
		Account: core.AccountID(step.Word(0)), User: core.UserID(step.Word(0)), Source: reward.Manual,
		Offer: reward.Offer{Kind: reward.Credit, Amount: cents, Unit: reward.UnitCents},
	})
	if err != nil {
		return err
	}
	return s.idle(ctx)
}

// coupon CUSTOMER CODE|none: checks the custom field of a customer.
func (s *gatewayStage) coupon(ctx context.Context, step scenario.Step) error {
	if err := s.idle(ctx); err != nil {
		return err
	}
	state, err := scenario.New(s.lab).State(ctx)
	for _, c := range state.Customers {
		if has := cmp.Or(c.Fields["svc_coupon"], "none"); c.ID == step.Word(0) && has != step.Word(1) {
			return fmt.Errorf("it has %s", has)
		}
	}
	return err
}

// reward ACCOUNT percent=PERCENT: checks the discount that the API reports.
func (s *gatewayStage) reward(ctx context.Context, step scenario.Step) error {
	d, err := s.engine.Discounts.Of(ctx, demo.TestTenant, core.AccountID(step.Word(0)), "")
	if err == nil && d.Total().String() != step.Named["percent"] {
		err = fmt.Errorf("it is %s %%", d.Total())
	}
	return err
}

// credit ACCOUNT left=CENTS: checks the credit that an account can still use.
func (s *gatewayStage) credit(ctx context.Context, step scenario.Step) error {
	balances, err := s.engine.Rewards.Balances(ctx, demo.TestTenant, core.AccountID(step.Word(0)), "", reward.Credit)
	if err != nil {
		return err
	}
	left := int64(0)
	for _, b := range balances {
		left += b.Available()
	}
	if fmt.Sprint(left) != step.Named["left"] {
		return fmt.Errorf("%d is left", left)
	}
	return nil
}

// later DURATION: advances the clock of the service.
func (s *gatewayStage) later(ctx context.Context, step scenario.Step) error {
	d, err := time.ParseDuration(step.Word(0))
	if err != nil {
		return err
	}
	s.clock.advance(d)
	s.engine.Gateways.Wake()
	return s.idle(ctx)
}

// forget refunds | discount ID: resets what the service has stored about the last call of
// the gateway, as if it had been killed before.
func (s *gatewayStage) forget(ctx context.Context, step scenario.Step) error {
	var err error
	switch step.Word(0) {
	case "refunds":
		_, err = s.db.ExecContext(ctx, `UPDATE gateway_refund SET state = 'waiting', ended_at = NULL, refund_id = ''`)
	default:
		_, err = s.db.ExecContext(ctx, `UPDATE gateway_subscription SET leased_until = 1, due_at = NULL WHERE id = ?`, step.Word(1))
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, `UPDATE gateway_subscription SET due_at = 1 WHERE leased_until IS NULL`)
	}
	return err
}

// idle waits until the service has no work left for the gateway.
func (s *gatewayStage) idle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sqldtest.Deadline)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var busy bool
		err := s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM gateway_notification WHERE read_at IS NULL)
			OR EXISTS (SELECT 1 FROM gateway_subscription WHERE leased_until IS NOT NULL OR due_at <= ?1)
			OR EXISTS (SELECT 1 FROM gateway_coupon WHERE due_at <= ?1 OR leased_by IS NOT NULL)
			OR EXISTS (SELECT 1 FROM gateway_connection WHERE sweep_at <= ?1 OR leased_by IS NOT NULL)`,
			int64(s.clock.now())).Scan(&busy)
		if err == nil && !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service is still busy: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
