package reward

import (
	"fmt"
	"slices"
	"testing"

	"kith/core"
)

// owing returns the reward of an order, created at a time, that owes an amount.
func owing(t *testing.T, id string, created core.Time, amount int64) Reward {
	t.Helper()
	g := credit(1000)
	g.Order = id
	r, _, err := g.Begin(id, created)
	if err != nil {
		t.Fatal(err)
	}
	if r, _, err = r.Redeem(1000, created); err != nil {
		t.Fatal(err)
	}
	r, _ = r.Reverse(amount, created)
	return r
}

func TestSettleDebts(t *testing.T) {
	pending := begin(t, scheduled(now+50))
	pending.ID = "p"
	unrecorded := begin(t, scheduled(now+1))
	unrecorded.ID = "q"
	discount := begin(t, credit(1000))
	discount.ID, discount.Offer = "d", Offer{Kind: PercentDiscount, Percent: 1000, Unit: "%"}
	for _, c := range []struct {
		what    string
		rewards []Reward
		entries string
		left    map[string]int64
	}{
		{"no debt", credits(t, 10, 20), "", nil},
		{"no credit", []Reward{owing(t, "x", now, 10)}, "", nil},
		{"a part of a credit", append(credits(t, 30), owing(t, "x", now, 10)), "a -10, x 10", map[string]int64{"a": 20, "x": 0}},
		{"a part of a debt", append(credits(t, 30), owing(t, "x", now, 100)), "a -30, x 30", map[string]int64{"a": 0, "x": -70}},
		{"an equal debt", append(credits(t, 30, 5), owing(t, "x", now, 30)), "a -30, x 30", map[string]int64{"a": 0, "x": 0}},
		{"the oldest debt first, with the credit that expires first", append([]Reward{owing(t, "y", now+2, 10), owing(t, "z", now+1, 15), owing(t, "x", now+2, 40)}, credits(t, 20, 5, 30)...),
			"a -15, z 15, a -5, x 5, b -5, x 5, c -30, x 30", map[string]int64{"a": 0, "b": 0, "c": 0, "x": 0, "z": 0}},
		{"what is not given, or is no credit, settles nothing", []Reward{owing(t, "x", now, 10), pending, unrecorded, discount}, "", nil},
	} {
		before := slices.Clone(c.rewards)
		changed, entries := SettleDebts(c.rewards, now+5)
		text := ""
		for i, e := range entries {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprint(e.Reward, " ", e.Amount)
			if e.Action != ActionSettle || e.At != now+5 || e.Unit != "POINT" {
				t.Errorf("%s: %+v", c.what, e)
			}
		}
		left := map[string]int64{}
		for _, r := range changed {
			left[r.ID] = r.Left()
			agreeWithSettlement(t, r)
		}
		if text != c.entries || len(left) != len(c.left) {
			t.Errorf("%s: %s leaves %v; want %s, %v", c.what, text, left, c.entries, c.left)
		}
		for id, want := range c.left {
			if left[id] != want {
				t.Errorf("%s: %v, want %v", c.what, left, c.left)
			}
		}
		if !slices.EqualFunc(before, c.rewards, func(a, b Reward) bool { return a.ID == b.ID && a.Sums == b.Sums }) {
			t.Errorf("%s: changed its argument", c.what)
		}
	}
}

func agreeWithSettlement(t *testing.T, r Reward) {
	t.Helper()
	if r.Sums.Settled == 0 || r.Sums.Settled < -r.Sums.Redeemed || r.Sums.Settled > r.Offer.Value() {
		t.Errorf("%+v", r)
	}
}

// A credit that settled a debt is REDEEMED when nothing is left, and a settled debt that
// turns out to be none is available again.
func TestSettleDebts_Status(t *testing.T) {
	changed, _ := SettleDebts([]Reward{owing(t, "x", now, 30), begin(t, credit(30))}, now+1)
	paying, paid := changed[0], changed[1]
	if paying.Status(now+1) != StatusRedeemed || paid.Status(now+1) != StatusRedeemed || paying.Available(now+1)+paid.Available(now+1) != 0 {
		t.Errorf("%+v, %+v", paying, paid)
	}
	if paid, _ = paid.Reverse(10, now+2); paid.Status(now+2) != StatusAvailable || paid.Available(now+2) != 20 {
		t.Errorf("%+v", paid)
	}
	if paying, _ = paying.Reverse(30, now+3); paying.Debt() != 30 {
		t.Errorf("a credit that was used for a debt and is taken back: %+v", paying)
	}
}

// Owners earn, redeem and are refunded in any order: a settlement moves no amount that
// is not there, changes no owner's sum, and leaves either no debt or no credit.
func TestSettleDebts_Walk(t *testing.T) {
	moved := 0
	for run := range int64(1500) {
		s := sequence(run)
		var all []*after
		at := now
		for step := range 60 {
			at += core.Time(s.draw(3))
			if len(all) < 8 && s.draw(4) == 0 {
				g := credit(1 + s.draw(30))
				if s.draw(2) == 0 {
					g.Scheduled = at + core.Time(s.draw(20))
				}
				if s.draw(2) == 0 {
					g.Expires = max(at, g.Scheduled) + 1 + core.Time(s.draw(60))
				}
				g.Order = fmt.Sprint(step)
				r, entries, err := g.Begin(fmt.Sprint("r", step), at)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, &after{r, entries})
			} else if len(all) > 0 {
				actOnOrder(&s, all[s.draw(int64(len(all)))], at)
			}
			var rewards []Reward
			var before, sum int64
			for _, a := range all {
				rewards, before = append(rewards, a.Reward), before+a.Available(at)
			}
			changed, entries := SettleDebts(rewards, at)
			debts, credits := int64(0), int64(0)
			for _, a := range all {
				if i := slices.IndexFunc(changed, func(r Reward) bool { return r.ID == a.ID }); i >= 0 {
					a.did(changed[i], slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Reward != a.ID })...)
				}
				agreeWithDebts(t, a.Reward, a.ledger)
				sum, debts, credits = sum+a.Available(at), debts+a.Debt(), credits+a.Spendable(at)
			}
			if sum != before || debts > 0 && credits > 0 {
				t.Fatalf("run %d: %d, then %d; %d owed and %d to spend", run, before, sum, debts, credits)
			}
			moved += len(entries)
		}
	}
	if moved < 1000 {
		t.Errorf("only %d movements", moved)
	}
}
