package reward

import (
	"strconv"
	"strings"
	"testing"

	"kith/core"
)

const now core.Time = 1000

func credit(amount int64) Grant {
	return Grant{Account: "a", User: "u", Source: Manual, Offer: Offer{Kind: Credit, Amount: amount, Unit: "POINT"}}
}

func begin(t *testing.T, g Grant) Reward {
	t.Helper()
	r, _, err := g.Begin("r", now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGrant_Begin(t *testing.T) {
	g := credit(10)
	r, entries, err := g.Begin("r", now)
	if err != nil || r.Status(now) != StatusAvailable || r.Given != now || !r.Cancellable || r.Pending {
		t.Errorf("immediately: %+v, %v", r, err)
	}
	if len(entries) != 1 || entries[0] != (Entry{Reward: "r", Action: ActionGrant, Amount: 10, Unit: "POINT", At: now}) {
		t.Errorf("immediately: %+v", entries)
	}
	later := g
	later.Scheduled = now + 5
	held := g
	held.Held = true
	for name, g := range map[string]Grant{"later": later, "held": held} {
		r, entries, err := g.Begin("r", now)
		if err != nil || r.Status(now) != StatusPending || !r.Pending || r.Available(now) != 0 || r.Left() != 10 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if len(entries) != 2 || entries[1] != (Entry{Reward: "r", Action: ActionHold, Unit: "POINT", At: now}) {
			t.Errorf("%s: %+v", name, entries)
		}
	}
	elsewhere := g
	elsewhere.Given, elsewhere.Expires = now-500, now-5
	if r := begin(t, elsewhere); r.Given != now-500 || r.Pending || r.Status(now) != StatusExpired || r.Status(now-6) != StatusAvailable {
		t.Errorf("given and expired elsewhere: %+v", r)
	}
	past := g
	past.Scheduled = now - 5
	if r := begin(t, past); r.Given != now || r.Pending {
		t.Errorf("a past date does not count as now: %+v", r)
	}
}

func TestGrant_Refused(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*Grant)
	}{
		{"assignedCredit", func(g *Grant) { g.Offer.Amount = 0 }},
		{"assignedCredit", func(g *Grant) { g.Offer.Amount = -1 }},
		{"assignedCredit", func(g *Grant) { g.Offer.Amount = MaxValue + 1 }},
		{"valueInCents", func(g *Grant) { g.Offer.Kind, g.Offer.Amount = Integration, 0 }},
		{"amount", func(g *Grant) { g.Offer.Kind, g.FuelTankCode, g.Offer.Amount = FuelTank, "C", 0 }},
		{"discountPercent", func(g *Grant) { g.Offer.Kind = PercentDiscount }},
		{"discountPercent", func(g *Grant) { g.Offer.Kind, g.Offer.Percent = PercentDiscount, -1 }},
		{"discountPercent", func(g *Grant) { g.Offer.Kind, g.Offer.Percent = PercentDiscount, 10001 }},
		{"unit", func(g *Grant) { g.Offer.Unit = "%" }},
		{"unit", func(g *Grant) { g.Offer.Kind, g.Offer.Unit = Integration, "%" }},
		{"fuelTankCode", func(g *Grant) { g.Offer.Kind = FuelTank }},
		{"fuelTankCode", func(g *Grant) { g.FuelTankCode = "C" }},
	} {
		g := credit(10)
		c.change(&g)
		refused(t, c.field, func() error { _, _, err := g.Begin("r", now); return err }())
	}
	for _, change := range []func(*Grant){
		func(g *Grant) { g.Offer.Amount = MaxValue },
		func(g *Grant) { g.Offer.Kind, g.Offer.Percent = PercentDiscount, 10000 },
		func(g *Grant) { g.Offer.Kind, g.FuelTankCode, g.Offer.Unit = FuelTank, "C", "%" },
	} {
		g := credit(10)
		change(&g)
		begin(t, g)
	}
}

func TestGrant_CheckDates(t *testing.T) {
	refused(t, "dateExpires", Grant{Expires: now}.CheckDates(now))
	refused(t, "dateExpires", Grant{Scheduled: now + 9, Expires: now + 9}.CheckDates(now))
	for _, g := range []Grant{{}, {Expires: now + 1}, {Scheduled: now + 9, Expires: now + 10}, {Scheduled: 1}} {
		if err := g.CheckDates(now); err != nil {
			t.Errorf("%+v: %v", g, err)
		}
	}
}

