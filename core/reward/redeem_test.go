package reward

import (
	"slices"
	"testing"

	"kith/core"
)

// credits returns rewards of the given amounts that expire one after another.
func credits(t *testing.T, amounts ...int64) (all []Reward) {
	t.Helper()
	for i, amount := range amounts {
		g := credit(amount)
		g.Expires = now + 100 + core.Time(i)
		r := begin(t, g)
		r.ID = string(rune('a' + i))
		all = append(all, r)
	}
	return all
}

func TestSooner(t *testing.T) {
	r := func(id string, expires, given core.Time) Reward {
		return Reward{ID: id, Expires: expires, Given: given}
	}
	want := []Reward{r("x", 5, 9), r("b", 7, 1), r("a", 7, 2), r("c", 7, 2), r("y", 0, 1), r("z", 0, 3)}
	got := []Reward{want[5], want[3], want[0], want[4], want[2], want[1]}
	slices.SortFunc(got, Sooner)
	for i := range want {
		if got[i].ID != want[i].ID {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
}

func TestDraw_Spread(t *testing.T) {
	for _, c := range []struct {
		amount int64
		left   []int64
	}{{1, []int64{9, 20, 30}}, {10, []int64{0, 20, 30}}, {11, []int64{0, 19, 30}}, {60, []int64{0, 0, 0}}} {
		from := credits(t, 10, 20, 30)
		d := Draw{Account: "a", Unit: "POINT", Amount: c.amount, Key: "key-of-it"}
		changed, entries, err := d.Spread(Drawable{Credits: from, Available: 60}, now+1)
		if err != nil || len(changed) != len(entries) {
			t.Fatalf("%d: %v, %v, %v", c.amount, changed, entries, err)
		}
		var taken int64
		for i, e := range entries {
			taken -= e.Amount
			if e.Reward != from[i].ID || e.Action != ActionRedeem || e.Key != "key-of-it" || e.At != now+1 {
				t.Errorf("%d: %+v", c.amount, e)
			}
			from[i] = changed[i]
		}
		for i, left := range c.left {
			if from[i].Left() != left {
				t.Errorf("%d: %d is left of %d, want %d", c.amount, from[i].Left(), i, left)
			}
		}
		if taken != c.amount {
			t.Errorf("%d: took %d", c.amount, taken)
		}
	}
}

func TestDraw_SpreadRefused(t *testing.T) {
	for _, amount := range []int64{-1, 0, 61} {
		_, entries, err := Draw{Unit: "POINT", Amount: amount}.Spread(Drawable{Credits: credits(t, 10, 20, 30), Available: 60}, now)
		refused(t, "amount", err)
		if entries != nil {
			t.Errorf("%d: %+v", amount, entries)
		}
	}
	// Credits with less than the available amount are an internal error.
	for _, from := range [][]Reward{credits(t, 10), nil} {
		if _, _, err := (Draw{Unit: "POINT", Amount: 20}).Spread(Drawable{Credits: from, Available: 60}, now); err == nil || err.(*core.Error).Code != core.CodeInternal {
			t.Errorf("%v: %v", from, err)
		}
	}
}

// A draw must name a currency if the credit has several.
func TestDraw_Currency(t *testing.T) {
	from := func(first, last string) Drawable {
		return Drawable{Credits: credits(t, 10), Available: 10, Currencies: [2]string{first, last}}
	}
	for _, c := range []struct {
		d    Draw
		from Drawable
		want string
	}{
		{Draw{User: "u"}, from("", ""), ""},
		{Draw{User: "u"}, from("EUR", "EUR"), ""},
		{Draw{User: "u", Currency: "EUR"}, from("EUR", "EUR"), ""},
		{Draw{User: "u"}, from("EUR", "USD"), "must be given: this user has credit in EUR and USD"},
		{Draw{}, from("EUR", "USD"), "must be given: this account has credit in EUR and USD"},
	} {
		c.d.Unit, c.d.Amount = "POINT", 4
		_, entries, err := c.d.Spread(c.from, now)
		if c.want == "" && (err != nil || len(entries) != 1) {
			t.Errorf("%+v: %v, %v", c.d, entries, err)
		}
		if c.want != "" {
			refused(t, "currency", err)
			if entries != nil || err.(*core.Error).Message != c.want {
				t.Errorf("%+v: %v, %v", c.d, entries, err)
			}
		}
	}
	g := credit(10)
	for currency, ok := range map[string]bool{"": true, "EUR": false, "USD": true} {
		g.Offer.Currency = "USD"
		_, _, err := Draw{Unit: "POINT", Currency: currency, Amount: 4}.Of(begin(t, g), 100, now)
		if ok != (err == nil) {
			t.Errorf("%q: %v", currency, err)
		}
		g.Offer.Currency = ""
		if _, _, err := (Draw{Unit: "POINT", Currency: currency, Amount: 4}).Of(begin(t, g), 100, now); err != nil {
			t.Errorf("%q of a reward without one: %v", currency, err)
		}
	}
	_, _, err := Draw{Unit: "POINT", Amount: 1}.Spread(Drawable{Available: -5}, now)
	refused(t, "amount", err)
	if err.(*core.Error).Message != "nothing is available: 5 POINT of refunded orders are owed" {
		t.Error(err)
	}
}

// An amount without a currency belongs to the only currency of its owner.
func TestPurse(t *testing.T) {
	var p Purse
	if got := p.Of("USD"); got != (Money{}) {
		t.Error(got)
	}
	p = p.Add("USD", 5).Add("", 3).Add("USD", -7)
	for _, currency := range []string{"", "USD", "EUR"} {
		if got := p.Of(currency); got != (Money{"USD", 1}) {
			t.Errorf("%q: %+v", currency, got)
		}
	}
	more := p.Add("EUR", 10)
	for currency, want := range map[string]int64{"": 3, "USD": -2, "EUR": 10, "GBP": 0} {
		if got := more.Of(currency); got != (Money{currency, want}) {
			t.Errorf("%q: %+v", currency, got)
		}
	}
	if len(p) != 2 || p[0].Available != -2 {
		t.Errorf("the purse changed: %+v", p)
	}
}

func TestDraw_Of(t *testing.T) {
	r := begin(t, credit(10))
	after, entry, err := Draw{Unit: "POINT", Amount: 4, Key: "key-of-it"}.Of(r, 100, now)
	if err != nil || after.Left() != 6 || entry.Key != "key-of-it" {
		t.Errorf("%+v, %+v, %v", after, entry, err)
	}
	for _, available := range []int64{3, -3} {
		same, entry, err := Draw{Unit: "POINT", Amount: 4}.Of(r, available, now)
		if refused(t, "amount", err); same.Left() != 10 || !entry.None() {
			t.Errorf("more than the owner has: %+v, %+v", same, entry)
		}
	}
	_, _, err = Draw{Unit: "CENTS", Amount: 4}.Of(r, 100, now)
	refused(t, "unit", err)
	r.Offer.Kind = FuelTank
	_, _, err = Draw{Unit: "POINT", Amount: 4}.Of(r, 100, now)
	refused(t, "id", err)
}
