package reward

import (
	"fmt"
	"strings"
	"testing"

	"kith/core"
)

// after is a reward and its ledger after some steps.
type after struct {
	Reward
	ledger []Entry
}

// orderOf returns the reward of an order, worth value.
func orderOf(t *testing.T, g Grant) *after {
	t.Helper()
	g.Order = "o-1"
	r, entries, err := g.Begin("r", now)
	if err != nil {
		t.Fatal(err)
	}
	return &after{r, entries}
}

func (a *after) did(r Reward, entries ...Entry) {
	a.Reward = r
	for _, e := range entries {
		if !e.None() {
			a.ledger = append(a.ledger, e)
		}
	}
}

// entries returns the entries after the grant, such as "redeem -400".
func (a *after) entries() string {
	var all []string
	for _, e := range a.ledger[1:] {
		all = append(all, fmt.Sprint(e.Action, " ", e.Amount))
	}
	return strings.Join(all, ", ")
}

// do performs steps such as "redeem 400" at now plus the number of the step.
func (a *after) do(t *testing.T, steps string) {
	t.Helper()
	at := now
	for step := range strings.SplitSeq(steps, ", ") {
		at++
		var what string
		var n int64
		if _, err := fmt.Sscan(step+" 0", &what, &n); err != nil {
			t.Fatal(step, err)
		}
		var entry Entry
		var err error
		r := a.Reward
		switch what {
		case "redeem":
			r, entry, err = r.Redeem(n, at)
		case "expire":
			r, entry, err = r.Expire(at)
		case "cancel":
			r, entry, err = r.Cancel(at)
		case "reverse":
			r, entry = r.Reverse(n, at)
		case "adjust":
			var entries []Entry
			r, entries = r.Adjust(n, r.Scheduled, at)
			a.did(r, entries...)
			continue
		case "deny", "approve", "hold":
			var entries []Entry
			r, entries = r.Moderate(map[string]Moderation{"deny": ModerationDenied, "approve": ModerationApproved, "hold": ModerationPending}[what], at)
			a.did(r, entries...)
			continue
		default:
			t.Fatal("no such step: " + step)
		}
		if err != nil {
			t.Fatal(step, err)
		}
		a.did(r, entry)
	}
}

