package billing_test

import (
	"errors"
	"strings"
	"testing"

	"kith/core"
	"kith/core/billing"
	"kith/core/reward"
)

func TestConnection_CheckStripe(t *testing.T) {
	good := func() billing.Connection {
		return billing.Connection{
			Kind: billing.Stripe, MerchantID: "acct_1", Credit: billing.CreditBalance,
			Keys: []billing.Key{billing.StripeKey("rk_test_abcdef"), billing.StripeSecret("whsec_first"), billing.StripeSecret("whsec_second")},
		}
	}
	for _, c := range []struct {
		name   string
		change func(*billing.Connection)
		live   bool
		field  string
	}{
		{"good", func(*billing.Connection) {}, false, ""},
		{"a live key", func(c *billing.Connection) { c.Keys[0] = billing.StripeKey("rk_live_abcdef") }, true, ""},
		{"a secret key", func(c *billing.Connection) { c.Keys[0] = billing.StripeKey("sk_test_abcdef") }, false, ""},
		{"a test key of a live tenant", func(*billing.Connection) {}, true, "apiKey"},
		{"a live key of a test tenant", func(c *billing.Connection) { c.Keys[0] = billing.StripeKey("rk_live_abcdef") }, false, "apiKey"},
		{"a publishable key", func(c *billing.Connection) { c.Keys[0] = billing.StripeKey("pk_test_abcdef") }, false, "apiKey"},
		{"a key with a line break", func(c *billing.Connection) { c.Keys[0] = billing.StripeKey("rk_test_abc\ndef") }, false, "apiKey"},
		{"no key", func(c *billing.Connection) { c.Keys = nil }, false, "apiKey"},
		{"no secret", func(c *billing.Connection) { c.Keys = c.Keys[:1] }, false, ""},
		{"one secret twice", func(c *billing.Connection) { c.Keys[2] = c.Keys[1] }, false, "signingSecrets"},
		{"another secret", func(c *billing.Connection) { c.Keys[1] = billing.StripeSecret("sk_test_abcdef") }, false, "signingSecrets"},
		{"five secrets", func(c *billing.Connection) {
			c.Keys = make([]billing.Key, 6)
			c.Keys[0] = billing.StripeKey("rk_test_abcdef")
		}, false, "signingSecrets"},
		{"a base URL", func(c *billing.Connection) { c.BaseURL = "http://127.0.0.1:8091" }, false, ""},
		{"a base URL of another scheme", func(c *billing.Connection) { c.BaseURL = "file:///" }, false, "baseUrl"},
		{"a base URL of a live tenant", func(c *billing.Connection) { c.BaseURL = "http://127.0.0.1:8091" }, true, "baseUrl"},
		{"no account", func(c *billing.Connection) { c.MerchantID = "" }, false, "account"},
		{"cash", func(c *billing.Connection) { c.Credit = "cash" }, false, "creditForm"},
		{"another kind", func(c *billing.Connection) { c.Kind = "paypal" }, false, "kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			connection := good()
			c.change(&connection)
			var refused *core.Error
			err := connection.Check(c.live)
			errors.As(err, &refused)
			if c.field == "" && err != nil || c.field != "" && (refused == nil || refused.Field != c.field) {
				t.Errorf("%v, want an error about %q", err, c.field)
			}
		})
	}
	if k := billing.StripeKey("rk_test_" + strings.Repeat("x", 90) + "WXYZ"); k.Public != "rk_test_WXYZ" {
		t.Errorf("the name of a key is %s", k.Public)
	}
	if k := billing.StripeSecret("whsec_ab"); k.Public != "whsec_ab" {
		t.Errorf("the name of a short secret is %s", k.Public)
	}
}

