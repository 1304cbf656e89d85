package widget

import (
	"testing"

	"kith/core"
	"kith/core/reward"
)

func TestEarnedOf(t *testing.T) {
	const now = 100 * core.Day
	tank := reward.Offer{Kind: reward.FuelTank, Amount: 1000, Unit: "%"}
	cash := reward.Offer{Kind: reward.Credit, Amount: 500, Unit: reward.UnitCents, Currency: "USD"}
	e := EarnedOf([]reward.Reward{
		{Offer: tank, FuelTankCode: "USABLE", Expires: now + 1},
		{Offer: tank, FuelTankCode: "EXPIRED", Expires: now},
		{Offer: tank, FuelTankCode: "USED", Sums: reward.Sums{Redeemed: 1000}},
		{Offer: tank, FuelTankCode: "LATER", Given: now + 1},
		{Offer: tank, FuelTankCode: "CANCELLED", Cancelled: 1},
		{Offer: cash},
		{Offer: cash, Given: now + 1},
		{Offer: cash, Given: now + 1, Held: true},
		{Offer: cash, Given: now},
		{Offer: cash, Given: now + 2, Sums: reward.Sums{Reversed: 200}},
		{Offer: cash, Given: now + 2, Sums: reward.Sums{Reversed: 500}},
		{Offer: tank, FuelTankCode: "OTHER", Program: "other"},
		{Offer: tank, FuelTankCode: "OWN", Program: "classic"},
	}, "classic", now)
	if len(e.Codes) != 2 || e.Codes[0] != (Code{Code: "USABLE", Offer: tank, Expires: now + 1}) || e.Codes[1] != (Code{Code: "OWN", Offer: tank}) {
		t.Errorf("codes %+v", e.Codes)
	}
	want := []Pending{{tank, Scheduled, now + 1}, {cash, Scheduled, now + 1}, {cash, InReview, 0}, {cash.With(300), Scheduled, now + 2}}
	if len(e.Pending) != len(want) {
		t.Fatalf("pending %+v", e.Pending)
	}
	for i := range want {
		if e.Pending[i] != want[i] {
			t.Errorf("pending %+v, not %+v", e.Pending[i], want[i])
		}
	}
	e.AddDue(tank, 2)
	if len(e.Pending) != 6 || e.Pending[5] != (Pending{tank, NoCode, 0}) {
		t.Errorf("pending %+v", e.Pending)
	}
}

func TestEarnedOf_IsBounded(t *testing.T) {
	many := make([]reward.Reward, 3*MaxEarned)
	for i := range many {
		many[i] = reward.Reward{Offer: reward.Offer{Kind: reward.FuelTank, Amount: 1}, FuelTankCode: "C", Held: i%2 == 0}
	}
	e := EarnedOf(many, "classic", 1)
	e.AddDue(reward.Offer{}, 1000)
	if len(e.Codes) != MaxEarned || len(e.Pending) != MaxEarned {
		t.Errorf("%d codes, %d pending", len(e.Codes), len(e.Pending))
	}
}