func TestReward_ReverseAndAdjust(t *testing.T) {
	for _, c := range []struct {
		steps, entries string
		left           int64
		status         Status
	}{
		{"reverse 300", "reverse -300", 700, StatusAvailable},
		{"reverse 300, reverse 300", "reverse -300", 700, StatusAvailable},
		{"reverse 300, reverse 500", "reverse -300, reverse -200", 500, StatusAvailable},
		{"reverse 500, reverse 300", "reverse -500, reverse 200", 700, StatusAvailable},
		{"reverse 2000", "reverse -1000", 0, StatusCancelled},
		{"reverse -1", "", 1000, StatusAvailable},
		{"reverse 1000, reverse 0", "reverse -1000, reverse 1000", 1000, StatusAvailable},
		{"redeem 400, reverse 600", "redeem -400, reverse -600", 0, StatusRedeemed},
		{"redeem 400, reverse 700", "redeem -400, reverse -700", -100, StatusRedeemed},
		{"redeem 1000, reverse 1000", "redeem -1000, reverse -1000", -1000, StatusRedeemed},
		{"redeem 1000, reverse 500, reverse 0", "redeem -1000, reverse -500, reverse 500", 0, StatusRedeemed},
		// What has expired or was cancelled is not taken twice.
		{"redeem 400, expire, reverse 500", "redeem -400, expire -600", 0, StatusExpired},
		{"redeem 400, expire, reverse 700", "redeem -400, expire -600, reverse -100", -100, StatusExpired},
		{"redeem 400, expire, reverse 700, reverse 0", "redeem -400, expire -600, reverse -100, reverse 100", 0, StatusExpired},
		{"redeem 400, cancel, reverse 700", "redeem -400, cancel -600, reverse -100", -100, StatusCancelled},
		{"redeem 400, reverse 500, expire, reverse 500", "redeem -400, reverse -500, expire -100", 0, StatusExpired},
		{"redeem 400, reverse 500, expire, reverse 700", "redeem -400, reverse -500, expire -100, reverse -100", -100, StatusExpired},
		{"redeem 400, reverse 500, expire, reverse 0", "redeem -400, reverse -500, expire -100", 0, StatusExpired},
		// A moderation restores what the refunds leave.
		{"deny, reverse 300, approve", "cancel -1000, restore 1000, reverse -300", 700, StatusAvailable},
		{"reverse 300, deny, reverse 0, approve", "reverse -300, cancel -700, restore 700, reverse 300", 1000, StatusAvailable},
		{"reverse 1000, deny, reverse 0", "reverse -1000", 0, StatusCancelled},
		{"reverse 1000, deny, reverse 0, approve", "reverse -1000, reverse 1000", 1000, StatusAvailable},
		{"reverse 1000, hold, reverse 0", "reverse -1000, hold 0, reverse 1000", 1000, StatusPending},
		{"reverse 1000, deny, approve", "reverse -1000", 0, StatusCancelled},
		{"redeem 400, deny, reverse 900, approve", "redeem -400, cancel -600, reverse -300, restore 600, reverse -600", -300, StatusRedeemed},

		{"adjust 1500", "adjust 500", 1500, StatusAvailable},
		{"adjust 1000", "", 1000, StatusAvailable},
		{"adjust 400", "adjust -600", 400, StatusAvailable},
		{"adjust 0", "adjust -1000", 0, StatusCancelled},
		{"adjust -5", "adjust -1000", 0, StatusCancelled},
		{"adjust 0, adjust 700", "adjust -1000, adjust 700", 700, StatusAvailable},
		{"redeem 400, adjust 300", "redeem -400, adjust -700", -100, StatusRedeemed},
		{"redeem 400, adjust 0", "redeem -400, adjust -1000", -400, StatusCancelled},
		{"redeem 400, adjust 0, adjust 1000", "redeem -400, adjust -1000, adjust 1000", 600, StatusAvailable},
		{"reverse 800, adjust 500", "reverse -800, adjust -500, reverse 300", 0, StatusCancelled},
		{"reverse 500, adjust 800, reverse 400", "reverse -500, adjust -200, reverse 100", 400, StatusAvailable},
		// Of an ended reward nothing is left either.
		{"redeem 400, expire, adjust 1500", "redeem -400, expire -600, adjust 500, expire -500", 0, StatusExpired},
		{"redeem 400, expire, adjust 700", "redeem -400, expire -600, adjust -300, expire 300", 0, StatusExpired},
		{"redeem 400, expire, adjust 300", "redeem -400, expire -600, adjust -700, expire 600", -100, StatusRedeemed},
		{"redeem 400, cancel, adjust 300", "redeem -400, cancel -600, adjust -700, cancel 600", -100, StatusCancelled},
		{"cancel, adjust 0, adjust 500", "cancel -1000, adjust -1000, cancel 1000, adjust 500, cancel -500", 0, StatusCancelled},
		{"adjust 0, deny, adjust 500", "adjust -1000, adjust 500, cancel -500", 0, StatusCancelled},
		{"adjust 0, deny, adjust 500, approve", "adjust -1000, adjust 500, cancel -500, restore 500", 500, StatusAvailable},
		{"deny, adjust 0, approve", "cancel -1000, adjust -1000, cancel 1000", 0, StatusCancelled},
		{"deny, adjust 0, approve, adjust 500", "cancel -1000, adjust -1000, cancel 1000, adjust 500", 500, StatusAvailable},
	} {
		a := orderOf(t, credit(1000))
		a.do(t, c.steps)
		if a.entries() != c.entries || a.Left() != c.left || a.Status(now+50) != c.status {
			t.Errorf("%s: %d %s by %s; want %d %s by %s", c.steps, a.Left(), a.Status(now+50), a.entries(), c.left, c.status, c.entries)
		}
		agreeWithDebts(t, a.Reward, a.ledger)
	}
}