func TestRevenue(t *testing.T) {
	for _, c := range []struct{ paid, total, excluded, want int64 }{
		{11900, 11900, 1900, 10000}, {5950, 11900, 1900, 5000}, {100, 100, 0, 100}, {0, 11900, 1900, 0}, {0, 0, 0, 0},
		{100, 100, 200, 0}, {100, 100, -5, 100}, {1 << 40, 1 << 40, 1, 1<<40 - 1},
	} {
		if got := billing.Revenue(c.paid, c.total, c.excluded); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// However a payment is refunded, piece by piece, in the end all of its revenue is reversed.
func TestPayment_Reversed(t *testing.T) {
	for amount := int64(1); amount < 60; amount++ {
		for revenue := int64(1); revenue <= amount; revenue++ {
			before := int64(0)
			for refunded := range amount + 1 {
				got := billing.Payment{Amount: amount, Revenue: revenue, Refunded: refunded}.Reversed()
				if got < before || got > revenue {
					t.Fatalf("%d of %d refunded reverses %d of %d", refunded, amount, got, revenue)
				}
				before = got
			}
			if before != revenue {
				t.Errorf("all of %d refunded reverses %d of %d", amount, before, revenue)
			}
		}
	}
	if got := (billing.Payment{Amount: 100, Revenue: 80, Refunded: 300}).Reversed(); got != 80 {
		t.Errorf("more than all reverses %d", got)
	}
	if got := (billing.Payment{Refunded: 300}).Reversed(); got != 0 {
		t.Errorf("nothing reverses %d", got)
	}
}

func TestPayment_Purchased(t *testing.T) {
	for _, c := range []struct {
		p    billing.Payment
		want bool
	}{
		{billing.Payment{Revenue: 1, At: 5000}, true}, {billing.Payment{Revenue: 1, At: 4000}, false}, {billing.Payment{Revenue: 1, At: 4600}, true},
		{billing.Payment{At: 6000}, false}, {billing.Payment{Revenue: 1}, false},
	} {
		if got := c.p.Purchased(5500); got != c.want {
			t.Errorf("%+v: %t", c.p, got)
		}
	}
}

// Each part of a payment is logged once, and an older answer of the gateway takes nothing back.
func TestRecorded_Report(t *testing.T) {
	paid := billing.Payment{Amount: 100, Revenue: 80, At: 9000}
	refunded := func(n int64) billing.Payment { p := paid; p.Refunded = n; return p }
	bought := billing.Recorded{Amount: 100, Revenue: 80, Reported: true}
	half := billing.Recorded{Amount: 100, Revenue: 80, Reported: true, Refunded: 50, Reversed: 40}
	for _, c := range []struct {
		name     string
		before   billing.Recorded
		read     billing.Payment
		known    bool
		after    billing.Recorded
		purchase bool
		refund   int64
	}{
		{"purchase", billing.Recorded{}, paid, true, bought, true, 0},
		{"again", bought, paid, true, bought, false, 0},
		{"whose it is, is unknown", billing.Recorded{}, refunded(50), false, billing.Recorded{Amount: 100, Revenue: 80}, false, 0},
		{"before the connection", billing.Recorded{}, billing.Payment{Amount: 100, Revenue: 80, At: 1000}, true, billing.Recorded{Amount: 100, Revenue: 80}, false, 0},
		{"purchase and refund", billing.Recorded{}, refunded(50), true, half, true, 40},
		{"refund", bought, refunded(50), true, half, false, 40},
		{"the rest", half, refunded(100), true, billing.Recorded{Amount: 100, Revenue: 80, Reported: true, Refunded: 100, Reversed: 80}, false, 40},
		{"older answer", half, paid, true, half, false, 0},
	} {
		after, purchase, refund := c.before.Report(c.read, 5000, c.known)
		if after != c.after || purchase != c.purchase || refund != c.refund {
			t.Errorf("%s: %+v, %t, %d", c.name, after, purchase, refund)
		}
	}
}

func TestGrant(t *testing.T) {
	for _, c := range []struct{ available, room, given, step, grant int64 }{
		{available: 1000, room: 5000, grant: 1000},
		{available: 1000, room: 5000, given: 400, grant: 1000}, // what was given is not in the ledger any more
		{available: 1000, room: 5000, given: 4500, grant: 500},
		{available: 1000, room: 5000, given: 5000},
		{available: 1000, room: 5000, given: 9000},
		{available: 9000, room: 5000, grant: 5000},
		{available: 500, room: 5000, given: -100, grant: 500}, // the customer owes
		{available: -300, room: 5000},
		{available: 1000, room: -1},
		{available: 1250, room: 5000, step: 100, grant: 1200},
		{available: 0, room: 5000},
	} {
		if got := billing.Grant(c.available, c.room, c.given, c.step); got != c.grant {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestTermsOf(t *testing.T) {
	for _, c := range []struct {
		offer reward.Offer
		want  billing.Terms
	}{
		{reward.Offer{}, billing.Terms{}},
		{reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}, billing.Terms{Percent: 1000}},
		{reward.Offer{Kind: reward.PercentDiscount, Percent: 1250, ValidFor: 365 * core.Day}, billing.Terms{Percent: 1250, Months: 11}},
		{reward.Offer{Kind: reward.PercentDiscount, Percent: 1000, ValidFor: core.Day}, billing.Terms{Percent: 1000, Months: 1}},
		{reward.Offer{Kind: reward.Credit, Amount: 500, Currency: "USD"}, billing.Terms{Amount: 500, Currency: "USD"}},
		{reward.Offer{Kind: reward.Credit, Amount: 500, Unit: "POINT"}, billing.Terms{}},
		{reward.Offer{Kind: reward.Credit, OfRevenue: 1000, Currency: "USD"}, billing.Terms{}},
	} {
		if got := billing.TermsOf(c.offer); got != c.want {
			t.Errorf("%+v: %+v", c.offer, got)
		}
	}
}

// Of a gateway that names its bills, credit in unpaid bills is not given again, and no bill
// is derived from a change of state.
func TestSubscription_Itemized(t *testing.T) {
	s := billing.Subscription{Status: billing.Active, Itemized: true, Price: 5000, Percent: 1000, Credit: 300, Billed: 200, Begins: "2026-04-01", Skipped: "2026-04-01"}
	if got, want := s.Want(1000, 500), (billing.Discount{Amount: 800, Credit: 300, Percent: 1000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.Step = 100
	if got := s.Want(1000, 1234); got.Credit != 1000 {
		t.Errorf("%+v is no multiple of 100", got)
	}
	had := billing.Discount{Amount: 800, Credit: 300}
	if c, ok := s.SkippedBill(had); ok {
		t.Errorf("skipped %+v", c)
	}
	if c, ok := s.MissedBill(had, "2026-02-01"); ok {
		t.Errorf("missed %+v", c)
	}
	for want, change := range map[billing.Discount]billing.Change{
		{Amount: 800, Credit: 300, Percent: 1000}: billing.NoChange, {Amount: 500, Percent: 1000}: billing.UpdateDiscount,
		{Amount: 300, Credit: 300}: billing.UpdateDiscount, {}: billing.UpdateDiscount,
	} {
		if got := s.Change(want); got != change {
			t.Errorf("%+v: %q, want %q", want, got, change)
		}
	}
	s.Status = billing.PastDue
	if got := s.Change(billing.Discount{}); got != billing.NoChange {
		t.Errorf("past due: %q", got)
	}
}
