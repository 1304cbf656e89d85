package wire_test

import (
	"strings"
	"testing"

	"kith/core/reward"
	"kith/core/wire"
)

// The texts of a code that edges keep can be decoded, and have no personal data.
func TestCodeTexts(t *testing.T) {
	code := wire.CodeInfo{
		Code: "ANNA10", DiscountID: "d", Program: "classic", Created: 7, FirstName: "Anna", LastName: "Arnold",
		Offer: reward.Offer{Kind: "PCT_DISCOUNT", Percent: 1000, Amount: 5, Unit: "%", Currency: "USD", Settings: `{"a":1}`, ValidFor: 9, OfRevenue: 500},
	}
	texts := wire.CodeTexts(code)
	for _, personal := range []string{"Anna", "Arnold", "ANNA10"} {
		if strings.Contains(wire.List(texts), personal) {
			t.Errorf("%s is kept in %q", personal, texts)
		}
	}
	code.FirstName, code.LastName = "", ""
	if got, ok := wire.CodeOf(texts, "ANNA10"); !ok || got != code {
		t.Errorf("%+v, want %+v", got, code)
	}
	if _, ok := wire.CodeOf(texts[1:], "ANNA10"); ok {
		t.Error("a text is missing")
	}
}
