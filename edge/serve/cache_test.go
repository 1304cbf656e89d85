package serve

import (
	"strings"
	"testing"

	"kith/core/reward"
	"kith/core/wire"
)

// The cached texts of a code can be decoded, and have no personal data.
func TestCodeTexts(t *testing.T) {
	code := wire.CodeInfo{
		Code: "ANNA10", DiscountID: "d", Program: "classic", Created: 7, FirstName: "Anna", LastName: "Arnold",
		Offer: reward.Offer{Kind: "PCT_DISCOUNT", Percent: 1000, Amount: 5, Unit: "%", Currency: "USD", Settings: `{"a":1}`, ValidFor: 9, OfRevenue: 500},
	}
	texts := codeTexts(code)
	if len(texts) != codeTextCount {
		t.Fatalf("%d texts, want %d", len(texts), codeTextCount)
	}
	for _, personal := range []string{"Anna", "Arnold", "ANNA10"} {
		if strings.Contains(wire.List(texts), personal) {
			t.Errorf("%s is cached in %q", personal, texts)
		}
	}
	code.FirstName, code.LastName = "", ""
	if got := codeOf(texts, "ANNA10"); got != code {
		t.Errorf("%+v, want %+v", got, code)
	}
}