// Only credit becomes a debt, and only a percentage can be divided.
func TestReward_ReverseOtherKinds(t *testing.T) {
	discount, tank, gift := credit(0), credit(1000), credit(1000)
	discount.Offer = Offer{Kind: PercentDiscount, Percent: 1000}
	tank.Offer.Kind, tank.FuelTankCode, tank.FuelTankType = FuelTank, "C", Credit
	gift.Offer.Kind, gift.Fixed = Integration, true
	for _, c := range []struct {
		what           string
		g              Grant
		steps, entries string
		left           int64
		status         Status
	}{
		{"discount", discount, "reverse 250", "", 1000, StatusAvailable},
		{"discount", discount, "reverse 1000", "reverse -1000", 0, StatusCancelled},
		{"discount", discount, "redeem 1000, reverse 250", "redeem -1000", 0, StatusRedeemed},
		{"discount", discount, "redeem 1000, adjust 500", "redeem -1000", 0, StatusRedeemed},
		{"discount", discount, "adjust 20000", "adjust 9000", 10000, StatusAvailable},
		{"tank", tank, "reverse 999", "", 1000, StatusAvailable},
		{"tank", tank, "reverse 1000", "reverse -1000", 0, StatusCancelled},
		{"tank", tank, "redeem 1000, reverse 1000", "redeem -1000", 0, StatusRedeemed},
		{"tank", tank, "adjust 0, adjust 1000", "adjust -1000, adjust 1000", 1000, StatusAvailable},
		{"gift", gift, "reverse 999", "", 1000, StatusAvailable},
		{"gift", gift, "reverse 1000, reverse 500", "reverse -1000, reverse 1000", 1000, StatusAvailable},
		{"gift", gift, "redeem 400, reverse 1000", "redeem -400, reverse -600", 0, StatusRedeemed},
		{"gift", gift, "redeem 400, reverse 1000, adjust 700", "redeem -400, reverse -600, adjust -300, reverse 300", 0, StatusRedeemed},
	} {
		a := orderOf(t, c.g)
		a.do(t, c.steps)
		if a.entries() != c.entries || a.Left() != c.left || a.Status(now+50) != c.status {
			t.Errorf("%s, %s: %d %s by %s; want %d %s by %s", c.what, c.steps, a.Left(), a.Status(now+50), a.entries(), c.left, c.status, c.entries)
		}
		agreeWithDebts(t, a.Reward, a.ledger)
	}
}

// The date of giving changes only until the reward is given, and the expiry with it.
func TestReward_AdjustChangesTheDate(t *testing.T) {
	g := scheduled(now + 20)
	g.Expires = now + 100
	r, entries := begin(t, g).Adjust(10, now+30, now+5)
	if len(entries) != 0 || r.Scheduled != now+30 || r.Given != now+30 || r.Expires != now+110 || r.Status(now+29) != StatusPending {
		t.Errorf("later: %+v, %+v", r, entries)
	}
	r, entries = r.Adjust(15, now+2, now+6)
	if len(entries) != 1 || r.Scheduled != now+2 || r.Given != now+6 || r.Expires != now+82 || r.Status(now+6) != StatusAvailable {
		t.Errorf("now: %+v, %+v", r, entries)
	}
	if again, entries := r.Adjust(15, now+2, now+8); len(entries) != 0 || again.Given != now+6 {
		t.Errorf("again: %+v, %+v", again, entries)
	}
	r, _ = r.Give(now + 9)
	if after, _ := r.Adjust(15, now+90, now+10); after.Scheduled != now+2 || after.Expires != now+82 {
		t.Errorf("after it was given: %+v", after)
	}
	waits := held()
	waits.Scheduled = now + 20
	r, _ = begin(t, waits).Adjust(10, now+40, now+5)
	if r, _, _ = r.Release(now + 6); r.Given != now+40 {
		t.Errorf("held: %+v", r)
	}
}

// A reward that its order does not earn at its date is not given until it is earned.
func TestReward_AdjustedToNothingIsNotGiven(t *testing.T) {
	for what, take := range map[string]func(Reward, core.Time) Reward{
		"adjusted": func(r Reward, at core.Time) Reward { r, _ = r.Adjust(0, r.Scheduled, at); return r },
		"reversed": func(r Reward, at core.Time) Reward { r, _ = r.Reverse(10, at); return r },
	} {
		r := take(begin(t, scheduled(now+20)), now+5)
		if _, entry := r.Settle(now + 30); !entry.None() || r.Status(now+30) != StatusCancelled || r.Available(now+30) != 0 {
			t.Errorf("%s: %+v", what, entry)
		}
		r, _ = r.Adjust(10, r.Scheduled, now+31)
		r, _ = r.Reverse(0, now+31)
		if r, entry := r.Settle(now + 32); entry.Action != ActionRelease || r.Status(now+32) != StatusAvailable {
			t.Errorf("%s: given again: %+v, %+v", what, r, entry)
		}
	}
}

