package serve

import (
	"slices"
	"strings"
	"testing"

	"kith/core/reward"
	"kith/core/wire"
)

func TestItems_ReadsWhatListWrote(t *testing.T) {
	for _, texts := range [][]string{nil, {""}, {"a", "", "3:abc", "grüße\x00"}, {strings.Repeat("x", 70_000), "1"}} {
		got, ok := items(list(texts))
		if !ok || !slices.Equal(got, texts) {
			t.Errorf("%q was decoded as %q", texts, got)
		}
	}
	for _, text := range []string{"1", "1:", "-1:a", "x:a", ":a", "2:a", "1:ab", "99999999999999999999:a"} {
		if got, ok := items(text); ok {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

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
		if strings.Contains(list(texts), personal) {
			t.Errorf("%s is cached in %q", personal, texts)
		}
	}
	code.FirstName, code.LastName = "", ""
	if got := codeOf(texts, "ANNA10"); got != code {
		t.Errorf("%+v, want %+v", got, code)
	}
}

func FuzzItems(f *testing.F) {
	f.Add("1:a2:bc")
	f.Fuzz(func(t *testing.T, text string) {
		if texts, ok := items(text); ok && len(list(texts)) > len(text) {
			t.Errorf("%q grew to %q", text, list(texts))
		}
	})
}
