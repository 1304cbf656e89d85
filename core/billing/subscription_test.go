package billing_test

import (
	"testing"

	"kith/core/billing"
	"kith/core/referral"
	"kith/core/reward"
)

func TestDecide(t *testing.T) {
	trial := billing.Standing{Status: billing.Active, Trial: true}
	unpaid := billing.Standing{Status: billing.Active}
	paid := billing.Standing{Status: billing.Active, Paid: true}
	pastDue := billing.Standing{Status: billing.PastDue, Paid: true}
	canceled := billing.Standing{Status: billing.Canceled, Paid: true}
	expired := billing.Standing{Status: billing.Expired}
	for _, c := range []struct {
		name   string
		all    []billing.Standing
		before referral.Status
		want   billing.Command
	}{
		{"none", nil, referral.Free, billing.Command{Status: referral.Free}},
		{"not yet read", []billing.Standing{{}}, referral.Free, billing.Command{Status: referral.Free}},
		{"trial", []billing.Standing{trial}, referral.Free, billing.Command{Status: referral.Trial}},
		{"billing skipped after a trial", []billing.Standing{trial}, referral.Trial, billing.Command{Status: referral.Trial}},
		{"billing skipped from the start", []billing.Standing{unpaid}, referral.Free, billing.Command{Status: referral.Free}},
		{"first bill after a trial fails", []billing.Standing{{Status: billing.PastDue, Trial: true}}, referral.Cancelled, billing.Command{Status: referral.Trial}},
		{"starts later", []billing.Standing{{Status: billing.Pending}, canceled}, referral.Free, billing.Command{Status: referral.Trial, Paid: true}},
		{"free after it was canceled", []billing.Standing{unpaid, expired}, referral.Paid, billing.Command{Status: referral.Free}},
		{"another is not yet read", []billing.Standing{{}, canceled}, referral.Paid, billing.Command{Status: referral.Cancelled, Paid: true}},
		{"charged", []billing.Standing{paid}, referral.Trial, billing.Command{Status: referral.Paid, Paid: true}},
		{"past due stays paid", []billing.Standing{pastDue}, referral.Paid, billing.Command{Status: referral.Paid, Paid: true}},
		{"canceled after paying", []billing.Standing{canceled}, referral.Paid, billing.Command{Status: referral.Cancelled, Paid: true}},
		{"expired without paying", []billing.Standing{expired}, referral.Trial, billing.Command{Status: referral.Cancelled}},
		{"one of two canceled", []billing.Standing{canceled, paid}, referral.Paid, billing.Command{Status: referral.Paid, Paid: true}},
		{"subscribed again", []billing.Standing{canceled, trial}, referral.Cancelled, billing.Command{Status: referral.Trial, Paid: true}},
	} {
		if got := billing.Decide(c.all, c.before); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSubscription_Want(t *testing.T) {
	for _, c := range []struct {
		percent, credit, price, amount, folded int64
	}{
		{0, 0, 5000, 0, 0}, {1000, 0, 5000, 500, 0}, {0, 700, 5000, 700, 700}, {1000, 700, 5000, 1200, 700},
		{1000, 9000, 5000, 5000, 4500}, {10000, 100, 5000, 5000, 0}, {333, 0, 15, 0, 0}, {334, 0, 15, 1, 0},
		{1000, 100, 0, 0, 0}, {1000, 100, -5, 0, 0}, {10000, 0, 1 << 60, 1 << 60, 0},
	} {
		s := billing.Subscription{Price: c.price}
		want := billing.Discount{Amount: c.amount, Credit: c.folded}
		if c.price > 0 {
			want.Percent = basisPoints(c.percent)
		}
		if got := s.Want(basisPoints(c.percent), c.credit); got != want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// Credit goes to the bill that comes next and can use it, and never to two bills.
func TestCreditFor(t *testing.T) {
	sub := func(id, next string, room, held int64) billing.Standing {
		return billing.Standing{ID: id, Currency: "USD", Next: next, Room: room, Held: held}
	}
	euro := sub("e", "2026-02-01", 900, 300)
	euro.Currency = "EUR"
	for _, c := range []struct {
		name             string
		all              []billing.Standing
		id               string
		available, loose int64
		want             int64
	}{
		{"the only one", []billing.Standing{sub("a", "2026-03-01", 5000, 0)}, "a", 700, 0, 700},
		{"one that cannot use it", []billing.Standing{sub("a", "2026-03-01", 0, 0)}, "a", 700, 0, 0},
		{"an unknown one", []billing.Standing{sub("a", "2026-03-01", 5000, 0)}, "b", 700, 0, 0},
		{"the earlier one", []billing.Standing{sub("a", "2027-01-01", 5000, 0), sub("b", "2026-02-01", 5000, 0)}, "b", 700, 0, 700},
		{"the later one", []billing.Standing{sub("a", "2027-01-01", 5000, 0), sub("b", "2026-02-01", 5000, 0)}, "a", 700, 0, 0},
		{"the later one, for what the earlier one cannot use", []billing.Standing{sub("a", "2027-01-01", 5000, 0), sub("b", "2026-02-01", 500, 0)}, "a", 700, 0, 200},
		{"the older one of a day", []billing.Standing{sub("a", "2026-02-01", 5000, 0), sub("b", "2026-02-01", 5000, 0)}, "a", 700, 0, 700},
		{"the younger one of a day", []billing.Standing{sub("a", "2026-02-01", 5000, 0), sub("b", "2026-02-01", 5000, 0)}, "b", 700, 0, 0},
		{"an unknown day is last", []billing.Standing{sub("a", "", 5000, 0), sub("b", "2026-02-01", 5000, 0)}, "b", 700, 0, 700},
		{"while a later one still has it", []billing.Standing{sub("a", "2027-01-01", 5000, 700), sub("b", "2026-02-01", 5000, 0)}, "b", 700, 0, 0},
		{"while an unpaid bill has a part", []billing.Standing{sub("a", "", 0, 300), sub("b", "2026-02-01", 5000, 0)}, "b", 700, 0, 400},
		{"another currency", []billing.Standing{euro, sub("b", "2026-02-01", 5000, 0)}, "b", 700, 0, 700},
		{"another currency has what has none", []billing.Standing{euro, sub("b", "2026-02-01", 5000, 0)}, "b", 700, 200, 500},
		{"debts", []billing.Standing{sub("a", "2026-03-01", 5000, 0)}, "a", 0, 0, 0},
	} {
		if got := billing.CreditFor(c.all, c.id, c.available, c.loose); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestSubscription_RoomAndHeld(t *testing.T) {
	active := billing.Subscription{Status: billing.Active, Price: 5000}
	with := func(change func(*billing.Subscription)) billing.Subscription {
		s := active
		change(&s)
		return s
	}
	for _, c := range []struct {
		name                  string
		s                     billing.Subscription
		before                int64
		want                  billing.Discount
		room, held, leftThere int64
	}{
		{"active", active, 0, billing.Discount{}, 4500, 0, 0},
		{"free", with(func(s *billing.Subscription) { s.Price = 0 }), 0, billing.Discount{}, 0, 0, 0},
		{"paused", with(func(s *billing.Subscription) { s.Paused = true }), 0, billing.Discount{}, 0, 0, 0},
		{"past due", with(func(s *billing.Subscription) { s.Status = billing.PastDue }), 300, billing.Discount{}, 0, 300, 300},
		{"ended", with(func(s *billing.Subscription) { s.Status = billing.Canceled }), 300, billing.Discount{}, 0, 0, 0},
		{"to be set", active, 0, billing.Discount{Amount: 800, Credit: 300}, 4500, 300, 0},
		{"is set", with(func(s *billing.Subscription) { s.HasDiscount, s.Discount, s.Bills = true, 800, 1 }), 300, billing.Discount{Amount: 800, Credit: 300}, 4500, 300, 0},
		{"to be removed", with(func(s *billing.Subscription) { s.HasDiscount, s.Discount, s.Bills = true, 800, 1 }), 300, billing.Discount{Amount: 500}, 4500, 300, 300},
		{"is removed", with(func(s *billing.Subscription) { s.HasDiscount, s.Discount = true, 500 }), 300, billing.Discount{Amount: 500}, 4500, 0, 0},
		{"in an unpaid bill", with(func(s *billing.Subscription) { s.Itemized, s.Billed = true, 200 }), 0, billing.Discount{}, 4500, 200, 0},
		{"in the next one too", with(func(s *billing.Subscription) { s.Itemized, s.Billed, s.Credit = true, 200, 400 }), 0, billing.Discount{Amount: 100, Credit: 100}, 4500, 600, 400},
	} {
		room := c.s.Room(1000)
		held, had := c.s.Held(c.before, c.want)
		if room != c.room || held != c.held || had != c.leftThere {
			t.Errorf("%s: room %d, held %d, had %d", c.name, room, held, had)
		}
	}
}

func TestCharge_CreditUsedAndRefund(t *testing.T) {
	for _, c := range []struct {
		name                               string
		charge                             billing.Charge
		percent, folded, used, refundCents int64
	}{
		{"full price", billing.Charge{Amount: 5000}, 1000, 0, 0, 500},
		{"with the discount", billing.Charge{Amount: 4500, Discount: 500}, 1000, 0, 0, 0},
		{"charged back", billing.Charge{Amount: 5000, ChargedBack: true}, 1000, 0, 0, 0},
		{"with credit", billing.Charge{Amount: 3800, Discount: 1200}, 1000, 700, 700, 0},
		{"a discount by the shop", billing.Charge{Amount: 3800, Discount: 1200}, 1000, 0, 0, 0},
		{"discount is less than the credit", billing.Charge{Amount: 4700, Discount: 300}, 0, 700, 300, 0},
	} {
		if used := c.charge.CreditUsed(basisPoints(c.percent), c.folded); used != c.used {
			t.Errorf("%s: %d used", c.name, used)
		}
		if refund := c.charge.Refund(basisPoints(c.percent)); refund != c.refundCents {
			t.Errorf("%s: %d refunded", c.name, refund)
		}
	}
}

func TestDiscount_Holding(t *testing.T) {
	for _, c := range []struct {
		wanted billing.Discount
		held   int64
		had    billing.Discount
	}{
		{billing.Discount{Amount: 30, Credit: 20}, 20, billing.Discount{Amount: 30, Credit: 20}},
		{billing.Discount{Amount: 10}, 20, billing.Discount{Amount: 30, Credit: 20}},
		{billing.Discount{Amount: 30, Credit: 20}, 0, billing.Discount{Amount: 30}},
	} {
		if had := c.wanted.Holding(c.held); had != c.had {
			t.Errorf("%+v holding %d: %+v", c.wanted, c.held, had)
		}
	}
}

func TestSubscription_SkippedBill(t *testing.T) {
	for _, c := range []struct {
		name string
		s    billing.Subscription
		want billing.Charge
		ok   bool
		had  int64
	}{
		{name: "charged", s: billing.Subscription{Price: 400, HasDiscount: true, Discount: 400}, had: 400},
		{name: "no discount", s: billing.Subscription{Price: 400, Skipped: "2026-02-01"}, want: billing.Charge{Amount: 400, Period: "2026-02-01"}, ok: true},
		{"a discount for one bill", billing.Subscription{Price: 400, Skipped: "2026-02-01"}, billing.Charge{Discount: 400, Period: "2026-02-01"}, true, 400},
		{"a discount that is there", billing.Subscription{Price: 400, HasDiscount: true, Discount: 400, Skipped: "2026-02-01"}, billing.Charge{Discount: 400, Period: "2026-02-01"}, true, 300},
		{"discount is the whole price", billing.Subscription{Price: 400, HasDiscount: true, Discount: 400, Skipped: "2026-02-01"}, billing.Charge{Discount: 400, Period: "2026-02-01"}, true, 0},
		{"paid from the balance", billing.Subscription{Price: 400, HasDiscount: true, Discount: 100, Skipped: "2026-02-01"}, billing.Charge{Amount: 300, Discount: 100, Period: "2026-02-01"}, true, 0},
		{"more discount than price", billing.Subscription{Price: 400, HasDiscount: true, Discount: 500, Skipped: "2026-02-01"}, billing.Charge{Discount: 400, Period: "2026-02-01"}, true, 0},
	} {
		if got, ok := c.s.SkippedBill(billing.Discount{Amount: c.had}); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v %t", c.name, got, ok)
		}
	}
}

// A bill of 0 has no charge. If the service did not run in its cycle, the cycle has passed
// without one.
func TestSubscription_MissedBill(t *testing.T) {
	had := billing.Discount{Amount: 400, Credit: 300}
	missed := billing.Subscription{Status: billing.Active, Price: 400, Begins: "2026-04-01", Charges: []billing.Charge{{Period: "2026-03-01"}}}
	charged, pastDue, current := missed, missed, missed
	charged.Charges = []billing.Charge{{Period: "2026-02-01"}}
	pastDue.Status = billing.PastDue
	current.Begins = "2026-02-01"
	for _, c := range []struct {
		name string
		s    billing.Subscription
		had  billing.Discount
		next string
		ok   bool
	}{
		{"missed", missed, had, "2026-02-01", true},
		{"charged", charged, had, "2026-02-01", false},
		{"past due", pastDue, had, "2026-02-01", false},
		{"the current cycle", current, had, "2026-02-01", false},
		{"not yet", current, had, "2026-03-01", false},
		{"no credit", missed, billing.Discount{Amount: 400}, "2026-02-01", false},
		{"unknown", missed, had, "", false},
	} {
		got, ok := c.s.MissedBill(c.had, c.next)
		if want := (billing.Charge{Discount: 400, Period: "2026-02-01"}); ok != c.ok || ok && got != want {
			t.Errorf("%s: %+v %t", c.name, got, ok)
		}
	}
}

func TestSubscription_Change(t *testing.T) {
	for _, c := range []struct {
		s      billing.Subscription
		amount int64
		want   billing.Change
		credit int64
	}{
		{billing.Subscription{Status: billing.Active, HasDiscount: true, Discount: 5}, 5, billing.UpdateDiscount, 1},
		{billing.Subscription{Status: billing.Active, HasDiscount: true, Discount: 5, Bills: 1}, 5, billing.NoChange, 1},
		{billing.Subscription{Status: billing.Active, HasDiscount: true, Discount: 5, Bills: 2}, 5, billing.UpdateDiscount, 1},
		{billing.Subscription{Status: billing.Active, HasDiscount: true, Discount: 5, Bills: 1}, 5, billing.UpdateDiscount, 0},
		{billing.Subscription{Status: billing.Active}, 0, billing.NoChange, 0},
		{billing.Subscription{Status: billing.Active}, 5, billing.AddDiscount, 0},
		{billing.Subscription{Status: billing.Pending}, 5, billing.AddDiscount, 0},
		{billing.Subscription{Status: billing.Active, HasDiscount: true, Discount: 5}, 5, billing.NoChange, 0},
		{billing.Subscription{Status: billing.Active, HasDiscount: true, Discount: 4}, 5, billing.UpdateDiscount, 0},
		{billing.Subscription{Status: billing.Active, HasDiscount: true, Discount: 4}, 0, billing.RemoveDiscount, 0},
		{billing.Subscription{Status: billing.PastDue}, 5, billing.NoChange, 0},
		{billing.Subscription{Status: billing.Canceled, HasDiscount: true, Discount: 4}, 0, billing.NoChange, 0},
	} {
		if got := c.s.Change(billing.Discount{Amount: c.amount, Credit: c.credit}); got != c.want {
			t.Errorf("%+v to %d: %q", c.s, c.amount, got)
		}
	}
}

func basisPoints(n int64) reward.BasisPoints { return reward.BasisPoints(n) }
