package reward

import (
	"strings"
	"testing"
)

func TestParseTankCode(t *testing.T) {
	for _, s := range []string{"A", "gift-1234", "ÄÖ/=?", strings.Repeat("x", 200)} {
		if got, err := ParseTankCode("f", s); err != nil || got != s {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", " ", "a b", "a\n", "\x00", "\x7f", strings.Repeat("x", 201)} {
		if _, err := ParseTankCode("f", s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestOffer_TankType(t *testing.T) {
	for unit, want := range map[string]Kind{"": Credit, "CENTS": Credit, "POINT": Credit, "%": PercentDiscount} {
		if got := (Offer{Kind: FuelTank, Unit: unit}).TankType(); got != want {
			t.Errorf("%q: %s", unit, got)
		}
	}
}

func TestTank_Low(t *testing.T) {
	for tank, want := range map[Tank]bool{
		{}: true, {Available: 9}: true, {Available: 10}: false, {Available: 99, Given: 1000}: true, {Available: 100, Given: 1000}: false,
	} {
		if tank.Low() != want {
			t.Errorf("%+v: %v", tank, !want)
		}
	}
}