func refused(t *testing.T, field string, err error) {
	t.Helper()
	if e, ok := err.(*core.Error); !ok || e.Code != core.CodeInvalid || e.Field != field {
		t.Errorf("%v, want an error about %s", err, field)
	}
}

func TestReward_Status(t *testing.T) {
	r := Reward{Offer: Offer{Kind: Credit, Amount: 10, Unit: "CENTS"}, Given: 50, Expires: 100}
	with := func(change func(*Reward)) Reward { changed := r; change(&changed); return changed }
	for _, c := range []struct {
		what   string
		r      Reward
		now    core.Time
		status Status
		can    int64
	}{
		{"before its date", r, 49, StatusPending, 0},
		{"on its date", r, 50, StatusAvailable, 10},
		{"a millisecond before it expires", r, 99, StatusAvailable, 10},
		{"when it expires", r, 100, StatusExpired, 0},
		{"held", with(func(r *Reward) { r.Held = true }), 60, StatusPending, 0},
		{"held until it expires", with(func(r *Reward) { r.Held = true }), 100, StatusExpired, 0},
		{"partly redeemed", with(func(r *Reward) { r.Sums.Redeemed = 4 }), 60, StatusAvailable, 6},
		{"partly redeemed, expired", with(func(r *Reward) { r.Sums.Redeemed = 4 }), 100, StatusExpired, 0},
		{"redeemed", with(func(r *Reward) { r.Sums.Redeemed = 10 }), 60, StatusRedeemed, 0},
		{"redeemed before it expired", with(func(r *Reward) { r.Sums.Redeemed = 10 }), 100, StatusRedeemed, 0},
		{"cancelled", with(func(r *Reward) { r.Cancelled, r.Sums.Cancelled = 55, 10 }), 60, StatusCancelled, 0},
		{"cancelled before it expired", with(func(r *Reward) { r.Cancelled, r.Sums.Cancelled = 55, 10 }), 100, StatusCancelled, 0},
		{"cancelled in part", with(func(r *Reward) { r.Cancelled, r.Sums = 55, Sums{Redeemed: 4, Cancelled: 6} }), 60, StatusCancelled, 0},
		{"expired in the ledger", with(func(r *Reward) { r.Sums.Expired = 10 }), 100, StatusExpired, 0},
		{"without an expiry", with(func(r *Reward) { r.Expires = 0 }), 1 << 60, StatusAvailable, 10},
	} {
		if status, can := c.r.Status(c.now), c.r.Available(c.now); status != c.status || can != c.can {
			t.Errorf("%s: %s with %d, want %s with %d", c.what, status, can, c.status, c.can)
		}
	}
}

func TestReward_Redeem(t *testing.T) {
	r := begin(t, credit(10))
	r, entry, err := r.Redeem(4, now+1)
	if err != nil || entry != (Entry{Reward: "r", Action: ActionRedeem, Amount: -4, Unit: "POINT", At: now + 1}) {
		t.Fatalf("%+v, %v", entry, err)
	}
	for amount, message := range map[int64]string{7: "is more than the 6 POINT that are available", 0: "must be 1 or more", -1: "must be 1 or more"} {
		_, entry, err := r.Redeem(amount, now)
		refused(t, "amount", err)
		if !strings.HasSuffix(err.Error(), message) || !entry.None() {
			t.Errorf("%d: %v, %+v", amount, err, entry)
		}
	}
	r, _, err = r.Redeem(6, now)
	if err != nil || r.Status(now) != StatusRedeemed {
		t.Errorf("%+v, %v", r, err)
	}
	_, _, err = r.Redeem(1, now)
	refused(t, "id", err)
}

func TestReward_Cancel(t *testing.T) {
	fixed := credit(10)
	fixed.Fixed = true
	r := begin(t, fixed)
	_, _, err := r.Cancel(now)
	refused(t, "id", err)
	r, entry := r.deny(now + 1)
	if entry.Action != ActionCancel || entry.Amount != -10 || r.Cancelled != now+1 || r.Cancellable {
		t.Errorf("a denial does not cancel a reward that is not cancellable: %+v, %+v", r, entry)
	}
	if _, entry := r.deny(now + 2); !entry.None() {
		t.Errorf("twice: %+v", entry)
	}

	part, _, _ := begin(t, credit(10)).Redeem(4, now)
	part, entry, err = part.Cancel(now)
	if err != nil || entry.Amount != -6 || part.Sums != (Sums{Redeemed: 4, Cancelled: 6}) || part.Status(now) != StatusCancelled {
		t.Errorf("partly redeemed: %+v, %+v, %v", part, entry, err)
	}
	_, _, err = part.Cancel(now)
	refused(t, "id", err)

	all, _, _ := begin(t, credit(10)).Redeem(10, now)
	_, _, err = all.Cancel(now)
	refused(t, "id", err)
	if after, entry := all.deny(now); !entry.None() || after.Status(now) != StatusRedeemed {
		t.Errorf("a redeemed reward changed: %+v", after)
	}
}

