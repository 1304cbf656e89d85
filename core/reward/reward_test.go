package reward

import (
	"testing"

	"kith/core"
)

func TestBasisPoints_String(t *testing.T) {
	for points, want := range map[BasisPoints]string{
		0: "0", 1: "0.01", 9: "0.09", 10: "0.1", 50: "0.5", 99: "0.99", 100: "1", 101: "1.01", 110: "1.1",
		1000: "10", 1250: "12.5", 1234: "12.34", 10000: "100", -1: "-0.01", -1250: "-12.5",
	} {
		if got := points.String(); got != want {
			t.Errorf("%d is %q, want %q", int64(points), got, want)
		}
	}
}

func TestOffer(t *testing.T) {
	for _, c := range []struct {
		offer Offer
		none  bool
		unit  string
		value int64
	}{
		{Offer{}, true, "CENTS", 0},
		{Offer{Kind: Credit}, true, "CENTS", 0},
		{Offer{Kind: Credit, Amount: 5}, false, "CENTS", 5},
		{Offer{Kind: Credit, Amount: 5, Unit: "POINT"}, false, "POINT", 5},
		{Offer{Kind: PercentDiscount, Percent: 1250, Amount: 7, Unit: "CENTS"}, false, "%", 1250},
		{Offer{Kind: FuelTank, Amount: 5}, false, "CENTS", 5},
		{Offer{Kind: Integration, Amount: 5, Unit: "CASH/CAD"}, false, "CASH/CAD", 5},
	} {
		if c.offer.None() != c.none || c.offer.InUnit() != c.unit || c.offer.Value() != c.value {
			t.Errorf("%+v: none %v, unit %q, value %d", c.offer, c.offer.None(), c.offer.InUnit(), c.offer.Value())
		}
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"PCT_DISCOUNT", "CREDIT", "FUELTANK", "INTEGRATION"} {
		if kind, err := ParseKind("type", s); err != nil || string(kind) != s {
			t.Errorf("%q: %q, %v", s, kind, err)
		}
	}
	for _, s := range []string{"FRIEND_SIGNUP", "REFERRED", "MANUAL", "AUTOMATED", "ACTIVATION", "ACQUISITION", "RETENTION", "REACTIVATION"} {
		if source, err := ParseSource("rewardSource", s); err != nil || string(source) != s {
			t.Errorf("%q: %q, %v", s, source, err)
		}
	}
	for _, s := range []string{"PENDING", "AVAILABLE", "REDEEMED", "EXPIRED", "CANCELLED"} {
		if status, err := ParseStatus("status", s); err != nil || string(status) != s {
			t.Errorf("%q: %q, %v", s, status, err)
		}
	}
	for _, s := range []string{"", "credits", "PROGRAM", "REVERSED", "CREDIT "} {
		_, kind := ParseKind("f", s)
		_, source := ParseSource("f", s)
		_, status := ParseStatus("f", s)
		for _, err := range []error{kind, source, status} {
			if e, ok := err.(*core.Error); !ok || e.Code != core.CodeInvalid || e.Field != "f" {
				t.Errorf("%q: %v", s, err)
			}
		}
	}
}

func TestGrantOf(t *testing.T) {
	offer := Offer{Kind: Credit, Amount: 5}
	if g := GrantOf(offer, 1000); g != (Grant{Offer: offer}) {
		t.Errorf("immediately, without expiry: %+v", g)
	}
	offer.ValidFor = 50
	if g := GrantOf(offer, 1000); g != (Grant{Offer: offer, Expires: 1050}) {
		t.Errorf("with an expiry: %+v", g)
	}
	offer.GivenAfter = 7
	if g := GrantOf(offer, 1000); g != (Grant{Offer: offer, Scheduled: 1007, Expires: 1057}) {
		t.Errorf("later, with an expiry: %+v", g)
	}
	if g := GrantOf(Offer{Kind: Integration, Amount: 5}, 1000); !g.Fixed {
		t.Error("an Integration is cancellable")
	}
}
