package conversion

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kith/core"
	"kith/core/reward"
)

func TestParseDecimal(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		want           int64
		ok             bool
	}{
		{"80", "USD", 8000, true}, {"80.00", "USD", 8000, true}, {"8e1", "USD", 8000, true}, {"0.8E+2", "USD", 8000, true},
		{"12.5", "JPY", 12, true}, {"13.5", "JPY", 14, true}, {"13.50000001", "JPY", 14, true}, {"12.51", "JPY", 13, true},
		{"0.005", "USD", 0, true}, {"0.015", "USD", 2, true}, {"0.0050001", "USD", 1, true}, {"0.0004", "USD", 0, true},
		{"1.2345", "KWD", 1234, true}, {"1.2355", "KWD", 1236, true}, {"-4.20", "USD", 420, true}, {"0", "USD", 0, true}, {"0.00", "USD", 0, true},
		{"10000000000", "USD", 1_000_000_000_000, true}, {"10000000000.01", "USD", 0, false}, {"1e30", "USD", 0, false},
		{"", "USD", 0, false}, {"abc", "USD", 0, false}, {"1.", "USD", 0, false}, {".5", "USD", 0, false}, {"1e999", "USD", 0, false},
		{"$5", "USD", 0, false}, {"1,000", "USD", 0, false}, {strings.Repeat("1", 41), "USD", 0, false},
		{"33.33333333333333333333333333333333333333", "USD", 3333, true}, {"1e-300", "USD", 0, true}, {strings.Repeat("1", 401), "USD", 0, false},
	} {
		d, ok := ParseDecimal(c.text)
		got := int64(0)
		if ok {
			got, ok = d.Minor(c.currency, reward.MaxValue)
		}
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q in %s is %d, %v; want %d, %v", c.text, c.currency, got, ok, c.want, c.ok)
		}
	}
}