func TestReward_HoldAndRelease(t *testing.T) {
	r := begin(t, credit(10))
	r, entry, err := r.Hold(now)
	if err != nil || entry.Action != ActionHold || r.Status(now) != StatusPending {
		t.Errorf("%+v, %+v, %v", r, entry, err)
	}
	if _, entry, err := r.Hold(now); err != nil || !entry.None() {
		t.Errorf("held twice: %+v, %v", entry, err)
	}
	_, _, err = r.Redeem(1, now)
	refused(t, "id", err)
	r, entry, err = r.Release(now + 5)
	if err != nil || entry.Action != ActionRelease || r.Given != now || r.Available(now+5) != 10 {
		t.Errorf("%+v, %+v, %v", r, entry, err)
	}
	if again, entry, err := r.Release(now + 6); err != nil || !entry.None() || again.Given != now {
		t.Errorf("released twice: %+v, %+v, %v", again, entry, err)
	}

	later := credit(10)
	later.Scheduled, later.Held = now+50, true
	r = begin(t, later)
	r, entry, err = r.Release(now + 1)
	if err != nil || !entry.None() || r.Given != now+50 || r.Status(now+1) != StatusPending {
		t.Errorf("released before its date: %+v, %+v, %v", r, entry, err)
	}
	if _, entry := r.Give(now + 49); !entry.None() {
		t.Errorf("given before its date: %+v", entry)
	}
	r, entry = r.Give(now + 50)
	if entry.Action != ActionRelease || r.Pending {
		t.Errorf("given on its date: %+v, %+v", r, entry)
	}
}

func TestReward_Moderate(t *testing.T) {
	r := begin(t, credit(10))
	r, _, err := r.Redeem(4, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m       Moderation
		status  Status
		entries string
	}{
		{ModerationApproved, StatusAvailable, ""},
		{ModerationPending, StatusPending, "hold 0 "},
		{ModerationPending, StatusPending, ""},
		{ModerationApproved, StatusAvailable, "release 0 "},
		{ModerationPending, StatusPending, "hold 0 "},
		{ModerationDenied, StatusCancelled, "cancel -6 "},
		{ModerationDenied, StatusCancelled, ""},
		{ModerationApproved, StatusAvailable, "restore 6 release 0 "},
		{ModerationDenied, StatusCancelled, "cancel -6 "},
		{ModerationApproved, StatusAvailable, "restore 6 "},
		{ModerationDenied, StatusCancelled, "cancel -6 "},
		{ModerationPending, StatusPending, "restore 6 hold 0 "},
	} {
		var entries []Entry
		r, entries = r.Moderate(c.m, now)
		text := ""
		for _, e := range entries {
			if !e.None() {
				text += string(e.Action) + " " + strconv.FormatInt(e.Amount, 10) + " "
			}
		}
		if r.Status(now) != c.status || text != c.entries {
			t.Errorf("%s: %s by %q, want %s by %q", c.m, r.Status(now), text, c.status, c.entries)
		}
		if left := r.Left(); left != 6 && r.Status(now) != StatusCancelled || r.Denied != (r.Status(now) == StatusCancelled) {
			t.Errorf("%s: %d left of %+v", c.m, left, r)
		}
	}
}

// A moderation does not change a reward that a call cancelled or that expired.
func TestReward_ModerateEndedReward(t *testing.T) {
	cancelled, _, err := begin(t, credit(10)).Cancel(now)
	if err != nil {
		t.Fatal(err)
	}
	expired, _, err := begin(t, credit(10)).Expire(now)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []Reward{cancelled, expired} {
		for _, m := range []Moderation{ModerationDenied, ModerationApproved, ModerationPending} {
			after, entries := before.Moderate(m, now)
			for _, e := range entries {
				if !e.None() {
					t.Errorf("%s: %+v", m, e)
				}
			}
			if after.Status(now) != before.Status(now) || after.Sums != before.Sums || after.Denied {
				t.Errorf("%s: %+v", m, after)
			}
		}
	}
	g := credit(10)
	g.Expires = now + 10
	r, _ := begin(t, g).deny(now)
	if r, _ = r.Moderate(ModerationApproved, now+20); r.Status(now+20) != StatusExpired || r.Left() != 10 {
		t.Errorf("restored after its date: %+v", r)
	}
}

