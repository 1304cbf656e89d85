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
		changed, entries, err := d.Spread(from, 60, now+1)
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
		_, entries, err := Draw{Unit: "POINT", Amount: amount}.Spread(credits(t, 10, 20, 30), 60, now)
		refused(t, "amount", err)
		if entries != nil {
			t.Errorf("%d: %+v", amount, entries)
		}
	}
	// Credits with less than the available amount are an internal error.
	for _, from := range [][]Reward{credits(t, 10), nil} {
		if _, _, err := (Draw{Unit: "POINT", Amount: 20}).Spread(from, 60, now); err == nil || err.(*core.Error).Code != core.CodeInternal {
			t.Errorf("%v: %v", from, err)
		}
	}
}

func TestDraw_Of(t *testing.T) {
	r := begin(t, credit(10))
	after, entry, err := Draw{Unit: "POINT", Amount: 4, Key: "key-of-it"}.Of(r, now)
	if err != nil || after.Left() != 6 || entry.Key != "key-of-it" {
		t.Errorf("%+v, %+v, %v", after, entry, err)
	}
	_, _, err = Draw{Unit: "CENTS", Amount: 4}.Of(r, now)
	refused(t, "unit", err)
	r.Offer.Kind = FuelTank
	_, _, err = Draw{Unit: "POINT", Amount: 4}.Of(r, now)
	refused(t, "id", err)
}
