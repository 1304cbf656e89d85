package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/demo"
	"kith/backend/gateway/braintree"
	"kith/backend/labkit"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/billing"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
)

// billedShop is a shop with a gateway and the service. Its customers have the ids of their
// accounts, and subscribe for 50.00 USD a month.
type billedShop interface {
	// subscribe begins a subscription. code is the referral code that the customer
	// brings, without its discount, or empty.
	subscribe(who, code string, trialDays int)
	// add begins a further subscription of a customer: "monthly" is 50.00 USD a month,
	// "yearly" 500.00 USD a year, and "free" costs nothing.
	add(who, plan string)
	// pass lets days pass, in steps.
	pass(days int)
	// arrive sets how notifications arrive: "normal", "duplicate", "shuffle" or "drop".
	arrive(mode string)
	// loseAnswers loses the answers to the next 2 refunds, which are made.
	loseAnswers()
	// cancel ends the subscription of a customer now, and decline makes the customer's
	// next charges fail. accept ends that.
	cancel(who string)
	decline(who string)
	accept(who string)
	// giveBack refunds an amount of the first charge of a customer, by hand.
	giveBack(who string, cents int64)
	// chargeBack has the customer's bank take the first charge back.
	chargeBack(who string)
	// block holds the rewards of the user of a customer, and unblock gives them back.
	block(who string)
	unblock(who string)
	// grant gives the user of a customer credit, and redeem redeems some, if there is so much.
	grant(who string, cents int64)
	redeem(who string, cents int64)
	// bills returns the paid bills of a customer in cents, oldest first, and refunds what
	// was given back.
	bills(who string) []int64
	refunds(who string) int64
}

// byHand are what a shop does at the service.
type byHand struct {
	test    *testing.T
	service *app.Engine
}

func (s byHand) block(who string) {
	require.NoError(s.test, s.service.Users.Block(s.test.Context(), demo.TestTenant, core.AccountID(who), core.UserID(who), reward.BlockHold))
}

func (s byHand) unblock(who string) {
	require.NoError(s.test, s.service.Users.Unblock(s.test.Context(), demo.TestTenant, core.AccountID(who), core.UserID(who)))
}

func (s byHand) grant(who string, cents int64) {
	g := reward.Grant{Account: core.AccountID(who), User: core.UserID(who), Source: reward.Manual}
	g.Offer = reward.Offer{Kind: reward.Credit, Unit: reward.UnitCents, Currency: "USD", Amount: cents}
	_, err := s.service.Rewards.Create(s.test.Context(), demo.TestTenant, g)
	require.NoError(s.test, err)
}

func (s byHand) redeem(who string, cents int64) {
	_, err := s.service.Redemptions.Draw(s.test.Context(), demo.TestTenant, reward.Draw{Account: core.AccountID(who), Unit: reward.UnitCents, Amount: cents})
	var refused *core.Error
	require.True(s.test, err == nil || errors.As(err, &refused) && refused.Field == "amount", "%v", err)
}

// redeemElsewhere has a bill of anna that is unpaid, has her credit, and is paid once she has
// redeemed the same credit by the API.
func redeemElsewhere(s billedShop) {
	s.subscribe("anna", "", 0)
	s.pass(5)
	s.subscribe("bob", "ANNA10", 0)
	s.pass(20)
	s.decline("anna")
	s.pass(8)
	s.redeem("anna", 1000)
	s.pass(1)
	s.accept("anna")
	s.pass(12)
}