func TestReward_Expire(t *testing.T) {
	g := credit(10)
	g.Expires = now + 10
	r := begin(t, g)
	r, entry, err := r.Expire(now + 12)
	if err != nil || entry.Amount != -10 || r.Expires != now+10 || r.Sums.Expired != 10 {
		t.Errorf("%+v, %+v, %v", r, entry, err)
	}
	if _, entry, err := r.Expire(now + 13); err != nil || !entry.None() {
		t.Errorf("twice: %+v, %v", entry, err)
	}
	early, entry, err := begin(t, g).Expire(now + 2)
	if err != nil || entry.Amount != -10 || early.Expires != now+2 {
		t.Errorf("before its date: %+v, %+v, %v", early, entry, err)
	}
	gone, _, _ := begin(t, g).Cancel(now)
	_, _, err = gone.Expire(now)
	refused(t, "id", err)
}

// A reward is first given only once, however often it is held.
func TestReward_GivenSince(t *testing.T) {
	for _, c := range []struct {
		what  string
		g     Grant
		steps []func(Reward, core.Time) (Reward, Entry, error)
		at    int
	}{
		{"immediately", credit(10), []func(Reward, core.Time) (Reward, Entry, error){Reward.Hold, Reward.Release, Reward.Hold, Reward.Release}, 0},
		{"by a release", held(), []func(Reward, core.Time) (Reward, Entry, error){Reward.Release, Reward.Hold, Reward.Release}, 1},
		{"by its date", scheduled(now + 2), []func(Reward, core.Time) (Reward, Entry, error){give, give, give, Reward.Hold, Reward.Release}, 2},
		{"by its date after a hold", scheduled(now + 3), []func(Reward, core.Time) (Reward, Entry, error){Reward.Hold, Reward.Release, give, Reward.Hold, Reward.Release}, 3},
		{"after its date, by a release", scheduled(now + 2), []func(Reward, core.Time) (Reward, Entry, error){Reward.Hold, give, give, Reward.Release, Reward.Hold, Reward.Release}, 4},
	} {
		var before Reward
		r, at := begin(t, c.g), now
		for i := range len(c.steps) + 1 {
			if got := r.GivenSince(before); got != (i == c.at) {
				t.Errorf("%s, step %d: %v", c.what, i, got)
			}
			if i == len(c.steps) {
				break
			}
			before = r
			at++
			var err error
			if r, _, err = c.steps[i](r, at); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func held() Grant { g := credit(10); g.Held = true; return g }

func scheduled(at core.Time) Grant { g := credit(10); g.Scheduled = at; return g }

func give(r Reward, at core.Time) (Reward, Entry, error) {
	r, entry := r.Give(at)
	return r, entry, nil
}

// AsOf shows the changes of passed dates that are not in the ledger yet.
func TestReward_AsOf(t *testing.T) {
	g := scheduled(now + 10)
	g.Expires = now + 20
	r := begin(t, g)
	for at, want := range map[core.Time]struct {
		pending bool
		left    int64
	}{now + 9: {true, 10}, now + 10: {false, 10}, now + 19: {false, 10}, now + 20: {false, 0}} {
		if got := r.AsOf(at); got.Pending != want.pending || got.Left() != want.left || got.Recorded() != got.Available(at) {
			t.Errorf("%d: %+v", at, got)
		}
	}
}

// Every status, from every status. An ended reward does not change.
func TestReward_To(t *testing.T) {
	all := []Status{StatusPending, StatusAvailable, StatusRedeemed, StatusExpired, StatusCancelled}
	for _, from := range all {
		for _, to := range all {
			g := credit(10)
			g.Scheduled = now + 50
			r := begin(t, g)
			if from != StatusPending {
				r, _, _ = r.To(StatusAvailable, now+1)
			}
			if from != StatusPending && from != StatusAvailable {
				r, _, _ = r.To(from, now+2)
			}
			if r.Status(now+2) != from {
				t.Fatalf("%s: %+v", from, r)
			}
			after, _, err := r.To(to, now+3)
			moves := from == StatusAvailable || from == StatusPending && to != StatusRedeemed || from == StatusExpired && to == StatusExpired
			switch {
			case moves && (err != nil || after.Status(now+3) != to):
				t.Errorf("%s to %s: %s, %v", from, to, after.Status(now+3), err)
			case !moves:
				refused(t, "id", err)
				if after.Status(now+3) != from {
					t.Errorf("%s to %s: %+v", from, to, after)
				}
			}
		}
	}
}

// sequence is a pseudo-random generator with the same numbers in every run.
type sequence uint64

func (s *sequence) draw(n int64) int64 {
	*s = *s*6364136223846793005 + 1442695040888963407
	return int64(uint64(*s)>>33) % n
}

// After any actions in any order: the balance of a ledger is never negative and
// equals the amount left of its reward, the reward's sums are those of the entries,
// it is pending between a hold and a release, and an ended reward stays ended.
func TestLedger_Walk(t *testing.T) {
	seen := map[Status]int{}
	for run := range int64(2000) {
		s := sequence(run)
		g := credit(1 + s.draw(20))
		if s.draw(2) == 0 {
			g.Scheduled = now + core.Time(s.draw(20))
		}
		if s.draw(2) == 0 {
			g.Expires = max(now, g.Scheduled) + 1 + core.Time(s.draw(30))
		}
		g.Held, g.Fixed = s.draw(4) == 0, s.draw(8) == 0
		r, ledger, err := g.Begin("r", now)
		if err != nil {
			t.Fatal(err)
		}
		at, over := now, false
		for range 30 {
			at += core.Time(s.draw(4))
			before := r
			var entry Entry
			r, entry = act(&s, r, at)
			if !entry.None() {
				ledger = append(ledger, entry)
			}
			agree(t, r, ledger)
			status := r.Status(at)
			seen[status]++
			wasOver := over
			over = status == StatusRedeemed || status == StatusExpired || status == StatusCancelled
			if wasOver && (!over || r.Left() > before.Left()) {
				t.Fatalf("run %d: went back from %+v to %+v", run, before, r)
			}
			if caught := r.AsOf(at); caught.Recorded() != r.Available(at) || caught.Status(at) != status {
				t.Fatalf("run %d: %+v is shown as %+v", run, r, caught)
			}
			if got := r.Available(at); got < 0 || got > 0 != (status == StatusAvailable) {
				t.Fatalf("run %d: %s with %d available", run, status, got)
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("the walk did not reach every status: %v", seen)
	}
}

// act performs one random action on a reward. A refused action does not change it.
func act(s *sequence, r Reward, at core.Time) (Reward, Entry) {
	var entry Entry
	var err error
	before := r
	switch s.draw(9) {
	case 0, 1, 2:
		r, entry, err = r.Redeem(s.draw(8), at)
	case 3:
		r, entry, err = r.Hold(at)
	case 4:
		r, entry, err = r.Release(at)
	case 5:
		r, entry = r.Give(at)
	case 6:
		r, entry, err = r.Expire(at)
	case 7:
		r, entry, err = r.To([]Status{StatusPending, StatusAvailable, StatusRedeemed, StatusExpired, StatusCancelled}[s.draw(5)], at)
	case 8:
		if s.draw(3) == 0 {
			r, entry = r.deny(at)
		}
	}
	if err != nil {
		return before, Entry{}
	}
	return r, entry
}

// agree checks that a reward's fields match those computed from its entries.
func agree(t *testing.T, r Reward, ledger []Entry) {
	t.Helper()
	var balance, holds int64
	var sums Sums
	for _, e := range ledger {
		balance += e.Amount
		if balance < 0 {
			t.Fatalf("a negative balance: %+v", ledger)
		}
		switch e.Action {
		case ActionHold:
			holds++
		case ActionRelease:
			holds--
		case ActionRedeem:
			sums.Redeemed -= e.Amount
		case ActionExpire:
			sums.Expired -= e.Amount
		case ActionCancel:
			sums.Cancelled -= e.Amount
		}
	}
	if balance != r.Left() || sums != r.Sums || r.Pending != (holds == 1) || holds < 0 || holds > 1 {
		t.Fatalf("%+v does not agree with %+v", r, ledger)
	}
}

// A block holds or cancels a reward beside its other holds, and does not make a reward new.
func TestReward_Follow(t *testing.T) {
	later := credit(10)
	later.Scheduled = now + 5
	held := credit(10)
	held.Held = true
	during := func(b Block) Grant {
		g := credit(10)
		g.Block = b
		return g
	}
	follow := func(b Block) func(Reward) Reward {
		return func(r Reward) Reward { r, _ = r.Follow(b, now+1); return r }
	}
	moderate := func(m Moderation) func(Reward) Reward {
		return func(r Reward) Reward { r, _ = r.Moderate(m, now+2); return r }
	}
	hold, cancel := follow(BlockHold), follow(BlockCancel)
	unblock := func(r Reward) Reward { r, _ = r.Follow("", now+3); return r }
	for name, c := range map[string]struct {
		grant Grant
		steps []func(Reward) Reward
		want  Status
		given bool // since the last step
	}{
		"available, held":                {credit(10), []func(Reward) Reward{hold}, StatusPending, false},
		"available, kept":                {credit(10), []func(Reward) Reward{follow(BlockKeep)}, StatusAvailable, false},
		"available, back":                {credit(10), []func(Reward) Reward{hold, unblock}, StatusAvailable, false},
		"later, held":                    {later, []func(Reward) Reward{hold}, StatusPending, false},
		"later, back":                    {later, []func(Reward) Reward{hold, unblock}, StatusPending, false},
		"available, cancelled":           {credit(10), []func(Reward) Reward{cancel, unblock}, StatusCancelled, false},
		"held, then cancelled":           {credit(10), []func(Reward) Reward{hold, cancel, unblock}, StatusCancelled, false},
		"new during it":                  {during(BlockHold), nil, StatusPending, false},
		"new during it, back":            {during(BlockHold), []func(Reward) Reward{unblock}, StatusAvailable, true},
		"new during it, kept":            {during(BlockKeep), nil, StatusAvailable, true},
		"new during it, cancelled":       {during(BlockCancel), []func(Reward) Reward{unblock}, StatusCancelled, false},
		"held, approved":                 {held, []func(Reward) Reward{hold, moderate(ModerationApproved)}, StatusPending, false},
		"held, approved, back":           {held, []func(Reward) Reward{hold, moderate(ModerationApproved), unblock}, StatusAvailable, true},
		"held, back":                     {held, []func(Reward) Reward{hold, unblock}, StatusPending, false},
		"available, both, back":          {credit(10), []func(Reward) Reward{hold, moderate(ModerationPending), unblock, moderate(ModerationApproved)}, StatusAvailable, false},
		"denied, held, approved":         {credit(10), []func(Reward) Reward{moderate(ModerationDenied), hold, moderate(ModerationApproved)}, StatusPending, false},
		"denied, held, approved, back":   {credit(10), []func(Reward) Reward{moderate(ModerationDenied), hold, moderate(ModerationApproved), unblock}, StatusAvailable, false},
		"denied, cancelled, approved":    {credit(10), []func(Reward) Reward{moderate(ModerationDenied), cancel, moderate(ModerationApproved)}, StatusCancelled, false},
		"held, denied, approved, back":   {credit(10), []func(Reward) Reward{hold, moderate(ModerationDenied), moderate(ModerationApproved), unblock}, StatusAvailable, false},
		"refunded, held, corrected":      {credit(10), []func(Reward) Reward{func(r Reward) Reward { r, _ = r.Reverse(10, now); return r }, hold, func(r Reward) Reward { r, _ = r.Reverse(0, now); return r }}, StatusPending, false},
		"held, cancelled by a call":      {credit(10), []func(Reward) Reward{hold, func(r Reward) Reward { r, _, _ = r.Cancel(now); return r }, unblock}, StatusCancelled, false},
		"used, then blocked":             {credit(10), []func(Reward) Reward{func(r Reward) Reward { r, _, _ = r.Redeem(10, now); return r }, cancel}, StatusRedeemed, false},
		"available, held, no gift again": {credit(10), []func(Reward) Reward{hold, hold, unblock, unblock}, StatusAvailable, false},
	} {
		before, r := Reward{}, begin(t, c.grant)
		for _, step := range c.steps {
			before, r = r, step(r)
		}
		if got := r.Status(now + 3); got != c.want {
			t.Errorf("%s: %s, want %s: %+v", name, got, c.want, r)
		}
		if got := r.GivenSince(before); got != c.given {
			t.Errorf("%s: given is %v: %+v", name, got, r)
		}
		if r.Blocked != 0 && !r.Pending && r.Cancelled == 0 {
			t.Errorf("%s: it is held and not pending in the ledger", name)
		}
	}
}
