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

func TestSubscription_SkippedBill(t *testing.T) {
	for _, c := range []struct {
		name string
		s    billing.Subscription
		want billing.Charge
		ok   bool
		had  int64
	}{
		{name: "charged", s: billing.Subscription{Price: 400, HasDiscount: true, Discount: 400}, had: 400},
		{name: "no discount", s: billing.Subscription{Price: 400, Skipped: "2026-02-01"}},
		{"a discount for one bill", billing.Subscription{Price: 400, Skipped: "2026-02-01"}, billing.Charge{Discount: 400, Period: "2026-02-01"}, true, 400},
		{"a discount that is there", billing.Subscription{Price: 400, HasDiscount: true, Discount: 400, Skipped: "2026-02-01"}, billing.Charge{Discount: 400, Period: "2026-02-01"}, true, 300},
		{"discount is the whole price", billing.Subscription{Price: 400, HasDiscount: true, Discount: 400, Skipped: "2026-02-01"}, billing.Charge{Discount: 400, Period: "2026-02-01"}, true, 0},
		{"paid from the balance", billing.Subscription{Price: 400, HasDiscount: true, Discount: 100, Skipped: "2026-02-01"}, billing.Charge{Amount: 300, Discount: 100, Period: "2026-02-01"}, true, 0},
		{"more discount than price", billing.Subscription{Price: 400, HasDiscount: true, Discount: 500, Skipped: "2026-02-01"}, billing.Charge{Discount: 500, Period: "2026-02-01"}, true, 0},
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