// common are scenarios that mean the same at every gateway.
var common = []struct {
	name string
	play func(*testing.T, billedShop)
	// want has the state of the accounts, and what was paid. balance is that with credit as
	// a balance of the customer, which the next bill of any subscription uses, if it differs.
	want, balance []string
}{
	{"a trial converts with its first bill", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 7)
		s.pass(9)
	}, []string{"anna TRIAL none 1000 [] 0", "bob PAID converted 0 [4500] 0"}, nil},
	{"a trial does not convert", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 7)
		s.pass(3)
	}, []string{"anna TRIAL none 0 [] 0", "bob TRIAL in-progress 0 [] 0"}, nil},
	{"the first bill's discount is refunded, once", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 0)
		s.pass(35)
	}, []string{"anna TRIAL none 1000 [] 0", "bob PAID converted 0 [5000 4500] 500"}, nil},
	{"the answer to the refund is lost", func(t *testing.T, s billedShop) {
		s.loseAnswers()
		s.subscribe("bob", "ANNA10", 0)
		s.pass(35)
	}, []string{"anna TRIAL none 1000 [] 0", "bob PAID converted 0 [5000 4500] 500"}, nil},
	{"the referrer's next bill has the credit", func(t *testing.T, s billedShop) {
		s.subscribe("anna", "", 0)
		s.pass(5)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(65)
	}, []string{"anna PAID none 0 [5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, nil},
	{"no notification arrives", func(t *testing.T, s billedShop) {
		s.arrive("drop")
		s.subscribe("anna", "", 0)
		s.pass(5)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(65)
	}, []string{"anna PAID none 0 [5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, nil},
	{"notifications arrive twice", func(t *testing.T, s billedShop) {
		s.arrive("duplicate")
		s.subscribe("anna", "", 0)
		s.pass(5)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(65)
	}, []string{"anna PAID none 0 [5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, nil},
	{"notifications arrive in another order", func(t *testing.T, s billedShop) {
		s.arrive("shuffle")
		s.subscribe("anna", "", 0)
		s.pass(5)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(65)
	}, []string{"anna PAID none 0 [5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, nil},
	{"a canceled trial", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 7)
		s.pass(2)
		s.cancel("bob")
		s.pass(2)
	}, []string{"anna TRIAL none 0 [] 0", "bob CANCELLED in-progress 0 [] 0"}, nil},
	{"canceled after it was paid", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 0)
		s.pass(3)
		s.cancel("bob")
		s.pass(40)
	}, []string{"anna TRIAL none 1000 [] 0", "bob CANCELLED converted 0 [5000] 500"}, nil},
	{"a failed bill leaves the account paid", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 0)
		s.pass(3)
		s.decline("bob")
		s.pass(30)
	}, []string{"anna TRIAL none 1000 [] 0", "bob PAID converted 0 [5000] 500"}, nil},
	{"the bank takes the first charge back", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 7)
		s.pass(9)
		s.chargeBack("bob")
		s.pass(2)
	}, []string{"anna TRIAL none 0 [] 0", "bob PAID converted 0 [4500] 0"}, nil},
	{"the shop gives a part of the first payment back", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 7)
		s.pass(9)
		s.giveBack("bob", 2000)
		s.pass(32)
	}, []string{"anna TRIAL none 1000 [] 0", "bob PAID converted 0 [4500 4500] 2000"}, nil},
	{"the shop gives all of the first payment back", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 7)
		s.pass(9)
		s.giveBack("bob", 2000)
		s.pass(2)
		s.giveBack("bob", 2500)
		s.pass(30)
	}, []string{"anna TRIAL none 0 [] 0", "bob PAID converted 0 [4500 5000] 4500"}, nil},
	{"the shop gives back what Kith has not", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 0)
		s.pass(3)
		s.giveBack("bob", 4500)
		s.pass(30)
	}, []string{"anna TRIAL none 0 [] 0", "bob PAID converted 0 [5000 5000] 5000"}, nil},
	{"the shop gives the first payment back after the window", func(t *testing.T, s billedShop) {
		s.subscribe("bob", "ANNA10", 7)
		s.pass(42)
		s.giveBack("bob", 4500)
		s.pass(2)
	}, []string{"anna TRIAL none 1000 [] 0", "bob PAID converted 0 [4500 4500] 4500"}, nil},
	{"credit passes over a free plan", func(t *testing.T, s billedShop) {
		s.add("anna", "free")
		s.add("anna", "monthly")
		s.pass(5)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(65)
	}, []string{"anna PAID none 0 [5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, nil},
	{"credit passes over a yearly plan", func(t *testing.T, s billedShop) {
		s.add("anna", "yearly")
		s.pass(2)
		s.add("anna", "monthly")
		s.pass(5)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(65)
	}, []string{"anna PAID none 0 [50000 5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, nil},
	{"credit moves to a bill that comes earlier", func(t *testing.T, s billedShop) {
		s.add("anna", "yearly")
		s.pass(2)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(5)
		s.add("anna", "monthly")
		s.pass(65)
	}, []string{"anna PAID none 0 [50000 5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, []string{"anna PAID none 0 [50000 4000 5000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}},
	{"the credit is held while the referrer is blocked", func(t *testing.T, s billedShop) {
		s.subscribe("anna", "", 0)
		s.pass(5)
		s.subscribe("bob", "ANNA10", 0)
		s.pass(2)
		s.block("anna")
		s.pass(30)
		s.unblock("anna")
		s.pass(30)
	}, []string{"anna PAID none 0 [5000 5000 4000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, []string{"anna PAID none 0 [5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}},
	{"a referrer is blocked before the friend pays", func(t *testing.T, s billedShop) {
		s.subscribe("anna", "", 0)
		s.pass(5)
		s.subscribe("bob", "ANNA10", 7)
		s.block("anna")
		s.pass(30)
		s.unblock("anna")
		s.pass(30)
	}, []string{"anna PAID none 0 [5000 5000 4000] 0", "bob PAID converted 0 [4500 4500] 0"}, nil},
	{"the credit of a bill is redeemed elsewhere before the bill is paid", func(t *testing.T, s billedShop) {
		redeemElsewhere(s)
		s.grant("anna", 1500)
		s.pass(40)
	}, []string{"anna PAID none 0 [5000 4000 4500] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, []string{"anna PAID none 0 [5000 4000 3500] 0", "bob PAID converted 0 [5000 4500 4500] 500"}},
	{"a subscription ends with a bill whose credit was redeemed elsewhere", func(t *testing.T, s billedShop) {
		redeemElsewhere(s)
		s.cancel("anna")
		s.add("anna", "monthly")
		s.grant("anna", 1500)
		s.pass(40)
	}, []string{"anna PAID none 0 [5000 4000 5000 4500] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, []string{"anna PAID none 0 [5000 4000 5000 3500] 0", "bob PAID converted 0 [5000 4500 4500] 500"}},
	{"credit for two bills of one day", func(t *testing.T, s billedShop) {
		s.add("anna", "monthly")
		s.add("anna", "monthly")
		s.pass(5)
		for _, friend := range []string{"bob", "carl", "dora", "emil", "fred", "gina"} {
			s.subscribe(friend, "ANNA10", 0)
		}
		s.pass(65)
	}, []string{"anna PAID none 0 [5000 5000 4000 5000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}, []string{"anna PAID none 0 [5000 5000 5000 4000 5000] 0", "bob PAID converted 0 [5000 4500 4500] 500"}},
}

// An account is deleted while it has something at the gateway: its discount and its credit
// end there, a bill that still had the credit redeems it, and no notification makes the
// account again. The friend of a deleted referrer keeps the discount.
func TestGateways_DeletedAccount(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(*testing.T) (billedShop, *app.Engine, *storyClock){
		"braintree": func(t *testing.T) (billedShop, *app.Engine, *storyClock) {
			s, _ := openBraintreeShop(t)
			h := s.(braintreeShop)
			return s, h.engine, &h.clock
		},
		"stripe": func(t *testing.T) (billedShop, *app.Engine, *storyClock) {
			s, _ := openStripeShop(t, billing.CreditCoupon)
			stage := s.(stripeShop)
			return s, stage.engine, &stage.clock
		},
	} {
		for _, c := range []struct {
			name    string
			deleted core.AccountID
			// anna and bob are the bills after which the account is deleted in the first
			// month, and those of the two months after it.
			anna, bob []int64
		}{
			{"the friend", "bob", []int64{5000, 4000, 5000}, []int64{5000, 5000, 5000}},
			{"the referrer", "anna", []int64{5000, 5000, 5000}, []int64{5000, 4500, 4500}},
		} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				s, engine, clock := open(t)
				s.subscribe("anna", "", 0)
				s.pass(5)
				s.subscribe("bob", "ANNA10", 0)
				s.pass(10)
				require.NoError(t, engine.Erasures.DeleteAccount(t.Context(), demo.TestTenant, c.deleted, false))
				s.pass(55)
				require.Equal(t, c.anna, s.bills("anna"))
				require.Equal(t, c.bob, s.bills("bob"))
				_, err := engine.Accounts.ByID(t.Context(), demo.TestTenant, c.deleted)
				require.True(t, base.IsNotFound(err), "a notification made the account again: %v", err)
				// Made again by the shop, it is no new customer, for a year.
				identify := func(account core.AccountID, codes []referral.UserCode, claims ...referral.Claim) referral.State {
					in := rules.Identification{Server: true}
					in.Update.Account, in.Update.ID, in.Update.Codes, in.Update.Claims = account, core.UserID(account), codes, claims
					_, err := engine.Identification.Identify(t.Context(), demo.TestTenant, in)
					require.NoError(t, err)
					a, err := engine.Accounts.ByID(t.Context(), demo.TestTenant, account)
					require.NoError(t, err)
					return a.Standing.Referral
				}
				claim := referral.Claim{Code: "HUGO10", Source: referral.SourceCodes}
				identify("hugo", []referral.UserCode{{Program: core.ClassicProgram, Code: "HUGO10"}})
				require.Equal(t, referral.None, identify(c.deleted, nil, claim))
				require.Equal(t, referral.InProgress, identify("ida", nil, claim))
				d, err := engine.Discounts.Of(t.Context(), demo.TestTenant, c.deleted, "HUGO10")
				require.NoError(t, err)
				require.Zero(t, d.Total(), "a discount that it will not get is not promised")
				clock.advance(365 * 24 * time.Hour)
				require.Equal(t, referral.InProgress, identify(c.deleted, nil, claim))
			})
		}
	}
}

// A cycle that was free used no credit that came later, and a bill of zero uses no more than
// its price, also if the discount was lowered just before it.
func TestGateway_FreeCycleUsesNoCredit(t *testing.T) {
	t.Parallel()
	opened, _ := openBraintreeShop(t)
	s := opened.(braintreeShop)
	left := func() string {
		line := strings.Fields(accountLine(t, s.engine, "anna"))
		return line[len(line)-1]
	}
	s.add("anna", "free")
	s.pass(33)
	s.do("change anna1 price=10.00 prorate=no")
	s.pass(2)
	s.do("grant anna 500")
	s.pass(3)
	require.Equal(t, "500", left(), "no bill had it yet")
	s.pass(25)
	require.Equal(t, []int64{500}, s.bills("anna"))
	require.Equal(t, "0", left())

	s.do("grant anna 1900")
	s.pass(2)
	s.do("change anna1 price=7.00 prorate=no")
	s.do("grant anna 1")
	s.do("advance 1m")
	s.pass(2)
	require.Equal(t, "1201", left(), "a bill of 7.00 uses no more")
}

// The gateway does not answer while the account of a referrer is deleted, and bills the
// credit before Kith could take it away: the ledger has it.
func TestGateway_DeletedAccountUsesCredit(t *testing.T) {
	t.Parallel()
	opened, _ := openBraintreeShop(t)
	s := opened.(braintreeShop)
	s.subscribe("anna", "", 0)
	s.pass(5)
	s.subscribe("bob", "ANNA10", 0)
	s.pass(2)
	s.do("fault 503 times=1000 method=PUT path=subscriptions")
	require.NoError(t, s.engine.Erasures.DeleteAccount(t.Context(), demo.TestTenant, "anna", false))
	s.pass(40)
	require.Equal(t, []int64{5000, 4000}, s.bills("anna"))
	var redeemed int64
	require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT sum(redeemed) FROM reward WHERE tenant = ?`, demo.TestTenant).Scan(&redeemed))
	require.EqualValues(t, 1000, redeemed)
}

// Every scenario ends in the same state at every gateway.
func TestGateways_CommonScenarios(t *testing.T) {
	t.Parallel()
	for i, c := range common {
		if !testenv.Sampled(t, i) && !testenv.Sampled(t, i+4) {
			continue
		}
		for kind, open := range map[string]func(*testing.T) (billedShop, func(who string) string){
			"braintree":      openBraintreeShop,
			"stripe coupon":  func(t *testing.T) (billedShop, func(string) string) { return openStripeShop(t, billing.CreditCoupon) },
			"stripe balance": func(t *testing.T) (billedShop, func(string) string) { return openStripeShop(t, billing.CreditBalance) },
		} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				s, state := open(t)
				c.play(t, s)
				var got []string
				for _, who := range []string{"anna", "bob"} {
					got = append(got, fmt.Sprint(who, " ", state(who), " ", s.bills(who), " ", s.refunds(who)))
				}
				want := c.want
				if kind == "stripe balance" && c.balance != nil {
					want = c.balance
				}
				require.Equal(t, want, got)
			})
		}
	}
}

// Credit passes over a subscription at Stripe that is paused, or of which Stripe has given
// up to charge a bill, and stays in an unpaid bill that has it until that is void.
func TestStripe_CreditPassesOver(t *testing.T) {
	t.Parallel()
	pause := func(t *testing.T, s stripeShop, on string) {
		t.Helper()
		params := &sdk.SubscriptionUpdateParams{}
		params.AddExtra("pause_collection", "")
		if on != "" {
			params = &sdk.SubscriptionUpdateParams{PauseCollection: &sdk.SubscriptionUpdatePauseCollectionParams{Behavior: sdk.String(on)}}
		}
		_, err := s.api.V1Subscriptions.Update(t.Context(), s.made["anna"].Subscription.ID, params)
		require.NoError(t, err)
		s.send(t)
	}
	for name, c := range map[string]struct {
		play func(*testing.T, stripeShop)
		want []int64
	}{
		"paused before": {func(t *testing.T, s stripeShop) {
			s.add("anna", "monthly")
			pause(t, s, "void")
			s.add("anna", "monthly")
			s.subscribe("bob", "ANNA10", 0)
			s.pass(35)
		}, []int64{5000, 5000, 4000}},
		"paused with the credit": {func(t *testing.T, s stripeShop) {
			s.add("anna", "monthly")
			s.subscribe("bob", "ANNA10", 0)
			s.pass(2)
			pause(t, s, "keep_as_draft")
			s.add("anna", "monthly")
			s.pass(35)
		}, []int64{5000, 5000, 4000}},
		"unpaid": {func(t *testing.T, s stripeShop) {
			s.control(t, "settings", "after_retries", "unpaid")
			s.add("anna", "monthly")
			s.decline("anna")
			s.pass(60)
			s.accept("anna")
			s.add("anna", "monthly")
			s.subscribe("bob", "ANNA10", 0)
			s.pass(35)
		}, []int64{5000, 5000, 4000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened, _ := openStripeShop(t, billing.CreditCoupon)
			s := opened.(stripeShop)
			c.play(t, s)
			require.Equal(t, c.want, s.bills("anna"))
		})
	}
}

// braintreeShop is a shop with Braintree.
type braintreeShop struct {
	*history
	byHand
}

func openBraintreeShop(t *testing.T) (billedShop, func(string) string) {
	h := &history{gatewayStage: newGatewayStage(t), t: t, rand: rand.New(rand.NewPCG(1, 1)), made: map[string]int{}}
	return braintreeShop{h, byHand{t, h.engine}}, func(who string) string { return accountLine(t, h.engine, who) }
}

func (s braintreeShop) subscribe(who, code string, trialDays int) {
	s.do("customer " + who)
	if code == "" {
		s.do("identify " + who)
	} else {
		s.do("register " + who + " code=" + code)
	}
	line := "subscribe " + who + " pro " + who
	if trialDays > 0 {
		line += fmt.Sprintf(" trial=%dd", trialDays)
	}
	s.do(line)
	s.do("send")
}

// steps divides days into steps of at most 5, of which the last ones are single days: what
// a gateway or the service does with delay is over then.
func steps(days int) (all []int) {
	for ; days > 2; days -= all[len(all)-1] {
		all = append(all, min(5, days-2))
	}
	for range days {
		all = append(all, 1)
	}
	return all
}

func (s braintreeShop) add(who, plan string) {
	if len(s.state().Subscriptions) == 0 {
		s.do("customer " + who)
		s.do("identify " + who)
	}
	line := map[string]string{"monthly": "pro", "yearly": "yearly", "free": "pro"}[plan]
	s.made[who]++
	line = fmt.Sprintf("subscribe %s %s %s%d", who, line, who, s.made[who])
	if plan == "free" {
		line += " price=0.00"
	}
	s.do(line)
	s.do("send")
}

func (s braintreeShop) pass(days int) {
	for _, n := range steps(days) {
		s.do(fmt.Sprintf("advance %dd", n))
		s.do("send")
		s.advance(fmt.Sprintf("%dh", 24*n))
	}
}

func (s braintreeShop) arrive(mode string) { s.do("mode " + mode) }
func (s braintreeShop) loseAnswers()       { s.do("fault cut times=2 method=POST path=refund") }
func (s braintreeShop) cancel(who string)  { s.do("cancel " + who); s.do("send") }
func (s braintreeShop) decline(who string) { s.do("decline " + who) }
func (s braintreeShop) accept(who string)  { s.do("accept " + who) }

func (s braintreeShop) giveBack(who string, cents int64) {
	s.do(fmt.Sprintf("refund %s#1 %s", who, braintree.NewAmount(cents, "USD")))
}

func (s braintreeShop) chargeBack(who string) {
	s.do("dispute " + who + "#1 open")
	s.do("dispute " + who + "#1 lost")
	s.do("send")
}

func (s braintreeShop) bills(who string) (all []int64) {
	for _, c := range cycles(s.state(), who) {
		all = append(all, cents(s.t, c.Amount))
	}
	return all
}

func (s braintreeShop) refunds(who string) (sum int64) {
	for _, t := range s.state().Transactions {
		if t.Customer == who && t.Kind == braintree.Credit {
			sum += cents(s.t, t.Amount)
		}
	}
	return sum
}

// accountLine returns the status of an account, the state of its referral, and what is left of
// its credit.
func accountLine(t *testing.T, e *app.Engine, who string) string {
	t.Helper()
	a, err := e.Accounts.ByID(t.Context(), demo.TestTenant, core.AccountID(who))
	require.NoError(t, err)
	balances, err := e.Rewards.Balances(t.Context(), demo.TestTenant, a.ID, "", reward.Credit)
	require.NoError(t, err)
	left := int64(0)
	for _, b := range balances {
		left += b.Available()
	}
	return fmt.Sprint(a.Status, " ", a.Standing.Referral, " ", left)
}

// stripeShop is a shop with Stripe. Its server names the account in the metadata.
type stripeShop struct {
	*stripeStage
	byHand
	t     *testing.T
	price string
	made  map[string]*sdk.CheckoutSession
}

func openStripeShop(t *testing.T, credit billing.CreditForm) (billedShop, func(string) string) {
	s := stripeShop{stripeStage: newStripeStage(t, payments.StripeSettings{Credit: credit}), t: t, made: map[string]*sdk.CheckoutSession{}}
	s.byHand = byHand{t, s.stripeStage.engine}
	s.price = s.stripeStage.price(t, 5000, "usd")
	return s, func(who string) string {
		return accountLine(t, s.engine, who)
	}
}

func (s stripeShop) subscribe(who, code string, trialDays int) {
	s.made[who] = s.stripeStage.subscribe(s.t, s.price, who+"@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
		p.Metadata = map[string]string{"kith_account": who, "kith_user": who, "referral_code": code}
		if trialDays > 0 {
			p.SubscriptionData = &sdk.CheckoutSessionCreateSubscriptionDataParams{TrialPeriodDays: sdk.Int64(int64(trialDays))}
		}
	})
	s.send(s.t)
	s.later(s.t, time.Minute)
}

func (s stripeShop) add(who, plan string) {
	price := &sdk.PriceCreateParams{
		UnitAmount: sdk.Int64(map[string]int64{"monthly": 5000, "yearly": 50000}[plan]), Currency: sdk.String("usd"),
		Recurring:   &sdk.PriceCreateRecurringParams{Interval: sdk.String(map[bool]string{true: "year", false: "month"}[plan == "yearly"])},
		ProductData: &sdk.PriceCreateProductDataParams{Name: sdk.String(plan)},
	}
	made, err := s.api.V1Prices.Create(s.t.Context(), price)
	require.NoError(s.t, err)
	before := s.made[who]
	s.made[who] = s.stripeStage.subscribe(s.t, made.ID, who+"@example.com", "", func(p *sdk.CheckoutSessionCreateParams) {
		p.Metadata = map[string]string{"kith_account": who, "kith_user": who}
		if before != nil {
			p.Customer = sdk.String(before.Customer.ID)
		}
	})
	s.send(s.t)
	s.later(s.t, time.Minute)
}

func (s stripeShop) pass(days int) {
	for _, n := range steps(days) {
		s.later(s.t, time.Duration(n)*24*time.Hour)
	}
}

func (s stripeShop) arrive(mode string) {
	require.NoError(s.t, s.lab.SetMode(labkit.Mode(mode)))
}

func (s stripeShop) loseAnswers() {
	s.control(s.t, "faults", "kind", "cut", "times", "2", "method", "POST", "path", "refunds")
}

func (s stripeShop) cancel(who string) {
	_, err := s.api.V1Subscriptions.Cancel(s.t.Context(), s.made[who].Subscription.ID, nil)
	require.NoError(s.t, err)
	s.send(s.t)
}

func (s stripeShop) decline(who string) {
	s.control(s.t, "decline", "customer", s.made[who].Customer.ID, "on", "true")
}

func (s stripeShop) accept(who string) {
	s.control(s.t, "decline", "customer", s.made[who].Customer.ID, "on", "false")
}

func (s stripeShop) giveBack(who string, cents int64) {
	charges := s.api.V1Charges.List(s.t.Context(), &sdk.ChargeListParams{Customer: sdk.String(s.made[who].Customer.ID)})
	first := ""
	for charge, err := range charges.All(s.t.Context()) {
		require.NoError(s.t, err)
		first = charge.PaymentIntent.ID // the oldest is last
	}
	s.refund(s.t, first, cents)
	s.send(s.t)
}

func (s stripeShop) chargeBack(who string) {
	charges := s.api.V1Charges.List(s.t.Context(), &sdk.ChargeListParams{Customer: sdk.String(s.made[who].Customer.ID)})
	for charge, err := range charges.All(s.t.Context()) {
		require.NoError(s.t, err)
		s.control(s.t, "dispute", "charge", charge.ID, "status", "open")
		s.control(s.t, "dispute", "charge", charge.ID, "status", "lost")
	}
	s.send(s.t)
}

func (s stripeShop) bills(who string) (all []int64) {
	if s.made[who] == nil {
		return nil
	}
	list := s.api.V1Invoices.List(s.t.Context(), &sdk.InvoiceListParams{Customer: sdk.String(s.made[who].Customer.ID), Status: sdk.String("paid")})
	for one, err := range list.All(s.t.Context()) {
		require.NoError(s.t, err)
		if one.AmountPaid > 0 {
			all = append([]int64{one.AmountPaid}, all...)
		}
	}
	return all
}

func (s stripeShop) refunds(who string) int64 {
	if s.made[who] == nil {
		return 0
	}
	return s.refunded(s.t, s.made[who].Subscription.ID)
}
