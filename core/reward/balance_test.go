package reward

import (
	"testing"

	"kith/core"
)

// For any rewards after any actions: the sum of assigned, pending, expired and
// cancelled is the granted amount, and assigned minus redeemed is the available
// amount.
func TestBalances_Walk(t *testing.T) {
	for run := range int64(200) {
		s := sequence(run)
		var groups []Group
		var granted, available, redeemed int64
		at := now + core.Time(s.draw(40))
		for range 20 {
			g := credit(1 + s.draw(20))
			g.Expires, g.Held = now+1+core.Time(s.draw(60)), s.draw(4) == 0
			r := begin(t, g)
			for range s.draw(6) {
				r, _ = act(&s, r, now+core.Time(s.draw(int64(at-now)+1)))
			}
			granted, available, redeemed = granted+r.Offer.Value(), available+r.Available(at), redeemed+r.Sums.Redeemed
			groups = append(groups, Group{Kind: Credit, Unit: "POINT", Status: r.Status(at), Count: 1, Value: r.Offer.Value(), Sums: r.Sums})
		}
		balances := Balances(groups)
		if len(balances) != 1 {
			t.Fatalf("%+v", balances)
		}
		b := balances[0]
		if b.Count != 20 || b.Available() != available || b.Redeemed != redeemed || b.Assigned+b.Pending+b.Expired+b.Cancelled != granted {
			t.Fatalf("run %d: %+v; %d granted, %d available, %d redeemed", run, b, granted, available, redeemed)
		}
	}
}

func TestBalances_ByKindAndUnit(t *testing.T) {
	got := Balances([]Group{
		{Kind: Credit, Unit: "CENTS", Currency: "USD", Status: StatusAvailable, Count: 2, Value: 10, Sums: Sums{Redeemed: 3}},
		{Kind: PercentDiscount, Unit: "%", Source: Referred, Status: StatusAvailable, Count: 1, Value: 1000},
		{Kind: Credit, Unit: "POINT", Status: StatusAvailable, Count: 1, Value: 5},
		{Kind: PercentDiscount, Unit: "%", Source: FriendSignup, Status: StatusAvailable, Count: 1, Value: 500},
		{Kind: PercentDiscount, Unit: "%", Source: Manual, Status: StatusAvailable, Count: 1, Value: 50},
		{Kind: PercentDiscount, Unit: "%", Source: Referred, Status: StatusExpired, Count: 1, Value: 700},
		{Kind: FuelTank, Unit: "CENTS", Currency: "USD", Status: StatusAvailable, Count: 2, Value: 7},
		{Kind: FuelTank, Unit: "CENTS", Currency: "EUR", Status: StatusRedeemed, Count: 1, Value: 7, Sums: Sums{Redeemed: 7}},
		{Kind: FuelTank, Unit: "CENTS", Status: StatusPending, Count: 1, Value: 7},
		{Kind: Credit, Unit: "CENTS", Currency: "USD", Status: StatusPending, Count: 1, Value: 4},
		{Kind: Credit, Unit: "SHARES", Currency: "USD", Status: StatusAvailable, Count: 1, Value: 4},
		{Kind: Credit, Unit: "SHARES", Status: StatusAvailable, Count: 1, Value: 5},
	})
	want := []Balance{
		{Kind: Credit, Unit: "CENTS", Currency: "USD", Count: 3, Assigned: 10, Redeemed: 3, Pending: 4},
		{Kind: PercentDiscount, Unit: "%", Count: 4, Assigned: 1550, Expired: 700, Referred: 1000, Referrer: 550},
		{Kind: Credit, Unit: "POINT", Count: 1, Assigned: 5},
		{Kind: FuelTank, Unit: "CENTS", Currency: "USD", Count: 2, Assigned: 7, Codes: 2},
		{Kind: FuelTank, Unit: "CENTS", Currency: "EUR", Count: 1, Assigned: 7, Redeemed: 7, Codes: 1},
		{Kind: FuelTank, Unit: "CENTS", Count: 1, Pending: 7},
		{Kind: Credit, Unit: "SHARES", Count: 2, Assigned: 9},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if got := Balances(nil); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestDiscounts(t *testing.T) {
	group := func(program core.ProgramKey, source Source, status Status, percent int64) Group {
		return Group{Kind: PercentDiscount, Unit: "%", Program: program, Source: source, Status: status, Count: 1, Value: percent}
	}
	a, b := core.ProgramKey("a"), core.ProgramKey("b")
	limits := map[core.ProgramKey]BasisPoints{a: 2000, b: 0}
	for _, c := range []struct {
		what               string
		groups             []Group
		referred, referrer BasisPoints
	}{
		{"nothing", nil, 0, 0},
		{"both sides", []Group{group(b, Referred, StatusAvailable, 1000), group(b, FriendSignup, StatusAvailable, 500), group(b, Manual, StatusAvailable, 30)}, 1000, 530},
		{"not available", []Group{group(b, Referred, StatusPending, 1000), group(b, Referred, StatusExpired, 500), group(b, Referred, StatusCancelled, 30)}, 0, 0},
		{"another kind", []Group{{Kind: Credit, Unit: "CENTS", Status: StatusAvailable, Value: 900}}, 0, 0},
		{"up to the limit", []Group{group(a, FriendSignup, StatusAvailable, 1500), group(a, FriendSignup, StatusAvailable, 1500)}, 0, 2000},
		{"the referrer's side is reduced", []Group{group(a, Referred, StatusAvailable, 1500), group(a, FriendSignup, StatusAvailable, 1500)}, 1500, 500},
		{"the referred side alone is above the limit", []Group{group(a, Referred, StatusAvailable, 2500), group(a, FriendSignup, StatusAvailable, 1500)}, 2000, 0},
		{"each program has its own limit", []Group{group(a, FriendSignup, StatusAvailable, 3000), group(b, FriendSignup, StatusAvailable, 3000), group("", Manual, StatusAvailable, 100)}, 0, 5100},
		{"all of the price", []Group{group(b, Referred, StatusAvailable, 6000), group(b, FriendSignup, StatusAvailable, 6000)}, 6000, 4000},
		{"a promise", Offer{Kind: PercentDiscount, Percent: 1000}.Promise(b), 1000, 0},
		{"a promise of something else", Offer{Kind: Credit, Amount: 1000}.Promise(b), 0, 0},
	} {
		if d := Discounts(c.groups, limits); d.Referred != c.referred || d.Referrer != c.referrer || d.Total() != c.referred+c.referrer {
			t.Errorf("%s: %+v", c.what, d)
		}
	}
}