func TestDecimal_Compare(t *testing.T) {
	sorted := []string{"-100", "-20", "-3", "-2.5", "-0.1", "0", "0.09", "0.1", "2.5", "2.51", "3", "19", "20", "100", "1e3", "1e300"}
	for i, a := range sorted {
		for j, b := range sorted {
			x, _ := ParseDecimal(a)
			y, _ := ParseDecimal(b)
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := x.Compare(y); got != want {
				t.Errorf("%s compared with %s is %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestPortion(t *testing.T) {
	for _, c := range []struct{ value, part, whole, want int64 }{
		{8000, 1000, 10000, 800}, {5, 5000, 10000, 2}, {15, 5000, 10000, 8}, {25, 1000, 10000, 2}, {35, 1000, 10000, 4},
		{800, 2000, 8000, 200}, {1000, 1, 3, 333}, {1000, 2, 3, 667},
		{reward.MaxValue, reward.MaxValue, reward.MaxValue, reward.MaxValue}, {reward.MaxValue, 1, reward.MaxValue, 1}, {0, 5, 7, 0},
	} {
		if got := portion(c.value, c.part, c.whole); got != c.want {
			t.Errorf("%d * %d / %d is %d, want %d", c.value, c.part, c.whole, got, c.want)
		}
	}
}

func TestParseCondition(t *testing.T) {
	for text, want := range map[string]string{
		"revenue>=50": "revenue >= 50", " currency =  USD ": "currency = USD", "plan in (pro,team)": "plan in (pro, team)",
		"plan not in (free)": "plan not in (free)", `city = "Paris, France"`: `city = "Paris, France"`, "a.b != x y": "a.b != x y",
		"inner in (a)": "inner in (a)", "revenue < 1e3": "revenue < 1e3", `sign = "=<"`: `sign = "=<"`,
	} {
		c, err := ParseCondition("at", text)
		if err != nil || c.String() != want {
			t.Errorf("%q is %q, %v; want %q", text, c.String(), err, want)
			continue
		}
		if again, err := ParseCondition("at", c.String()); err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%q read again is %+v, %v", c.String(), again, err)
		}
	}
	for _, text := range []string{
		"", "revenue", "revenue >=", ">= 5", "revenue >= many", "plan in pro", "plan in ()", "plan in (a,)", "plan in (a", "a = b, c", "plan == pro", "revenue => 5", "plan in (!a)",
		`a = "b`, "plan inside (a)", "a in (b) c", strings.Repeat("x", 65) + " = 1", "a = " + strings.Repeat("x", 500),
	} {
		if c, err := ParseCondition("at", text); err == nil {
			t.Errorf("%q is accepted as %+v", text, c)
		} else if e, ok := err.(*core.Error); !ok || e.Field != "at" {
			t.Errorf("%q: %v is not about its field", text, err)
		}
	}
}

func TestCondition_Holds(t *testing.T) {
	for _, c := range []struct {
		condition string
		values    []string
		want      bool
	}{
		{"revenue >= 50", []string{"50.00"}, true}, {"revenue >= 50", []string{"49.99"}, false}, {"revenue > 50", []string{"50"}, false},
		{"revenue <= 50", []string{"5e1"}, true}, {"revenue < 50", []string{"-1"}, true}, {"revenue >= 50", []string{"many"}, false},
		{"revenue = 50", []string{"50.0"}, true}, {"currency = USD", []string{"usd"}, true}, {"currency != USD", []string{"EUR"}, true},
		{"currency != USD", nil, false}, {"currency = USD", nil, false},
		{"plan in (pro, team)", []string{"Team"}, true}, {"plan in (pro, team)", []string{"free"}, false},
		{"plan not in (pro, team)", []string{"free"}, true}, {"plan not in (pro, team)", []string{"free", "pro"}, false},
		{"tags in (new, sale)", []string{"old", "sale"}, true},
	} {
		parsed, err := ParseCondition("", c.condition)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Holds(c.values); got != c.want {
			t.Errorf("%s for %v is %v, want %v", c.condition, c.values, got, c.want)
		}
	}
}

func TestMonthsAfter(t *testing.T) {
	for from, want := range map[string]string{"2026-01-31": "2026-02-28", "2024-01-31": "2024-02-29", "2026-11-30": "2026-12-30", "2026-12-15": "2027-01-15"} {
		at, _ := time.Parse(time.DateOnly, from)
		if got := time.UnixMilli(int64(monthsAfter(core.Time(at.UnixMilli()), 1))).UTC().Format(time.DateOnly); got != want {
			t.Errorf("a month after %s is %s, want %s", from, got, want)
		}
	}
}

// credit returns an offer of a fixed credit, and revenue one of a percentage.
func credit(amount int64) reward.Offer {
	return reward.Offer{Kind: reward.Credit, Amount: amount, Currency: "USD"}
}
func revenue(percent reward.BasisPoints) reward.Offer {
	return reward.Offer{Kind: reward.Credit, OfRevenue: percent, Currency: "USD"}
}

const day = core.Day

// order returns an entry of a referral that began at time 0.
func order(referral string, at core.Time, revenue int64) Entry {
	return Entry{Order: Order{Referral: referral, Key: fmt.Sprint(at), Placed: Placed{Event: fmt.Sprint(referral, at), At: at, Revenue: revenue, HasRevenue: revenue > 0, Currency: "USD"}}}
}

func TestPlans_Replay(t *testing.T) {
	purchase := Rule{Event: "purchase", Reversal: "refund"}
	refunded := func(e Entry, refunds ...Refund) Entry { e.Refunds = refunds; return e }
	of := func(e Entry, change func(*Entry)) Entry { change(&e); return e }
	for _, c := range []struct {
		name  string
		plan  Plan
		chunk Chunk
		// want has for each order: its number, and the referrer's value and share, or the
		// reason.
		want []string
	}{
		{"10 % of each order", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: revenue(1000)}}},
			Chunk{Orders: []Entry{order("a", 1, 8000), order("a", 2, 8005), order("a", 3, 8015)}},
			[]string{"1: 800", "2: 800", "3: 802"}},
		{"a partial refund takes a share, a whole one all, and no more than all", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: revenue(1000)}}},
			Chunk{Orders: []Entry{
				refunded(order("a", 1, 8000), Refund{Amount: 2000, Currency: "USD"}),
				refunded(order("a", 2, 8000), Refund{Whole: true}),
				refunded(order("a", 3, 8000), Refund{Amount: 6000, Currency: "USD"}, Refund{Amount: 6000, Currency: "USD"}),
				refunded(order("a", 4, 8000), Refund{Amount: 8000, Currency: "EUR"}),
			}},
			[]string{"1: 800-200", "2: 800-800", "3: 800-800", "4: 800"}},
		{"a code that cannot be divided is taken by a whole refund only", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: reward.Offer{Kind: reward.FuelTank, Amount: 1, Unit: "months", Currency: "USD"}}}},
			Chunk{Orders: []Entry{
				refunded(order("a", 1, 8000), Refund{Amount: 7999, Currency: "USD"}),
				refunded(order("a", 2, 8000), Refund{Amount: 7999, Currency: "USD"}, Refund{Amount: 1, Currency: "USD"}),
			}},
			[]string{"1: 1", "2: 1-1"}},
		{"a refund of an order without revenue takes all", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000)}}},
			Chunk{Orders: []Entry{refunded(order("a", 1, 0), Refund{Amount: 1, Currency: "USD"})}}, []string{"1: 1000-1000"}},
		{"minimum and maximum", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: revenue(1000), Terms: Terms{Min: 100, Max: 500}}}},
			Chunk{Orders: []Entry{order("a", 1, 10), order("a", 2, 3000), order("a", 3, 100_000), of(order("a", 4, 3000), func(e *Entry) { e.Currency = "EUR" })}},
			[]string{"1: 100", "2: 300", "3: 500", "4: other-currency"}},
		{"in the order's currency", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: revenue(1000)}}},
			Chunk{Orders: []Entry{of(order("a", 1, 3000), func(e *Entry) { e.Currency = "EUR" })}}, []string{"1: 300 EUR"}},
		{"nothing from no revenue", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: revenue(1000)}}},
			Chunk{Orders: []Entry{order("a", 1, 0), order("a", 2, 4)}}, []string{"1: no-revenue", "2: less-than-one-minor-unit"}},
		{"tiers by conversions", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000), Terms: Terms{Tiers: []Tier{{From: 3, Value: 1500}, {From: 4, Value: 2000}}}}}},
			Chunk{Conversions: 1, Orders: []Entry{order("a", 1, 1), order("b", 2, 1), order("b", 3, 1), order("c", 4, 1), order("a", 5, 1)}},
			[]string{"1: 1000", "1: 1500", "2: 1500", "1: 2000", "2: 2000"}},
		{"the first two orders", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000), Terms: Terms{Orders: 2}}}},
			Chunk{Orders: []Entry{order("a", 1, 1), order("b", 2, 1), order("a", 3, 1), order("a", 4, 1)}},
			[]string{"1: 1000", "1: 1000", "2: 1000", "3: all-orders-rewarded"}},
		{"orders of a month", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000), Terms: Terms{Months: 1}}}},
			Chunk{Orders: []Entry{order("a", 0, 1), order("a", 31*day-1, 1), order("a", 31*day, 1)}},
			[]string{"1: 1000", "2: 1000", "3: months-over"}},
		{"limit of rewards", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000)}}, Total: 2},
			Chunk{Rewards: 1, Orders: []Entry{order("a", 1, 1), order("b", 2, 1)}}, []string{"1: 1000", "1: limit-of-rewards"}},
		{"limit in a period", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000)}}, InPeriod: 2, Period: 10},
			Chunk{Recent: []core.Time{1}, Orders: []Entry{order("a", 5, 1), order("b", 6, 1), order("c", 11, 1), order("d", 12, 1), order("e", 15, 1)}},
			[]string{"1: 1000", "1: limit-of-rewards-in-period", "1: 1000", "1: limit-of-rewards-in-period", "1: 1000"}},
		{"before the attribution, and too long after", Plan{Rule: Rule{Event: "purchase", Within: 10}, Earnings: [2]Earning{{Offer: credit(1000)}}},
			Chunk{Orders: []Entry{
				of(order("a", 4, 1), func(e *Entry) { e.Since = 5 }), of(order("a", 15, 1), func(e *Entry) { e.Since = 5 }),
				of(order("a", 99, 1), func(e *Entry) { e.Since = 5 }), of(order("b", 16, 1), func(e *Entry) { e.Since = 5 }),
			}}, []string{"before-attribution", "1: 1000", "2: 1000", "too-long-after-attribution"}},
		{"only the first event of an account", Plan{Rule: Rule{Event: "purchase", FirstEvent: true}, Earnings: [2]Earning{{Offer: credit(1000)}}},
			Chunk{Orders: []Entry{of(order("a", 4, 1), func(e *Entry) { e.First = "earlier" }), of(order("b", 5, 1), func(e *Entry) { e.First = "b5" })}},
			[]string{"not-first-event", "1: 1000"}},
		{"an order that a condition refuses does not count", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000), Terms: Terms{Orders: 1}}}},
			Chunk{Orders: []Entry{of(order("a", 1, 1), func(e *Entry) { e.Refused = ReasonCondition }), order("a", 2, 1)}},
			[]string{"condition-failed", "1: 1000"}},
		{"a chunk continues its referrals", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000), Terms: Terms{Orders: 2}}}},
			Chunk{Orders: []Entry{of(order("a", 5, 1), func(e *Entry) { e.Number, e.Converted, e.Earned[Referrer] = 1, 1, 1 }), order("a", 6, 1)}},
			[]string{"2: 1000", "3: all-orders-rewarded"}},
		{"an order that earns nothing uses no number up", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: revenue(1000), Terms: Terms{Orders: 1, Min: 50}}}},
			Chunk{Orders: []Entry{
				order("a", 1, 0), of(order("a", 2, 0), func(e *Entry) { e.HasRevenue = true }), of(order("a", 3, 0), func(e *Entry) { e.Fault = ReasonBadRevenue }),
				of(order("a", 4, 0), func(e *Entry) { e.Fault, e.Currency = ReasonBadCurrency, "" }), order("a", 5, 8000), order("a", 6, 8000),
			}},
			[]string{"1: no-revenue", "2: no-revenue", "3: revenue-unreadable", "4: currency-unreadable", "5: 800", "6: all-orders-rewarded"}},
		{"a fixed reward needs no revenue", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000)}}},
			Chunk{Orders: []Entry{order("a", 1, 0), of(order("a", 2, 0), func(e *Entry) { e.Fault, e.Currency = ReasonBadCurrency, "" })}},
			[]string{"1: 1000", "2: 1000"}},
		{"a denied referral uses no limit up and raises no count", Plan{
			Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000), Terms: Terms{Tiers: []Tier{{From: 2, Value: 1500}}}}}, Total: 2, InPeriod: 2, Period: 10,
		},
			Chunk{Orders: []Entry{of(order("a", 1, 1), func(e *Entry) { e.Denied[Referrer] = true }), order("b", 2, 1), order("c", 3, 1), order("d", 4, 1)}},
			[]string{"1: referral-denied", "1: 1000", "1: 1500", "1: limit-of-rewards"}},
		{"conversions by PAID count, each once", Plan{
			Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000), Terms: Terms{Tiers: []Tier{{From: 4, Value: 1500}}}}}, Total: 4,
		},
			// The one at 1 is among those of the last conversion by an order, at 2.
			Chunk{Conversions: 2, Rewards: 1, LastConversion: 2, Paid: []PaidConversion{{At: 1, Gives: true}, {At: 3, Gives: true}, {At: 6}}, Orders: []Entry{order("a", 4, 1), order("b", 7, 1)}},
			[]string{"1: 1500", "1: limit-of-rewards"}},
		{"the first order shortly before the attribution", Plan{Rule: Rule{Event: "purchase", Before: 10}, Earnings: [2]Earning{{Offer: credit(1000)}}},
			Chunk{Orders: []Entry{
				of(order("a", 10, 1), func(e *Entry) { e.Since, e.First = 20, "a10" }), of(order("a", 15, 1), func(e *Entry) { e.Since, e.First = 20, "a10" }),
				of(order("b", 9, 1), func(e *Entry) { e.Since, e.First = 20, "b9" }), of(order("c", 15, 1), func(e *Entry) { e.Since, e.First = 20, "earlier" }),
			}}, []string{"1: 1000", "before-attribution", "before-attribution", "before-attribution"}},
		{"an order that was returned uses no number and no limit up", Plan{
			Rule: purchase, Earnings: [2]Earning{{Offer: revenue(1000), Terms: Terms{Orders: 1}}}, Total: 1, InPeriod: 1, Period: 10,
		},
			Chunk{Orders: []Entry{refunded(order("a", 1, 8000), Refund{Whole: true}), refunded(order("a", 2, 8000), Refund{Amount: 7999, Currency: "USD"}), order("a", 3, 8000), order("b", 4, 8000)}},
			[]string{"1: 800-800", "2: 800-800", "3: all-orders-rewarded", "1: limit-of-rewards"}},
		{"a discount is set, not added", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}}}},
			Chunk{Orders: []Entry{order("a", 1, 8000), order("a", 2, 8000), order("b", 3, 8000)}}, []string{"1: 1000 ", "2: all-orders-rewarded", "1: 1000 "}},
		{"a discount of a number of orders", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}, Terms: Terms{Orders: 2}}}},
			Chunk{Orders: []Entry{order("a", 1, 8000), order("a", 2, 8000), order("a", 3, 8000)}}, []string{"1: 1000 ", "2: 1000 ", "3: all-orders-rewarded"}},
		{"an order in whole seconds in the second of the attribution", Plan{Rule: purchase, Earnings: [2]Earning{{Offer: credit(1000)}}},
			Chunk{Orders: []Entry{
				of(order("a", 3000, 1), func(e *Entry) { e.Since = 3999 }), of(order("b", 3998, 1), func(e *Entry) { e.Since = 3999 }),
				of(order("c", 3000, 1), func(e *Entry) { e.Since = 4000 }),
			}}, []string{"1: 1000", "before-attribution", "before-attribution"}},
	} {
		var got []string
		for _, d := range (Plans{c.plan}).Replay(c.chunk) {
			got = append(got, summary(d))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What cannot be read is not guessed: neither a revenue nor a currency.
func TestOrder_Reads(t *testing.T) {
	plan := Plan{Rule: Rule{Event: "purchase", Reversal: "refund"}, Earnings: [2]Earning{{Offer: revenue(1000)}}}
	for _, c := range []struct {
		revenue, currency string
		// placed is the revenue and currency of an order, or its fault. refunded is what a
		// refund takes back of an order of 80.00 EUR.
		placed, refunded string
	}{
		{"20", "EUR", "2000 EUR", "2000"},
		{"20", " eur ", "2000 EUR", "2000"},
		{"20", "", "2000 USD", "2000"}, // the order's currency
		{" 20.00 ", "EUR", "2000 EUR", "2000"},
		{"20", "USD", "2000 USD", "0"},
		{"", "", "no revenue", "8000"},
		{"", "€", `currency "€" is no code of ISO 4217; send a new event with the same order_id and EUR`, "0"},
		{"0", "", "0 USD", "0"},
		{"0", "EUR", "0 EUR", "0"},
		{"$20", "EUR", `revenue "$20" is no number; send a new event with the same order_id and a number such as 20.00`, "0"},
		{"20,00", "EUR", `revenue "20,00" is no number; send a new event with the same order_id and a number such as 20.00`, "0"},
		{"true", "EUR", `revenue "true" is no number; send a new event with the same order_id and a number such as 20.00`, "0"},
		{"$20", "€", `revenue "$20" is no number; send a new event with the same order_id and a number such as 20.00`, "0"},
		{"20", "€", `currency "€" is no code of ISO 4217; send a new event with the same order_id and EUR`, "0"},
		{"20", "euro", `currency "euro" is no code of ISO 4217; send a new event with the same order_id and EUR`, "0"},
		{"20", "978", `currency "978" is no code of ISO 4217; send a new event with the same order_id and EUR`, "0"},
		{"20", "EUX", `currency "EUX" is no code of ISO 4217; send a new event with the same order_id and a code such as USD`, "0"},
	} {
		e := Event{ID: "e", Key: "purchase", At: 1, Revenue: c.revenue, Currency: c.currency}
		o := Order{}.Place(e, plan)
		got := "no revenue"
		if o.Fault != "" {
			got = o.Detail
		} else if o.HasRevenue {
			got = fmt.Sprint(o.Revenue, " ", o.Currency)
		}
		if got != c.placed || o.Refused != "" {
			t.Errorf("%q %q is placed as %s (%s), want %s", c.revenue, c.currency, got, o.Refused, c.placed)
		}
		o = Order{}.Place(Event{ID: "p", Key: "purchase", At: 1, Revenue: "80", Currency: "EUR"}, plan).Reverse(e, plan)
		if amount, _ := o.Refunded(); fmt.Sprint(amount) != c.refunded || (o.Unread() != "") != (c.refunded == "0" && c.revenue != "0") {
			t.Errorf("a refund of %q %q takes back %d (%s), want %s", c.revenue, c.currency, amount, o.Unread(), c.refunded)
		}
	}
	bad, good := Event{ID: "a", Key: "purchase", At: 1, Revenue: "$20"}, Event{ID: "b", Key: "purchase", At: 2, Revenue: "20"}
	for _, o := range []Order{Order{}.Place(bad, plan).Place(good, plan), Order{}.Place(good, plan).Place(bad, plan)} {
		if o.Event != "b" || o.Fault != "" || o.Revenue != 2000 {
			t.Errorf("a corrected event gives %+v", o)
		}
	}
	o := Order{}.Place(good, plan).Reverse(Event{ID: "c", Revenue: "$5"}, plan).Reverse(Event{ID: "d", Revenue: "5"}, plan)
	if amount, whole := o.Refunded(); amount != 500 || whole || o.Unread() != "" {
		t.Errorf("a corrected refund takes back %d, %v: %s", amount, whole, o.Unread())
	}
	// Of an order that a condition refuses, Detail is the condition.
	strict := plan
	strict.Rule.Conditions = []Condition{{Field: "revenue", Operator: MoreOrEqual, Values: []string{"50"}}}
	if o := (Order{}).Place(bad, strict); o.Refused != ReasonCondition || o.Unread() != "" {
		t.Errorf("refused by %q, not read: %q", o.Refused, o.Unread())
	}
	// No part is known of an order that cannot be read, and a refund of 0 is of nothing.
	for _, c := range []struct {
		order, refund Event
		want          bool
	}{
		{bad, Event{ID: "c", Revenue: "5"}, false}, {bad, Event{ID: "c"}, true}, {Event{ID: "a", At: 1}, Event{ID: "c", Revenue: "0"}, false},
		{Event{ID: "a", At: 1}, Event{ID: "c", Revenue: "5"}, true}, {Event{ID: "a", At: 1, Revenue: "0"}, Event{ID: "c", Revenue: "5"}, true},
	} {
		if _, whole := (Order{}).Place(c.order, plan).Reverse(c.refund, plan).Refunded(); whole != c.want {
			t.Errorf("a refund of %q of %q takes all: %v", c.refund.Revenue, c.order.Revenue, whole)
		}
	}
	// Such a refund is not ignored silently.
	for _, c := range []struct {
		order, refund Event
		want          string
	}{
		{bad, Event{ID: "c", Revenue: "5"}, `revenue "$20" is no number; send a new event with the same order_id and a number such as 20.00. A refund was received, too: it takes nothing back until the amount of the order is known`},
		{bad, Event{ID: "c", Revenue: "5", Currency: "EUR"}, `revenue "$20" is no number; send a new event with the same order_id and a number such as 20.00. A refund was received, too: it takes nothing back until the amount of the order is known`},
		{good, Event{ID: "c", Revenue: "5", Currency: "EUR"}, "a refund takes nothing back: its currency is EUR, and that of the order USD; send it again in USD with a new idempotency key"},
		{bad, Event{ID: "c", Revenue: "0"}, Order{}.Place(bad, plan).Detail}, {bad, Event{ID: "c"}, Order{}.Place(bad, plan).Detail},
		{good, Event{ID: "c", Revenue: "5"}, ""},
	} {
		if got := (Order{}).Place(c.order, plan).Reverse(c.refund, plan).Unread(); got != c.want {
			t.Errorf("a refund of %q %s of %q: %q, want %q", c.refund.Revenue, c.refund.Currency, c.order.Revenue, got, c.want)
		}
	}
}

// The codes are in ascending order, each once.
func TestIsCurrency(t *testing.T) {
	for i := 3; i < len(codes); i += 3 {
		if codes[i-3:i] >= codes[i:i+3] {
			t.Errorf("%s follows %s", codes[i:i+3], codes[i-3:i])
		}
	}
	for code, want := range map[string]bool{"USD": true, "AED": true, "ZWG": true, "EDA": false, "US": false, "": false, "usd": false, "EUX": false} {
		if isCurrency(code) != want {
			t.Errorf("%q: %v", code, !want)
		}
	}
}

// summary returns a decision about the referrer's side.
func summary(d Decision) string {
	if !d.Counts() {
		return string(d.Reason)
	}
	e := d.Earned[Referrer]
	if !e.Gives() {
		return fmt.Sprintf("%d: %s", d.Number, e.Reason)
	}
	s := fmt.Sprintf("%d: %d", d.Number, e.Offer.Value())
	if e.Share > 0 {
		s += fmt.Sprintf("-%d", e.Share)
	}
	if e.Offer.Currency != "USD" {
		s += " " + e.Offer.Currency
	}
	return s
}

// A changed program does not change what earlier orders earn.
func TestPlans_At(t *testing.T) {
	plans := Plans{{Since: 10, Total: 1}, {Since: 20, Total: 2}, {Since: 30, Total: 3}}
	for at, want := range map[core.Time]int64{0: 1, 10: 1, 19: 1, 20: 2, 29: 2, 30: 3, 99: 3} {
		if got := plans.At(at).Total; got != want {
			t.Errorf("at %d plan %d applies, want %d", at, got, want)
		}
	}
}

func TestPlans_PaidUntil(t *testing.T) {
	paid, event := Plan{}, Plan{Rule: Rule{Event: "purchase"}}
	since := func(p Plan, at core.Time) Plan { p.Since = at; return p }
	for name, c := range map[string]struct {
		plans Plans
		want  core.Time
	}{
		"by an event": {Plans{since(event, 5)}, 0}, "by PAID": {Plans{since(paid, 5)}, 1<<63 - 1},
		"by PAID first": {Plans{since(paid, 5), since(event, 9)}, 9}, "again": {Plans{since(paid, 5), since(event, 9), since(paid, 12), since(event, 15)}, 15},
		"none": {nil, 0},
	} {
		if got := c.plans.PaidUntil(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// book is a store of orders in memory: it merges events in the order of their arrival,
// and replays in chunks from the first order that changed, as the backend does.
type book struct {
	plans     Plans
	orders    map[Position]Entry
	decisions map[Position]Decision
	since     map[string]core.Time
	chunk     int
}

// walkEvent is an event of a referral. It carries the referral's code if Code is set.
type walkEvent struct {
	referral string
	Event
}

func (b *book) apply(e walkEvent) {
	from := Position{At: 1 << 60}
	touch := func(p Position) {
		if p.Compare(from) < 0 {
			from = p
		}
	}
	if e.Code != "" && e.At < b.since[e.referral] {
		b.since[e.referral] = e.At
		for at := range b.orders {
			if at.Referral == e.referral {
				touch(at)
			}
		}
	}
	var o Order
	for at, entry := range b.orders {
		if at.Referral == e.referral && at.Order == e.OrderKey() {
			o = entry.Order
			touch(at)
			delete(b.orders, at)
		}
	}
	o.Referral, o.Key = e.referral, e.OrderKey()
	if plan := b.plans.At(e.At); e.Key == "refund" {
		o = o.Reverse(e.Event, plan)
	} else {
		o = o.Place(e.Event, plan)
	}
	b.orders[o.Position()] = Entry{Order: o}
	touch(o.Position())
	for at := range b.orders {
		if at.Referral == e.referral {
			// The first event of the account may be another one.
			touch(at)
		}
	}
	b.replay(from)
}

func (b *book) replay(from Position) {
	var all []Position
	for at := range b.orders {
		if b.orders[at].Event != "" {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, Position.Compare)
	start := slices.IndexFunc(all, func(p Position) bool { return p.Compare(from) >= 0 })
	for start >= 0 && start < len(all) {
		var c Chunk
		progressOf := map[string]progress{}
		first := map[string]string{}
		for i, at := range all {
			if first[at.Referral] == "" {
				first[at.Referral] = b.orders[at].Event
			}
			if i >= start {
				continue
			}
			d := b.decisions[at]
			if d.Number == 1 {
				c.Conversions++
				progressOf[at.Referral] = progress{1, at.At, [2]int64{}}
			}
			if d.Counts() {
				p := progressOf[at.Referral]
				p.number = d.Number
				for side := range d.Earned {
					if d.Earned[side].Gives() && !b.orders[at].Returned() {
						p.earned[side]++
					}
				}
				progressOf[at.Referral] = p
			}
			if d.Earned[Referrer].Gives() && !b.orders[at].Returned() {
				c.Rewards++
				c.Recent = append(c.Recent, at.At)
			}
		}
		end := min(start+b.chunk, len(all))
		for _, at := range all[start:end] {
			e := b.orders[at]
			p := progressOf[at.Referral]
			e.Since, e.First, e.Number, e.Converted, e.Earned = b.since[at.Referral], first[at.Referral], p.number, p.converted, p.earned
			c.Orders = append(c.Orders, e)
		}
		for i, d := range b.plans.Replay(c) {
			b.decisions[all[start+i]] = d
		}
		start = end
	}
}

// The ledger of a set of events does not depend on the order of their arrival
// (decisions: conversion by event).
func TestReplay_EveryOrderOfEventsEndsAlike(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 22))
		plans := Plans{randomPlan(r, 0), randomPlan(r, 40)}
		var events []walkEvent
		for i := range 3 + r.IntN(25) {
			e := walkEvent{referral: string(rune('a' + r.IntN(3)))}
			e.ID, e.At = fmt.Sprint("e", i), core.Time(r.IntN(80))
			e.Key = []string{"purchase", "purchase", "refund"}[r.IntN(3)]
			if r.IntN(5) > 0 {
				e.OrderID = fmt.Sprint("o", r.IntN(8))
			}
			if r.IntN(6) > 0 {
				e.Revenue = fmt.Sprintf("%d.%d", r.IntN(100), r.IntN(1000))
			}
			if r.IntN(10) == 0 {
				e.Revenue = "$20"
			}
			if e.Key == "refund" && r.IntN(3) == 0 {
				e.RefundID = fmt.Sprint("r", r.IntN(4))
			}
			e.Currency = []string{"USD", "USD", "USD", "EUR", "", "€"}[r.IntN(6)]
			e.Fields = map[string][]string{"revenue": {e.Revenue}}
			if r.IntN(4) == 0 {
				e.Code = "CODE"
			}
			events = append(events, e)
		}
		var want map[Position]Decision
		for try := range 6 {
			b := book{plans: plans, orders: map[Position]Entry{}, decisions: map[Position]Decision{}, since: map[string]core.Time{"a": 20, "b": 30, "c": 5}, chunk: 1 + r.IntN(5)}
			for _, e := range events {
				b.apply(e)
			}
			got := map[Position]Decision{}
			for at, o := range b.orders {
				if o.Event != "" {
					got[at] = b.decisions[at]
				}
			}
			if try == 0 {
				want = got
			} else if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, arrival %d: %+v, want %+v", seed, try, got, want)
			}
			r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		}
	}
}

func randomPlan(r *rand.Rand, since core.Time) Plan {
	p := Plan{Since: since, Rule: Rule{Event: "purchase", Reversal: "refund", FirstEvent: r.IntN(4) == 0}}
	if r.IntN(3) == 0 {
		p.Rule.Conditions = []Condition{{Field: "revenue", Operator: MoreOrEqual, Values: []string{"20"}}}
	}
	if r.IntN(3) == 0 {
		p.Rule.Within = core.Time(r.IntN(40))
	}
	if r.IntN(3) == 0 {
		p.Rule.Before = core.Time(r.IntN(20))
	}
	for i := range p.Earnings {
		e := Earning{Offer: revenue(1000)}
		if r.IntN(2) == 0 {
			e.Offer = credit(1000)
		}
		e.Orders = int64(r.IntN(3))
		if r.IntN(2) == 0 {
			e.Tiers = []Tier{{From: 2, OfRevenue: e.Offer.OfRevenue * 2, Value: 1500}, {From: 3, OfRevenue: e.Offer.OfRevenue * 3, Value: 2000}}
		}
		p.Earnings[i] = e
	}
	if r.IntN(3) == 0 {
		p.Total = int64(1 + r.IntN(4))
	}
	if r.IntN(3) == 0 {
		p.InPeriod, p.Period = int64(1+r.IntN(3)), core.Time(1+r.IntN(30))
	}
	return p
}

func TestCondition_Words(t *testing.T) {
	for text, want := range map[string]string{
		"revenue >= 50": "revenue is at least 50", "revenue <= 50.00": "revenue is at most 50.00", "n > 1": "n is more than 1", "n < 1": "n is less than 1",
		"currency = USD": "currency is USD", "plan != free": "plan is not free", "plan in (pro, team)": "plan is pro or team", "plan not in (a, \"b, c\")": "plan is not a or \"b, c\"",
	} {
		c, err := ParseCondition("", text)
		if got := c.Words(); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// A letter whose capital is of ASCII makes no code: neither a file nor an order may read it as one.
func TestCurrency_OtherLetters(t *testing.T) {
	for sent, reads := range map[string]bool{"idr": true, " Usd ": true, "\u0131dr": false, "u\u017fd": false} {
		_, fault := readCurrency(Event{Currency: sent}, Plan{})
		field, _ := Unreadable(Event{Currency: sent})
		if (fault == "") != reads || (field == "") != reads {
			t.Errorf("%q: fault %q, unreadable field %q", sent, fault, field)
		}
	}
}

// A text about a value stays short, also if the value is long and no whole character ends at the
// limit.
func TestShown(t *testing.T) {
	for value, want := range map[string]string{
		"$20": `"$20"`, strings.Repeat("x", 500): `"` + strings.Repeat("x", 40) + `…"`, "x" + strings.Repeat("é", 30): `"x` + strings.Repeat("é", 19) + `…"`,
	} {
		if got := shown(value); got != want {
			t.Errorf("%q is shown as %s", value, got)
		}
	}
}