// After any actions in any order: the balance of a ledger equals the amount left of its
// reward, the sums are those of the entries, no more is taken back than the value, only
// refunds and corrections make a debt, and a repeated refund changes nothing.
func TestReverse_Walk(t *testing.T) {
	seen := map[Status]int{}
	debts, moved := 0, 0
	for run := range int64(4000) {
		s := sequence(run)
		g := credit(1 + s.draw(30))
		switch s.draw(5) {
		case 0:
			g.Offer.Kind, g.Fixed = Integration, true
		case 1:
			g.Offer = Offer{Kind: PercentDiscount, Percent: BasisPoints(g.Offer.Amount)}
		}
		if s.draw(2) == 0 {
			g.Scheduled = now + core.Time(s.draw(20))
		}
		if s.draw(2) == 0 {
			g.Expires = max(now, g.Scheduled) + 1 + core.Time(s.draw(30))
		}
		g.Held = s.draw(4) == 0
		a := orderOf(t, g)
		at := now
		for range 30 {
			at += core.Time(s.draw(4))
			before := a.Reward
			reversed := actOnOrder(&s, a, at)
			agreeWithDebts(t, a.Reward, a.ledger)
			if again, entry := a.Reverse(a.Refunded, at); reversed && (!entry.None() || again.Sums != a.Sums) {
				t.Fatalf("run %d: a repeated refund changes %+v by %+v", run, a.Reward, entry)
			}
			if caught := a.AsOf(at); caught.Recorded() != a.Available(at) || caught.Status(at) != a.Status(at) {
				t.Fatalf("run %d: %+v is shown as %+v", run, a.Reward, caught)
			}
			if a.Debt() > before.Debt() && a.Sums.Reversed <= before.Sums.Reversed && a.Offer.Value() >= before.Offer.Value() {
				t.Fatalf("run %d: a debt without a refund: %+v, then %+v", run, before, a.Reward)
			}
			seen[a.Status(at)]++
			if a.Debt() > 0 {
				debts++
			}
			if a.Offer.Value() != before.Offer.Value() {
				moved++
			}
		}
		// Whatever has happened, the refund of the whole order leaves nothing, and the
		// owner owes what was redeemed.
		r, _ := a.Reverse(a.Offer.Value(), at)
		owed := r.Sums.Redeemed
		if r.Offer.Kind != Credit {
			owed = 0
		}
		if r.Left() > 0 || r.Debt() != owed {
			t.Fatalf("run %d: after a full refund: %+v", run, r)
		}
	}
	if len(seen) != 5 || debts < 1000 || moved < 1000 {
		t.Errorf("the walk reached statuses %v, %d debts and %d corrections", seen, debts, moved)
	}
}

// actOnOrder performs one random action on the reward of an order, and reports whether
// it was a refund.
func actOnOrder(s *sequence, a *after, at core.Time) (reversed bool) {
	value := a.Offer.Value()
	switch s.draw(8) {
	case 0, 1:
		r, entry := a.Reverse(s.draw(value+2), at)
		a.did(r, entry)
		return true
	case 2:
		before := a.Scheduled
		if s.draw(2) == 0 {
			before += core.Time(s.draw(5))
		}
		r, entries := a.Adjust([]int64{0, value, s.draw(30), value / 2}[s.draw(4)], before, at)
		a.did(r, entries...)
	case 3:
		r, entries := a.Moderate([]Moderation{ModerationApproved, ModerationPending, ModerationDenied}[s.draw(3)], at)
		a.did(r, entries...)
	case 4:
		r, entry := a.Settle(at)
		a.did(r, entry)
	default:
		r, entry := act(s, a.Reward, at)
		a.did(r, entry)
	}
	return false
}

// agreeWithDebts checks that a reward's fields match those computed from its entries.
func agreeWithDebts(t *testing.T, r Reward, ledger []Entry) {
	t.Helper()
	var balance, value, holds int64
	var sums Sums
	for _, e := range ledger {
		balance += e.Amount
		switch e.Action {
		case ActionGrant, ActionAdjust:
			value += e.Amount
		case ActionHold:
			holds++
		case ActionRelease:
			holds--
		case ActionRedeem:
			sums.Redeemed -= e.Amount
		case ActionExpire:
			sums.Expired -= e.Amount
		case ActionCancel, ActionRestore:
			sums.Cancelled -= e.Amount
		case ActionReverse:
			sums.Reversed -= e.Amount
		case ActionSettle:
			sums.Settled -= e.Amount
		}
	}
	if balance != r.Left() || value != r.Offer.Value() || sums != r.Sums || r.Pending != (holds == 1) || holds < 0 || holds > 1 {
		t.Fatalf("%+v does not agree with %+v", r, ledger)
	}
	taken := sums.Expired + sums.Cancelled + sums.Reversed
	if min(sums.Redeemed, sums.Expired, sums.Cancelled, sums.Reversed) < 0 || taken > value || sums.Settled < -sums.Redeemed ||
		r.Refunded < 0 || r.Refunded > value || sums.Cancelled > 0 && r.Cancelled == 0 || sums.Expired > 0 && r.Expires == 0 ||
		r.Offer.Kind != Credit && (r.Debt() > 0 || sums.Settled != 0) {
		t.Fatalf("%+v breaks a rule of the schema, after %+v", r, ledger)
	}
}
