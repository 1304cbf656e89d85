package reward

import "testing"

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
	if !(Offer{}).None() || (Offer{Kind: Credit}).None() {
		t.Error("None is the zero offer and no other")
	}
	if u := (Offer{Kind: PercentDiscount}).Unit(); u != "%" {
		t.Errorf("unit %q", u)
	}
	if u := (Offer{Kind: Credit}).Unit(); u != "CENTS" {
		t.Errorf("unit %q", u)
	}
}
